"""Slow, plain versions of the algorithms of Krysl (2007), with matrices, as printed.

I^-1 Pi becomes I^-1 (Pi - h_w), h_w the momentum of rotors.
"""

from collections.abc import Callable
from functools import wraps

import numpy as np
from scipy.linalg import expm

from textbook import Step, newton, tensor, torque_at, vector
from textbook_quaternion import Array, quaternion_of_rotation, rotation, skew


class Setting:
    """What the algorithms are printed in: R, Pi, T(R), exp, I^-1."""

    def __init__(self, J, q, omega, potential, torque, rotor_momentum):
        self.J, self.u, self.h_w = tensor(J), vector(torque), vector(rotor_momentum)
        self.q, self.R, self.potential = q, rotation(q), potential
        self.Pi = self.J @ omega + self.h_w

    def rate(self, Pi: Array) -> Array:
        return np.linalg.solve(self.J, Pi - self.h_w)

    def gyro(self, Pi: Array) -> Array:
        return skew(self.rate(Pi)) @ Pi

    def turned(self, R: Array, s: float, Pi: Array) -> Array:
        """R exp[s skew(I^-1 Pi)]."""
        return R @ expm(s * skew(self.rate(Pi)))

    def turned_by_both(self, h: float, Pi: Array) -> Array:
        """R exp[(h/2) skew(I^-1 Pi_0)] exp[(h/2) skew(I^-1 Pi)]."""
        return self.turned(self.turned(self.R, h / 2, self.Pi), h / 2, Pi)

    def T(self, R: Array) -> Array:
        return torque_at(R, self.potential, self.u)

    def end(self, R: Array, Pi: Array) -> tuple[Array, Array]:
        return quaternion_of_rotation(R, near=self.q), self.rate(Pi)


def in_setting(scheme: Callable[[Setting, float], tuple[Array, Array]]) -> Step:
    """The step with the usual signature, of scheme(x, h)."""

    @wraps(scheme)
    def step(J, q, omega, h, potential=None, torque=None, rotor_momentum=None):
        return scheme(Setting(J, q, omega, potential, torque, rotor_momentum), h)

    return step


@in_setting
def forward_euler_step(x, h):
    """Equation (11)."""
    return x.end(x.turned(x.R, h, x.Pi), x.Pi - h * x.gyro(x.Pi) + h * x.T(x.R))


@in_setting
def backward_euler_step(x, h):
    """Equation (12)."""

    def residual(Pi: Array) -> Array:
        return Pi - x.Pi + h * x.gyro(Pi) - h * x.T(x.turned(x.R, h, Pi))

    Pi = newton(residual, x.Pi)
    return x.end(x.turned(x.R, h, Pi), Pi)


@in_setting
def forward_euler_m_step(x, h):
    """Equation (18)."""
    R = x.turned(x.R, h, x.Pi)
    return x.end(R, R.T @ x.R @ (x.Pi + h * x.T(x.R)))


@in_setting
def backward_euler_m_step(x, h):
    """Equation (19)."""

    def residual(Pi: Array) -> Array:
        R = x.turned(x.R, h, Pi)
        return Pi - R.T @ x.R @ x.Pi - h * x.T(R)

    Pi = newton(residual, x.Pi)
    return x.end(x.turned(x.R, h, Pi), Pi)


@in_setting
def trap_step(x, h):
    """Algorithm TRAP, section 3.3."""

    def residual(Pi: Array) -> Array:
        ends = -x.gyro(x.Pi) + x.T(x.R) - x.gyro(Pi) + x.T(x.turned_by_both(h, Pi))
        return Pi - x.Pi - h / 2 * ends

    Pi = newton(residual, x.Pi)
    return x.end(x.turned_by_both(h, Pi), Pi)


@in_setting
def imid_step(x, h):
    """Algorithm IMID, section 3.4; its torque is that of half the step."""

    def rate_of_change(Pi: Array) -> Array:
        return -x.gyro(Pi) + x.T(x.turned(x.R, h / 2, Pi))

    mean = newton(lambda Pi: Pi - x.Pi - h / 2 * rate_of_change(Pi), x.Pi)
    return x.end(x.turned(x.R, h, mean), x.Pi + h * rate_of_change(mean))


