"""Munthe-Kaas Runge-Kutta schemes with any tableau, algorithm MKRK of Krysl (2007), section 3.7.

    Psi_k = h sum_j a_kj dexp^-1 Omega_j,           dexp^-1 = (dexp_{-Psi_j})^-1,
    Pi_k  = exp(-Psi_k)(Pi_0 + h sum_j a_kj exp(Psi_j) T_j),   Omega_k = J^-1 (Pi_k - h_w),

T_j the body torque at R_0 exp(Psi_j); the step itself uses b_j in the same formulas. (The paper
prints the torque inside the first sum with the index of the row; it must be the column's.) All
stages conserve the world momentum of a free body.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from rbgym.arguments import Array, finite, real
from rbgym.compiled.dual import with_duals
from rbgym.compiled.jit import inlined, one_each, outlined, with_item
from rbgym.integrators.interface import CONSERVES_MOMENTUM, Explicit, Integrator
from rbgym.integrators.rotations import dexp_factors, exponential
from rbgym.quaternion import add, cross, dot, even_odd, qmul, scale, sub, times, to_body, to_world

_REACH = 16.0  # |Psi|^2 up to which the series are exact to round-off
_SWEEPS = 200
_SWEEPS_OF_DUALS = 40  # as many derivatives need, though the values stay
_LAST_CHANGE = 1e-30  # squared, relative
_ZERO = (0.0, 0.0, 0.0)


@inlined
def _inverse_tangent(Psi, omega):
    """(dexp_{-Psi})^-1 omega."""
    quarter = 0.25 * dot(Psi, Psi)
    b, c = dexp_factors(quarter)
    # s = (1 - (t/2) cot(t/2))/t^2, with sin(t/2)/(t/2) from the half angle t/4.
    cos, sinc = even_odd(0.25 * quarter)
    s = 0.25 * (b - c) / (cos * sinc)
    turn = cross(Psi, omega)
    return add(omega, add(scale(0.5, turn), scale(s, cross(Psi, turn))))


@inlined
def _stage(potential, body, step, Psi, impulse):
    """dexp^-1 Omega after the body has turned by Psi, and the torque in body axes at the start."""
    turn = exponential(Psi)
    Pi = to_body(turn, add(step.Pi_0, impulse))
    rate = _inverse_tangent(Psi, times(body.J_inv, sub(Pi, body.rotor)))
    return rate, to_world(turn, potential.torque(step.u, to_body(turn, step.o_0)))


@inlined
def _end_of_step(step, Psi, impulse, solved):
    """What `finish` returns; NaN rejects a step that is not solved."""
    L_1 = add(step.L, to_world(step.q, impulse))
    return qmul(step.q, exponential(Psi)), scale(1.0 if solved else math.nan, L_1), 0.0, step.memory


@inlined
def _sum(h, w, k_0, k_1, k_2, k_3):
    """h times the sum of four vectors with weights w."""
    early, late = add(scale(w[0], k_0), scale(w[1], k_1)), add(scale(w[2], k_2), scale(w[3], k_3))
    return scale(h, add(early, late))


class FourStages(Explicit):
    """Tableau a (4, 4), strictly lower triangular, and b (4,), filled up with zeros: the same work
    for all bodies."""

    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]

    def finish(self, potential, body, step, x):
        a, b, h, zero = self.a, self.b, step.h, _ZERO
        k_0 = times(body.J_inv, sub(step.Pi_0, body.rotor))
        T_0 = potential.torque(step.u, step.o_0)
        Psi_1, M_1 = scale(h * a[1][0], k_0), scale(h * a[1][0], T_0)
        k_1, T_1 = _stage(potential, body, step, Psi_1, M_1)
        Psi_2, M_2 = _sum(h, a[2], k_0, k_1, zero, zero), _sum(h, a[2], T_0, T_1, zero, zero)
        k_2, T_2 = _stage(potential, body, step, Psi_2, M_2)
        Psi_3, M_3 = _sum(h, a[3], k_0, k_1, k_2, zero), _sum(h, a[3], T_0, T_1, T_2, zero)
        k_3, T_3 = _stage(potential, body, step, Psi_3, M_3)
        Psi, M = _sum(h, b, k_0, k_1, k_2, k_3), _sum(h, b, T_0, T_1, T_2, T_3)
        solved = (dot(Psi_1, Psi_1) <= _REACH) & (dot(Psi_2, Psi_2) <= _REACH)
        solved = solved & (dot(Psi_3, Psi_3) <= _REACH) & (dot(Psi, Psi) <= _REACH)
        return _end_of_step(step, Psi, M, solved)


class Tableau(Explicit):
    """Tableau a (s, s) and b (s,), for one body after the other: sweeps through the stages until
    nothing changes, or sweeps once if a is strictly lower triangular."""

    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    one_sweep: bool

    def is_explicit(self):
        return self.one_sweep

    def finish(self, potential, body, step, x):
        Psi, impulse, solved = _solve(self, potential, body, step)
        return _end_of_step(step, Psi, impulse, solved)


def _least_sweeps(x):
    """Sweeps after which nothing may change any more: from rest, the first one changes nothing."""
    return 1


with_duals(_least_sweeps, lambda x: _SWEEPS_OF_DUALS)


@outlined
def _solve(tableau, potential, body, step):
    """Psi, the impulse of the torques in body axes at the start, and whether that is a solution."""
    a, b, h = tableau.a, tableau.b, step.h
    stages = len(b)
    omega = times(body.J_inv, sub(step.Pi_0, body.rotor))
    slope, last = one_each(b, omega), one_each(b, scale(0.0, omega))
    force = one_each(b, potential.torque(step.u, step.o_0))
    solved = False
    for sweep in range(_SWEEPS):
        change = size = largest = 0.0
        for k in range(stages):
            Psi, impulse = _ZERO, _ZERO
            for j in range(stages):
                s = h * a[k][j]
                Psi = add(Psi, scale(s, slope[j]))
                impulse = add(impulse, scale(s, force[j]))
            d = sub(Psi, last[k])
            change, size = change + dot(d, d), size + dot(Psi, Psi)
            largest = max(largest, dot(Psi, Psi))
            rate, T = _stage(potential, body, step, Psi, impulse)
            last, slope = with_item(last, k, Psi), with_item(slope, k, rate)
            force = with_item(force, k, T)
        if not largest <= _REACH:
            break
        done = (sweep >= _least_sweeps(step.Pi_0[0])) & (change <= _LAST_CHANGE * size)
        if tableau.one_sweep or done:
            solved = True
            break
    Psi, impulse = _ZERO, _ZERO
    for j in range(stages):
        s = h * b[j]
        Psi = add(Psi, scale(s, slope[j]))
        impulse = add(impulse, scale(s, force[j]))
    return Psi, impulse, solved and dot(Psi, Psi) <= _REACH


_LARGEST = 1e6  # coefficient of a tableau; those in practice are at most a few units


def MuntheKaas(A: ArrayLike, b: ArrayLike, c: ArrayLike, name: str = "munthe_kaas") -> Integrator:
    """The Munthe-Kaas integrator of a Runge-Kutta tableau, for use in place of a name.

    A: (s, s); b: (s,); c: (s,), the row sums of A. name: for tables and errors. It declares the
    order of the tableau, up to 4. Raises ValueError for wrong shapes, values that are not finite, a
    c that is not the row sums of A, or an inconsistent tableau (b does not sum to 1).
    """
    shapes = real("A", A).shape, real("b", b).shape, real("c", c).shape
    s = math.prod(shapes[1])
    if shapes != ((s, s), (s,), (s,)):
        raise ValueError(f"A, b and c must have shapes (s, s), (s,) and (s,), got {shapes}")
    a, weights, nodes = finite("A", A, (s, s)), finite("b", b, (s,)), finite("c", c, (s,))
    # Sums of larger ones might overflow.
    if max(np.abs(a).max(initial=0.0), np.abs(weights).max(initial=0.0)) > _LARGEST:
        raise ValueError(
            f"A and b must be within +-{_LARGEST:g}, got {a.tolist()} and {weights.tolist()}"
        )
    if not np.allclose(a.sum(axis=1), nodes, rtol=0, atol=1e-12):
        raise ValueError(f"c must be the row sums of A, {a.sum(axis=1)}, got {nodes}")
    order = _order(a, weights, nodes)
    if order == 0:
        raise ValueError(f"b must sum to 1, got {weights.tolist()}")
    return _integrator(name, f"Munthe-Kaas, {s} stages", order, a, weights)


def _order(a: Array, b: Array, c: Array) -> int:
    """Order of the tableau, by the order conditions up to four."""
    conditions = (
        (1, b.sum(), 1.0),
        (2, b @ c, 1 / 2),
        (3, b @ c**2, 1 / 3),
        (3, b @ a @ c, 1 / 6),
        (4, b @ c**3, 1 / 4),
        (4, (b * c) @ a @ c, 1 / 8),
        (4, b @ a @ c**2, 1 / 12),
        (4, b @ a @ a @ c, 1 / 24),
    )
    unmet = [order for order, value, wanted in conditions if abs(value - wanted) > 1e-12]
    return min(unmet, default=5) - 1


def _integrator(name: str, title: str, order: int, a: Array, b: Array) -> Integrator:
    is_explicit = not np.triu(a).any()
    alike = is_explicit and len(b) <= 4
    more = 4 - len(b) if alike else 0
    rows = tuple(tuple(float(v) for v in row) for row in np.pad(a, (0, more)))
    weights = tuple(float(v) for v in np.pad(b, (0, more)))
    scheme = FourStages(rows, weights) if alike else Tableau(rows, weights, is_explicit)
    source = "Krysl (2007), section 3.7, MKRK"
    return Integrator(
        name, scheme, title, source, order, conserves=CONSERVES_MOMENTUM, vectorised=alike
    )


_RK4 = np.array([[0, 0, 0, 0], [1 / 2, 0, 0, 0], [0, 1 / 2, 0, 0], [0, 0, 1, 0]], dtype=float)
_SIXTHS = np.array([1 / 6, 1 / 3, 1 / 3, 1 / 6])
_SHIFT = math.sqrt(3.0) / 6.0
_GAUSS, _HALVES = np.array([[1 / 4, 1 / 4 - _SHIFT], [1 / 4 + _SHIFT, 1 / 4]]), np.full(2, 1 / 2)

INTEGRATORS = (
    _integrator("mkrk_rk4", "Munthe-Kaas with the classical tableau", 4, _RK4, _SIXTHS),
    _integrator("mkrk_gauss4", "Munthe-Kaas with Gauss's two stages", 4, _GAUSS, _HALVES),
)
