"""Write the figures of docs/validation.md and its record, of one run of `rbgym validate`.

rbgym validate --json > claims.json; python docs/generate_validation.py claims.json   # a new record
rbgym validate --external --json > ends.json; python docs/generate_validation.py ends.json
rbgym validate --derivatives --json > slopes.json; python docs/generate_validation.py slopes.json
python docs/generate_validation.py                                                    # write
python docs/generate_validation.py --check   # exit 1 if a page is not current
"""

import json
import sys
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rbgym.validation.external import EXTERNAL

DOCS = Path(__file__).resolve().parent
RECORD, PAGE = DOCS / "validation.json", DOCS / "validation.md"
WHOLE, LINEAR = DOCS / "records" / "validation.md", DOCS / "derivatives.md"
KINDS = (
    "| quantity | declared | claims | least | largest | bound | kept |",
    f"|---|---|{'---:|' * 5}",
)
SAID = "| scheme | of | quantity | said | measured | bound | |", "|---|---|---|---|---:|---|---|"
# Rows of the short table: title, declared values, a part of the quantity's name, and whether the
# largest figure is shown.
SHORT = (
    ("every step is solved", ("none",), "unsolved", False),
    ("a conserved invariant stays", ("conserved",), "", True),
    ("an invariant that is not declared drifts", ("drifts",), "", False),
    (
        "the order of convergence is the declared one",
        ("1", "2", "4", "6", "at least 4", "at least 6", "exact"),
        "",
        False,
    ),
    ("run backwards unprojected, only symmetric schemes return", ("returns", "misses"), "", False),
    ("a turned world sees the turned motion", ("same motion",), "", True),
    ("what is conserved has no trend in 10,000,000 steps", ("the same bits", "none"), "000", True),
)
# Names of the motions of rbgym/validation/cases.py on the page.
OF = {
    "betsch_free": "free body (6, 8, 3)",
    "betsch_top": "cone in steady precession",
    "krysl_free": "free body (0.9144, 1.098, 1.66)",
    "krysl_slow_top": "slow top",
    "krysl_fast_top": "fast top",
    "krysl_wall": "body on the soft wall",
    "krenk_brick": "free brick (13, 5, 10)",
}

DERIVATIVES = "derivatives"  # the quantity of `jacobian_claim`
Claim = dict[str, Any]


