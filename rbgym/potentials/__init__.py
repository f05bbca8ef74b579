"""Potentials: torques that derive from an energy V.

To add your own, subclass `Potential`; see rbgym/potentials/interface.py.
"""

from typing import Any

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


def checked(potential: Any) -> Potential:
    """The potential with float fields; a ValueError says what is wrong with it."""
    if potential is None:
        return NoPotential()
    if isinstance(potential, Potential):
        home, *others = (
            next(cls for cls in type(potential).__mro__ if name in vars(cls))
            for name in ("of_lane", "energy", "gradient", "hessian", "torque", "size")
        )
        if home is not Potential and any(
            cls is not home and issubclass(cls, home) for cls in others
        ):
            raise ValueError(
                f"potential must be of a subclass of Potential itself, not of {home.__name__}, "
                f"whose rows would replace its own methods, got {potential!r}"
            )
        return potential.checked()
    raise ValueError(
        "potential must be None, NoPotential(), HeavyTop(mgl, axis), SoftWall(sign, axis), "
        "GravityGradient(k, direction), CircularOrbit(rate, direction, normal), KeplerOrbit(mu, "
        f"position, velocity) or a subclass of rbgym.potentials.Potential, got {potential!r}"
    )
