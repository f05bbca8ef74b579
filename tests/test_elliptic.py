"""The exact torque-free rotation, against formulations of the motion that share nothing with it.

`legendre` has the momentum by Jacobi's functions and the attitude by Euler's angles and Legendre's
integral of the third kind, about the axis that the momentum encircles. `by_taylor` knows no
elliptic function: it adds up the power series of the equations of motion. Both have 60 digits.

Mutations that these tests catch: a wrong sign or a missing factor in (1) to (5) of the file, axes
of the wrong hand, a forgotten or reversed half period, a series or a number of doublings too short
for the reach, c and d from formulas that lose their digits where both are small.
"""

import math

import mpmath as mp
import numpy as np
import pytest
from numba import njit

from rbgym.integrators.elliptic import free_rotation, near_rotation
from rbgym.quaternion import multiply, polished, qconj, qmul, rotate_inverse, to_body

ROUND_OFF = 3e-15  # the attitude, per (1 + |Omega| h + kappa); the scheme's own claim
DIGITS = 60  # 34 of them go where k^2 differs from 1 by 1e-34, beside the middle axis
CYCLIC = ((0, 1, 2), (1, 2, 0), (2, 0, 1))


@pytest.fixture(autouse=True)
def many_digits():
    with mp.workdps(DIGITS):
        yield


@njit(error_model="numpy")
def rotations(J, Pi, h):
    """free_rotation of many bodies: J, Pi (n, 3), h (n,); result (n, 4)."""
    p = np.empty((len(h), 4))
    for i in range(len(h)):
        q = free_rotation((J[i, 0], J[i, 1], J[i, 2]), (Pi[i, 0], Pi[i, 1], Pi[i, 2]), h[i])
        p[i, 0], p[i, 1], p[i, 2], p[i, 3] = q
    return p


@njit(error_model="numpy")
def near_rotations(J, Pi, h):
    """near_rotation in a loop over lanes: J, Pi (3, n), h (n,)."""
    p, near = np.empty((4, len(h))), np.empty(len(h))
    for i in range(len(h)):
        q, reached = near_rotation(
            (J[0, i], J[1, i], J[2, i]), (Pi[0, i], Pi[1, i], Pi[2, i]), h[i]
        )
        p[0, i], p[1, i], p[2, i], p[3, i] = q
        near[i] = 1.0 if reached else 0.0
    return p, near


@njit(error_model="numpy")
def marched(J, L, h, steps):
    """Attitude after many steps from the attitude 1, by the world momentum L as the engine does."""
    q = (1.0, 0.0, 0.0, 0.0)
    for _ in range(steps):
        q = polished(qmul(q, free_rotation(J, to_body(q, L), h)))
    return q


def rotation(J, Pi, h):
    return rotations(np.array([J], float), np.array([Pi], float), np.array([h], float))[0].tolist()


