"""The interface of a scheme to the engine, and its entry in the catalogue.

All vectors are tuples of floats in principal axes, except L, which is in world axes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from rbgym.arguments import count
from rbgym.compiled.record import Record, constant, known, missing_methods, required
from rbgym.quaternion import Quaternion, Vector


class Body(NamedTuple):
    """Principal moments J [kg m^2], their reciprocals, rotor momentum [kg m^2/s], principal axes:
    three vectors (x, y, z)."""

    J: Vector
    J_inv: Vector
    rotor: Vector


class Kicks(NamedTuple):
    """Kicks before and after a free motion: for how long [s] the torques act in each. The first one
    includes `bend` [s^2] times the double bracket of torques and motion."""

    before: float
    after: float
    bend: float


class Step(NamedTuple):
    """The data of one step: its start, the held torque, the length and the scheme's memory.

    q: attitude, a unit quaternion (w, x, y, z). L, Pi_0: angular momentum with that of the rotors
    [kg m^2/s], in world axes and in principal axes. o_0: direction of the potential, a unit vector
    in principal axes. u: held torque [N m], principal axes. h: length of the step [s]. memory: what
    the last step returned, () without memory. is_new: whether the torque was set since the last
    step. For kicked schemes only: the kicks, and `later`, the potential at the end of the step.
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
    """Base class of all schemes. Derive yours from `Explicit` or from `Implicit`.

    Memory is what a body carries from step to step in addition to q, L, E and rotors. In its
    methods `i` is the index of the lane's first row in the buffer, `m` of its first memory row.
    """

    has_unknowns = constant(False, "Whether the engine solves equations for it.")

    def is_explicit(self):
        """Whether a step solves no equations."""
        return not self.has_unknowns()

    @required
    def finish(self, potential, body, step, x):
        """The state after the step: attitude (w, x, y, z) of unit length, momentum in world axes
        [kg m^2/s], work of the torque u [J], memory.

        potential: `potential.torque(u, o)` is the sum of both torques [N m] at the direction o, and
        `to_body(turn, step.o_0)` that direction after a turn. body: a `Body`. step: a `Step`. x:
        solution of the equation, or what `prepare` returned. The work, 0.0 for a scheme that does
        not conserve energy, is added to the level to which the engine projects it.
        """

    def variant(self, free, rotors, symmetric):
        """The scheme, of equal memory, that steps such bodies; a constant. free: there is no
        potential and no rotor, and another scheme, of order four, replaces the composition of this
        kicked scheme. rotors: bodies have rotors. symmetric: their first two moments are equal."""
        return self

    is_hasty = constant(False, "Whether it leaves some lanes to a slower scheme, see `Hasty`.")
    prepares = constant(False, "Whether the engine calls `prepare` for all bodies, then `finish`.")
    reach = constant(1.0, "Largest |x|^2 at which the scheme's formulas are accurate.")

    @known
    def conserves_energy(self, potential):
        """Whether the step conserves total energy in exact arithmetic; a compile-time constant."""
        return False

    level_follows = constant(False, "Whether, under a torque, the level is just the new energy.")
    is_kicked = constant(False, "Whether torques act only at the ends of a free motion.")

    @known
    def is_projected(self, potential):
        """Whether the engine projects the energy, which the scheme does not conserve by itself,
        back to its level after each step; a compile-time constant."""
        return False

    memory_size = constant(0, "Number of rows of memory.")
    keeps_state = constant(False, "Whether the memory is state that nothing else implies.")

    def load_memory(self, buffer, i, m):
        """The memory of the lane, as `step.memory`."""
        return ()

    def store_memory(self, buffer, i, m, memory, unchanged):
        """Write the memory rows, unless `unchanged`."""

    def reset_memory(self, buffer, i, m, q, omega):
        """Write the memory of a body that starts at attitude q with body rates omega."""


class Explicit(Scheme):
    """A scheme without unknowns: `finish`, or `prepare` and `finish`, do everything.

    To reject a step beyond its reach, the scheme returns NaN as the momentum: the state then stays
    as it was before the step, `rbgym.simulate` raises IntegrationError, and an environment ends the
    episode of that body.
    """

    def prepare(self, potential, body, step):
        """Ten numbers that `finish` gets as x: a quaternion and two vectors. Two short passes over
        the bodies are faster than a long one: a processor overlaps the work on several bodies only
        as far as it looks ahead."""
        return (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)


class Hasty(Explicit):
    """An explicit scheme that leaves some lanes to a slower one."""

    is_hasty = constant(True)

    @required
    def thorough(self):
        """The scheme that steps the lanes that this one cannot solve; a constant."""


class Implicit(Scheme):
    """A scheme with three unknowns x, a multiple of the rotation vector of the step.

    The engine predicts them, solves their `equation` and lets `finish` build the new state.
    """

    has_unknowns = constant(True)

    @required
    def fraction(self):
        """The unknowns of a small step as a fraction of its rotation vector."""

    @required
    def equation(self, potential, body, step, x):
        """The equation F(x), its derivative dF/dx, three rows, and the squared size of F's terms.

        F is scaled so that for short steps it is J x / (fraction h) minus a mean body momentum.
        """

    @required
    def defect(self, potential, body, step, x, Pi_1, o_1):
        """Squared residual of the equation at the new state, and the square of its scale. The
        engine accepts a step whose residual is at most 1e-14 of the scale. Pi_1, o_1: the body
        momentum and the potential's direction that `finish` leads to."""


