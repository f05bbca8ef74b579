"""Guesses at what is wrong with a step function, from one very short step of it.

A wrong convention breaks several checks at once; how attitude and rates answer each other in a
short step tells which one it is.
"""

import numpy as np

from rbgym.fidelity.symmetry import State
from rbgym.quaternion import Array, conjugate, multiply, normalized

_ALIKE = 0.02  # relative distance within which two vectors count as the same


def hints(start: State, end: State, inertia: Array, dt: float) -> tuple[str, ...]:
    """What a step of dt [s] seems to get wrong; empty if nothing is recognised."""
    (before, rates), (after, rates_after) = start, end
    if not np.isfinite([*after, *rates_after]).all() or not after.any():
        return ()
    attitude = _attitude(before, normalized(after), rates, dt)
    gyroscopic = _gyroscopic(inertia, rates, (rates_after - rates) / dt)
    return tuple(hint for hint in (attitude, gyroscopic) if hint)


def _attitude(before: Array, after: Array, rates: Array, dt: float) -> str:
    body = _rate(conjugate(before), after, dt)
    world = _rate(after, conjugate(before), dt)
    last = _rate(conjugate(np.roll(before, 1)), np.roll(after, 1), dt)
    guesses = [
        (body, rates, ""),
        (world, rates, "the attitude turns as if the rates were in world axes"),
        (world, -rates, "the quaternion seems to map world to body"),
        (body, -rates, "the attitude turns the wrong way"),
        (body, 2 * rates, "the attitude turns twice as fast: q' = q omega / 2 lacks its half"),
        (body, rates / 2, "the attitude turns half as fast: a half too many in q' = q omega / 2"),
        (last, rates, "the quaternion seems to be scalar-last (x, y, z, w)"),
        (body, 0 * rates, "the attitude does not turn"),
    ]
    fits = (hint for seen, wanted, hint in guesses if _same(seen, wanted, rates))
    return next(fits, "the attitude does not turn with the rates")


def _gyroscopic(inertia: Array, rates: Array, seen: Array) -> str:
    wanted = np.asarray(np.linalg.solve(inertia, np.cross(inertia @ rates, rates)), np.float64)
    if np.linalg.norm(wanted) < _ALIKE * np.linalg.norm(rates) ** 2 or _same(seen, wanted, wanted):
        return ""
    if _same(seen, 0 * wanted, wanted):
        return "the rates do not change: the gyroscopic term omega x J omega is missing"
    if _same(seen, -wanted, wanted):
        return "the gyroscopic term omega x J omega has the wrong sign"
    return "the rates do not follow Euler's equations"


def _rate(left: Array, right: Array, dt: float) -> Array:
    """Angular velocity of the small turn left o right, q and -q being the same."""
    turn = multiply(left, right)
    return np.asarray(2.0 * turn[1:] / dt * (1.0 if turn[0] >= 0.0 else -1.0))


def _same(seen: Array, wanted: Array, scale: Array) -> bool:
    return bool(np.linalg.norm(seen - wanted) <= _ALIKE * np.linalg.norm(scale))
