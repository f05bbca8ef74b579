"""Each integrator measured against what the catalogue declares of it: `rbgym validate`."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

from rbgym import integrators
from rbgym.integrators import Integrator
from rbgym.simulate import count
from rbgym.validation import endurance
from rbgym.validation.cases import Case, applicable
from rbgym.validation.claims import Claim, table
from rbgym.validation.conservation import conservation
from rbgym.validation.order import order
from rbgym.validation.papers import PAPER_CLAIMS
from rbgym.validation.symmetry import symmetry

T = TypeVar("T")
R = TypeVar("R")

__all__ = ["Claim", "declared", "table", "validate", "validate_endurance", "validate_papers"]


def validate(
    names: Sequence[str] | None = None,
    *,
    cases: Sequence[str] | None = None,
    steps: int = 20_000,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Claim]:
    """Claims on the named integrators (default all), measured over runs of `steps` steps.

    Every declaration is tested both ways: a declared invariant must stay under its bound, one
    that is not declared must drift over its own, the orders must be the declared ones, and so
    must the symmetry. cases: of "none", "heavy_top", "soft_wall" and "gravity_gradient", default
    all. jobs: processes that share the work. progress: called with (done, all) as it goes on.

    Raises ValueError for an unknown name or case, or steps or jobs that are not positive integers.
    """
    steps, jobs = count("steps", steps), count("jobs", jobs)
    for what, given in (("names", names), ("cases", cases)):
        if isinstance(given, str):
            raise ValueError(f"{what} must be a list, got the string {given!r}")
    kinds = None if cases is None else tuple(cases)
    tasks = [
        (name, case.kind, steps)
        for name in (integrators.names() if names is None else names)
        for case in applicable(integrators.get(name), kinds)
    ]
    claims: list[Claim] = []
    for done, found in enumerate(in_parallel(_measured, tasks, jobs), 1):
        claims += found
        if progress:
            progress(done, len(tasks))
    return claims


def declared(record: Integrator, case: Case, steps: int) -> list[Claim]:
    """What the catalogue declares of one integrator, measured in one case."""
    return [*conservation(record, case, steps), *order(record, case), *symmetry(record, case)]


def validate_endurance(
    names: Sequence[str] | None = None,
    *,
    steps: int = endurance.STEPS,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Claim]:
    """Claims that nothing which is conserved has a trend over ten million steps.

    names, jobs, progress: see `validate`. Measured of free bodies and of the heavy top.
    """
    tasks = [
        (name, kind, count("steps", steps))
        for name in (integrators.names() if names is None else names)
        for kind in ("none", "heavy_top")
        if integrators.get(name).conserves.get(kind)
    ]
    claims: list[Claim] = []
    for done, found in enumerate(in_parallel(_endured, tasks, count("jobs", jobs)), 1):
        claims += found
        if progress:
            progress(done, len(tasks))
    return claims


def _endured(task: tuple[str, str, int]) -> list[Claim]:
    return endurance.endurance(*task)


def validate_papers(
    *, jobs: int = 1, progress: Callable[[int, int], None] | None = None
) -> list[tuple[str, str, list[Claim]]]:
    """Name, source and measured claims of everything in `papers.PAPER_CLAIMS`.

    jobs, progress: see `validate`.
    """
    found = []
    for paper, claims in zip(
        PAPER_CLAIMS,
        in_parallel(_paper, range(len(PAPER_CLAIMS)), count("jobs", jobs)),
        strict=True,
    ):
        found.append((paper.name, paper.source, claims))
        if progress:
            progress(len(found), len(PAPER_CLAIMS))
    return found


def _paper(index: int) -> list[Claim]:
    return PAPER_CLAIMS[index].measure()


def _measured(task: tuple[str, str, int]) -> list[Claim]:
    name, kind, steps = task
    record = integrators.get(name)
    (case,) = applicable(record, (kind,))
    return declared(record, case, steps)


def in_parallel(function: Callable[[T], R], tasks: Sequence[T], jobs: int) -> Iterable[R]:
    """The results in the order of the tasks, each as soon as it and those before it are there."""
    if jobs == 1:
        yield from map(function, tasks)
        return
    # Fresh processes: a fork of one with threads may hang.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(function, tasks)
