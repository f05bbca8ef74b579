"""Measures each integrator against its declaration in the catalogue: `rbgym validate`."""

import operator
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from functools import partial
from itertools import chain
from multiprocessing import get_context
from typing import Any, TypeVar

from rbgym import integrators
from rbgym.arguments import count
from rbgym.integrators import Integrator
from rbgym.validation.cases import Case, Claim, applicable
from rbgym.validation.declarations import ENDURANCE, declared, endurance, jacobian_claim
from rbgym.validation.external import EXTERNAL, external_claims, last_places
from rbgym.validation.papers import PAPER_CLAIMS, Measure

T = TypeVar("T")
Progress = Callable[[int, int], None] | None
Names = Sequence[str] | None
Schemes = Sequence[str | Integrator] | None
Tested = tuple[str, str, list[Claim]]

__all__ = [
    "Claim",
    "declared",
    "validate",
    "validate_derivatives",
    "validate_endurance",
    "validate_external",
    "validate_papers",
]


def validate(
    names: Schemes = None,
    *,
    cases: Names = None,
    steps: int = 20_000,
    jobs: int = 1,
    progress: Progress = None,
) -> list[Claim]:
    """Claims on integrators over runs of `steps` steps; default all, with `KICKED`.

    A declared invariant must drift less than its bound, one not declared more than its own bound;
    orders, also with rotors, and symmetry must be as declared.

    names: of the catalogue; in place of one, an `Integrator` of your own, such as `mine` in
    `validate([mine])`. cases: of "none", "heavy_top", "soft_wall" and "gravity_gradient", default
    all. jobs: number of processes. progress: called with (done, all).
    Raises ValueError for bad arguments; ChildProcessError if one of several processes is killed.
    """
    steps = count("steps", steps)
    tasks = [partial(declared, *pair, steps) for pair in _pairs(names, cases)]
    return list(chain.from_iterable(measured(tasks, jobs, progress)))


def validate_endurance(
    names: Schemes = None, *, steps: int = ENDURANCE, jobs: int = 1, progress: Progress = None
) -> list[Claim]:
    """Claims that no conserved quantity of free bodies and of the heavy top has a trend over ten
    million steps. names, jobs, progress: see `validate`."""
    steps = count("steps", steps)
    tasks = [
        partial(endurance, record, case, steps)
        for record, case in _pairs(names, ("none", "heavy_top"))
        if record.conserves.get(case.kind)
    ]
    return list(chain.from_iterable(measured(tasks, jobs, progress)))


def validate_derivatives(
    names: Schemes = None, *, cases: Names = None, jobs: int = 1, progress: Progress = None
) -> list[Claim]:
    """Claims that `Batch.jacobian` returns the derivatives of the steps themselves. Arguments and
    errors: see `validate`. Each pair of integrator and case compiles for half a minute, once."""
    tasks = [partial(jacobian_claim, *pair) for pair in _pairs(names, cases)]
    return measured(tasks, jobs, progress)


def validate_external(
    names: Schemes = None, *, jobs: int = 1, progress: Progress = None
) -> list[Claim]:
    """Claims that the motions end where others published, see `external.EXTERNAL`; for "exact" also
    the errors of a thousand free bodies in last places. Arguments: see `validate`."""
    integrator_names = _names(names)
    tasks: list[Measure] = [
        partial(external_claims, name, kind)
        for name in integrator_names
        for kind, truth in EXTERNAL.items()
        if truth.case.potential.is_free() or "potential" in integrators.get(name).supports
    ]
    tasks += [last_places] if "exact" in integrator_names else []
    return list(chain.from_iterable(measured(tasks, jobs, progress)))


def validate_papers(*, jobs: int = 1, progress: Progress = None) -> list[Tested]:
    """Name, source and measured claims of `papers.PAPER_CLAIMS`. jobs, progress: see `validate`."""
    found = measured([paper.measure for paper in PAPER_CLAIMS], jobs, progress)
    return [(p.name, p.source, claims) for p, claims in zip(PAPER_CLAIMS, found, strict=True)]


def _pairs(names: Any, cases: Any) -> list[tuple[Integrator, Case]]:
    kinds, records = _listed("cases", cases), map(integrators.get, _names(names))
    return [(record, case) for record in records for case in applicable(record, kinds)]


def _names(given: Any) -> tuple[Any, ...]:
    names = _listed("names", given, Integrator)
    return (*integrators.names(), *integrators.KICKED) if names is None else names


def _listed(what: str, given: Any, or_else: type = str) -> tuple[Any, ...] | None:
    if given is None:
        return None
    if not isinstance(given, list | tuple) or not all(isinstance(x, str | or_else) for x in given):
        records = "" if or_else is str else ", or of records of your own"
        raise ValueError(f"{what} must be a list of names{records}, got {given!r}")
    return tuple(given)


def measured(tasks: Sequence[Callable[[], T]], jobs: int, progress: Progress = None) -> list[T]:
    """The result of each task; with several jobs, other processes must be able to import it."""
    found, several = list[T](), count("jobs", jobs) > 1
    processes = max(1, min(jobs, len(tasks)))
    try:
        fresh = get_context("spawn")  # a fork of a process with threads may hang
        shared: Any = ProcessPoolExecutor(processes, fresh) if several else nullcontext()
        with shared as pool:
            for one in (pool.map if several else map)(operator.call, tasks):
                found.append(one)
                if progress:
                    progress(len(found), len(tasks))
    except BrokenProcessPool:
        raise ChildProcessError(
            f"one of {processes} processes ended before its work was done: it was killed, as "
            "happens when memory is full, or it could not be started"
        ) from None
    return found
