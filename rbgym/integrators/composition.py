"""Symmetric compositions: a step made of shorter and backward steps of a symmetric base scheme.

A symmetric base of order p has even errors only, so Suzuki's five stages reach order p + 2: two
steps of w h, one of (1 - 4 w) h and two of w h, w = 1/(4 - 4^(1/(p+1))). Order 6 from order 2 takes
nine stages. The composition conserves what the base conserves at every step length.

A kicked base, exact free motions between kicks of the torques, has its own lengths of kicks and
motions: fewer errors have to cancel, because kicks depend on the attitude alone. For free bodies
the base's `variant` may replace the composition of order four.
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rbgym.arguments import is_number
from rbgym.integrators.interface import Integrator, Scheme
from rbgym.potentials.interface import Potential


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

# Alternating kicks and motions: Blanes & Moan (2002), J. Comput. Appl. Math. 142, 313-330, SRKN11b,
# for kicks that depend on the attitude alone. The first half of each.
_KICKS = [
    0.0414649985182624,
    0.198128671918067,
    -0.0400061921041533,
    0.0752539843015807,
    -0.0115113874206879,
]
_MOTIONS = [
    0.123229775946271,
    0.290553797799558,
    -0.127049212625417,
    -0.246331761062075,
    0.357208872795928,
]


class StepStage(NamedTuple):
    """One stage of a step. A kicked scheme makes a kick of `before` h, bent by `bend` h^2, a motion
    of `length` h and a kick of `after` h; any other scheme makes a whole step of `length` h."""

    length: float
    before: float
    after: float = 0.0
    bend: float = 0.0


def _whole_steps(lengths: list[float]) -> list[StepStage]:
    return [StepStage(length, 0.5 * length, 0.5 * length) for length in lengths]


def _kicks_and_motions() -> list[StepStage]:
    kicks = [*_KICKS, 0.5 - math.fsum(_KICKS)]
    motions = [*_MOTIONS, 1.0 - 2.0 * math.fsum(_MOTIONS), *reversed(_MOTIONS)]
    *stages, last = map(StepStage, motions, [*kicks, *kicks[:0:-1]])
    return [*stages, last._replace(after=kicks[0])]


# Lobatto's quadrature with four nodes (order six) becomes a scheme of order four by double brackets
# in the inner kicks, as Chin (1997), Phys. Lett. A 226, 344-348, does with three nodes. The error
# of order four is small where the torques are. No coefficient is negative.
_ROOT = math.sqrt(5.0)
_NEAR_END, _BEND = 0.5 - 0.5 / _ROOT, (13.0 - 5.0 * _ROOT) / 120.0
_FORWARD = [
    StepStage(_NEAR_END, 1 / 12),
    StepStage(1.0 / _ROOT, 5 / 12, bend=_BEND),
    StepStage(_NEAR_END, 5 / 12, 1 / 12, _BEND),
]

_SOURCES = (
    "Suzuki (1990) or Kahan & Li (1997)",
    "Chin (1997) and Rowlands (1991), or Blanes & Moan (2002)",
)
_BY_STEPS = {(2, 4): _suzuki(2), (2, 6): _NINE, (4, 6): _suzuki(4)}
_BY_KICKS = {4: _FORWARD, 6: _kicks_and_motions()}

# The kernels read these: row 0 is the base itself, the others follow the tables.
_ROWS = [_whole_steps([1.0]), *map(_whole_steps, _BY_STEPS.values()), *_BY_KICKS.values()]
_PLACES: dict[Any, int] = {key: 1 + k for k, key in enumerate([*_BY_STEPS, *_BY_KICKS])}
COUNTS = np.array([len(row) for row in _ROWS])
_NONE = StepStage(0.0, 0.0)
STAGES = np.array([row + [_NONE] * (COUNTS.max() - len(row)) for row in _ROWS])


def choose_scheme(
    record: Integrator, potential: Potential, rotors: bool, symmetric: bool = False
) -> tuple[Scheme, int]:
    """The scheme that steps bodies in this potential, and its row of `STAGES`; symmetric: whether
    the first two moments of each body are equal, and stay so."""
    scheme, composition = record.scheme, record.composition
    if rotors and record.by_kicks:  # the motion is not exact: kicks would lose their order
        composition = _PLACES[2, record.order]
    free = not rotors and record.by_kicks and record.order == 4 and potential.is_free()
    chosen = scheme.variant(free, rotors, symmetric)
    return chosen, 0 if free and chosen is not scheme else composition


def compose(base: Integrator, order: int) -> Integrator:
    """See `rbgym.integrators.compose`."""
    # Memory that is state differs from step to step by more than order six allows.
    highest = 4 if base.scheme.keeps_state() else 6
    orders = [to for source, to in sorted(_BY_STEPS) if source == base.order and to <= highest]
    if base.composition or not base.symmetric or not orders:
        raise ValueError(
            f"base must be symmetric, of order 2 or 4 and not composed already, got {base.name!r}"
        )
    if not is_number(order) or order not in orders:
        allowed = " or ".join(map(str, orders))
        raise ValueError(f"order must be {allowed} with base {base.name!r}, got {order!r}")
    order, kicked = int(order), base.scheme.is_kicked() and base.free_order == math.inf
    return replace(
        base,
        name=f"{base.name}:{order}",
        title=f"{base.title}, composed",
        order=order,
        free_order=None if base.free_order is None else max(order, base.free_order),
        source=f"{base.source}; composed after {_SOURCES[kicked]}",
        composition=_PLACES[order if kicked else (base.order, order)],
    )
