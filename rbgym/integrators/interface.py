"""What the engine asks of a scheme.

All vectors are tuples of floats in principal axes, except L, which is in world axes.
"""

import abc
from typing import Any, NamedTuple

from rbgym.compiled.record import Record
from rbgym.quaternion import Quaternion, Vector


class Body(NamedTuple):
    """Principal moments J [kg m^2], their reciprocals, rotor momentum [kg m^2/s]."""

    J: Vector
    J_inv: Vector
    rotor: Vector


class Step(NamedTuple):
    """One step to be solved: its start, the held torque u, the length h and the scheme's memory.

    q, L: attitude and world momentum; Pi_0: body momentum; o_0: direction of the potential; is_new:
    whether the torque was set since the last step.
    """

    q: Quaternion
    L: Vector
    Pi_0: Vector
    o_0: Vector
    u: Vector
    h: float
    memory: Any
    is_new: bool


class Scheme(Record):
    """What all schemes have. Derive one from `Explicit` or from `Implicit`.

    Memory is what a body carries from step to step besides q, L, E and rotors. In the methods for
    it `i` is where the lane's first row lies in the buffer and `m` where its first memory row does.
    """

    @abc.abstractmethod
    def finish(self, potential, body, step, x):
        """New attitude q_1, world momentum L_1, discrete work of the torque u, and new memory."""

    def reach(self):
        """Largest |x|^2 that the scheme's formulas are made for."""
        return 1.0

    def conserves_energy(self, potential):
        """Whether the total energy is conserved in exact arithmetic; known while compiling."""
        return False

    def memory_size(self):
        """Number of rows of memory; known while compiling."""
        return 0

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
    """A scheme without unknowns: everything is done in `finish`.

    What is not finite is refused: a step beyond the reach of the scheme returns NaN as its L_1.
    """

    def is_explicit(self):
        return True

    def fraction(self):
        return 0.0

    def equation(self, potential, body, step, x):
        return (0.0, 0.0, 0.0), ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), 0.0

    def defect(self, potential, body, step, x, Pi_1, o_1):
        # Nothing was solved; the product is NaN, and the step refused, if the state is not finite.
        return 0.0 * (Pi_1[0] + Pi_1[1] + Pi_1[2]), 0.0


class Hasty(Explicit):
    """An explicit scheme that leaves some lanes to a slower one."""

    @abc.abstractmethod
    def thorough(self):
        """The scheme, a constant, that takes up the lanes that this one could not solve."""


class Implicit(Scheme):
    """A scheme with three unknowns x, a multiple of the rotation vector of the step.

    The engine predicts them, solves their `equation` and lets `finish` build the new state.
    """

    def is_explicit(self):
        return False

    @abc.abstractmethod
    def fraction(self):
        """The unknowns of a small step as a fraction of its rotation vector."""

    @abc.abstractmethod
    def equation(self, potential, body, step, x):
        """The equation F(x), its derivative dF/dx, and the square of the size of F's terms.

        F is scaled so that for short steps it is J x / (fraction h) minus a mean body momentum.
        """

    @abc.abstractmethod
    def defect(self, potential, body, step, x, Pi_1, o_1):
        """Square of what the equation still lacks at the new state, and of its scale."""
