"""What the engine asks of a scheme.

A scheme is a `NamedTuple` class with bodies registered for the functions below. An implicit
scheme has three unknowns x, a multiple of the rotation vector of the step; the engine predicts
them, solves their `equation` and lets `finish` build the new state. An explicit scheme has no
unknowns and does everything in `finish`.

All vectors are tuples of floats in principal axes, except L, which is in world axes.
"""

from typing import Any, NamedTuple

from rbgym.compiled.jit import choice, otherwise
from rbgym.quaternion import Quaternion, Vector


class Body(NamedTuple):
    """Principal moments J [kg m^2], their reciprocals, rotor momentum [kg m^2/s]."""

    J: Vector
    J_inv: Vector
    rotor: Vector


class Step(NamedTuple):
    """One step to be solved: its start, the held torque u, the length h and the memory kept.

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


@choice
def fraction(scheme: Any) -> float:
    """The unknowns of a small step as a fraction of its rotation vector; 0 for explicit."""
    raise NotImplementedError


@otherwise(fraction)
def _(scheme):
    return 0.0


@choice
def reach(scheme: Any) -> float:
    """Largest |x|^2 that the scheme's formulas are made for."""
    raise NotImplementedError


@otherwise(reach)
def _(scheme):
    return 1.0


@choice
def equation(scheme: Any, potential: Any, body: Body, step: Step, x: Vector) -> Any:
    """The equation F(x), its derivative dF/dx, and the square of the size of F's terms.

    F is scaled so that for short steps it is J x / (fraction h) minus a mean body momentum.
    """
    raise NotImplementedError


@otherwise(equation)
def _(scheme, potential, body, step, x):
    return (0.0, 0.0, 0.0), ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), 0.0


@choice
def finish(scheme: Any, potential: Any, body: Body, step: Step, x: Vector) -> Any:
    """New attitude q_1, world momentum L_1, discrete work of the torque u, and new memory."""
    raise NotImplementedError


@choice
def thorough(scheme: Any) -> Any:
    """The scheme that takes up the lanes where an explicit one was too hasty."""
    raise NotImplementedError


@choice
def defect(
    scheme: Any, potential: Any, body: Body, step: Step, x: Vector, Pi_1: Vector, o_1: Vector
) -> Any:
    """Square of what the scheme's equation still lacks at the new state, and of its scale."""
    raise NotImplementedError


@otherwise(defect)
def _(scheme, potential, body, step, x, Pi_1, o_1):
    # Nothing was solved; the product is NaN, and the step refused, if the state is not finite.
    return 0.0 * (Pi_1[0] + Pi_1[1] + Pi_1[2]), 0.0


@choice
def conserves_energy(scheme: Any, potential: Any) -> bool:
    """Whether the total energy is conserved in exact arithmetic; known while compiling."""
    raise NotImplementedError


@otherwise(conserves_energy)
def _(scheme, potential):
    return False


@choice
def memory_size(scheme: Any) -> int:
    """Number of values that a body carries from step to step besides q, L, E and rotors."""
    raise NotImplementedError


@otherwise(memory_size)
def _(scheme):
    return 0


class NoMemory(NamedTuple):
    """Stands for every scheme that keeps nothing, where only what it keeps matters: the kernels
    for that are compiled once."""


@choice
def load_memory(scheme: Any, buffer: Any, m: int) -> Any:
    """The memory of the lane whose first memory row is at m."""
    raise NotImplementedError


@otherwise(load_memory)
def _(scheme, buffer, m):
    return ()


@choice
def store_memory(scheme: Any, buffer: Any, m: int, memory: Any, keep: bool) -> None:
    """Write the memory rows, unless `keep` asks to leave them."""
    raise NotImplementedError


@otherwise(store_memory)
def _(scheme, buffer, m, memory, keep):
    return None


@choice
def reset_memory(scheme: Any, buffer: Any, m: int, q: Quaternion, omega: Vector) -> None:
    """Memory of a body that starts at attitude q with body rates omega."""
    raise NotImplementedError


@otherwise(reset_memory)
def _(scheme, buffer, m, q, omega):
    return None
