"""Torques that nobody commanded."""

from typing import Any

import numpy as np

from rbgym.arguments import is_number
from rbgym.engine.rows import put_vector
from rbgym.envs.arguments import in_range, keys, triple
from rbgym.envs.parts import Part
from rbgym.envs.random import LARGEST_NORMAL, normals
from rbgym.potentials import CircularOrbit
from rbgym.quaternion import Array, Vector, add, times

_USE = 6  # of the noise's numbers; sensors take those before


class Disturbance(Part):
    """A torque beside the commanded one; as it stands, there is none."""

    def push(self, rows, buffer, i):
        """Set the disturbance rows of the actuator for the next control period."""

    def largest(self) -> Array:
        """Largest torque about each body axis [N m], (3,)."""
        return np.zeros(3)


class Calm(Disturbance):
    """No torque, or that of a callable."""


class Pushed(Disturbance):
    """A constant torque, and white noise held for each control period; body axes [N m].

    noise: its standard deviation; no number of it is beyond 3.47 times that.
    """

    constant: Vector
    noise: Vector

    def is_noisy(self):
        return True

    def push(self, rows, buffer, i):
        n = normals(rows.noise_key(buffer, i), rows.elapsed(buffer, i), _USE)
        row = rows.physics.actuator.disturbance_row(rows.physics)
        put_vector(buffer, i, row, add(self.constant, times(self.noise, n)))

    def largest(self) -> Array:
        return np.abs(self.constant) + LARGEST_NORMAL * np.array(self.noise)


def chosen(value: Any, has_weight: bool) -> tuple[Disturbance, CircularOrbit | None]:
    """What the argument stands for: a torque, and an orbit."""
    if value is None or callable(value):
        return Calm(), None
    given = keys("disturbance", value, ("constant", "white_noise", "gravity_gradient"))
    orbit = None
    if "gravity_gradient" in given:
        if has_weight:
            raise ValueError(
                "disturbance['gravity_gradient'] must be left out for a body with weight, "
                f"got {given['gravity_gradient']!r}"
            )
        name = "disturbance['gravity_gradient']"
        orbit = CircularOrbit(in_range(name, given["gravity_gradient"], 0.0, 1.0))
    constant = triple("disturbance['constant']", given.get("constant", (0, 0, 0)))
    noise = given.get("white_noise", 0.0)
    noise = triple("disturbance['white_noise']", [noise] * 3 if is_number(noise) else noise)
    if min(noise) < 0:
        raise ValueError(f"disturbance['white_noise'] must not be negative, got {[*noise]}")
    return Pushed(constant, noise) if any((*constant, *noise)) else Calm(), orbit
