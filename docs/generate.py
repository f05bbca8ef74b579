"""Write the table of integrators, made from the catalogue, into the pages that show it.

python docs/generate.py            # write
python docs/generate.py --check    # exit 1 if a page is not current
"""

import sys
from pathlib import Path

from rbgym import integrators
from rbgym.integrators import Integrator

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "README.md", ROOT / "docs" / "integrators.md"
BEGIN, END = "<!-- integrators:begin -->", "<!-- integrators:end -->"
HEADINGS = (
    "name",
    "scheme",
    "order",
    "symmetric",
    "solves",
    "conserves, free",
    "conserves, heavy top",
    "source",
)


def row(record: Integrator) -> tuple[str, ...]:
    """The cells of one integrator."""
    default = " (default)" if record.name == integrators.DEFAULT else ""
    return (
        f"`{record.name}`{default}",
        record.title,
        str(record.order),
        "yes" if record.symmetric else "no",
        "nothing" if record.explicit else "an equation",
        kept(record, "none"),
        kept(record, "heavy_top"),
        record.source,
    )


def kept(record: Integrator, potential: str) -> str:
    """What is conserved in one potential, in words."""
    if potential != "none" and "potential" not in record.supports:
        return "not supported"
    return ", ".join(record.conserves.get(potential, ())).replace("_", " ") or "-"


def table() -> str:
    """The integrators as a Markdown table."""
    records = [integrators.get(name) for name in integrators.names()]
    rows = [HEADINGS, ("---",) * len(HEADINGS), *map(row, records)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def current(page: str) -> str:
    """The page with the table between the markers made anew."""
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def main(check: bool) -> int:
    """Write or check every page; the exit status."""
    stale = [page for page in PAGES if current(page.read_text("utf-8")) != page.read_text("utf-8")]
    for page in stale:
        if check:
            print(f"{page.relative_to(ROOT)} is not current: run python docs/generate.py")
        else:
            page.write_text(current(page.read_text("utf-8")), "utf-8")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
