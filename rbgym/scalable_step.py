"""The energy-consistent step of Moller & Glocker's scalable body, in four unknowns.

In the symbols of `rbgym.scalable`, with T = tr(Theta)/2 and the attitude q, A = sqrt(s) q, the
momenta are

    sigma = s T nu,   Pi = s Theta omega = R^T L,

half of pi = A* o p, and its energy is H = K/(2 s^2), K = sigma^2/T + Pi.Theta^-1 Pi (60). With
Gonzalez's discrete derivative of H in the invariants pi and |A|^2 the equations of motion become

    A_1 - A_0 = h A_mid o g,   g = 1/4 mean(s^-2) diag(T, Theta)^-1 (pi_0 + pi_1)/2,
    p_1 - p_0 = h (2 A_mid o (S + lambda + B, M) - p_mid o g*),
    B = 1/4 (K_0 + K_1)(1/(s_0 s_1^2) + 1/(s_0^2 s_1)),

A_mid and p_mid the means. With (a, e) = h g/2 the first line is
A_1 = A_0 o (1 + a, e) o (1 - a, -e)^-1, a scaling and a rotation about e, and the second is

    sigma_1 = sigma_0 + h m (S + lambda + B),   R_+ Pi_1 = R_- Pi_0 + h m M,
    (sigma_1, Pi_1) = 2 k (T a, Theta e) - (sigma_0, Pi_0),   k = (8/h)/(s_0^-2 + s_1^-2),
    s_1 = s_0 n_+/n_- = s_0 + 4 m a,   m = |A_mid|^2 = s_0/n_-,   n_+- = (1 +- a)^2 + e.e,

R_+- the rotations of (1 +- a, +-e). In world axes L_1 = L_0 + h m R_mid M; the loads add
4 m (S a + M.e) to the energy. The perfect constraint s = 1 (77) means a = 0: its multiplier is
lambda = -B - S, and the three remaining equations are those of `integrators.quat_em` with the held
torque m M.

Everything but L and F is in principal axes.
"""

import math
from typing import NamedTuple

from rbgym.compiled.jit import compiled, inlined
from rbgym.matrix import solve, transposed
from rbgym.quaternion import (
    Array,
    Quaternion,
    Vector,
    add,
    cross,
    dot,
    polished,
    qmul,
    qscale,
    scale,
    sub,
    times,
    to_body,
    to_world,
)

# Largest |a|: a step may change the scale by a factor of 2.25. Beyond it, when a body collapses,
# the only roots left make it bounce from s = 0.
_LARGEST_SCALING = 0.2
_ITERATIONS = 50
_LAST_CORRECTION = 1e-18  # squared, relative to the unknowns; the next would be its square


class Inertia(NamedTuple):
    """Mass [kg], T = tr(Theta)/2 and the principal moments of Theta [kg m^2]."""

    mass: float
    T: float
    J: Vector


class Load(NamedTuple):
    """Force F [N, world axes], scaling force S and moment M [N m] of (75)."""

    F: Vector
    S: float
    M: Vector


class FullState(NamedTuple):
    """Position, velocity, attitude, scale, scaling momentum, world angular momentum."""

    r: Vector
    v: Vector
    q: Quaternion
    s: float
    sigma: float
    L: Vector


class ScalableStep(NamedTuple):
    """The data of one step: the body, its state and body momentum at the start, the load, which is
    held over the step, its length h, and whether the scale is fixed."""

    body: Inertia
    now: FullState
    Pi: Vector
    load: Load
    h: float
    rigid: bool


class Trial(NamedTuple):
    """The unknowns (a, e) and the quantities that follow from them."""

    a: float
    e: Vector
    n_plus: float
    n_minus: float
    s: float
    m: float
    k: float
    sigma: float
    Pi: Vector
    B: float
    weight: float  # B = weight (K_0 + K_1)
    turned_0: Vector  # R_- Pi_0
    turned_1: Vector  # R_+ Pi_1


@inlined
def turn(w: float, e: Vector, n: float, v: Vector) -> Vector:
    """Rotate v by the quaternion (w, e) of squared length n."""
    t = scale(2.0 / n, cross(e, v))
    return add(v, add(scale(w, t), cross(e, t)))


@inlined
def divide(v: Vector, J: Vector) -> Vector:
    return (v[0] / J[0], v[1] / J[1], v[2] / J[2])


