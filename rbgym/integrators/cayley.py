"""Schemes that rotate the body by the Cayley map of its mean rates: AKW, AKW_DG and CONVECTED.

    R_1 = R_0 cay(h Omega_m),  Omega_m = J^-1 (P - h_w),  P = (Pi_0 + Pi_1)/2.

With c = tan(theta/2) n, theta n the rotation vector of the step, c = (h/2) Omega_m and

    F(c) = P + c x P - Pi_0 - (h/2) T = 0,  P = (2/h) J c + h_w,

where the body torque T has the world impulse h (R_0 + R_1)/2 T. It is the sum of a held torque u,
which does the discrete work 2 c.u, and of the pull of the potential, which differs between the
schemes. g is the divided difference of the potential and o_m = (o_0 + o_1)/2.
"""

import math

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import constant, known, required
from rbgym.integrators.interface import CONSERVES_ALL, TIDE, WALL, Implicit, Integrator, with_spin
from rbgym.matrix import crossed, multiple, outer, plus, product, skewed, turning
from rbgym.quaternion import add, cross, dot, qmul, qscale, scale, sub, times, to_world


class Cayley(Implicit):
    """Base class: the unknowns are c."""

    fraction = constant(0.5)
    reach = constant(1e4)  # the Cayley map reaches every rotation below half a turn

    @required
    def pull(self, potential, o_0, c):
        """The part of T from the potential."""

    @required
    def pull_change(self, potential, o_0, c):
        """Derivative of the pull with respect to c."""

    def equation(self, potential, body, step, c):
        h, D = step.h, scale(2.0 / step.h, body.J)
        P = add(times(D, c), body.rotor)
        T = _torque(self, potential, step, c)
        F = sub(add(P, cross(c, P)), add(step.Pi_0, scale(0.5 * h, T)))
        dF = turning(D, c, D, P)
        if not potential.is_free():
            dF = plus(dF, multiple(-0.5 * h, self.pull_change(potential, step.o_0, c)))
        size = dot(P, P) + dot(step.Pi_0, step.Pi_0) + h * h * dot(step.u, step.u)
        return F, dF, size

    def finish(self, potential, body, step, c):
        q_1, L_1 = _end_of_step(step, c, _torque(self, potential, step, c))
        return q_1, L_1, 2.0 * dot(c, step.u), step.memory

    def defect(self, potential, body, step, c, Pi_1, o_1):
        mean = scale(0.5, add(step.Pi_0, Pi_1))
        r = sub(add(scale(2.0 / step.h, times(body.J, c)), body.rotor), mean)
        return dot(r, r), dot(step.Pi_0, step.Pi_0) + dot(Pi_1, Pi_1) + dot(body.rotor, body.rotor)

    @known
    def conserves_energy(self, potential):
        return True


@inlined
def _torque(scheme, potential, step, c):
    """T."""
    if potential.is_free():
        return step.u
    return add(step.u, scheme.pull(potential, step.o_0, c))


@inlined
def _end_of_step(step, c, T):
    """Attitude and world momentum at the end of the step."""
    r = 1.0 / math.sqrt(1.0 + dot(c, c))
    q_1 = qscale(r, qmul(step.q, (1.0, c[0], c[1], c[2])))
    mean = scale(r * r, _forward_times(c, T))
    return q_1, add(step.L, to_world(step.q, scale(step.h, mean)))


@inlined
def _forward(c, v):
    """(1 - cross c)^-1 v, which is (1 + R)/2 v."""
    return scale(1.0 / (1.0 + dot(c, c)), _forward_times(c, v))


@inlined
def _forward_times(c, v):
    """(1 + c.c) (1 - cross c)^-1 v."""
    return add(add(v, cross(c, v)), scale(dot(c, v), c))


@inlined
def _mean_direction(c, o_0):
    """o_m = (1 + cross c)^-1 o_0."""
    return _forward(scale(-1.0, c), o_0)


@inlined
def _mean_change(c, o_0, o_m):
    """Derivative of o_m with respect to c; that of o_1 is twice this."""
    change = plus(outer(c, o_0), plus(outer(scale(-2.0, o_m), c), skewed(dot(c, o_0), o_0)))
    return multiple(1.0 / (1.0 + dot(c, c)), change)


