"""Moller & Glocker (2012): the scalable body and the rigid body as a scalable body held rigid.

The paper gives the equations of motion (93) and their mass matrix; the time stepping is Gonzalez's
energy-consistent one in the invariants pi = phi(A)^T p and eta = |A|^2 of

    H = 1/8 eta^-2 pi . inv(Theta^) pi,  p = dT/dA' = 2 phi(A) Theta^ (nu, omega)  (68),

the kinetic energy (66) in Hamiltonian form without |A| = 1; phi is the Q_l of Betsch & Siebert.
Rotors are our extension, of the rigid body only: pi - 2 (0, h_w) in place of pi.
"""

from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import block_diag

from textbook import newton, tensor, vector
from textbook_potentials import discrete_quaternion_gradient
from textbook_quaternion import Array, E, G, pure, quaternion_of_rotation_vector, quaternion_product
from textbook_quaternion import Q_left as phi

T = np.diag([1.0, -1.0, -1.0, -1.0])  # (16)


def extended_inertia(Theta) -> Array:
    """Theta^ (65)."""
    Theta = tensor(Theta)
    return block_diag(np.trace(Theta) / 2, Theta)


def discrete_slopes(Theta, A, p, A1, p1, rotors=0.0) -> tuple[Array, float]:
    """(d_pi H, d_eta H) with d_pi H . (pi_1 - pi_0) + d_eta H (eta_1 - eta_0) = H_1 - H_0.

    H is a product: the mean of each factor goes with the divided difference of the other, and
    that of eta^-2 is -(eta_0 + eta_1)/(eta_0 eta_1)^2.
    """
    inverse = np.linalg.inv(extended_inertia(Theta))
    pi, pi1 = phi(A).T @ p - rotors, phi(A1).T @ p1 - rotors
    eta, eta1 = A @ A, A1 @ A1
    d_pi = (eta**-2 + eta1**-2) / 2 / 4 * inverse @ (pi + pi1) / 2
    mean_of_form = (pi @ inverse @ pi + pi1 @ inverse @ pi1) / 2
    return d_pi, -(eta + eta1) / (eta * eta1) ** 2 * mean_of_form / 8


def canonical_residual(Theta, A, p, A1, p1, h, force, rotors=0.0) -> Array:
    """A' = dH/dp, p' = -dH/dA + force, discretised; pi = phi(A)^T p = T phi(p)^T A (67)."""
    d_pi, d_eta = discrete_slopes(Theta, A, p, A1, p1, rotors)
    Am, pm = (A + A1) / 2, (p + p1) / 2
    first = A1 - A - h * phi(Am) @ d_pi
    second = p1 - p + h * (phi(pm) @ T @ d_pi + 2 * Am * d_eta) - h * force
    return np.concatenate([first, second])


def _rigid(J, q, omega, h, potential, torque, rotor_momentum, scaling_force):
    """A_1, p_1, lambda: nine unknowns, |A_1| = 1."""
    J, u, h_w = tensor(J), vector(torque), vector(rotor_momentum)
    rotors, p = pure(2 * h_w), 2 * G(q).T @ (J @ omega + h_w)

    def force(A1: Array, multiplier: float) -> Array:
        """(81) at the mean, and the loads; u over |A_mid|^2 gives the world impulse h R_m u."""
        Am = (q + A1) / 2
        load = 2 * phi(Am) @ np.concatenate([[scaling_force], u / (Am @ Am)])
        if potential is not None:
            load = load - discrete_quaternion_gradient(potential, q, A1)
        return load + 2 * Am * multiplier

    def residual(x: Array) -> Array:
        A1, p1, multiplier = x[:4], x[4:8], x[8]
        motion = canonical_residual(J, q, p, A1, p1, h, force(A1, multiplier), rotors)
        return np.concatenate([motion, [A1 @ A1 - 1]])  # (77)

    A1 = quaternion_product(q, quaternion_of_rotation_vector(h * omega))
    guess = [A1, 2 * G(A1).T @ (J @ omega + h_w), [-omega @ J @ omega - scaling_force]]
    x = newton(residual, np.concatenate(guess))
    return x[:4], x[4:8], x[8]


