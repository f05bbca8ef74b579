"""Potentials: torques that derive from an energy V.

To add your own, subclass `Potential`; see rbgym/potentials/interface.py.
"""

from typing import Any

import numpy as np

from rbgym.potentials.gravity_gradient import CircularOrbit, GravityGradient, KeplerOrbit
from rbgym.potentials.interface import HeavyTop, NoPotential, Potential
from rbgym.potentials.soft_wall import SoftWall

__all__ = [
    "CircularOrbit",
    "GravityGradient",
    "HeavyTop",
    "KeplerOrbit",
    "NoPotential",
    "Potential",
    "SoftWall",
    "checked",
]

# Directions in which the gradients of users' potentials are checked, none at a round number, where
# walls may begin; and the step [rad].
_PROBES = np.array([(0.31, 0.53, 0.79), (-0.57, 0.61, 0.47), (0.67, -0.13, -0.71)])
_PROBES /= np.linalg.norm(_PROBES, axis=1, keepdims=True)
_SHORT = 1e-5


def checked(potential: Any) -> Potential:
    """The potential with float fields; a ValueError says what is wrong with it."""
    if potential is None:
        return NoPotential()
    if isinstance(potential, Potential):
        home, *rest = (
            next(cls for cls in type(potential).__mro__ if name in vars(cls))
            for name in ("of_lane", "energy", "gradient", "hessian", "torque", "size")
        )
        if home is not Potential and any(cls is not home and issubclass(cls, home) for cls in rest):
            raise ValueError(
                f"potential must be of a subclass of Potential itself, not of {home.__name__}, "
                f"whose rows would replace its own methods, got {potential!r}"
            )
        found = potential.checked()
        if home is Potential and not type(found).__module__.startswith("rbgym."):
            _check_gradient(found)
        return found
    raise ValueError(
        "potential must be None, NoPotential(), HeavyTop(mgl, axis), SoftWall(sign, axis), "
        "GravityGradient(k, direction), CircularOrbit(rate, direction, normal), KeplerOrbit(mu, "
        f"position, velocity) or a subclass of rbgym.potentials.Potential, got {potential!r}"
    )


def _check_gradient(potential: Potential) -> None:
    """Raise ValueError if the gradient of a user's potential is not that of its energy: where a
    projection keeps the energy, nothing else would show that the torque is wrong."""
    for o in _PROBES:
        turned = _SHORT * np.cross(np.eye(3), o)  # changes of o in turns about the three axes
        ends = (o - turned, o + turned)
        energies = np.array([[potential.energy(tuple(p)) for p in side] for side in ends])
        torque = np.cross(o, potential.gradient(tuple(o)))
        slope = np.diff(energies, axis=0)[0] / (2.0 * _SHORT)
        allowed = 1e-3 * max(np.abs(torque).max(), np.abs(slope).max())
        if np.abs(torque - slope).max() > allowed + 1e-9 * np.abs(energies).max():
            raise ValueError(
                "potential must have the gradient of its energy, but in the direction "
                f"{o.tolist()} o x gradient is {torque.tolist()}, and turns change the energy by "
                f"{slope.tolist()} a radian: {potential!r}"
            )
