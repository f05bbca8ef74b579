"""Energy-momentum schemes of Betsch & Siebert (2009), equation (51), and of the scalable body.

The published system has seven unknowns. With e = tan(theta/4) n, theta n the rotation vector of the
step, three are left (see `rotations`):

    e = (h/8) J^-1 (Pi_0 + Pi_1 - 2 h_w).

With P = (4/h) J e + h_w, the mean momentum, and the torque tau in body axes at the middle of the
step, this is

    F(e) = (1 - e.e)(P - Pi_0) + 2 e (e.(P - Pi_0)) + 2 e x P - (1 + e.e)(h/2) tau = 0,

tau = u + o_m x g, o_m = cos^2(theta/4) R_half^T o_0, g the divided difference of the potential.
The world impulse is h R_m tau, R_m the attitude at the middle, so a held torque u acts at full
strength; its discrete work is 4 e.u. tests/test_textbook_agreement.py compares the two systems.

SCALABLE_EM is the same discretisation of Moller & Glocker's scalable body, held rigid by a perfect
constraint. The motion is the same; the multiplier is the scaling force that keeps the body's size,

    lambda = -(Omega_0.J Omega_0 + Omega_1.J Omega_1)/2 - S,  S = -g . R_half^T o_0,

the discrete form of their (96). The scheme's memory holds it after each step.
"""

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import constant, known
from rbgym.integrators.interface import CONSERVES_ALL, Implicit, Integrator
from rbgym.integrators.rotations import directions, end_change, forth, mean_change, whole
from rbgym.matrix import crossed, multiple, outer, plus, turning
from rbgym.quaternion import add, cross, dot, qmul, scale, sub, times, to_body, to_world


class QuatEM(Implicit):
    fraction = constant(0.25)

    def memory_after(self, potential, body, step, e, Pi_1):
        return step.memory

    def equation(self, potential, body, step, e):
        h, D, ee = step.h, scale(4.0 / step.h, body.J), dot(e, e)
        P = add(times(D, e), body.rotor)
        w = sub(P, step.Pi_0)
        ew, tau = dot(e, w), _torque(potential, step, e)
        F = add(scale(1.0 - ee, w), scale(2.0 * ew, e))
        F = add(F, sub(scale(2.0, cross(e, P)), scale(0.5 * h * (1.0 + ee), tau)))
        diagonal = add(scale(1.0 - ee, D), (2.0 * ew, 2.0 * ew, 2.0 * ew))
        dF = turning(diagonal, scale(2.0, e), D, scale(2.0, P))
        stretch = outer(e, scale(2.0, add(w, times(D, e))))
        dF = plus(dF, plus(stretch, outer(sub(scale(-2.0, w), scale(h, tau)), e)))
        if not potential.is_free():
            dF = plus(dF, multiple(-0.5 * h * (1.0 + ee), _torque_change(potential, e, step.o_0)))
        size = dot(P, P) + dot(step.Pi_0, step.Pi_0) + h * h * dot(step.u, step.u)
        return F, dF, size

    def finish(self, potential, body, step, e):
        q_1 = qmul(step.q, whole(e))
        impulse = scale(step.h, forth(e, _torque(potential, step, e)))
        L_1 = add(step.L, to_world(step.q, impulse))
        memory = self.memory_after(potential, body, step, e, to_body(q_1, L_1))
        return q_1, L_1, 4.0 * dot(e, step.u), memory

    def defect(self, potential, body, step, e, Pi_1, o_1):
        mean = scale(0.5, add(step.Pi_0, Pi_1))
        r = sub(add(scale(4.0 / step.h, times(body.J, e)), body.rotor), mean)
        return dot(r, r), dot(step.Pi_0, step.Pi_0) + dot(Pi_1, Pi_1) + dot(body.rotor, body.rotor)

    @known
    def conserves_energy(self, potential):
        return True


@inlined
def _torque(potential, step, e):
    """Torque tau in body axes at the middle of the step."""
    if potential.is_free():
        return step.u
    o_m, o_1 = directions(e, step.o_0)
    return add(step.u, cross(o_m, potential.discrete_gradient(step.o_0, o_1)))


@inlined
def _torque_change(potential, e, o_0):
    """Derivative of tau with respect to e."""
    o_m, o_1 = directions(e, o_0)
    g = potential.discrete_gradient(o_0, o_1)
    change = multiple(-1.0, crossed(g, mean_change(e, o_0, o_m)))
    if potential.is_uniform():
        return change
    bend = potential.discrete_gradient_change(o_0, o_1, end_change(e, o_1))
    return plus(change, crossed(o_m, bend))


class ScalableEM(QuatEM):
    """The step of `QuatEM`; its memory is the multiplier lambda."""

    memory_size = constant(1)

    def memory_after(self, potential, body, step, e, Pi_1):
        o_m, o_1 = directions(e, step.o_0)
        S = -(1.0 + dot(e, e)) * dot(o_m, potential.discrete_gradient(step.o_0, o_1))
        Pi_0, Pi_1 = sub(step.Pi_0, body.rotor), sub(Pi_1, body.rotor)
        kinetic = dot(Pi_0, times(body.J_inv, Pi_0)) + dot(Pi_1, times(body.J_inv, Pi_1))
        return -0.5 * kinetic - S

    def load_memory(self, buffer, i, m):
        return buffer[m]

    def store_memory(self, buffer, i, m, memory, unchanged):
        buffer[m] = buffer[m] if unchanged else memory

    def reset_memory(self, buffer, i, m, q, omega):
        buffer[m] = 0.0  # no step yet


INTEGRATORS = (
    Integrator(
        "quat_em",
        QuatEM(),
        "quaternion energy-momentum",
        "Betsch & Siebert (2009), eq. (51)",
        order=2,
        symmetric=True,
        conserves=CONSERVES_ALL,
    ),
    Integrator(
        "scalable_em",
        ScalableEM(),
        "energy-momentum on the scalable body, rigid by a perfect constraint",
        "Moller & Glocker (2012), eqs. (60), (77), (82)",
        order=2,
        symmetric=True,
        conserves=CONSERVES_ALL,
        supports=("potential", "torque", "rotors", "translation", "scale"),
    ),
)