@inlined
def kinetic(body: Inertia, sigma: float, Pi: Vector) -> float:
    """K."""
    return sigma * sigma / body.T + dot(Pi, divide(Pi, body.J))


@inlined
def step_of(body: Inertia, now: FullState, load: Load, h: float, rigid: bool) -> ScalableStep:
    return ScalableStep(body, now, to_body(now.q, now.L), load, h, rigid)


@inlined
def trial(step: ScalableStep, a: float, e: Vector) -> Trial:
    body, s_0, ee = step.body, step.now.s, dot(e, e)
    n_plus, n_minus = (1.0 + a) * (1.0 + a) + ee, (1.0 - a) * (1.0 - a) + ee
    m = s_0 / n_minus
    s = s_0 + 4.0 * a * m
    k = 8.0 / (step.h * (1.0 / (s_0 * s_0) + 1.0 / (s * s)))
    sigma = 2.0 * k * body.T * a - step.now.sigma
    Pi = sub(scale(2.0 * k, times(body.J, e)), step.Pi)
    weight = 0.25 * (s_0 + s) / (s_0 * s_0 * s * s)
    B = weight * (kinetic(body, step.now.sigma, step.Pi) + kinetic(body, sigma, Pi))
    turned_0 = turn(1.0 - a, scale(-1.0, e), n_minus, step.Pi)
    turned_1 = turn(1.0 + a, e, n_plus, Pi)
    return Trial(a, e, n_plus, n_minus, s, m, k, sigma, Pi, B, weight, turned_0, turned_1)


@inlined
def equation(step: ScalableStep, x: Trial) -> tuple[float, Vector]:
    """Residuals of the two equations of motion with lambda = 0."""
    hm = step.h * x.m
    rest = sub(sub(x.turned_1, x.turned_0), scale(hm, step.load.M))
    return x.sigma - step.now.sigma - hm * (step.load.S + x.B), rest


@inlined
def change(step: ScalableStep, x: Trial, da: float, de: Vector) -> tuple[float, Vector]:
    """Change of the residuals when the unknowns change by (da, de)."""
    body, load, h, s_0, ede = step.body, step.load, step.h, step.now.s, dot(x.e, de)
    grown_plus = 2.0 * ((1.0 + x.a) * da + ede) / x.n_plus
    grown_minus = 2.0 * (ede - (1.0 - x.a) * da) / x.n_minus
    growth = grown_plus - grown_minus  # ds_1/s_1
    dk = x.k * growth * 2.0 * s_0 * s_0 / (s_0 * s_0 + x.s * x.s)
    dsigma = 2.0 * body.T * (x.k * da + x.a * dk)
    dPi = scale(2.0, times(body.J, add(scale(x.k, de), scale(dk, x.e))))
    twist = sub(cross(x.e, de), scale(da, x.e))
    turn_1 = scale(2.0 / x.n_plus, add(twist, scale(1.0 + x.a, de)))
    turn_0 = scale(2.0 / x.n_minus, sub(twist, scale(1.0 - x.a, de)))
    rest = add(turn(1.0 + x.a, x.e, x.n_plus, dPi), cross(turn_1, x.turned_1))
    rest = add(sub(rest, cross(turn_0, x.turned_0)), scale(h * x.m * grown_minus, load.M))
    dK = 2.0 * (x.sigma * dsigma / body.T + dot(x.Pi, divide(dPi, body.J)))
    dB = x.weight * dK - x.B * growth * (2.0 * s_0 + x.s) / (s_0 + x.s)
    return dsigma + h * x.m * (grown_minus * (load.S + x.B) - dB), rest


@inlined
def correction(step: ScalableStep, x: Trial) -> tuple[float, Vector]:
    """Newton's correction of (a, e), by eliminating e; a rigid body keeps a."""
    F, G = equation(step, x)
    F_a, G_a = change(step, x, 1.0, (0.0, 0.0, 0.0))
    F_1, G_1 = change(step, x, 0.0, (1.0, 0.0, 0.0))
    F_2, G_2 = change(step, x, 0.0, (0.0, 1.0, 0.0))
    F_3, G_3 = change(step, x, 0.0, (0.0, 0.0, 1.0))
    F_e, G_e = (F_1, F_2, F_3), transposed((G_1, G_2, G_3))
    y, z = solve(G_e, G), solve(G_e, G_a)
    da = 0.0 if step.rigid else (F - dot(F_e, y)) / (F_a - dot(F_e, z))
    return da, sub(y, scale(da, z))


