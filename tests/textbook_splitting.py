"""Slow versions of AKW with a divided difference, Munthe-Kaas methods, RRR and preprocessed DMV.

AKW and MKRK: Krysl (2007), sections 4 and 3.7. DMV: Moser & Veselov (1991), preprocessed as by
Hairer & Vilmart (2006). I^-1 Pi becomes I^-1 (Pi - h_w), h_w the momentum of rotors.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm

from textbook import newton
from textbook_betsch import principal_axes
from textbook_krysl import Setting, akw, dexp, in_setting
from textbook_potentials import body_vector, divided_difference
from textbook_quaternion import Array, skew


@in_setting
def akw_dg_step(x, h):
    """AKW with T = o_m x g(o_0, o_1), o_m = (R_0 + R_1)^T k / 2, for the mean of the end torques.

    o_1 - o_0 = -h omega_bar x o_m with the Cayley transform, so that h omega_bar . T is minus the
    change of V. Where g is constant, in gravity, T is the mean of the end torques.
    """

    def torque_of(R1: Array) -> Array:
        o_0, o_1 = body_vector(x.potential, x.R), body_vector(x.potential, R1)
        return x.u + np.cross((o_0 + o_1) / 2, divided_difference(x.potential, o_0, o_1))

    return akw(x, h, torque_of)


class MuntheKaas(NamedTuple):
    """Algorithm MKRK, section 3.7, for the tableau a, b, explicit or implicit.

    The torque inside the sums is T_(j), where T_(k) is printed. The stages Psi_(k) of an implicit
    tableau are solved for together. The torques here are held or of the attitude alone, so that
    no c is needed.
    """

    A: ArrayLike
    b: ArrayLike

    def step(self, J, q, omega, h, potential=None, torque=None, rotor_momentum=None):
        a, b = np.atleast_2d(np.asarray(self.A, dtype=float)), np.atleast_1d(self.b)
        x = Setting(J, q, omega, potential, torque, rotor_momentum)

        def stages(Psi: Array) -> tuple[Array, Array]:
            """Rows (d exp_{-Psi_j})^-1 I^-1 Pi_j and exp(Psi_j) T_j."""
            turns = [expm(skew(row)) for row in Psi]
            world = np.array([turn @ x.T(x.R @ turn) for turn in turns])
            Pi = [turn.T @ (x.Pi + h * row @ world) for turn, row in zip(turns, a, strict=True)]
            rates = [np.linalg.solve(dexp(-row), x.rate(m)) for row, m in zip(Psi, Pi, strict=True)]
            return np.array(rates), world

        def residual(Psi: Array) -> Array:
            Psi = Psi.reshape(-1, 3)
            return (Psi - h * a @ stages(Psi)[0]).ravel()

        Psi = np.zeros((len(b), 3))
        if np.any(np.triu(a)):
            guess = np.outer(a.sum(axis=1), h * x.rate(x.Pi))
            Psi = newton(residual, guess.ravel()).reshape(-1, 3)
        else:  # explicit: each round makes one more stage final
            for _ in b:
                Psi = h * a @ stages(Psi)[0]
        rates, world = stages(Psi)
        turn = expm(skew(h * b @ rates))
        return x.end(x.R @ turn, turn.T @ (x.Pi + h * b @ world))


ROOT = np.sqrt(3) / 6
RK4 = MuntheKaas(
    [[0, 0, 0, 0], [1 / 2, 0, 0, 0], [0, 1 / 2, 0, 0], [0, 0, 1, 0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6]
)
GAUSS4 = MuntheKaas([[1 / 4, 1 / 4 - ROOT], [1 / 4 + ROOT, 1 / 4]], [1 / 2, 1 / 2])
MIDPOINT = MuntheKaas([[1 / 2]], [1.0])
TRAPEZOID = MuntheKaas([[0, 0], [1 / 2, 1 / 2]], [1 / 2, 1 / 2])


def kicked(free_motion, x: Setting, h: float) -> tuple[Array, Array]:
    """Half the impulse of torque and potential, free_motion(Pi) -> (R, Pi), the other half."""
    R, Pi = free_motion(x.Pi + h / 2 * x.T(x.R))
    return x.end(R, Pi + h / 2 * x.T(R))


def rrr_step(J, q, omega, h, potential=None, torque=None, rotor_momentum=None, axes=None):
    """Planar rotations about the principal axes 1, 2, 3, 2, 1, the third for h, the rest for h/2.

    Each is the flow of (Pi_i - h_w,i)^2 / (2 I_i): Pi_i stays, R Pi stays. axes: (3, 3), the
    principal axes in columns, in the order to be taken.
    """
    axes = principal_axes(J)[1] if axes is None else axes
    x = Setting(J, q, omega, potential, torque, rotor_momentum)
    moments = np.diag(axes.T @ x.J @ axes)

    def free_motion(Pi: Array) -> tuple[Array, Array]:
        R = x.R
        for i, s in [(0, h / 2), (1, h / 2), (2, h), (1, h / 2), (0, h / 2)]:
            axis = axes[:, i]
            turn = expm(s * axis @ (Pi - x.h_w) / moments[i] * skew(axis))
            R, Pi = R @ turn, turn.T @ Pi
        return R, Pi

    return kicked(free_motion, x, h)


def exact_motion(x: Setting, R: Array, Pi: Array, h: float) -> tuple[Array, Array]:
    """The free motion by the power series of Omega' = J^-1 (J Omega x Omega), R' = R skew(Omega),
    between two halves of what -Pi . J^-1 h_w alone does: a turn about an axis in the body."""
    turn = expm(-h / 2 * skew(np.linalg.solve(x.J, x.h_w)))
    R, omega = R @ turn, np.linalg.solve(x.J, turn.T @ Pi)
    pieces = int(np.ceil(abs(h) * np.linalg.norm(omega) / 0.25)) or 1
    for _ in range(pieces):
        R, omega = power_series(x.J, R, omega, h / pieces)
    return R @ turn, turn.T @ x.J @ omega


@in_setting
def exact_step(x, h):
    """Half kicks and the exact motion."""
    return kicked(lambda Pi: exact_motion(x, x.R, Pi, h), x, h)


@in_setting
def forward_step(x, h):
    """Kicks at the nodes of Lobatto's rule with its weights 1/12, 5/12, 5/12, 1/12, exact motions
    between them, and as much of the double bracket in the kicks within as the order needs:

        sum over j < i of b_i b_j (c_i - c_j) + sum of b_i w_i = 1/6.

    Its derivative of the torque is by differences.
    """
    if x.potential is None:
        return processed_step(x, h)
    b, c = np.array([1, 5, 5, 1]) / 12, np.array([-1, -(5**-0.5), 5**-0.5, 1]) / 2 + 0.5
    plain = sum(b[i] * b[j] * (c[i] - c[j]) for i in range(4) for j in range(i))
    w = (1 / 6 - plain) / (b[1] + b[2])
    R, Pi = x.R, x.Pi + h * b[0] * x.T(x.R)
    for k in (1, 2):
        R, Pi = exact_motion(x, R, Pi, h * (c[k] - c[k - 1]))
        T, step = x.T(R), 1e-5
        a = np.linalg.solve(x.J, T)
        along = (x.T(R @ expm(step * skew(a))) - x.T(R @ expm(-step * skew(a)))) / (2 * step)
        Pi = Pi + h * b[k] * (T + w * h**2 * (along + np.cross(a, T)))
    R, Pi = exact_motion(x, R, Pi, h * (c[3] - c[2]))
    return x.end(R, Pi + h * b[3] * x.T(R))


def processed_step(x: Setting, h: float) -> tuple[Array, Array]:
    """Half kicks with their double bracket and one exact motion, in variables that are changed by
    phi: a Cayley transform of -s J^-1 u, and a shear of the momentum, s = h^2/12."""
    u, s = x.u, h**2 / 12
    a = np.linalg.solve(x.J, u)
    turn = (np.eye(3) - s / 2 * skew(a)) @ np.linalg.inv(np.eye(3) + s / 2 * skew(a))
    shear = np.eye(3) - s * skew(u) @ np.linalg.inv(x.J)
    kick = h / 2 * (u + s * np.cross(a, u))
    R, Pi = exact_motion(x, x.R @ turn, shear @ turn.T @ x.Pi + kick, h)
    return x.end(R @ turn.T, turn @ np.linalg.solve(shear, Pi + kick))


# Blanes & Moan (2002), table 3: SRKN11b.
KICKS = 0.0414649985182624, 0.198128671918067, -0.0400061921041533, 0.0752539843015807
KICKS = (*KICKS, -0.0115113874206879)
MOTIONS = 0.123229775946271, 0.290553797799558, -0.127049212625417, -0.246331761062075
MOTIONS = (*MOTIONS, 0.357208872795928)


@in_setting
def blanes_moan_step(x, h):
    """Twelve kicks with eleven exact motions between them, the same backwards."""
    half, R, Pi = [*KICKS, 0.5 - sum(KICKS)], x.R, x.Pi
    kicks = [*half, *half[::-1]]
    motions = [*MOTIONS, 1 - 2 * sum(MOTIONS), *MOTIONS[::-1]]
    for kick, motion in zip(kicks, motions, strict=False):
        R, Pi = exact_motion(x, R, Pi + kick * h * x.T(R), motion * h)
    return x.end(R, Pi + kicks[-1] * h * x.T(R))


def power_series(J: Array, R: Array, omega: Array, h: float, terms: int = 25):
    """R and Omega after a time h, from their Taylor coefficients."""
    rates, turns = [omega], [R]
    for n in range(terms):
        gyro = sum(np.cross(J @ rates[k], rates[n - k]) for k in range(n + 1))
        turn = sum(turns[k] @ skew(rates[n - k]) for k in range(n + 1))
        rates.append(np.linalg.solve(J, gyro) / (n + 1))
        turns.append(turn / (n + 1))
    powers = h ** np.arange(terms + 1)
    return np.tensordot(powers, turns, 1), powers @ rates


def preprocessed_inertia(J: Array, Pi: Array, h: float, order: int) -> Array:
    """I~ with I~^-1 = s I^-1 + d, in invariants of I so that any axes will do."""
    inverse = np.linalg.inv(J)
    S1, S2, X1, X2 = (np.trace(a) for a in (J, J @ J, inverse, inverse @ inverse))
    D, M = np.linalg.det(J), S1 * X1 - 3  # M: the sum of (I_i + I_j)/I_k over the pairs
    C, H = h**2 * Pi @ Pi / 2, h**2 * Pi @ inverse @ Pi / 2
    s, d = 1.0, 0.0
    if order >= 4:
        s += C * S1 / (6 * D) - H * X1 / 3
        d += -C / (3 * D) + H * S1 / (6 * D)
    if order >= 6:
        s += C**2 * (S2 / D - X1) / (30 * D) + C * H * (1 - M) / (30 * D)
        s += H**2 * (3 * S1 / D + 2 * X2) / 60
        d += -(C**2) * S1 / (60 * D**2) + C * H * (X1 / (10 * D) - S2 / (60 * D**2))
        d += -(H**2) * (9 + M) / (60 * D)
    return np.linalg.inv(s * inverse + d * np.eye(3))


def moser_veselov(J: Array, Pi: Array, h: float) -> Array:
    """W = R_0^T R_1 of h skew(Pi_0) = W D - D W^T, D = tr(I)/2 - I, in W's rotation vector."""
    D = np.trace(J) / 2 * np.eye(3) - J

    def residual(Psi: Array) -> Array:
        WD = expm(skew(Psi)) @ D
        X = h * skew(Pi) - (WD - WD.T)
        return np.array([X[2, 1], X[0, 2], X[1, 0]])

    return expm(skew(newton(residual, h * np.linalg.solve(J, Pi))))


class PDMV(NamedTuple):
    """Discrete Moser-Veselov with the preprocessed inertia of order 2 (its own), 4 or 6.

    The order is that of torque-free motion; with torque or a potential it is 2. No rotors.
    """

    order: int

    def step(self, J, q, omega, h, potential=None, torque=None, rotor_momentum=None):
        x = Setting(J, q, omega, potential, torque, rotor_momentum)

        def free_motion(Pi: Array) -> tuple[Array, Array]:
            W = moser_veselov(preprocessed_inertia(x.J, Pi, h, self.order), Pi, h)
            return x.R @ W, W.T @ Pi

        return kicked(free_motion, x, h)


pdmv2_step, pdmv6_step = PDMV(2).step, PDMV(6).step
mkrk_rk4_step, mkrk_gauss4_step = RK4.step, GAUSS4.step
