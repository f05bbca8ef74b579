"""What the engine asks of a scheme, and what the catalogue says of it.

All vectors are tuples of floats in principal axes, except L, which is in world axes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from rbgym.compiled.record import Record, constant, known, missing_methods, required
from rbgym.quaternion import Quaternion, Vector


class Body(NamedTuple):
    """Principal moments J [kg m^2], their reciprocals, rotor momentum [kg m^2/s]."""

    J: Vector
    J_inv: Vector
    rotor: Vector


class Kicks(NamedTuple):
    """For how long [s] the torques act at once before and after a free motion; those before it with
    so much of their double bracket with the motion, `bend` s^2."""

    before: float
    after: float
    bend: float


class Step(NamedTuple):
    """One step to be solved: its start, the held torque u, the length h and the scheme's memory.

    q, L: attitude and world momentum; Pi_0: body momentum; o_0: direction of the potential; is_new:
    whether the torque was set since the last step. Of schemes that are kicked: the kicks, and the
    potential as it is at the end.
    """

    q: Quaternion
    L: Vector
    Pi_0: Vector
    o_0: Vector
    u: Vector
    h: float
    memory: Any
    is_new: bool
    kicks: Kicks
    later: Any


class Scheme(Record):
    """What all schemes have. Derive one from `Explicit` or from `Implicit`.

    Memory is what a body carries from step to step besides q, L, E and rotors. In the methods for
    it `i` is where the lane's first row lies in the buffer and `m` where its first memory row does.
    """

    @required
    def is_explicit(self):
        """Whether a step takes no solution of equations."""

    @required
    def has_unknowns(self):
        """Whether the engine solves equations for it; known while compiling."""

    @required
    def finish(self, potential, body, step, x):
        """New attitude q_1, world momentum L_1, discrete work of the torque u, and new memory."""

    def with_rotors(self):
        """The scheme for bodies with rotors, if it is another: a constant, of equal memory."""
        return self

    def when_symmetric(self):
        """The scheme for bodies whose first two moments are equal and that have no rotors, if it is
        another: a constant, of equal memory."""
        return self

    def when_free(self):
        """Of a kicked scheme: the one, if any, of order four and equal memory that takes the place
        of its composition where there is no potential and no rotor; a constant."""

    prepares = constant(False, "Whether `prepare` is called before `finish`, for all bodies first.")
    reach = constant(1.0, "Largest |x|^2 that the scheme's formulas are made for.")

    @known
    def conserves_energy(self, potential):
        """Whether the total energy is conserved in exact arithmetic; known while compiling."""
        return False

    level_follows = constant(False, "Whether the level is the energy, and no work, under a torque.")
    is_kicked = constant(False, "Whether torques act at the ends of a free motion alone.")

    @known
    def is_projected(self, potential):
        """Whether the energy is brought back to its level at the end of each step, which the scheme
        does not conserve by itself; known while compiling."""
        return False

    memory_size = constant(0, "Number of rows of memory.")

    def load_memory(self, buffer, i, m):
        """The memory of the lane, as `step.memory`."""
        return ()

    def store_memory(self, buffer, i, m, memory, unchanged):
        """Write the memory rows; `unchanged`: leave them as they are."""

    def reset_memory(self, buffer, i, m, q, omega):
        """Write the memory of a body that starts at attitude q with body rates omega."""


class AnyScheme(Scheme):
    """Stands for every scheme without memory, where only that matters: the kernels for that are
    compiled once."""


class Explicit(Scheme):
    """A scheme without unknowns: everything is done in `finish`, or in `prepare` and `finish`.

    What is not finite is refused: a step beyond the reach of the scheme returns NaN as its L_1. Of
    such a scheme nobody asks for an `equation`, or its `defect`.
    """

    is_explicit = constant(True)
    has_unknowns = constant(False)

    def prepare(self, potential, body, step):
        """Ten numbers that `finish` gets as x: a quaternion and two vectors. Two short passes are
        quicker than a long one: a processor works on several bodies at once as far as it looks
        ahead."""
        return (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)

    def equation(self, potential, body, step, x):
        return (0.0, 0.0, 0.0), ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), 0.0

    def defect(self, potential, body, step, x, Pi_1, o_1):
        return 0.0, 0.0  # nothing was solved


class Hasty(Explicit):
    """An explicit scheme that leaves some lanes to a slower one."""

    @required
    def thorough(self):
        """The scheme, a constant, that takes up the lanes that this one could not solve."""


class Implicit(Scheme):
    """A scheme with three unknowns x, a multiple of the rotation vector of the step.

    The engine predicts them, solves their `equation` and lets `finish` build the new state.
    """

    is_explicit = constant(False)
    has_unknowns = constant(True)

    @required
    def fraction(self):
        """The unknowns of a small step as a fraction of its rotation vector."""

    @required
    def equation(self, potential, body, step, x):
        """The equation F(x), its derivative dF/dx, and the square of the size of F's terms.

        F is scaled so that for short steps it is J x / (fraction h) minus a mean body momentum.
        """

    @required
    def defect(self, potential, body, step, x, Pi_1, o_1):
        """Square of what the equation still lacks at the new state, and of its scale."""


ENERGY, MOMENTUM = "energy", "angular_momentum"
UPRIGHT, SPIN = "vertical_momentum", "spin"
# Potentials by kind: the keys of `Integrator.conserves`.
FREE, TOP, WALL, TIDE = "none", "heavy_top", "soft_wall", "gravity_gradient"


def conserved(
    free: tuple[str, ...] = (), top: tuple[str, ...] = (), steep: tuple[str, ...] = ()
) -> dict[str, tuple[str, ...]]:
    """Invariants of a free body, in uniform gravity, and in potentials that vary."""
    return {FREE: free, TOP: top, WALL: steep, TIDE: steep}


def with_spin(conserves: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The same, and in potentials the spin of a symmetric body about their axis."""
    return {kind: kept if kind == FREE else (*kept, SPIN) for kind, kept in conserves.items()}


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
    "vertical_momentum" (its component along the world's third axis); and "spin", the rate about the
    third axis where J_1 = J_2, not J_3, and the potential has that axis. Every scheme keeps the
    reported quaternion at unit length.
    energy_by_projection: whether the energy in a potential, or with rotors, is kept by taking a
    part of the error of each step away, and not by the scheme itself.
    supports: out of "potential", "torque" (held over the step), "rotors", "translation" (the centre
    of mass moves too) and "scale" (the body changes its size).
    of_rates: whether the rates themselves are advanced, and not derived from a momentum in world
    axes: then a small error of the attitude is no large one of a slender body's spin.
    vectorised: whether several bodies are stepped by one instruction; else one by one.
    composition: row of `composition.STAGES`, 0 for the scheme itself.
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
    energy_by_projection: bool = False
    of_rates: bool = False
    checked: Callable[[Integrator], Integrator] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Raises ValueError unless the scheme is of a class that has all methods."""
        if not isinstance(self.scheme, Explicit | Implicit):
            raise ValueError(
                "scheme must be of a subclass of rbgym.integrators.Explicit or Implicit, "
                f"got {self.scheme!r}"
            )
        if missing := missing_methods(type(self.scheme)):
            raise ValueError(
                f"scheme must be of a class with the methods {', '.join(missing)}, "
                f"got {self.scheme!r}"
            )

    @property
    def explicit(self) -> bool:
        """Whether a step takes no solution of equations."""
        return bool(self.scheme.is_explicit())

    @property
    def memory(self) -> int:
        """Number of values that a body carries besides attitude, momentum and energy level."""
        return int(self.scheme.memory_size())

    @property
    def by_kicks(self) -> bool:
        """Whether it is composed of kicks and exact motions, not of whole steps."""
        return self.composition > 0 and bool(self.scheme.is_kicked())

    def is_projected(self, quantity: str, potential: str) -> bool:
        """Whether an invariant is kept in a potential of this kind by projection alone."""
        return self.energy_by_projection and quantity == ENERGY and potential != FREE

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