@inlined
def guess(step: ScalableStep) -> tuple[bool, float, Trial]:
    """Whether the scale changes little enough, the squared length of the first guess of (a, e), and
    its trial."""
    pace = 0.25 * step.h / (step.now.s * step.now.s)
    a, e = pace * step.now.sigma / step.body.T, scale(pace, divide(step.Pi, step.body.J))
    return abs(a) <= _LARGEST_SCALING, a * a + dot(e, e), trial(step, a, e)


@inlined
def improve(step: ScalableStep, x: Trial, size: float) -> tuple[bool, Trial]:
    """Whether one Newton correction suffices, and the trial after it."""
    da, de = correction(step, x)
    a, e = x.a - da, sub(x.e, de)
    last = da * da + dot(de, de) <= _LAST_CORRECTION * (size + a * a + dot(e, e))
    return last, trial(step, a, e)


@inlined
def is_near(x: Trial) -> bool:
    """Whether x can be the root that goes to zero with h."""
    return (abs(x.a) <= _LARGEST_SCALING) & (x.a * x.a + dot(x.e, x.e) < 1.0)


@inlined
def find_root(step: ScalableStep) -> tuple[bool, Trial]:
    """Whether there is a root (a, e) that goes to zero with h, and the root."""
    good, size, x = guess(step)
    for _ in range(_ITERATIONS):
        last, x = improve(step, x, size)
        if last:
            return good & is_near(x), x
    return False, x


@inlined
def fast_root(step: ScalableStep) -> tuple[bool, Trial]:
    """As `find_root`, with exactly four corrections, the same work for every lane; False if they
    are too few."""
    good, size, x = guess(step)
    _, x = improve(step, x, size)
    _, x = improve(step, x, size)
    _, x = improve(step, x, size)
    last, x = improve(step, x, size)
    return good & is_near(x) & last, x


@inlined
def end_of_step(step: ScalableStep, x: Trial) -> tuple[float, FullState]:
    """The multiplier lambda, and the state at the end of the step; x: the root."""
    now, load, h = step.now, step.load, step.h
    multiplier = -x.B - load.S if step.rigid else 0.0
    sigma = now.sigma + h * x.m * (load.S + x.B + multiplier)
    impulse = scale(h * x.m, turn(1.0 - x.a, x.e, x.n_minus, load.M))
    L = add(now.L, to_world(now.q, impulse))
    b = (1.0 - x.a * x.a - dot(x.e, x.e), 2.0 * x.e[0], 2.0 * x.e[1], 2.0 * x.e[2])
    q = polished(qmul(now.q, qscale(1.0 / math.sqrt(x.n_plus * x.n_minus), b)))
    v = add(now.v, scale(h / step.body.mass, load.F))
    r = add(now.r, scale(0.5 * h, add(now.v, v)))
    return multiplier, FullState(r, v, q, x.s, sigma, L)


@inlined
def read_row(row: Array) -> FullState:
    return FullState(
        (row[0], row[1], row[2]),
        (row[3], row[4], row[5]),
        (row[6], row[7], row[8], row[9]),
        row[10],
        row[11],
        (row[12], row[13], row[14]),
    )


@inlined
def write_row(row: Array, x: FullState) -> None:
    row[0], row[1], row[2] = x.r
    row[3], row[4], row[5] = x.v
    row[6], row[7], row[8], row[9] = x.q
    row[10], row[11] = x.s, x.sigma
    row[12], row[13], row[14] = x.L


@compiled
def advance(
    row: Array, load: Array, body: Inertia, h: float, steps: int, rigid: bool
) -> tuple[int, float]:
    """Take steps under a constant load (7,), F, S and M; `row`, a `FullState`, moves to their end.

    Returns the number of solved steps, and the sum of their lambda.
    """
    now, multipliers = read_row(row), 0.0
    for done in range(steps):
        held = Load((load[0], load[1], load[2]), load[3], (load[4], load[5], load[6]))
        step = step_of(body, now, held, h, rigid)
        good, x = find_root(step)
        if not good:
            return done, multipliers
        multiplier, now = end_of_step(step, x)
        write_row(row, now)
        multipliers += multiplier
    return steps, multipliers
