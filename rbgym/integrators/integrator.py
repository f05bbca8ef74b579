"""What the catalogue says of an integrator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from rbgym.integrators.interface import Scheme

ENERGY, MOMENTUM = "energy", "angular_momentum"
UPRIGHT = "vertical_momentum"
# Potentials by kind: the keys of `Integrator.conserves`.
FREE, TOP, WALL, TIDE = "none", "heavy_top", "soft_wall", "gravity_gradient"


def conserved(
    free: tuple[str, ...] = (), top: tuple[str, ...] = (), steep: tuple[str, ...] = ()
) -> dict[str, tuple[str, ...]]:
    """Invariants of a free body, in uniform gravity, and in potentials that vary."""
    return {FREE: free, TOP: top, WALL: steep, TIDE: steep}


CONSERVES_ALL = conserved((ENERGY, MOMENTUM), (ENERGY, UPRIGHT), (ENERGY, UPRIGHT))
CONSERVES_FREE_ENERGY = conserved((ENERGY, MOMENTUM), (UPRIGHT,), (UPRIGHT,))
CONSERVES_MOMENTUM = conserved((MOMENTUM,), (UPRIGHT,), (UPRIGHT,))


@dataclass(frozen=True)
class Integrator:
    """One scheme of the catalogue.

    order: of the motion under a held torque and a potential; free_order: of the free motion,
    where that is higher (infinite: exact but for round-off).
    conserves: for each potential ("none", "heavy_top", "soft_wall", "gravity_gradient") the
    invariants kept to round-off, out of "energy", "angular_momentum" (the world vector) and
    "vertical_momentum" (its component along the world's third axis). Every scheme keeps the
    reported quaternion at unit length.
    supports: out of "potential", "torque" (held over the step), "rotors", "translation" (the centre
    of mass moves too) and "scale" (the body changes its size).
    vectorised: whether several bodies are stepped by one instruction; else one by one.
    composition: row of `composition.LENGTHS`, 0 for the scheme itself.
    checked: for a scheme with options, the record with what it declares made to fit them.
    """

    name: str
    scheme: Scheme = field(repr=False)
    title: str
    source: str
    order: int
    symmetric: bool = False
    conserves: dict[str, tuple[str, ...]] = field(default_factory=conserved)
    supports: tuple[str, ...] = ("potential", "torque", "rotors", "translation")
    free_order: float | None = None
    vectorised: bool = True
    composition: int = 0
    checked: Callable[[Integrator], Integrator] | None = field(default=None, repr=False)

    @property
    def explicit(self) -> bool:
        """Whether a step takes no solution of equations."""
        return bool(self.scheme.is_explicit())

    @property
    def memory(self) -> int:
        """Number of values that a body carries besides attitude, momentum and energy level."""
        return int(self.scheme.memory_size())

    def revised(self, **options: Any) -> Integrator:
        """The record with other options of its scheme.

        Raises ValueError for an option that the scheme does not have, or a value it does not take.
        """
        if not options:
            return self
        if self.checked is None or not set(options) <= set(self.scheme._fields):
            allowed = list(self.scheme._fields) if self.checked else []
            raise ValueError(
                f"options of integrator {self.name!r} must be among {allowed}, got {options}"
            )
        name = f"{self.name}({', '.join(f'{k}={v}' for k, v in options.items())})"
        scheme = type(self.scheme)(**{**self.scheme._asdict(), **options})
        return self.checked(replace(self, name=name, scheme=scheme))