@in_setting
def trapm_step(x, h):
    """Algorithm TRAPM, section 3.6."""

    def residual(Pi: Array) -> Array:
        R = x.turned_by_both(h, Pi)
        return Pi - R.T @ x.R @ (x.Pi + h / 2 * x.T(x.R)) - h / 2 * x.T(R)

    Pi = newton(residual, x.Pi)
    return x.end(x.turned_by_both(h, Pi), Pi)


@in_setting
def imidm_step(x, h):
    """Algorithm IMIDM, section 3.6, in the unknown Psi_n; torque at R_{n-1} exp(Psi_n / 2)."""

    def residual(Psi: Array) -> Array:
        half = expm(skew(Psi) / 2)
        return Psi - h * x.rate(half.T @ x.Pi + h / 2 * x.T(x.R @ half))

    Psi = newton(residual, h * x.rate(x.Pi))
    half = expm(skew(Psi) / 2)
    return x.end(x.R @ expm(skew(Psi)), expm(-skew(Psi)) @ x.Pi + h * half.T @ x.T(x.R @ half))


def cayley(A: Array) -> Array:
    """cay(A) = (1 - A/2)^-1 (1 + A/2)."""
    return np.linalg.solve(np.eye(3) - A / 2, np.eye(3) + A / 2)


def akw(x: Setting, h: float, mean_torque: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Algorithm AKW, section 4, in the unknown Pi_n, with mean_torque(R_n) over the step."""

    def next_attitude(Pi1: Array) -> tuple[Array, Array]:
        omega_bar = x.rate((x.Pi + Pi1) / 2)
        return omega_bar, x.R @ cayley(h * skew(omega_bar))

    def residual(Pi1: Array) -> Array:
        omega_bar, R1 = next_attitude(Pi1)
        return Pi1 - x.Pi + h * skew(omega_bar) @ (x.Pi + Pi1) / 2 - h * mean_torque(R1)

    Pi1 = newton(residual, x.Pi)
    return x.end(next_attitude(Pi1)[1], Pi1)


@in_setting
def akw_step(x, h):
    """AKW as printed: with the mean of the torques at both ends."""
    return akw(x, h, lambda R1: (x.T(x.R) + x.T(R1)) / 2)


def _bottasso(x, h, residual_rate):
    """Psi of (h/2)(... + ...) solved for, with the end that it leads to."""

    def end(Psi: Array) -> tuple[Array, Array]:
        R = x.R @ expm(skew(Psi))
        return R, expm(-skew(Psi)) @ (x.Pi + h / 2 * x.T(x.R)) + h / 2 * x.T(R)

    def residual(Psi: Array) -> Array:
        return Psi - h / 2 * residual_rate(Psi, end(Psi)[1])

    return x.end(*end(newton(residual, h * x.rate(x.Pi))))


@in_setting
def swc1_step(x, h):
    """Algorithm SWC1, section 4."""

    def end(Psi: Array) -> Array:
        half = expm(skew(Psi) / 2)
        return expm(-skew(Psi)) @ x.Pi + h * half.T @ x.T(x.R @ half)

    def residual(Psi: Array) -> Array:
        return Psi - h / 2 * (x.rate(end(Psi)) + x.rate(x.Pi))

    Psi = newton(residual, h * x.rate(x.Pi))
    return x.end(x.R @ expm(skew(Psi)), end(Psi))


@in_setting
def bbtrap_step(x, h):
    """Algorithm BBTRAP, section 4."""
    return _bottasso(x, h, lambda Psi, Pi: x.rate(Pi) + x.rate(x.Pi))


def dexp(Theta: Array) -> Array:
    """d exp as (9) prints it, with the first terms of its coefficients' series near 0."""
    n2 = Theta @ Theta
    if abs(n2) < 1e-6:
        a, b = 1 / 2 - n2 / 24, 1 / 6 - n2 / 120
    else:
        n = np.sqrt(n2)
        a, b = 2 * np.sin(n / 2) ** 2 / n2, (1 - np.sin(n) / n) / n2
    S = skew(Theta)
    return np.eye(3) + a * S + b * S @ S


@in_setting
def bbtrapwd_step(x, h):
    """Algorithm BBTRAPWD, section 4."""

    def rates(Psi: Array, Pi: Array) -> Array:
        return np.linalg.solve(dexp(-Psi), x.rate(Pi)) + x.rate(x.Pi)

    return _bottasso(x, h, rates)
