"""What `rbgym validate` runs, with a progress bar, and how its result is shown."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rbgym import html, integrators, validation
from rbgym.agents.commands import tables
from rbgym.agents.terminal import Counter, bar
from rbgym.validation import Claim, Claims

PaperClaims = list[tuple[str, str, list[Claim]]]


class Found(NamedTuple):
    """Claims on what is declared; and name, source and claims of what the papers say."""

    claims: list[Claim]
    papers: PaperClaims

    @property
    def kept(self) -> bool:
        """Whether every declaration holds."""
        return all(claim.passed for claim in self.claims)

    def print(self, as_json: bool) -> None:
        """Write tables, or JSON, to stdout."""
        if as_json:
            papers = [
                {"name": name, "source": source, "claims": tables.claims_as_dicts(found)}
                for name, source, found in self.papers
            ]
            declared = tables.claims_as_dicts(self.claims)
            tables.print_json({"declared": declared, "papers": papers})
            return
        for name, source, found in self.papers:
            verdict = "reproduced" if all(c.passed for c in found) else "not reproduced in full"
            tables.print_claims(f"{name} ({source}): {verdict}", found, otherwise="differs")
        broken = sum(not claim.passed for claim in self.claims)
        tables.print_claims(f"{len(self.claims)} declarations, {broken} broken", self.claims)

    def _repr_html_(self) -> str:
        parts = [Claims(self.claims)._repr_html_()]
        for name, source, found in self.papers:
            parts.append(html.note(f"{name} ({source})") + Claims(found)._repr_html_())
        return "".join(parts)


def run(
    names: Sequence[str] | None,
    cases: Sequence[str] | None,
    steps: int,
    jobs: int,
    *,
    papers: bool,
    html: Path | None,
) -> Found:
    """Validate; `papers` adds long runs and the papers' claims, `html` writes the page."""
    with bar() as shown:

        def counting(what: str) -> Counter:
            return Counter(shown, what)

        claims = validation.validate(
            names, cases=cases, steps=steps, jobs=jobs, progress=counting("declarations")
        )
        said: PaperClaims = []
        if papers:
            claims += validation.validate_endurance(jobs=jobs, progress=counting("endurance"))
            said = validation.validate_papers(jobs=jobs, progress=counting("papers"))
        if html is not None:
            from rbgym.agents.commands.validation_report import all_figures, write_report

            figures = all_figures(list(names or integrators.names()), counting("figures"))
            write_report(html, claims, said, figures)
    return Found(claims, said)
