"""Slow, plain versions of the algorithms of Krysl (2007), with matrices, as printed.

I^-1 Pi becomes I^-1 (Pi - h_w), h_w the momentum of rotors.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from textbook import newton, quaternion_of_rotation, rotation, skew, tensor, torque_at, vector

Array = NDArray[np.float64]


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

    def T(self, R: Array) -> Array:
        return torque_at(R, self.potential, self.u)

    def end(self, R: Array, Pi: Array) -> tuple[Array, Array]:
        return quaternion_of_rotation(R, near=self.q), self.rate(Pi)


def forward_euler_step(J, q, omega, h, potential=None, torque=None, rotor_momentum=None):
    """Equation (11)."""
    x = Setting(J, q, omega, potential, torque, rotor_momentum)
    return x.end(x.turned(x.R, h, x.Pi), x.Pi - h * x.gyro(x.Pi) + h * x.T(x.R))


def backward_euler_step(J, q, omega, h, potential=None, torque=None, rotor_momentum=None):
    """Equation (12)."""
    x = Setting(J, q, omega, potential, torque, rotor_momentum)

    def residual(Pi: Array) -> Array:
        return Pi - x.Pi + h * x.gyro(Pi) - h * x.T(x.turned(x.R, h, Pi))

    Pi = newton(residual, x.Pi)
    return x.end(x.turned(x.R, h, Pi), Pi)


def forward_euler_m_step(J, q, omega, h, potential=None, torque=None, rotor_momentum=None):
    """Equation (18)."""
    x = Setting(J, q, omega, potential, torque, rotor_momentum)
    R = x.turned(x.R, h, x.Pi)
    return x.end(R, R.T @ x.R @ (x.Pi + h * x.T(x.R)))


def backward_euler_m_step(J, q, omega, h, potential=None, torque=None, rotor_momentum=None):
    """Equation (19)."""
    x = Setting(J, q, omega, potential, torque, rotor_momentum)

    def residual(Pi: Array) -> Array:
        R = x.turned(x.R, h, Pi)
        return Pi - R.T @ x.R @ x.Pi - h * x.T(R)

    Pi = newton(residual, x.Pi)
    return x.end(x.turned(x.R, h, Pi), Pi)


def trap_step(J, q, omega, h, potential=None, torque=None, rotor_momentum=None):
    """Algorithm TRAP, section 3.3."""
    x = Setting(J, q, omega, potential, torque, rotor_momentum)

    def attitude(Pi: Array) -> Array:
        return x.turned(x.turned(x.R, h / 2, x.Pi), h / 2, Pi)

    def residual(Pi: Array) -> Array:
        ends = -x.gyro(x.Pi) + x.T(x.R) - x.gyro(Pi) + x.T(attitude(Pi))
        return Pi - x.Pi - h / 2 * ends

    Pi = newton(residual, x.Pi)
    return x.end(attitude(Pi), Pi)


def imid_step(J, q, omega, h, potential=None, torque=None, rotor_momentum=None):
    """Algorithm IMID, section 3.4; its torque is that of half the step."""
    x = Setting(J, q, omega, potential, torque, rotor_momentum)

    def rate_of_change(Pi: Array) -> Array:
        return -x.gyro(Pi) + x.T(x.turned(x.R, h / 2, Pi))

    mean = newton(lambda Pi: Pi - x.Pi - h / 2 * rate_of_change(Pi), x.Pi)
    return x.end(x.turned(x.R, h, mean), x.Pi + h * rate_of_change(mean))


def trapm_step(J, q, omega, h, potential=None, torque=None, rotor_momentum=None):
    """Algorithm TRAPM, section 3.6."""
    x = Setting(J, q, omega, potential, torque, rotor_momentum)

    def attitude(Pi: Array) -> Array:
        return x.turned(x.turned(x.R, h / 2, x.Pi), h / 2, Pi)

    def residual(Pi: Array) -> Array:
        R = attitude(Pi)
        return Pi - R.T @ x.R @ (x.Pi + h / 2 * x.T(x.R)) - h / 2 * x.T(R)

    Pi = newton(residual, x.Pi)
    return x.end(attitude(Pi), Pi)


def imidm_step(J, q, omega, h, potential=None, torque=None, rotor_momentum=None):
    """Algorithm IMIDM, section 3.6, in the unknown Psi_n; torque at R_{n-1} exp(Psi_n / 2)."""
    J, u, h_w = tensor(J), vector(torque), vector(rotor_momentum)
    R, Pi = rotation(q), J @ omega + h_w

    def half_way(Psi: Array) -> tuple[Array, Array]:
        half = expm(skew(Psi) / 2)
        return half, torque_at(R @ half, potential, u)

    def residual(Psi: Array) -> Array:
        half, T = half_way(Psi)
        return Psi - h * np.linalg.solve(J, half.T @ Pi + h / 2 * T - h_w)

    Psi = newton(residual, h * omega)
    half, T = half_way(Psi)
    Pi1 = expm(-skew(Psi)) @ Pi + h * half.T @ T
    q1 = quaternion_of_rotation(R @ expm(skew(Psi)), near=q)
    return q1, np.linalg.solve(J, Pi1 - h_w)


def cayley(A: Array) -> Array:
    """cay(A) = (1 - A/2)^-1 (1 + A/2)."""
    return np.linalg.solve(np.eye(3) - A / 2, np.eye(3) + A / 2)


def akw_step(J, q, omega, h, potential=None, torque=None, rotor_momentum=None):
    """Algorithm AKW, section 4, in the unknown Pi_n; I^-1 Pibar becomes I^-1 (Pibar - h_w)."""
    J, u, h_w = tensor(J), vector(torque), vector(rotor_momentum)
    R, Pi = rotation(q), J @ omega + h_w
    T = torque_at(R, potential, u)

    def next_attitude(Pi1: Array) -> tuple[Array, Array]:
        omega_bar = np.linalg.solve(J, (Pi + Pi1) / 2 - h_w)
        return omega_bar, R @ cayley(h * skew(omega_bar))

    def residual(Pi1: Array) -> Array:
        omega_bar, R1 = next_attitude(Pi1)
        T1 = torque_at(R1, potential, u)
        return Pi1 - Pi + h * skew(omega_bar) @ (Pi + Pi1) / 2 - h / 2 * (T + T1)

    Pi1 = newton(residual, Pi)
    q1 = quaternion_of_rotation(next_attitude(Pi1)[1], near=q)
    return q1, np.linalg.solve(J, Pi1 - h_w)


def _bottasso(x, h, residual_rate):
    """Psi of (h/2)(... + ...) solved for, with the end that it leads to."""

    def end(Psi: Array) -> tuple[Array, Array]:
        R = x.R @ expm(skew(Psi))
        return R, expm(-skew(Psi)) @ (x.Pi + h / 2 * x.T(x.R)) + h / 2 * x.T(R)

    def residual(Psi: Array) -> Array:
        return Psi - h / 2 * residual_rate(Psi, end(Psi)[1])

    return x.end(*end(newton(residual, h * x.rate(x.Pi))))


def swc1_step(J, q, omega, h, potential=None, torque=None, rotor_momentum=None):
    """Algorithm SWC1, section 4."""
    x = Setting(J, q, omega, potential, torque, rotor_momentum)

    def end(Psi: Array) -> Array:
        half = expm(skew(Psi) / 2)
        return expm(-skew(Psi)) @ x.Pi + h * half.T @ x.T(x.R @ half)

    def residual(Psi: Array) -> Array:
        return Psi - h / 2 * (x.rate(end(Psi)) + x.rate(x.Pi))

    Psi = newton(residual, h * x.rate(x.Pi))
    return x.end(x.R @ expm(skew(Psi)), end(Psi))


def bbtrap_step(J, q, omega, h, potential=None, torque=None, rotor_momentum=None):
    """Algorithm BBTRAP, section 4."""
    x = Setting(J, q, omega, potential, torque, rotor_momentum)
    return _bottasso(x, h, lambda Psi, Pi: x.rate(Pi) + x.rate(x.Pi))


def bbtrapwd_step(J, q, omega, h, potential=None, torque=None, rotor_momentum=None):
    """Algorithm BBTRAPWD, section 4, with d exp as (9) prints it."""
    x = Setting(J, q, omega, potential, torque, rotor_momentum)

    def dexp(Theta: Array) -> Array:
        n = np.sqrt(Theta @ Theta)
        S = skew(Theta)
        return np.eye(3) + (1 - np.cos(n)) / n**2 * S + (1 - np.sin(n) / n) * S @ S / n**2

    def rates(Psi: Array, Pi: Array) -> Array:
        return np.linalg.solve(dexp(-Psi), x.rate(Pi)) + x.rate(x.Pi)

    return _bottasso(x, h, rates)