def scalable_em_step(J, q, omega, h, potential=None, torque=None, rotor_momentum=None):
    """The rigid body (82): |A|^2 = 1 as a perfect bilateral constraint."""
    A1, p1, _ = _rigid(J, q, omega, h, potential, torque, rotor_momentum, 0.0)
    A1 = A1 / np.linalg.norm(A1)  # round-off only
    return A1, np.linalg.solve(tensor(J), 0.5 * G(A1) @ p1 - vector(rotor_momentum))


def scalable_em_multiplier(
    J, q, omega, h, potential=None, torque=None, rotor_momentum=None, scaling_force=0.0
) -> float:
    """The scaling constraint force lambda over the step, cf. (96); scaling_force is S_C of (75)."""
    return _rigid(J, q, omega, h, potential, torque, rotor_momentum, scaling_force)[2]


class Scalable(NamedTuple):
    """Position and velocity (3,) of the centre of mass, A (4,) of any length, momentum p (4,)."""

    r: Array
    A: Array
    v: Array
    p: Array


def scalable_state(Theta, r, A, v, nu: float, omega) -> Scalable:
    """From the generalised velocities (37): (nu, omega) = 2 A* A'."""
    A = np.asarray(A, dtype=float)
    p = 2 * phi(A) @ extended_inertia(Theta) @ np.array([nu, *omega])
    return Scalable(vector(r), A, vector(v), p)


def scalable_velocities(Theta, state: Scalable) -> tuple[float, Array]:
    """(nu, omega): nu the rate of the scale |A|^2, omega = |A|^2 times the body's rate (49)."""
    x = np.linalg.solve(2 * extended_inertia(Theta), phi(state.A).T @ state.p) / (state.A @ state.A)
    return x[0], x[1:]


def scalable_step(mass, Theta, state, h, force=None, scaling_force=0.0, moment=None) -> Scalable:
    """Eight unknowns A_1, p_1; the generalised force (76) at the mean, 2 phi(A_mid) (S_C, M_C).

    force is in world axes, M_C of (75) in the reference configuration: the world moment is
    |A|^2 R M_C. r by the midpoint rule.
    """
    r, A, v, p = state
    load = np.array([scaling_force, *vector(moment)])

    def residual(x: Array) -> Array:
        A1, p1 = x[:4], x[4:]
        return canonical_residual(Theta, A, p, A1, p1, h, phi(A + A1) @ load)

    x = newton(residual, np.concatenate([A, p]))
    v1 = v + h * vector(force) / mass
    return Scalable(r + h * (v + v1) / 2, x[:4], v1, x[4:])


def scalable_run(mass, Theta, state, h, steps, force=None, scaling_force=0.0, moment=None):
    """The states at the start and after each step."""
    states = [state]
    for _ in range(steps):
        states.append(scalable_step(mass, Theta, states[-1], h, force, scaling_force, moment))
    return states


def scalable_energy(mass, Theta, state: Scalable) -> float:
    """Kinetic energy (60)."""
    nu, omega = scalable_velocities(Theta, state)
    u = np.array([nu, *omega])
    return 0.5 * mass * state.v @ state.v + 0.5 * u @ extended_inertia(Theta) @ u


def scalable_momentum(state: Scalable) -> Array:
    """World angular momentum about the centre of mass: 1/2 E(A) p = |A|^2 R Theta omega."""
    return 0.5 * E(state.A) @ state.p


def scalable_reference(
    mass, Theta, state, t, force=None, scaling_force=0.0, moment=None, rtol=1e-13
) -> Scalable:
    """(93) with lambda = 0 and without the constraint, by DOP853 in r, A, v, nu, omega."""
    Theta, M, F = tensor(Theta), vector(moment), vector(force)

    def rate(_: float, y: Array) -> Array:
        A, v, nu, omega = y[3:7], y[7:10], y[10], y[11:]
        s, L = A @ A, Theta @ omega
        nu_dot = (omega @ L / s + scaling_force) / (np.trace(Theta) / 2)
        omega_dot = np.linalg.solve(Theta, M - (nu * L + np.cross(omega, L)) / s)
        A_dot = quaternion_product(A, np.array([nu, *omega])) / (2 * s)
        return np.concatenate([v, A_dot, F / mass, [nu_dot], omega_dot])

    nu, omega = scalable_velocities(Theta, state)
    y = np.concatenate([state.r, state.A, state.v, [nu], omega])
    y = solve_ivp(rate, (0.0, t), y, method="DOP853", rtol=rtol, atol=1e-14).y[:, -1]
    return scalable_state(Theta, y[:3], y[3:7], y[7:10], y[10], y[11:])