def record(found: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    """The record of a run from its JSON: one row for each kind of claim, the papers' claims, the
    known ends and the derivatives; parts that were not measured come from the old record."""
    ends = found["external"] or kept.get("external", [])
    of_steps = [claim for claim in found["declared"] if claim["quantity"] == DERIVATIVES]
    parts = {"external": ends, DERIVATIVES: of_steps or kept.get(DERIVATIVES, [])}
    declared = [claim for claim in found["declared"] if claim["quantity"] != DERIVATIVES]
    if not declared:
        return {**kept, **parts}
    kinds: dict[tuple[str, str], list[Claim]] = {}
    for claim in declared:
        kinds.setdefault((claim["quantity"], claim["declared"]), []).append(claim)
    rows = [
        {
            "quantity": quantity,
            "declared": declared,
            "claims": len(claims),
            "kept": sum(claim["passed"] for claim in claims),
            "least": min(claim["measured"] for claim in claims),
            "largest": max(claim["measured"] for claim in claims),
            "bound": claims[0]["bound"],
        }
        for (quantity, declared), claims in kinds.items()
    ]
    today = date.today().isoformat()
    tables = {"kinds": rows, "papers": found["papers"], **parts}
    return {"version": version("rbgym"), "date": today, **tables}


def kinds(kept: dict[str, Any]) -> str:
    """The table of the catalogue's declarations."""
    claims, good = (sum(row[key] for row in kept["kinds"]) for key in ("claims", "kept"))
    rows = [
        f"| {row['quantity']} | {row['declared']} | {row['claims']} | {row['least']:.3g} "
        f"| {row['largest']:.3g} | {row['bound']:.2g} | {row['kept']} |"
        for row in kept["kinds"]
    ]
    head = f"Version {kept['version']}, {kept['date']}: {claims} claims, {claims - good} broken."
    return "\n".join([head, "", *KINDS, *rows])


def limit(claim: Claim) -> str:
    """The bound as a phrase: a distance if a number from 1 on is declared, else upper or lower."""
    bound = f"{claim['bound']:.2g}"
    if claim["declared"].isdigit() and int(claim["declared"]) > 0:
        return f"off by {bound}"
    upper = claim["passed"] == (claim["measured"] <= claim["bound"])
    return f"at most {bound}" if upper else f"above {bound}"


def papers(kept: dict[str, Any]) -> str:
    """The papers' claims, one table each."""
    parts = []
    for paper in kept["papers"]:
        whole = all(claim["passed"] for claim in paper["claims"])
        verdict = "reproduced" if whole else "not reproduced in full"
        rows = [
            f"| `{claim['integrator']}` | {OF[claim['case']]} | {claim['quantity']} "
            f"| {claim['declared']} | {claim['measured']:.3g} | {limit(claim)} "
            f"| {'' if claim['passed'] else 'differs'} |"
            for claim in paper["claims"]
        ]
        title = f"**{paper['name']}**, {paper['source']}: {verdict}."
        parts.append("\n".join([title, "", *SAID, *rows]))
    return "\n\n".join(parts)


def ends(kept: dict[str, Any]) -> str:
    """Sources of the known ends, errors of each scheme on each, and the other claims on them."""
    claims = kept["external"]
    lines = [f"- `{kind}`: {truth.source}." for kind, truth in EXTERNAL.items()]
    ordered = [claim for claim in claims if by_order(claim)]
    columns = list(dict.fromkeys((c["case"], c["quantity"]) for c in ordered))
    heads = {(case, quantity): f"`{case}`<br>{quantity}" for case, quantity in columns}
    lines += ["", *by_scheme(ordered, heads, "{:.1e}")]
    spreads = [EXTERNAL[case].spread[quantity.split()[0]] for case, quantity in columns]
    lines.append(f"| spread | {' | '.join(f'{spread:.1e}' for spread in spreads)} |")
    lines += ["", "| scheme | of | quantity | said | measured | bound | |", SAID[1]]
    lines += [
        f"| `{c['integrator']}` | `{c['case']}` | {c['quantity']} | {c['declared']} "
        f"| {c['measured']:.3g} | {limit(c)} | {'' if c['passed'] else 'BROKEN'} |"
        for c in claims
        if not by_order(c)
    ]
    return "\n".join(lines)


def by_order(claim: Claim) -> bool:
    """Whether the error is measured against that of twice the step."""
    return claim["declared"].startswith("order")


def summary(kept: dict[str, Any]) -> str:
    """What was declared, claimed and published, and how much of it holds: a row each."""
    lines = []
    for title, declared, quantity, is_shown in SHORT:
        rows = [
            row
            for row in kept["kinds"]
            if row["declared"] in declared and quantity in row["quantity"]
        ]
        claims, good = (sum(row[key] for row in rows) for key in ("claims", "kept"))
        worst = f"{max(row['largest'] for row in rows):.1e}" if is_shown else ""
        lines.append(f"| {title} | {claims} | {good} | {worst} |")
    papers, ends = kept["papers"], kept["external"]
    whole = sum(all(claim["passed"] for claim in paper["claims"]) for paper in papers)
    passed = sum(claim["passed"] for claim in ends)
    lines += [
        f"| what the five papers claim | {len(papers)} | {whole} | |",
        f"| motions whose ends others published, all schemes | {len(ends)} | {passed} | |",
    ]
    of_steps = kept[DERIVATIVES]
    good, worst = (f([c[key] for c in of_steps]) for f, key in ((sum, "passed"), (max, "measured")))
    lines.append(f"| derivatives are those of the steps | {len(of_steps)} | {good} | {worst:.1e} |")
    head = "| what is claimed | claims | hold | largest error |", "|---|---:|---:|---:|"
    return "\n".join([f"Version {kept['version']}, {kept['date']}.", "", *head, *lines])


def published(kept: dict[str, Any]) -> str:
    """Errors of the default at the ends that others published, and the spread of their tools."""
    lines = ["| motion | error of | `exact:4` | spread, or what is asked |", "|---|---|---:|---:|"]
    for claim in kept["external"]:
        if claim["integrator"] == "exact:4" and by_order(claim):
            truth, quantity = EXTERNAL[claim["case"]], claim["quantity"]
            spread = truth.spread[quantity.split()[0]]
            source = truth.source.split(";")[0].split(": ")[0]
            lines.append(
                f"| {source} | {quantity.replace(' error', '')} | {claim['measured']:.1e} "
                f"| {spread:.1e} |"
            )
    return "\n".join(lines)


def slopes(kept: dict[str, Any]) -> str:
    """The error of the Jacobian of each scheme in each potential."""
    claims = kept[DERIVATIVES]
    heads = {
        (c["case"], c["quantity"]): {"none": "free"}.get(c["case"], c["case"].replace("_", " "))
        for c in claims
    }
    return "\n".join(by_scheme(claims, heads, "{:.0e}"))


def by_scheme(claims: list[Claim], heads: dict[tuple[str, str], str], form: str) -> list[str]:
    """A table of what was measured: a row for each scheme, a column for each case and quantity."""
    found = {(c["integrator"], c["case"], c["quantity"]): c for c in claims}
    lines = [f"| scheme | {' | '.join(heads.values())} |", f"|---|{'---:|' * len(heads)}"]
    for name in dict.fromkeys(claim["integrator"] for claim in claims):
        of_scheme = [found.get((name, *column)) for column in heads]
        cells = (
            form.format(c["measured"]) + ("" if c["passed"] else " BROKEN") if c else ""
            for c in of_scheme
        )
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return lines


def current(file: Path) -> str:
    """A page with its parts replaced."""
    kept, page = json.loads(RECORD.read_text("utf-8")), file.read_text("utf-8")
    for name, made in PAGES[file].items():
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        before, rest = page.split(begin)
        page = f"{before}{begin}\n{made(kept)}\n{end}{rest.split(end)[1]}"
    return page


PAGES: dict[Path, dict[str, Callable[[dict[str, Any]], str]]] = {
    PAGE: {"summary": summary, "published": published},
    WHOLE: {"record": kinds, "ends": ends, "papers": papers},
    LINEAR: {"slopes": slopes},
}


def main(arguments: list[str]) -> int:
    """Write or check the pages; the exit status."""
    check = "--check" in arguments
    for file in arguments:
        if file != "--check":
            before = json.loads(RECORD.read_text("utf-8"))
            kept = record(json.loads(Path(file).read_text("utf-8")), before)
            RECORD.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    stale = [file for file in PAGES if current(file) != file.read_text("utf-8")]
    for file in stale:
        if check:
            name = file.relative_to(DOCS)
            print(f"{name} is not current: run python docs/generate_validation.py")
        else:
            file.write_text(current(file), "utf-8")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