class AKW(Cayley):
    """T = (T_0 + T_1)/2, the mean of the torques at both ends."""

    def pull(self, potential, o_0, c):
        o_m = _mean_direction(c, o_0)
        if potential.is_uniform():
            return cross(o_m, potential.gradient(o_m))
        o_1 = sub(scale(2.0, o_m), o_0)
        T_0, T_1 = cross(o_0, potential.gradient(o_0)), cross(o_1, potential.gradient(o_1))
        return scale(0.5, add(T_0, T_1))

    def pull_change(self, potential, o_0, c):
        o_m = _mean_direction(c, o_0)
        if potential.is_uniform():
            return multiple(-1.0, crossed(potential.gradient(o_m), _mean_change(c, o_0, o_m)))
        turn = multiple(1.0 / (1.0 + dot(c, c)), skewed(1.0, scale(-1.0, c)))
        return potential.torque_change(sub(scale(2.0, o_m), o_0), turn)

    @known
    def conserves_energy(self, potential):
        # Only in a uniform field does the mean of the end torques equal the divided difference.
        return potential.is_uniform()


class AKWdg(Cayley):
    """T = o_m x g. Conserves energy in every potential."""

    def pull(self, potential, o_0, c):
        o_m = _mean_direction(c, o_0)
        return cross(o_m, potential.discrete_gradient(o_0, sub(scale(2.0, o_m), o_0)))

    def pull_change(self, potential, o_0, c):
        o_m = _mean_direction(c, o_0)
        o_1, tilting = sub(scale(2.0, o_m), o_0), _mean_change(c, o_0, o_m)
        change = multiple(-1.0, crossed(potential.discrete_gradient(o_0, o_1), tilting))
        if potential.is_uniform():
            return change
        bend = potential.discrete_gradient_change(o_0, o_1, multiple(2.0, tilting))
        return plus(change, crossed(o_m, bend))


class Convected(Cayley):
    """(R_0 + R_1)/2 T = d x (R_0 + R_1)/2 g, d the world direction.

    The base vectors q_j with the conjugate momenta p_j have L = sum q_j x p_j, and the forces
    g_j d act on their means. Without forces the published system moves the body as AKW does.
    Conserves energy in every potential.
    """

    def pull(self, potential, o_0, c):
        o_1 = sub(scale(2.0, _mean_direction(c, o_0)), o_0)
        impulse = cross(o_0, _forward(c, potential.discrete_gradient(o_0, o_1)))
        return sub(impulse, cross(c, impulse))

    def pull_change(self, potential, o_0, c):
        o_m = _mean_direction(c, o_0)
        o_1 = sub(scale(2.0, o_m), o_0)
        w = _forward(c, potential.discrete_gradient(o_0, o_1))
        # Differentiates w - c x w = g.
        change = skewed(0.0, scale(-1.0, w))
        if not potential.is_uniform():
            tilting = multiple(2.0, _mean_change(c, o_0, o_m))
            change = plus(change, potential.discrete_gradient_change(o_0, o_1, tilting))
        inverse = plus(outer(c, c), skewed(1.0, c))
        change = crossed(o_0, multiple(1.0 / (1.0 + dot(c, c)), product(inverse, change)))
        return plus(skewed(0.0, cross(o_0, w)), plus(change, multiple(-1.0, crossed(c, change))))


INTEGRATORS = (
    Integrator(
        "akw",
        AKW(),
        "Austin-Krishnaprasad-Wang midpoint",
        "Krysl (2007), section 4, AKW",
        order=2,
        symmetric=True,
        conserves=with_spin(CONSERVES_ALL | {WALL: (), TIDE: ()}),
    ),
    Integrator(
        "akw_dg",
        AKWdg(),
        "Austin-Krishnaprasad-Wang midpoint with the divided difference of the potential",
        "AKW with the discrete gradient of Gonzalez (1996); here",
        order=2,
        symmetric=True,
        conserves=with_spin(CONSERVES_ALL),
    ),
    Integrator(
        "convected",
        Convected(),
        "convected base vectors with implicit constraints",
        "Krenk & Nielsen (2013), eqs. (22) to (26)",
        order=2,
        symmetric=True,
        conserves=CONSERVES_ALL,
    ),
)