class Jacobi:
    """The motion of the momentum about the axis that it encircles, called 3 and kept upright."""

    def __init__(self, J, Pi):
        lo, two, hi = sorted(range(3), key=lambda i: J[i])
        D = Pi[hi] ** 2 * (J[hi] - J[two]) / J[hi] - Pi[lo] ** 2 * (J[two] - J[lo]) / J[lo]
        one, three = (lo, hi) if (D > 0 and J[hi] != J[two]) or J[two] == J[lo] else (hi, lo)
        self.axes = (one, two, three)
        hand = 1 if (two - one) % 3 == 1 else -1
        up = 1 if Pi[three] >= 0 else -1
        self.signs = (1, hand * up, up)
        P = [sign * Pi[axis] for sign, axis in zip(self.signs, self.axes, strict=True)]
        self.a = a = [1 / mp.mpf(J[axis]) for axis in self.axes]
        self.L = mp.norm(mp.matrix(P))
        alpha, beta = mp.sqrt(abs(a[1] - a[2])), mp.sqrt(abs(a[0] - a[2]))
        rho = (a[1] - a[0]) / (a[2] - a[0])
        A3 = mp.sqrt(P[2] ** 2 + rho * P[1] ** 2)
        S = mp.hypot(P[0] / alpha, P[1] / beta)
        self.sizes = (S * alpha, S * beta, A3)
        self.m = (S * beta / A3) ** 2 * rho
        self.rate = A3 * alpha * beta * mp.sign(a[0] - a[2])
        self.K = mp.ellipk(self.m)
        self.u0 = mp.ellipf(mp.atan2(P[1] / beta, P[0] / alpha), self.m)

    def momentum(self, u):
        """Pi at the argument u; half periods are taken out by hand, as mpmath's series wants."""
        half = mp.nint(u / (2 * self.K))
        sign = 1 if half % 2 == 0 else -1
        cn, sn, dn = (mp.ellipfun(f, u - 2 * half * self.K, m=self.m) for f in ("cn", "sn", "dn"))
        return [x * y for x, y in zip(self.sizes, (sign * cn, sign * sn, dn), strict=True)]

    def amplitude(self, u):
        half = mp.nint(u / (2 * self.K))
        sn, cn = (mp.ellipfun(f, u - 2 * half * self.K, m=self.m) for f in ("sn", "cn"))
        return mp.atan2(sn, cn) + half * mp.pi

    def restored(self, p):
        v = [mp.mpf(0)] * 3
        for sign, axis, x in zip(self.signs, self.axes, p[1:], strict=True):
            v[axis] = sign * x
        return (p[0], *v)


def turn(axis, angle):
    q = [mp.cos(angle / 2), mp.mpf(0), mp.mpf(0), mp.mpf(0)]
    q[1 + axis] = mp.sin(angle / 2)
    return tuple(q)


def legendre(J, Pi, h):
    k = Jacobi(J, Pi)
    a, u1 = k.a, k.u0 + k.rate * h
    n = (a[1] - a[0]) / (a[1] - a[2])
    psi = k.L * h * a[0]
    if n:
        third = [mp.ellippi(n, k.amplitude(u), k.m) for u in (k.u0, u1)]
        psi += k.L * (a[0] - a[2]) / k.rate * (third[1] - third[0] - k.rate * h)

    def attitude(psi, P):
        theta, phi = mp.atan2(mp.hypot(P[0], P[1]), P[2]), mp.atan2(P[0], P[1])
        return qmul(qmul(turn(2, psi), turn(0, theta)), turn(2, phi))

    start, end = attitude(0, k.momentum(k.u0)), attitude(psi, k.momentum(u1))
    return k.restored(qmul(qconj(start), end))


def product(x, y, n):
    """Coefficient n of the product of two power series."""
    return mp.fdot(x[: n + 1], y[n::-1])


def by_taylor(J, Pi, h, order=36):
    """The product of the rotations over short steps, each by the series of q' = q Omega/2."""
    total = turn(0, mp.mpf(0))
    fastest = mp.sqrt(sum(x**2 / j for x, j in zip(Pi, J, strict=True)) / min(J))
    steps = 1 + int(4 * abs(h) * fastest)
    for _ in range(steps):
        P, q = [[x] for x in Pi], [[mp.mpf(1)], [mp.mpf(0)], [mp.mpf(0)], [mp.mpf(0)]]
        for n in range(order):
            W = [[x / j for x in p] for p, j in zip(P, J, strict=True)]
            rates = [-sum(product(q[1 + i], W[i], n) for i in range(3))]
            for i, j, k in CYCLIC:
                swing = product(q[1 + j], W[k], n) - product(q[1 + k], W[j], n)
                rates.append(product(q[0], W[i], n) + swing)
            for i, j, k in CYCLIC:
                P[i].append((product(P[j], W[k], n) - product(P[k], W[j], n)) / (n + 1))
            for x, y in zip(q, rates, strict=True):
                x.append(y / (2 * (n + 1)))
        values = [mp.polyval(x[::-1], h / steps) for x in (*P, *q)]
        Pi, total = values[:3], qmul(total, values[3:])
    return total


