"""Symmetric compositions: a step made of shorter and backward steps of a symmetric base scheme.

A base of order p, its errors being even, reaches order p + 2 with Suzuki's five stages: two of
w h, one of (1 - 4 w) h and two of w h again, w = 1/(4 - 4^(1/(p+1))). Order 6 from 2 takes nine
stages. What the base conserves at any step length, the composition conserves.
"""

import math
from dataclasses import replace

import numpy as np

from rbgym.arguments import is_number
from rbgym.integrators.interface import Integrator


def _suzuki(p: int) -> list[float]:
    w = 1.0 / (4.0 - 4.0 ** (1.0 / (p + 1.0)))
    return [w, w, 1.0 - 4.0 * w, w, w]


# Kahan & Li (1997), method s9odr6a; Hairer, Lubich & Wanner (2006), section V.3.2.
_HALF_OF_NINE = [
    0.39216144400731413927925056,
    0.33259913678935943859974864,
    -0.70624617255763935980996482,
    0.08221359629355080023149045,
]
_NINE = [*_HALF_OF_NINE, 1.0 - 2.0 * math.fsum(_HALF_OF_NINE), *reversed(_HALF_OF_NINE)]

# (order of the base, order of the composition): lengths of its stages in units of h.
_TABLE = {(2, 4): _suzuki(2), (2, 6): _NINE, (4, 6): _suzuki(4)}

# What the kernels read: row 0 is the base itself, the others follow the table.
STAGES = np.array([1, *(len(row) for row in _TABLE.values())])
LENGTHS = np.zeros((len(STAGES), STAGES.max()))
LENGTHS[0, 0] = 1.0
for _index, _row in enumerate(_TABLE.values()):
    LENGTHS[_index + 1, : len(_row)] = _row


def compose(base: Integrator, order: int) -> Integrator:
    """The composition of a symmetric scheme, for use wherever a name is: "imidm:4" names it too.

    Raises ValueError if the base is not symmetric, is composed already, or if there is no
    composition of that order.
    """
    if base.composition or not base.symmetric:
        raise ValueError(f"base must be symmetric and not composed already, got {base.name!r}")
    orders = sorted(target for source, target in _TABLE if source == base.order)
    if not is_number(order) or order not in orders:
        allowed = " or ".join(map(str, orders))
        raise ValueError(f"order must be {allowed} with base {base.name!r}, got {order!r}")
    order = int(order)
    return replace(
        base,
        name=f"{base.name}:{order}",
        title=f"{base.title}, composed",
        order=order,
        free_order=None if base.free_order is None else max(order, base.free_order),
        source=f"{base.source}; composed after Suzuki (1990) or Kahan & Li (1997)",
        composition=1 + list(_TABLE).index((base.order, order)),
    )
