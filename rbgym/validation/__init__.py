"""Each integrator measured against what the catalogue declares of it: `rbgym validate`."""

from collections.abc import Sequence

from rbgym import integrators
from rbgym.simulate import count
from rbgym.validation.cases import applicable
from rbgym.validation.claims import Claim, table
from rbgym.validation.conservation import conservation
from rbgym.validation.order import order

__all__ = ["Claim", "table", "validate"]


def validate(names: Sequence[str] | None = None, *, steps: int = 20_000) -> list[Claim]:
    """Claims on the named integrators (default all), measured over runs of `steps` steps.

    Every declaration is tested both ways: a declared invariant must stay under its bound, one
    that is not declared must drift over its own, and the order must be the declared one.

    Raises ValueError for an unknown name, or steps that are not a positive integer.
    """
    steps = count("steps", steps)
    if isinstance(names, str):
        raise ValueError(f"names must be a list of integrators, got the string {names!r}")
    records = [integrators.get(name) for name in (integrators.names() if names is None else names)]
    claims: list[Claim] = []
    for record in records:
        for case in applicable(record):
            claims += conservation(record, case, steps)
            claims.append(order(record, case))
    return claims