def angle(p, q):
    """The angle between the attitudes p and q, whatever their signs."""
    return 2 * mp.norm(mp.matrix(qmul(qconj(p), tuple(map(mp.mpf, q)))[1:]))


def sensitivity(J, Pi, h, expected):
    """kappa: change of the attitude per relative change of each component of J and Pi."""
    step, kappa = mp.mpf("1e-12"), mp.mpf(0)
    for i in range(6):
        changed = [*J, *Pi]
        if changed[i] != 0:
            changed[i] *= 1 + step
            kappa += angle(expected, legendre(changed[:3], changed[3:], h)) / step
    return kappa


def physical(rng):
    x, y, z = 0.02 + rng.random(3)
    return np.array([y + z, z + x, x + y])


def asymmetric(rng):
    return physical(rng), rng.standard_normal(3)


def nearly_symmetric(rng):
    near = 1 + rng.choice((-1, 1)) * 10 ** -rng.uniform(1, 16)
    return np.array([1.0, near, rng.uniform(0.1, 1.9)]), rng.standard_normal(3)


def symmetric(rng):
    return np.array([0.7, 0.7, rng.uniform(0.1, 1.4)]), rng.standard_normal(3)


def nearly_spherical(rng):
    return 1.0 + 10 ** -rng.uniform(1, 14) * rng.uniform(-1, 1, 3), rng.standard_normal(3)


def needle(rng):
    thin = 10 ** -rng.uniform(2, 6)
    J = np.array([thin, 1.0, 1.0 + rng.uniform(-1, 1) * thin])
    return J, rng.standard_normal(3) * (thin ** rng.choice((0, 0.5, 1)), 1.0, 1.0)


def disc(rng):
    x, y = rng.random(), 10 ** -rng.uniform(0, 6)
    return np.array([x, y * x, x + y * x]), rng.standard_normal(3)


def near_the_middle_axis(rng):
    return np.sort(physical(rng)), rng.standard_normal(3) * (10 ** -rng.uniform(1, 16), 1, 1e-9)


def near_the_separatrix(rng):
    J = np.sort(physical(rng))
    Pi = rng.standard_normal(3)
    ratio = math.sqrt((1 / J[0] - 1 / J[1]) / (1 / J[1] - 1 / J[2]))
    Pi[2] = Pi[0] * ratio * (1 + 10 ** -rng.uniform(1, 14))
    beside = 10 ** -rng.uniform(0, 8)  # the middle axis
    return J, Pi * (beside, 1, beside)


def near_an_axis(rng):
    return physical(rng), np.array([1.0, *(rng.standard_normal(2) * 10 ** -rng.uniform(1, 17))])


def in_a_plane(rng):
    return physical(rng), rng.standard_normal(3) * (0.0, 1.0, 1.0)


FAMILIES = [
    asymmetric, nearly_symmetric, symmetric, nearly_spherical, needle, disc, near_the_middle_axis,
    near_the_separatrix, near_an_axis, in_a_plane,
]  # fmt: skip


def exact(values):
    return [mp.mpf(float(x)) for x in values]


def drawn(family, rng, shortest=1e-3, longest=1e3):
    """J, Pi with |Omega| = 3 rad/s and h, with the axes in any order."""
    J, Pi = family(rng)
    order = rng.permutation(3)
    J, Pi = J[order], Pi[order]
    h = rng.choice((-1, 1)) * math.exp(rng.uniform(math.log(shortest), math.log(longest)))
    return J, Pi * 3.0 / np.linalg.norm(Pi / J), h


def many(family, count, longest, seed=0):
    rng = np.random.default_rng(seed)
    J, Pi, h = zip(*(drawn(family, rng, longest=longest) for _ in range(count)), strict=True)
    return np.array(J), np.array(Pi), np.array(h)


