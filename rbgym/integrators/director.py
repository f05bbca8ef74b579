"""Director energy-momentum scheme, Betsch & Siebert (2009), section 3, after Betsch & Steinmann.

The three directors d_I are the principal axes in the world. They move with velocities v_I, and a
constraint keeps them orthonormal at the ends of the steps:

    d_I,1 - d_I,0 = (h/2)(v_I,0 + v_I,1),
    E_I (v_I,1 - v_I,0) = impulses + constraint impulses along the gradients at the mean directors.

E = (tr J)/2 - J is the Euler tensor. The constraint impulses have no moment, so the moments of the
other impulses alone change the momentum L = sum E_I d_I x v_I: three equations for the three
parameters of C = R_0^T R_1. With w_I = R_0^T v_I,0 and Y_I = (2/h) e_I + w_I they are

    F(e) = -(1/2)(sum E_I C e_I x Y_I + Pi_0 + Pi') = 0,

Pi' = h (R_half u + o_0 x (1 + C)/2 g) the impulses' moment in body axes at the start, by a held
torque u and by the potential with its divided difference g. e = tan(theta/4) n, see `rotations`.

The end velocities are not those of a rigid rotation: the scheme conserves the energy of its
director velocities, its memory, which recomputing them from the rates at each step would lose.
"""

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import constant
from rbgym.integrators.interface import CONSERVES_MOMENTUM, Implicit, Integrator
from rbgym.integrators.rotations import (
    directions,
    end_change,
    forth,
    half_matrix,
    half_turn,
    whole,
    whole_turn,
)
from rbgym.matrix import crossed, multiple, plus, product, transposed
from rbgym.quaternion import add, cross, dot, matrix_of, qconj, qmul, scale, sub, to_body, to_world
from rbgym.rows import put_vector, vector, vector_if


class DirEM(Implicit):
    fraction = constant(0.25)
    memory_size = constant(9)
    keeps_state = constant(True)

    def equation(self, potential, body, step, e):
        C, G = _columns(e), _forces(body, step)
        # Derivative of the moment with respect to body rotations about the axes.
        change = (
            sub(cross(C[1], G[2]), cross(C[2], G[1])),
            sub(cross(C[2], G[0]), cross(C[0], G[2])),
            sub(cross(C[0], G[1]), cross(C[1], G[0])),
        )
        dF = multiple(0.5, product(transposed(change), whole_turn(e)))
        dF = plus(dF, multiple(-0.5, _impulse_change(potential, step, e)))
        return _residual(potential, body, step, e), dF, _size(step)

    def finish(self, potential, body, step, e):
        turn, y, w = whole(e), 2.0 / step.h, step.memory
        L_1 = add(step.L, to_world(step.q, _impulse(potential, step, e)))
        # w_I <- (2/h) e_I - C^T Y_I
        x_1, x_2, x_3 = (y, 0.0, 0.0), (0.0, y, 0.0), (0.0, 0.0, y)
        memory = (
            sub(x_1, to_body(turn, add(x_1, w[0]))),
            sub(x_2, to_body(turn, add(x_2, w[1]))),
            sub(x_3, to_body(turn, add(x_3, w[2]))),
        )
        return qmul(step.q, turn), L_1, 0.0, memory

    def defect(self, potential, body, step, e, Pi_1, o_1):
        F = _residual(potential, body, step, e)
        return dot(F, F), _size(step) + dot(Pi_1, Pi_1)

    def load_memory(self, buffer, i, m):
        return vector(buffer, m, 0), vector(buffer, m, 3), vector(buffer, m, 6)

    def store_memory(self, buffer, i, m, memory, unchanged):
        old = self.load_memory(buffer, i, m)
        put_vector(buffer, m, 0, vector_if(unchanged, old[0], memory[0]))
        put_vector(buffer, m, 3, vector_if(unchanged, old[1], memory[1]))
        put_vector(buffer, m, 6, vector_if(unchanged, old[2], memory[2]))

    def reset_memory(self, buffer, i, m, q, omega):
        put_vector(buffer, m, 0, (0.0, omega[2], -omega[1]))  # omega x e_1
        put_vector(buffer, m, 3, (-omega[2], 0.0, omega[0]))
        put_vector(buffer, m, 6, (omega[1], -omega[0], 0.0))


@inlined
def _euler_tensor(body):
    J = body.J
    return (0.5 * (J[1] + J[2] - J[0]), 0.5 * (J[2] + J[0] - J[1]), 0.5 * (J[0] + J[1] - J[2]))


@inlined
def _forces(body, step):
    """Rows E_I Y_I."""
    E, y, w = _euler_tensor(body), 2.0 / step.h, step.memory
    return (
        scale(E[0], add((y, 0.0, 0.0), w[0])),
        scale(E[1], add((0.0, y, 0.0), w[1])),
        scale(E[2], add((0.0, 0.0, y), w[2])),
    )


@inlined
def _mean_force(e, g):
    """(1 + C)/2 g."""
    return scale(0.5, add(g, forth(e, forth(e, g))))


@inlined
def _impulse(potential, step, e):
    """Pi'."""
    moment = forth(e, step.u)
    if not potential.is_free():
        _, o_1 = directions(e, step.o_0)
        g = potential.discrete_gradient(step.o_0, o_1)
        moment = add(moment, cross(step.o_0, _mean_force(e, g)))
    return scale(step.h, moment)


@inlined
def _impulse_change(potential, step, e):
    """Derivative of Pi' with respect to e."""
    change = product(half_matrix(e), crossed(scale(-1.0, step.u), half_turn(e)))
    if not potential.is_free():
        _, o_1 = directions(e, step.o_0)
        g = potential.discrete_gradient(step.o_0, o_1)
        C = matrix_of(whole(e))
        force = product(C, crossed(scale(-0.5, g), whole_turn(e)))
        if not potential.is_uniform():
            bend = potential.discrete_gradient_change(step.o_0, o_1, end_change(e, o_1))
            force = plus(force, multiple(0.5, plus(bend, product(C, bend))))
        change = plus(change, crossed(step.o_0, force))
    return multiple(step.h, change)


@inlined
def _columns(e):
    """The columns C e_I."""
    return matrix_of(qconj(whole(e)))


@inlined
def _residual(potential, body, step, e):
    C, G = _columns(e), _forces(body, step)
    moment = add(add(cross(C[0], G[0]), cross(C[1], G[1])), cross(C[2], G[2]))
    return scale(-0.5, add(add(moment, step.Pi_0), _impulse(potential, step, e)))


@inlined
def _size(step):
    return dot(step.Pi_0, step.Pi_0) + step.h * step.h * dot(step.u, step.u)


INTEGRATORS = (
    Integrator(
        "dir_em",
        DirEM(),
        "director energy-momentum",
        "Betsch & Siebert (2009), section 3; Betsch & Steinmann (2001)",
        order=2,
        symmetric=True,
        conserves=CONSERVES_MOMENTUM,
        supports=("potential", "torque", "translation"),
        of_rates=True,
    ),
)
