"""The one claim of the papers that takes every scheme, on a potential that varies."""

from rbgym.validation import papers


def test_the_new_schemes_keep_the_energy_better_on_the_soft_wall():
    (paper,) = (p for p in papers.PAPER_CLAIMS if "soft wall" in p.name)
    claims = paper.measure()
    assert all(claim.passed for claim in claims), claims