def test_both_references_agree():
    rng = np.random.default_rng(1)
    for family in (asymmetric, needle, near_the_separatrix, disc, symmetric, in_a_plane):
        J, Pi, h = drawn(family, rng, 0.3, 1.0)
        J, Pi, h = exact(J), exact(Pi), mp.mpf(h)
        assert angle(by_taylor(J, Pi, h), legendre(J, Pi, h)) < 1e-26


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_attitude_after_one_step_of_any_length_is_right_to_round_off(family):
    rng = np.random.default_rng(2)
    for _ in range(6):
        J, Pi, h = drawn(family, rng)
        J, Pi, h = exact(J), exact(Pi), mp.mpf(h)
        expected = legendre(J, Pi, h)
        kappa = sensitivity(J, Pi, h, expected)
        error = angle(expected, rotation(J, Pi, h))
        assert error < ROUND_OFF * (1 + 3 * abs(h) + kappa), (J, Pi, h)


@pytest.mark.parametrize("h", [1e-3, 0.7, -40.0, 1000.0])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize(
    "J", [(1.0, 2.0, 2.5), (2.0, 1.0, 2.5), (1.0, 1.0, 1.7), (1e-6, 1.0, 1.0), (1.0, 2.0, 3.0)]
)
def test_spin_about_a_principal_axis_goes_on(J, axis, h):
    Pi = [0.0, 0.0, 0.0]
    Pi[axis] = 3.0 * J[axis]
    expected = turn(axis, mp.mpf(Pi[axis]) / mp.mpf(J[axis]) * h)
    assert angle(expected, rotation(J, Pi, h)) < 1e-15 * (1 + 3 * abs(h))


@pytest.mark.parametrize("h", [1e-3, 0.7, -40.0, 1000.0])
@pytest.mark.parametrize("J", [(1.3, 1.3, 0.4), (0.4, 1.3, 1.3), (0.9, 1.5, 0.9), (1.3,) * 3])
def test_symmetric_top_turns_about_its_momentum_and_its_axis_and_a_sphere_about_the_first(J, h):
    Pi = (1.0, -2.0, 2.0)
    axis = next((i for i in range(3) if J.count(J[i]) == 1), 0)  # a sphere has no own turn
    equal = mp.mpf(J[axis - 1])
    half = mp.mpf(3) * h / 2 / equal
    about_momentum = (mp.cos(half), *(mp.sin(half) * x / 3 for x in Pi))
    own = turn(axis, Pi[axis] * h * (1 / mp.mpf(J[axis]) - 1 / equal))
    error = angle(qmul(about_momentum, own), rotation(J, Pi, h))
    assert error < 1e-15 * (1 + abs(h) * 3 / min(J))


@pytest.mark.parametrize("J", [(3.0, 4.0, 6.0), (6.0, 4.0, 3.0)])
def test_start_on_the_separatrix_is_no_special_case(J):
    Pi = (1.0, 1.0, 1.0)
    for h in (0.5, -8.0):
        expected = by_taylor(exact(J), exact(Pi), mp.mpf(h))
        assert angle(expected, rotation(J, Pi, h)) < 1e-14
    # After long times chance decides how often the body has turned over, but it is still on it.
    end = np.array(to_body(rotation(J, Pi, 1e4), Pi))
    assert np.sum(end**2 / J) == pytest.approx(0.75, rel=1e-15)


