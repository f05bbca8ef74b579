"""Write the measured parts of docs/records/performance.md, and its picture.

python -m benchmarks.page runs/bench  # take the JSON files of a run over, then write
python -m benchmarks.page             # write
python -m benchmarks.page --check     # exit 1 if the page is not current
"""

import json
import sys
from pathlib import Path

from benchmarks import tables
from benchmarks.record import ROOT, Results

FOLDER = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "records" / "performance.md"
NAMES = "throughput", "startup", "memory", "training", "fidelity", "work_precision"


def results(folder: Path = FOLDER) -> Results:
    """The JSON files of a folder by name; those that are not there are left out."""
    files = {name: folder / f"{name}.json" for name in NAMES}
    return {
        name: json.loads(file.read_text("utf-8")) for name, file in files.items() if file.is_file()
    }


def current(found: Results) -> str:
    """The page with its parts made again."""
    page = PAGE.read_text("utf-8")
    for name, made in tables.PARTS.items():
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        before, rest = page.split(begin)
        page = f"{before}{begin}\n{made(found)}\n{end}{rest.split(end)[1]}"
    return page


def adopt(folder: Path) -> None:
    """Take over the files of a run that is whole.

    Raises ValueError for one that lacks a file or was quick.
    """
    found = results(folder)
    for name in NAMES:
        if name not in found or found[name]["quick"]:
            raise ValueError(f"{folder} must have {name}.json of a run without --quick")
    for name in NAMES:
        text = json.dumps(found[name], indent=1) + "\n"
        (FOLDER / f"{name}.json").write_text(text, "utf-8")


def main(arguments: list[str]) -> int:
    """Take over, write or check; the exit status."""
    folders = [Path(one) for one in arguments if one != "--check"]
    if folders:
        adopt(folders[0])
    found = results()
    text = current(found)
    if "--check" in arguments:
        stale = text != PAGE.read_text("utf-8")
        if stale:
            print(f"{PAGE.name} is not current: run python -m benchmarks.page")
        return int(stale)
    from benchmarks import pictures

    PAGE.write_text(text, "utf-8")
    pictures.draw(found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
