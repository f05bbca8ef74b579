"""One measured statement about one integrator."""

import math
from typing import NamedTuple


class Claim(NamedTuple):
    """What is declared of an integrator in a case, and what was measured.

    case: the potential of a generic case, or a paper's case. bound: the limit that decided: an
    upper one for what is declared conserved, a lower one for what is not, the allowed distance
    from the declared order for an order.
    """

    integrator: str
    case: str
    quantity: str
    declared: str
    measured: float
    bound: float
    passed: bool


def below(
    integrator: str, case: str, quantity: str, declared: str, measured: float, bound: float
) -> Claim:
    """A claim that holds where the measured value stays at or below the bound."""
    return Claim(integrator, case, quantity, declared, measured, bound, measured <= bound)


def above(
    integrator: str, case: str, quantity: str, declared: str, measured: float, bound: float
) -> Claim:
    """A claim that holds where the measured value is finite and above the bound."""
    passed = bound < measured < math.inf
    return Claim(integrator, case, quantity, declared, measured, bound, passed)


def near(
    integrator: str, case: str, quantity: str, declared: float, measured: float, bound: float
) -> Claim:
    """A claim that holds where the measured value is within the bound of the declared one."""
    passed = abs(measured - declared) <= bound
    return Claim(integrator, case, quantity, f"{declared:g}", measured, bound, passed)