@pytest.mark.parametrize("distance_from_axis", [1e-20, 1e-60, 1e-140])
def test_body_leaves_the_middle_axis_from_however_near(distance_from_axis):
    J, Pi = (1.0, 1.5, 2.2), (distance_from_axis, 1.0, distance_from_axis)
    h = -1.5 * math.log(distance_from_axis) / math.sqrt((1 - 1 / 1.5) * (1 / 1.5 - 1 / 2.2))
    with mp.workdps(20 + 3 * int(-math.log10(distance_from_axis))):
        expected = legendre(exact(J), exact(Pi), mp.mpf(h))
        assert angle(expected, rotation(J, Pi, h)) < ROUND_OFF * (1 + 10 * h)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_step_keeps_energy_momentum_and_unit_length(family):
    J, Pi, h = many(family, 300, 1e3)
    p = rotations(J, Pi, h)
    end = rotate_inverse(p, Pi)
    assert np.linalg.norm(p, axis=1) == pytest.approx(1, abs=5e-16)
    assert np.linalg.norm(end, axis=1) == pytest.approx(np.linalg.norm(Pi, axis=1), rel=1.5e-15)
    change = np.sum((end**2 - Pi**2) / J, axis=1) / 2
    # What a rotation by one unit in the last place does to the energy.
    scale = np.linalg.norm(Pi, axis=1) * np.linalg.norm(Pi / J, axis=1)
    assert np.max(np.abs(change) / scale) < 2e-15


def test_series_and_doublings_suffice_for_all_of_their_reach():
    J, Pi, _ = many(asymmetric, 4000, 1.0)
    h = np.random.default_rng(4).uniform(0.5, 8.0, len(J))
    p, near = near_rotations(J.T.copy(), Pi.T.copy(), h)
    J, Pi, h, p = (x[near > 0.0] for x in (J, Pi, h, p.T))
    first = rotations(J, Pi, h / 2)
    second = rotations(J, rotate_inverse(first, Pi), h / 2)
    error = np.max(np.abs(multiply(first, second) - p), axis=1)
    assert np.max(error / (1 + 3 * h)) < 2e-15


def test_quaternion_grows_continuously_out_of_one():
    J, Pi = (0.6, 1.1, 1.3), (0.8, -0.3, 0.9)
    h = np.linspace(0.0, 60.0, 6001)
    p = rotations(np.tile(J, (len(h), 1)), np.tile(Pi, (len(h), 1)), h)
    assert p[0] == pytest.approx([1, 0, 0, 0], abs=0)
    assert np.max(np.linalg.norm(np.diff(p, axis=0), axis=1)) < 0.02


def test_units_do_not_matter():
    J, Pi, h = many(asymmetric, 300, 10.0)
    assert rotations(1e-9 * J, 1e-9 * Pi, h) == pytest.approx(rotations(J, Pi, h), abs=1e-13)
    assert rotations(J, 1e-30 * Pi, 1e30 * h) == pytest.approx(rotations(J, Pi, h), abs=1e-12)


@pytest.mark.parametrize("J", [(1.0, 2.0, 2.5), (1.0, 1.0, 1.0), (1e-6, 1.0, 1.0)])
def test_nothing_turns_at_rest_or_in_no_time(J):
    assert rotation(J, (0.0, 0.0, 0.0), 5.0) == pytest.approx([1, 0, 0, 0], abs=0)
    assert rotation(J, (1.0, -2.0, 0.5), 0.0) == pytest.approx([1, 0, 0, 0], abs=0)


def test_hundred_thousand_steps_are_one_long_step():
    J, L, h, steps = (0.6, 1.1, 1.3), (0.8, -0.3, 0.9), 0.01, 100_000
    q = marched(J, L, h, steps)
    energy = [sum(x * x / j for x, j in zip(Pi, J, strict=True)) for Pi in (L, to_body(q, L))]
    assert energy[1] == pytest.approx(energy[0], rel=1e-13)
    # 1e5 errors of 1e-16 add to the energy at random, and that to 1.5e3 rad of phase.
    assert q == pytest.approx(tuple(rotation(J, L, steps * h)), abs=5e-11)


def test_rotation_for_lanes_is_the_same_up_to_its_reach():
    J, Pi, h = many(asymmetric, 1000, 3.0)
    p, near = near_rotations(J.T.copy(), Pi.T.copy(), h)
    near = near > 0.0
    assert near[np.abs(3.0 * h) < 3.0].all()
    assert not near.all()
    assert p.T[near] == pytest.approx(rotations(J, Pi, h)[near], abs=3e-15)
