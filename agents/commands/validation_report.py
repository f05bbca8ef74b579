"""One self-contained page of a validation: verdicts, claims, and the figures drawn from runs."""

import base64
import io
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from pathlib import Path

from rbgym.agents.run_folder import replacing
from rbgym.validation import Claim, Claims
from rbgym.validation.external import EXTERNAL
from rbgym.validation.figures import CATALOGUE_FIGURES, PAPER_FIGURES, Figure

PaperClaims = list[tuple[str, str, list[Claim]]]  # name, source and measured claims of each

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem;
       color: #1b1b1b; }
table { width: 100%; font-size: 13px; }
figure { margin: 2rem 0; } img { max-width: 100%; } figcaption { font-weight: 600; }
"""


def write_report(
    path: Path,
    claims: Sequence[Claim],
    papers: PaperClaims,
    truths: Sequence[Claim],
    figures: Sequence[Figure],
) -> None:
    """Write the page."""
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>rbgym validation</title>",
        f"<style>{_STYLE}</style><h1>rbgym validation</h1>",
    ]
    if broken := [claim for claim in (*claims, *truths) if not claim.passed]:
        parts += ["<h2>Broken declarations</h2>", Claims(broken)._repr_html_()]
    parts.append("<h2>Claims of the papers</h2>")
    for name, source, found in papers:
        verdict = "reproduced" if all(c.passed for c in found) else "not reproduced in full"
        parts += [
            f"<h3>{escape(f'{name} ({source}): {verdict}')}</h3>",
            Claims(found)._repr_html_(),
        ]
    parts.append("<h2>Truth from outside</h2><ul>")
    parts += [f"<li>{kind}: {escape(truth.source)}</li>" for kind, truth in EXTERNAL.items()]
    parts += ["</ul>", Claims(truths)._repr_html_(), *map(_figure, figures)]
    parts += ["<h2>All declarations</h2>", Claims(claims)._repr_html_()]
    with replacing(path) as temporary:
        temporary.write_text("\n".join(parts), "utf-8")


def _figure(figure: Figure) -> str:
    """The figure, with its plot as a PNG image."""
    from rbgym.plot import panels

    image = io.BytesIO()
    panels(figure.panels).savefig(image, format="png")
    encoded = base64.b64encode(image.getvalue()).decode()
    caption = escape(figure.title)
    return (
        f"<figure id='{figure.name}'><figcaption>{caption}</figcaption>"
        f"<img alt='{caption}' src='data:image/png;base64,{encoded}'></figure>"
    )


def all_figures(names: list[str], progress: Callable[[int, int], None]) -> list[Figure]:
    """The papers' figures and the catalogue's, of these integrators, one after the other."""
    makers: list[Callable[[], Figure]] = [*PAPER_FIGURES]
    makers += [partial(make, names) for make in CATALOGUE_FIGURES]
    drawn: list[Figure] = []
    for make in makers:
        drawn.append(make())
        progress(len(drawn), len(makers))
    return drawn
