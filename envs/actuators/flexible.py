"""Flexible modes of a body: vibrating panels and sloshing liquid, each a linear oscillator.

A mode has the coordinate eta [kg^0.5 m], the coupling d (body axes), the frequency W and the
damping ratio z. With the body's rates omega the energy is

    omega.J' omega/2 + eta' d.omega + eta'^2/2 + W^2 eta^2/2,

J' the inertia of everything (Hughes 1986, Spacecraft Attitude Dynamics, chapter 4; with a
frequency that does not depend on the rates). A mode is a rotor on a spring: with its momentum
p = eta' + d.omega the total momentum is L = R (J omega + d p), J = J' - d d^T, and

    p' = -W^2 eta - 2 z W eta',   energy = omega.J omega/2 + p^2/2 + W^2 eta^2/2.

The bracket is split, not the energy: while (eta, p) moves, attitude and L stay; while the body
moves, as any scheme moves one with rotors, eta and p stay. With m = 1 + d.J^-1 d the first part is

    eta' = m p - d.J^-1 (R^T L - other rotors),

an oscillator of the frequency W sqrt(m), in closed form for any step. Half of it comes before a
step, half after it, several modes in turn and then in reverse: symmetric, of order two with every
scheme and composition. Each part keeps L to the last bit and the energy, less the heat of the
damping, which is known. The energy level of the body takes the round-off.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rbgym.arguments import finite, positive, unit
from rbgym.compiled.record import constant
from rbgym.envs.actuators.driven import LineStage
from rbgym.envs.actuators.effector import Element, Setting
from rbgym.envs.parts.columns import Column
from rbgym.envs.rows import Key
from rbgym.quaternion import Array, add, dot, scale, sub, times, to_body
from rbgym.rows import (
    FAILED,
    J_INV,
    LANES,
    ROTOR,
    E,
    L,
    Q,
    parameters,
    put_vector,
    quaternion,
    vector,
    view,
)

_MOST = 4  # modes of a body
_CUT = 100.0  # of the columns
_MOST_DAMPED = 0.1  # of (damping ratio)^2 m: a body of a tenth of the inertia still vibrates


@dataclass(frozen=True)
class FlexibleModes(Element):
    """Vibration modes of what is fixed to the body, with any effector that only turns it.

    coupling: (3,) or up to four rows (n, 3), body axes [kg^0.5 m]: the angular momentum at rest
    over the rate of the modal coordinate. frequency [rad/s], damping (a ratio, at most 0.5): with
    the body held, one for all modes or one for each. The RigidBody's inertia must exclude
    sum d d^T over the couplings d, as that of wheels. An episode begins undeformed, moving with the
    body. State: `deflection` [kg^0.5 m], `deflection_rate` [kg^0.5 m/s], and the heat `dissipated`
    [J]; the observation shows the first two. Several of these in an actuator add up, and replace
    those of the task.

    Raises ValueError for more than four modes, for numbers out of range, and for a mode that its
    damping or its body would keep from vibrating.
    """

    coupling: ArrayLike
    frequency: ArrayLike
    damping: ArrayLike = 0.005

    def __post_init__(self) -> None:
        shapes = (3,), *((n + 1, 3) for n in range(_MOST))
        found = np.atleast_2d(finite("FlexibleModes.coupling", self.coupling, *shapes))
        count = len(found)
        if not np.all(np.abs(found).max(axis=1) > 1e-100) or np.abs(found).max() > 1e100:
            raise ValueError(
                "FlexibleModes.coupling must have no zero row, and numbers up to 1e100, "
                f"got {self.coupling!r}"
            )
        object.__setattr__(self, "coupling", tuple(map(tuple, found.tolist())))
        for name, least, most in (("frequency", 1e-6, 1e6), ("damping", 0.0, 0.5)):
            label, given = f"FlexibleModes.{name}", getattr(self, name)
            value = np.broadcast_to(finite(label, given, (), (count,)), (count,))
            if value.min() < least or value.max() > most:
                raise ValueError(f"{label} must be in [{least:g}, {most:g}], got {given!r}")
            object.__setattr__(self, name, tuple(value.tolist()))

    @classmethod
    def slosh(
        cls,
        mass: float,
        place: ArrayLike,
        axis: ArrayLike,
        frequency: float,
        damping: float = 0.005,
    ) -> Self:
        """Liquid that sloshes in a tank as a pendulum with small swings: two modes across its axis.

        mass [kg]: of the pendulum; for a free body of the mass M the reduced mass m (1 - m/M).
        place: of the pendulum [m], body axes, from the centre of mass of all the rest. axis: of the
        tank, a unit vector. frequency [rad/s], of the thrust or of the surface tension that holds
        the liquid; damping: a ratio. The coupling of the swing along a unit vector e is
        sqrt(mass) place x e; a swing along `place` turns nothing and is left out.
        """
        mass = positive("FlexibleModes.slosh: mass", mass)
        at = finite("FlexibleModes.slosh: place", place, (3,))
        along = unit("FlexibleModes.slosh: axis", axis, 3)
        across = np.cross(along, np.eye(3)[np.abs(along).argmin()])
        across /= np.linalg.norm(across)
        coupling = np.sqrt(mass) * np.cross(at, [across, np.cross(along, across)])
        size = np.abs(coupling).max(axis=1)
        felt = size > max(1e-12 * np.abs(at).max() * np.sqrt(mass), 1e-100)
        if not felt.any():
            raise ValueError(f"FlexibleModes.slosh: place must not be zero, got {place!r}")
        return cls(coupling[felt], frequency, damping)

    def with_others(self, others: "FlexibleModes") -> "FlexibleModes":
        """These modes, and the others after them."""
        both = (np.concatenate([getattr(one, name) for one in (self, others)]).tolist()
                for name in ("coupling", "frequency", "damping"))  # fmt: skip
        return FlexibleModes(*both)

    def record(self, setting: Setting) -> "Modes":
        d, damping = np.array(self.coupling), np.array(self.damping)
        m = 1.0 + np.sum(d * np.linalg.solve(setting.body.inertia, d.T).T, axis=1)
        if np.any(damping**2 * m >= _MOST_DAMPED):
            raise ValueError(
                "FlexibleModes.damping must be less than "
                f"{np.sqrt(_MOST_DAMPED / m).min():.3g} with this body and coupling (of slosh: its "
                f"mass and place), or a mode would not vibrate, got {self.damping!r}"
            )
        scales = [one for column in self.columns(setting.rate) for one in np.array(column.scale)]
        return Modes(self.coupling, self.frequency, self.damping, tuple(map(float, scales)))

    def columns(self, limit: float) -> tuple[Column, ...]:
        """Its columns of an observation, scaled by what stopping from the rate limit excites."""
        rate = np.linalg.norm(self.coupling, axis=1) * limit
        swing = rate / np.array(self.frequency)
        shown = ("deflection", "kg^0.5 m", swing), ("deflection_rate", "kg^0.5 m/s", rate)
        return tuple(
            Column(name, len(rate), unit=of, scale=scale.tolist(), low=-_CUT, high=_CUT)
            for name, of, scale in shown
        )

    def largest(self, setting: Setting) -> Array:
        """Torque about each body axis [N m] of the deflections by which observations are scaled."""
        d, W = np.abs(self.coupling), np.array(self.frequency)
        return np.asarray(W * np.linalg.norm(d, axis=1) * setting.rate @ d)

    def keys(self) -> Mapping[str, Key]:
        """Its state, counted from its own first row."""
        n = len(self.coupling)  # type: ignore[arg-type]
        return {
            "deflection": Key(0, n, 0.0, -1e6, 1e6),
            "deflection_rate": Key(n, n, 0.0, -1e6, 1e6),
            "dissipated": Key(2 * n, 1, 0.0, 0.0, 1e12),
        }


class Modes(LineStage):
    """coupling, frequency, damping: see `FlexibleModes`. scales: of the columns that it shows.
    Rows, from `modes_row` on: deflections, their rates, the heat [J] so far, the momenta p."""

    coupling: Any
    frequency: Any
    damping: Any
    scales: Any
    exist = constant(True)

    def rows_needed(self, physics):
        return 3 * len(self.frequency) + 1

    def slots(self):
        return 2 * len(self.frequency)

    def mode_momentum(self, physics, buffer, i):
        total, k = (0.0, 0.0, 0.0), i + physics.actuator.modes_row(physics) * LANES
        for n in range(len(self.frequency)):
            d = physics.frame.to_principal(physics, buffer, i, self.coupling[n])
            p = buffer[k + (2 * len(self.frequency) + 1 + n) * LANES]
            total = add(total, scale(p, d))
        return total

    def mode_energy(self, physics, buffer, i):
        energy, k = 0.0, i + physics.actuator.modes_row(physics) * LANES
        for n in range(len(self.frequency)):
            strain = self.frequency[n] * buffer[k + n * LANES]
            p = buffer[k + (2 * len(self.frequency) + 1 + n) * LANES]
            energy += 0.5 * (p * p + strain * strain)
        return energy

    def vibrate(self, physics, buffer, i, n, h):
        """Move mode n alone for h seconds, in closed form."""
        count = len(self.frequency)
        k = i + physics.actuator.modes_row(physics) * LANES
        at, heat = k + n * LANES, k + 2 * count * LANES
        W, d = self.frequency[n], physics.frame.to_principal(physics, buffer, i, self.coupling[n])
        J_inv, rotor = parameters(buffer, i, J_INV), vector(buffer, i, ROTOR)
        Pi = to_body(quaternion(buffer, i, Q), vector(buffer, i, L))
        eta, p = buffer[at], buffer[at + (2 * count + 1) * LANES]
        rate, m = p - dot(d, times(J_inv, sub(Pi, rotor))), 1.0 + dot(d, times(J_inv, d))
        gamma, stiff = self.damping[n] * W * m, m * W * W
        ringing = math.sqrt(max(stiff - gamma * gamma, 1e-12 * stiff))
        left = math.exp(-gamma * h)
        c, s = left * math.cos(ringing * h), left * math.sin(ringing * h) / ringing
        eta_1 = (c + gamma * s) * eta + s * rate
        rate_1 = (c - gamma * s) * rate - stiff * s * eta
        p_1 = p + (rate_1 - rate) / m
        strain, strain_1 = W * W * eta * eta, W * W * eta_1 * eta_1
        lost = 0.5 * ((rate * rate - rate_1 * rate_1) / m + strain - strain_1)
        lost = lost if gamma > 0.0 else 0.0
        buffer[at], buffer[at + (2 * count + 1) * LANES] = eta_1, p_1
        buffer[heat] += lost
        buffer[i + E * LANES] += 0.5 * (p * p - p_1 * p_1 + strain - strain_1) - lost
        put_vector(buffer, i, ROTOR, add(rotor, scale(p_1 - p, d)))

    def show(self, physics, buffer, i):
        k = i + physics.actuator.modes_row(physics) * LANES
        shown = i + physics.actuator.shown_modes_row(physics) * LANES
        for n in range(len(self.scales)):
            share = buffer[k + n * LANES] / self.scales[n]
            buffer[shown + n * LANES] = min(max(share, -_CUT), _CUT)

    def swing(self, physics, buffer, i, h):
        for n in range(len(self.frequency)):
            self.vibrate(physics, buffer, i, n, h)
        physics.actuator.gather(physics, buffer, i)

    def swing_back(self, physics, buffer, i, h):
        h = -h if buffer[i + FAILED * LANES] > 0.0 else h  # undoes the half before a refused step
        for n in range(len(self.frequency) - 1, -1, -1):
            self.vibrate(physics, buffer, i, n, h)
        physics.actuator.gather(physics, buffer, i)
        _, omega = view(physics, buffer, i)
        count, k = len(self.frequency), i + physics.actuator.modes_row(physics) * LANES
        for n in range(count):
            rate = buffer[k + (2 * count + 1 + n) * LANES] - dot(self.coupling[n], omega)
            buffer[k + (count + n) * LANES] = rate
        self.show(physics, buffer, i)

    def straighten(self, physics, buffer, i):
        k = i + physics.actuator.modes_row(physics) * LANES
        for n in range(2 * len(self.frequency) + 1):
            buffer[k + n * LANES] = 0.0

    def carry(self, physics, buffer, i, omega):
        count, k = len(self.frequency), i + physics.actuator.modes_row(physics) * LANES
        for n in range(count):
            carried = dot(self.coupling[n], omega)
            buffer[k + (2 * count + 1 + n) * LANES] = buffer[k + (count + n) * LANES] + carried
        self.show(physics, buffer, i)