ENERGY, MOMENTUM = "energy", "angular_momentum"
UPRIGHT, SPIN = "vertical_momentum", "spin"
# Potentials by kind: the keys of `Integrator.conserves`.
FREE, TOP, WALL, TIDE = "none", "heavy_top", "soft_wall", "gravity_gradient"
FEATURES = ("potential", "torque", "rotors", "translation", "scale")


def conserved(
    free: tuple[str, ...] = (), top: tuple[str, ...] = (), steep: tuple[str, ...] = ()
) -> dict[str, tuple[str, ...]]:
    """Invariants of a free body, in uniform gravity, and in potentials that vary."""
    return {FREE: free, TOP: top, WALL: steep, TIDE: steep}


def with_spin(conserves: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The same invariants, plus, in potentials, the spin of a symmetric body about their axis."""
    return {kind: has if kind == FREE else (*has, SPIN) for kind, has in conserves.items()}


CONSERVES_ALL = conserved((ENERGY, MOMENTUM), (ENERGY, UPRIGHT), (ENERGY, UPRIGHT))
CONSERVES_FREE_ENERGY = conserved((ENERGY, MOMENTUM), (UPRIGHT,), (UPRIGHT,))
CONSERVES_MOMENTUM = conserved((MOMENTUM,), (UPRIGHT,), (UPRIGHT,))


def _check_names(argument: str, given: Any, known: tuple[str, ...], kind: Any = tuple) -> None:
    """Raise ValueError unless `given` is of this kind and holds known names only."""
    if not isinstance(given, kind) or not all(name in known for name in given):
        raise ValueError(f"{argument} must be a {kind.__name__} of some of {known}, got {given!r}")


@dataclass(frozen=True)
class Integrator:
    """One scheme of the catalogue, or of your own.

    name, title, source: for tables and errors. scheme: an instance of a subclass of `Explicit` or
    `Implicit`. symmetric: whether, without projection, a step back returns to the start; such a
    scheme can be composed. order: for the motion under a held torque and a potential; free_order:
    for the free motion, if that is higher (infinite: exact to round-off).
    conserves: for each potential ("none", "heavy_top", "soft_wall", "gravity_gradient") the
    invariants that it conserves to round-off: "energy", "angular_momentum" (the world vector),
    "vertical_momentum" (its component along the world's third axis) and "spin", the rate about the
    third axis if J_1 = J_2, not J_3, and the potential has that axis; by default none. Usual ones
    are in `interface`: `CONSERVES_ALL`, the first two of a free body, energy and vertical momentum
    in potentials; `CONSERVES_FREE_ENERGY`, the same without the energy in potentials;
    `CONSERVES_MOMENTUM`, without any energy. Every scheme reports quaternions of unit length.
    energy_by_projection: whether a projection, not the scheme itself, conserves the energy in a
    potential or with rotors: it removes a part of each step's error.
    supports: some of "potential", "torque" (held over the step), "rotors", "translation" (the
    centre of mass moves too) and "scale" (the body changes its size).
    of_rates: whether the scheme advances the rates themselves, not a momentum in world axes: then a
    small error of the attitude does not become a large one of a slender body's spin.
    vectorised: whether one instruction steps several bodies; otherwise one by one.
    composition: row of `composition.STAGES`, 0 for the scheme itself.
    checked: for a scheme with options: checks them, and adapts what the entry declares to them.
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
        """Raises ValueError unless the scheme has all required methods and all names are known."""
        if not isinstance(self.scheme, Explicit | Implicit):
            raise ValueError(
                "scheme must be of a subclass of rbgym.integrators.Explicit or Implicit, "
                f"got {self.scheme!r}"
            )
        if lack := missing_methods(type(self.scheme)):
            raise ValueError(f"scheme must have the methods {', '.join(lack)}, got {self.scheme!r}")
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"name must be a text, got {self.name!r}")
        count("order", self.order)
        _check_names("supports", self.supports, FEATURES)
        _check_names("conserves", self.conserves, (FREE, TOP, WALL, TIDE), dict)
        for kind, quantities in self.conserves.items():
            _check_names(f"conserves[{kind!r}]", quantities, (ENERGY, MOMENTUM, UPRIGHT, SPIN))

    @property
    def explicit(self) -> bool:
        """Whether a step solves no equations."""
        return bool(self.scheme.is_explicit())

    @property
    def memory(self) -> int:
        """How many numbers a body carries in addition to attitude, momentum and energy level."""
        return int(self.scheme.memory_size())

    @property
    def by_kicks(self) -> bool:
        """Whether it is a composition of kicks and exact motions, not of whole steps."""
        return self.composition > 0 and bool(self.scheme.is_kicked())

    def is_projected(self, quantity: str, potential: str) -> bool:
        """Whether projection alone conserves this invariant in this kind of potential."""
        return self.energy_by_projection and quantity == ENERGY and potential != FREE

    def revised(self, **options: Any) -> Integrator:
        """A copy whose scheme has these options.

        Raises ValueError for an option that the scheme does not have, or a wrong value.
        """
        if not options:
            return self
        if self.checked is None or not set(options) <= set(self.scheme._fields):
            allowed = list(self.scheme._fields) if self.checked else []
            raise ValueError(
                f"options of integrator {self.name!r} must be some of {allowed}, got {options}"
            )
        name = f"{self.name}({', '.join(f'{k}={v}' for k, v in options.items())})"
        scheme = type(self.scheme)(**{**self.scheme._asdict(), **options})
        return self.checked(replace(self, name=name, scheme=scheme))
