"""Write the licences of everything that rbgym brings into docs/licences.md: `make licences`.

Run in an environment with `rbgym[all]` and pip-licenses. A licence without a verdict ends it
with exit status 1.
"""

import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PAGE = Path(__file__).resolve().parent / "licences.md"
BEGIN, END = "<!-- licences:begin -->", "<!-- licences:end -->"
# The bare package and its extras, each after those that it contains.
EXTRAS = ("", "plot", "cli", "agents", "render", "view", "mujoco", "onnx", "campaign")
# Licences that only require their text and notices to be passed on with the package.
PERMISSIVE = re.compile(
    r"(MIT|BSD|Apache|ISC|PSF|Python Software|Python-2|Zlib|zlib|HPND|Unlicense|0BSD|CC0"
    r"|MIT-CMU|Matplotlib|3-Clause|Historical Permission)"
)
# Licences that require more, with the page's words on them.
JUDGED = {"certifi", "imageio-ffmpeg", "pygame-ce", "tqdm"}


def closure(name: str, extra: str) -> set[str]:
    """Names of the installed packages that a package with an extra requires, also indirectly."""
    found: set[str] = set()
    pending = {(canonicalize_name(name), extra)}
    seen: set[tuple[str, str]] = set()
    while pending:
        package, wanted = key = pending.pop()
        seen.add(key)
        try:
            lines = importlib.metadata.requires(package) or []
        except importlib.metadata.PackageNotFoundError:
            continue  # an extra that is not installed here
        found.add(package)
        for requirement in map(Requirement, lines):
            marker = requirement.marker
            if marker is None or marker.evaluate({"extra": wanted}):
                needed = canonicalize_name(requirement.name)
                pending |= {(needed, e) for e in ("", *requirement.extras)} - seen
    return found - {canonicalize_name(name)}


def brought_by() -> dict[str, set[str]]:
    """Packages by the first of the extras that brings them, as far as they are installed here."""
    listed: set[str] = set()
    found = {}
    for extra in EXTRAS:
        found[extra] = closure("rbgym", extra) - listed
        listed |= found[extra]
    return found


def licences() -> dict[str, str]:
    """Licence of each installed package, in the words of its metadata, on one line."""
    command = [str(Path(sys.executable).with_name("pip-licenses")), "--format=json", "--from=mixed"]
    table = subprocess.run([*command, "--with-system"], stdout=subprocess.PIPE, check=True).stdout
    lines = {e["Name"]: e["License"].strip().splitlines()[0] for e in json.loads(table)}
    return {canonicalize_name(name): line.replace("|", "/") for name, line in lines.items()}


def table() -> str:
    """All packages with the extra that brings them and their licence."""
    known = licences()
    rows = ["| package | brought by | licence |", "| --- | --- | --- |"]
    for extra, names in brought_by().items():
        by = f"`rbgym[{extra}]`" if extra else "`rbgym`"
        rows += [f"| {name} | {by} | {known[name]} |" for name in sorted(names)]
    return "\n".join(rows)


def unjudged(rows: str) -> list[str]:
    """Rows whose licence is neither permissive nor discussed on the page."""
    cells = [row.strip("| ").split(" | ") for row in rows.splitlines()[2:]]
    return [
        f"{name}: {licence}"
        for name, _, licence in cells
        if name not in JUDGED and ("GPL" in licence or not PERMISSIVE.search(licence))
    ]


def main() -> int:
    """Write the table between the marks of the page."""
    rows = table()
    for row in unjudged(rows):
        print(f"read this licence, then name it in {Path(__file__).name}: {row}")
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{rows}\n{END}{rest.partition(END)[2]}", "utf-8")
    return bool(unjudged(rows))


if __name__ == "__main__":
    sys.exit(main())
