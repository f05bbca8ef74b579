"""The exact free motion of a rigid body, between half kicks of the torques.

    L <- L + (h/2) R_0 T_0,  free motion over h in closed form,  L <- L + (h/2) R_1 T_1.

Without torques there is no error but round-off at any length of the step (see `elliptic`); with
them the scheme is symmetric, symplectic and of order two (Celledoni, Fasso, Saefstroem & Zanna
2008).
"""

import math
from typing import NamedTuple

from rbgym.compiled.jit import for_type
from rbgym.integrators.elliptic import free_rotation, near_rotation
from rbgym.integrators.interface import conserves_energy, finish, thorough
from rbgym.integrators.record import KEEPS_FREE_ENERGY, Integrator
from rbgym.integrators.splitting import ended, kicked
from rbgym.potentials.interface import is_free
from rbgym.quaternion import scale


class Exact(NamedTuple):
    """Names the scheme to the engine."""


class ExactFar(NamedTuple):
    """The same for steps of any length, one body after the other."""


@for_type(finish, Exact)
def _(scheme, potential, body, step, x):
    turn, reached = near_rotation(body.J, kicked(potential, step), step.h)
    q_1, L_1, work, memory = ended(potential, body, step, turn)
    # What is not finite is refused, and taken up by the other.
    return q_1, scale(1.0 if reached else math.nan, L_1), work, memory


@for_type(thorough, Exact)
def _(scheme):
    return ExactFar()


@for_type(finish, ExactFar)
def _(scheme, potential, body, step, x):
    turn = free_rotation(body.J, kicked(potential, step), step.h)
    return ended(potential, body, step, turn)


@for_type(conserves_energy, Exact, ExactFar)
def _(scheme, potential):
    return is_free(potential)


INTEGRATORS = (
    Integrator(
        name="exact",
        title="exact free motion, kicked by the torques",
        order=2,
        symmetric=True,
        explicit=True,
        conserves=KEEPS_FREE_ENERGY,
        source="Jacobi's elliptic functions; Celledoni et al. (2008)",
        scheme=Exact(),
        supports=("potential", "torque", "translation"),
        free_order=math.inf,
    ),
)
