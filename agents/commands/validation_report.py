"""One self-contained page of a validation: verdicts, claims, and the figures drawn from runs."""

import base64
import html
import io
from collections.abc import Callable, Sequence
from pathlib import Path

from rbgym.agents.run_folder import replacing
from rbgym.validation import Claim
from rbgym.validation.figures import CATALOGUE_FIGURES, PAPER_FIGURES, Figure

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem;
       color: #1b1b1b; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th, td { text-align: left; padding: 2px 10px 2px 0; border-bottom: 1px solid #ddd; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
tr.broken td { background: #fbe3e0; }
figure { margin: 2rem 0; } img { max-width: 100%; } figcaption { font-weight: 600; }
"""


def write_report(
    path: Path,
    claims: Sequence[Claim],
    paper_claims: Sequence[tuple[str, str, Sequence[Claim]]],
    figures: Sequence[Figure],
) -> None:
    """Write the page. paper_claims: name, source and measured claims of each."""
    broken = [claim for claim in claims if not claim.passed]
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>rbgym validation</title>",
        f"<style>{_STYLE}</style><h1>rbgym validation</h1>",
        f"<p>{len(claims)} declared properties measured, {len(broken)} broken.</p>",
        _table("Broken declarations", broken) if broken else "",
        "<h2>Claims of the papers</h2>",
    ]
    for name, source, found in paper_claims:
        verdict = "reproduced" if all(c.passed for c in found) else "not reproduced in full"
        parts.append(_table(f"{name} ({source}): {verdict}", found, level=3))
    parts += [_figure(figure) for figure in figures]
    parts.append(_table("All declarations", claims))
    with replacing(path) as temporary:
        temporary.write_text("\n".join(parts), "utf-8")


def _table(title: str, claims: Sequence[Claim], level: int = 2) -> str:
    names = ("integrator", "case", "quantity", "declared", "measured", "bound", "")
    heading = "".join(f"<th>{name}</th>" for name in names)
    rows = []
    for claim in claims:
        words = "".join(f"<td>{html.escape(str(cell))}</td>" for cell in claim[:4])
        numbers = "".join(f"<td class='number'>{x:.3g}</td>" for x in claim[4:6])
        verdict = "ok" if claim.passed else "no"
        style = "" if claim.passed else " class='broken'"
        rows.append(f"<tr{style}>{words}{numbers}<td>{verdict}</td></tr>")
    return (
        f"<h{level}>{html.escape(title)}</h{level}><table><tr>{heading}</tr>{''.join(rows)}</table>"
    )


def _figure(figure: Figure) -> str:
    encoded = base64.b64encode(draw(figure)).decode()
    caption = html.escape(figure.title)
    return (
        f"<figure id='{figure.name}'><figcaption>{caption}</figcaption>"
        f"<img alt='{caption}' src='data:image/png;base64,{encoded}'></figure>"
    )


def draw(figure: Figure) -> bytes:
    """The figure as a PNG image."""
    from rbgym.plot import panels

    buffer = io.BytesIO()
    panels(figure.panels).savefig(buffer, format="png")
    return buffer.getvalue()


def all_figures(names: list[str], progress: Callable[[int, int], None]) -> list[Figure]:
    """The papers' figures and the catalogue's, of these integrators, one after the other."""
    total = len(PAPER_FIGURES) + len(CATALOGUE_FIGURES)
    drawn: list[Figure] = []
    for make in PAPER_FIGURES:
        drawn.append(make())
        progress(len(drawn), total)
    for make_of in CATALOGUE_FIGURES:
        drawn.append(make_of(names))
        progress(len(drawn), total)
    return drawn
