"""The parts a task is made of, compiled into its kernel.

A part is a small `NamedTuple` of numbers; what it does is registered for its class below. All
see the user's body frame: q (w, x, y, z) body to world, omega [rad/s], command in [-1, 1]^3.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from rbgym.envs.layout import OBSERVATION, TERMS
from rbgym.jit import choice, for_type, inlined
from rbgym.layout import LANES
from rbgym.quaternion import Array, canonical, cos_sin, dot, upward

TAU = 2.0 * math.pi


@inlined
def uprightness(q):
    """Cosine of the tilt: the body z axis along the upward vertical."""
    return upward(q)[2]


# --- observation ----------------------------------------------------------------------------


class QuaternionRates(NamedTuple):
    """Canonical quaternion (w >= 0) and omega / scale, never beyond +-bounds."""

    scale: float
    bounds: tuple[float, float, float]

    @classmethod
    def within(cls, scale: float, bounds: Array) -> "QuaternionRates":
        """For rates [rad/s] that stay within +-bounds, (3,)."""
        x, y, z = (float(bound) / scale for bound in bounds)
        return cls(scale, (x, y, z))

    def space(self) -> spaces.Box:
        high = np.array([1.0, 1.0, 1.0, 1.0, *self.bounds], dtype=np.float32)
        return spaces.Box(np.array([0.0, *-high[1:]], dtype=np.float32), high, dtype=np.float32)


@choice
def observe(part: Any, out: Any, i: int, q: Any, omega: Any) -> None:
    """Write the observation rows of the lane at i."""
    raise NotImplementedError


@choice
def width(part: Any) -> int:
    """Number of observation rows; known while compiling."""
    raise NotImplementedError


@for_type(width, QuaternionRates)
def _(part):
    return 7


@inlined
def _within(x, bound):
    return min(max(x, -bound), bound)


@for_type(observe, QuaternionRates)
def _(part, out, i, q, omega):
    c, k = canonical(q), i + OBSERVATION * LANES
    out[k] = _within(c[0], 1.0)
    out[k + LANES] = _within(c[1], 1.0)
    out[k + 2 * LANES] = _within(c[2], 1.0)
    out[k + 3 * LANES] = _within(c[3], 1.0)
    out[k + 4 * LANES] = _within(omega[0] / part.scale, part.bounds[0])
    out[k + 5 * LANES] = _within(omega[1] / part.scale, part.bounds[1])
    out[k + 6 * LANES] = _within(omega[2] / part.scale, part.bounds[2])


# --- reward ---------------------------------------------------------------------------------


class Upright(NamedTuple):
    """1 / (1 + tilt + rate + effort): smooth, in (0, 1], 1 only at rest, upright, without torque.

    tilt = (2 sin(angle/2) / tilt_scale)^2, rate = rate_weight |omega|^2,
    effort = effort_weight * mean of the squared command.
    """

    tilt_scale: float = 0.2
    rate_weight: float = 0.02
    effort_weight: float = 0.02


class Sparse(NamedTuple):
    """1 in the success region, 0 elsewhere."""


@choice
def reward(part: Any, out: Any, i: int, q: Any, omega: Any, command: Any, inside: Any) -> float:
    """The reward of the lane at i; writes its named terms."""
    raise NotImplementedError


@for_type(reward, Upright)
def _(part, out, i, q, omega, command, inside):
    tilt = 2.0 * (1.0 - uprightness(q)) / (part.tilt_scale * part.tilt_scale)
    rate = part.rate_weight * dot(omega, omega)
    effort = part.effort_weight * dot(command, command) / 3.0
    k = i + TERMS * LANES
    out[k] = tilt
    out[k + LANES] = rate
    out[k + 2 * LANES] = effort
    return 1.0 / (1.0 + tilt + rate + effort)


@for_type(reward, Sparse)
def _(part, out, i, q, omega, command, inside):
    return 1.0 if inside else 0.0


# --- success and termination ----------------------------------------------------------------


class Settled(NamedTuple):
    """The success region: tilt below acos(cos_tilt), |omega| below rate [rad/s]."""

    cos_tilt: float
    rate: float


class Fallen(NamedTuple):
    """The end: tilt beyond acos(cos_tilt), or |omega| beyond rate [rad/s]."""

    cos_tilt: float
    rate: float


@inlined
def is_inside(part, q, omega):
    return (uprightness(q) > part.cos_tilt) & (dot(omega, omega) < part.rate * part.rate)


@inlined
def is_over(part, q, omega):
    return (uprightness(q) < part.cos_tilt) | (dot(omega, omega) > part.rate * part.rate)


# --- start ----------------------------------------------------------------------------------


class Tilted(NamedTuple):
    """Tilt uniform in [0, tilt] rad in a uniform direction, spin uniform in +-spin rad/s, rates
    across the axis uniform in a disc of radius `transverse` rad/s."""

    tilt: float
    spin: float
    transverse: float


@choice
def draw(part: Any, a: Any, b: Any) -> Any:
    """Attitude and angular velocity of a start, from eight uniform numbers."""
    raise NotImplementedError


@inlined
def on_circle(u):
    """A uniform direction in the plane, from a uniform number."""
    return cos_sin(TAU * u - math.pi)


@for_type(draw, Tilted)
def _(part, a, b):
    c, s = cos_sin(0.5 * part.tilt * a[0])
    towards, around = on_circle(a[1]), on_circle(b[0])
    q = (c, -s * towards[1], s * towards[0], 0.0)
    across = part.transverse * math.sqrt(a[3])
    omega = (across * around[0], across * around[1], part.spin * (2.0 * a[2] - 1.0))
    return q, omega
