"""Slow reference integrators, written from the papers' printed systems; nothing from rbgym is used.

Quaternions are scalar first and map body to world; angular velocity, torque `u` and rotor momentum
`h_w` are in body axes. J is (3,) principal or (3, 3). Every step has the signature
step(J, q, omega, h, potential=None, torque=None, rotor_momentum=None) -> (q, omega).
Rotors are our extension: h_w is constant, J omega + h_w the total body momentum Pi.
Unknowns are found by Newton with a complex-step Jacobian, down to round-off.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp
from scipy.linalg import block_diag

from textbook_quaternion import (
    Array,
    E,
    G,
    Q_left,
    conjugate,
    minus,
    pure,
    quaternion_of_rotation,
    quaternion_of_rotation_vector,
    quaternion_product,
    rotation,
    skew,
)

Step = Callable[..., tuple[Array, Array]]
UP = np.array([0.0, 0.0, 1.0])


def tensor(J: ArrayLike) -> Array:
    """The (3, 3) inertia tensor of (3,) principal moments or of itself."""
    J = np.asarray(J, dtype=float)
    return np.diag(J) if J.ndim == 1 else J


def vector(a: ArrayLike | None) -> Array:
    """Three numbers; None means zero."""
    return np.zeros(3) if a is None else np.asarray(a, dtype=float)


class Top:
    """Heavy top V = mgl (R e_b) . e3, e_b the unit body axis from pivot to centre of mass."""

    def __init__(self, mgl: float, axis: ArrayLike) -> None:
        self.mgl = mgl
        self.axis = np.asarray(axis, dtype=float) / np.linalg.norm(axis)

    def energy(self, R: Array) -> float:
        return self.mgl * (UP @ R @ self.axis)

    def body_torque(self, R: Array) -> Array:
        """Arm x weight, in body axes."""
        return -self.mgl * np.cross(self.axis, R.T @ UP)

    def quaternion_gradient(self, q: Array) -> Array:
        """Gradient in R^4 of the quadratic V(q) = mgl e3 . E(q) G(q)^T e_b; cf. section 5.2."""
        return -2 * self.mgl * minus(self.axis) @ E(q).T @ UP


def torque_at(R: Array, potential: Top | None, u: Array) -> Array:
    """Held body torque plus the potential's."""
    return u if potential is None else u + potential.body_torque(R)


def energy(J: ArrayLike, R: Array, omega: Array, potential: Top | None = None) -> float:
    """Kinetic plus potential energy [J], without the rotors' own constant energy."""
    kinetic = 0.5 * omega @ tensor(J) @ omega
    return kinetic + (0.0 if potential is None else potential.energy(R))


def world_momentum(J: ArrayLike, R: Array, omega: Array, rotor_momentum: ArrayLike | None = None):
    """World angular momentum R (J omega + h_w), (3,)."""
    return R @ (tensor(J) @ omega + vector(rotor_momentum))


def complex_step_jacobian(f: Callable[[Array], Array], x: Array) -> Array:
    """The Jacobian of an analytic f, exact to round-off."""
    columns = [f(x + 1e-40j * unit).imag / 1e-40 for unit in np.eye(len(x))]
    return np.column_stack(columns)


def newton(f: Callable[[Array], Array], x: Array) -> Array:
    """The root of f near x, polished after convergence; raises ArithmeticError if there is none.

    Close to it the Jacobian of the last step serves: each step gains four digits more.
    """
    jacobian, polished = None, 0
    for _ in range(50):
        if jacobian is None:
            jacobian = complex_step_jacobian(f, x)
        dx = np.linalg.solve(jacobian, -f(x))
        x = x + dx
        change, size = np.max(np.abs(dx)), np.max(np.abs(x))
        polished += bool(change <= 1e-9 * size)
        if polished == 3:
            return x
        if change > 1e-4 * size:
            jacobian = None
    raise ArithmeticError("Newton did not converge")


def mass_matrix(J: Array, q: Array) -> Array:
    """M_4(q) = 2 tr(J) q q^T + 4 G^T J G (31)."""
    return 2 * np.trace(J) * np.outer(q, q) + 4 * G(q).T @ J @ G(q)


def quat_em_forces(q: Array, potential: Top | None, u: Array) -> Array:
    """-grad V plus the generalised force of the body torque u, at q = q_{n+1/2}.

    L = 1/2 E(q) p (45) is bilinear, so dL = 1/2 E(q_mid) dp + 1/2 E(dq) p_mid. By appendix C.1 the
    kinetic terms of (52) cancel in this sum and lambda q_mid drops out (A1): a further term h f in
    dp leaves dL = (h/2) E(q_mid) f. With f = 2 s G(q_mid)^T u this is h s E G^T u, and by (12)
    E G^T = |q_mid|^2 R_m, |q_mid| = cos(theta/4). dL = h R_m u therefore asks for
    s = 1/|q_mid|^2; the plain virtual-work force, s = 1, is short by cos^2(theta/4).
    """
    f = 2 * G(q).T @ u / (q @ q)
    return f if potential is None else f - potential.quaternion_gradient(q)


def quat_em_step(J, q, omega, h, potential=None, torque=None, rotor_momentum=None):
    """QUAT_EM, section 4.4: (52)_1 and (53) in the seven unknowns theta, p_{n+1} of (54)."""
    J, u, h_w = tensor(J), vector(torque), vector(rotor_momentum)
    J4_inverse = np.linalg.inv(block_diag(np.trace(J) / 2, J))  # above (32)
    p = mass_matrix(J, q) @ (0.5 * G(q).T @ omega) + 2 * G(q).T @ h_w  # p = dT/dq'; (14)
    rotors = pure(4 * h_w)  # T = 1/8 (pi - 2 h_w).J4^-1.(pi - 2 h_w), pi = Q_l(q)^T p (46)

    def residual(x: Array) -> Array:
        q1, p1 = quaternion_product(quaternion_of_rotation_vector(x[:3]), q), x[3:]  # (54)
        qm, pm = (q + q1) / 2, (p + p1) / 2
        pi_sum = Q_left(q).T @ p + Q_left(q1).T @ p1 - rotors
        sigma_sum = Q_left(p).T @ q + Q_left(p1).T @ q1 + rotors
        first = q1 - q - h / 8 * Q_left(qm) @ J4_inverse @ pi_sum  # (52)_1
        second = p1 - p + h / 8 * Q_left(pm) @ J4_inverse @ sigma_sum  # (52)_2
        second = second - h * quat_em_forces(qm, potential, u)
        return np.concatenate([first, G(qm) @ second])  # (53)

    theta = h * rotation(q) @ omega
    q1 = quaternion_product(quaternion_of_rotation_vector(theta), q)
    x = newton(residual, np.concatenate([theta, 2 * G(q1).T @ (J @ omega + h_w)]))
    q1, p1 = quaternion_product(quaternion_of_rotation_vector(x[:3]), q), x[3:]
    q1 = q1 / np.linalg.norm(q1)  # round-off only
    return q1, np.linalg.solve(J, 0.5 * G(q1) @ p1 - h_w)


def rkn4_step(J, q, omega, h, potential=None, torque=None, rotor_momentum=None):
    """Section 6 as printed: q is not normalised, the potential's torque is taken at q/|q|.

    Printed so, it is of order 3 over many steps: omega_1 = 2 conj(q_1) q_1' and the next
    q_0' = q_0 omega_0 / 2 multiply the rate by |q|^2 each step, and |q| - 1 is O(h^4).
    """
    J, u, h_w = tensor(J), vector(torque), vector(rotor_momentum)

    def acceleration(q: Array, v: Array) -> Array:  # q''(q, q')
        w = 2 * quaternion_product(conjugate(q), v)[1:]
        tau = torque_at(rotation(q), potential, u)
        w_dot = np.linalg.solve(J, tau - np.cross(w, J @ w + h_w))
        curvature = quaternion_product(quaternion_product(v, conjugate(q)), v)
        return curvature + 0.5 * quaternion_product(q, pure(w_dot))

    v = 0.5 * quaternion_product(q, pure(omega))
    k1 = acceleration(q, v)
    k2 = acceleration(q + h / 2 * v + h**2 / 8 * k1, v + h / 2 * k1)
    k3 = acceleration(q + h / 2 * v + h**2 / 8 * k1, v + h / 2 * k2)
    k4 = acceleration(q + h * v + h**2 / 2 * k3, v + h * k3)
    q1 = q + h * v + h**2 / 6 * (k1 + k2 + k3)
    v1 = v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return q1, 2 * quaternion_product(conjugate(q1), v1)[1:]


def rkn4_normalised_step(*args, **kwargs):
    """rkn4_step followed by the paper's sgn(q) = q/|q| at every step: order 4."""
    q, omega = rkn4_step(*args, **kwargs)
    return q / np.linalg.norm(q), omega


def run(step: Step, J, q, omega, h, steps, potential=None, torque=None, rotor_momentum=None):
    """((q, omega) at the end, quaternions (steps+1, 4), rates (steps+1, 3)).

    torque: None, (3,) held throughout, or (steps, 3) held over each step.
    """
    torques = np.broadcast_to(vector(torque), (steps, 3))
    trajectory = [(np.asarray(q, dtype=float), np.asarray(omega, dtype=float))]
    for u in torques:
        trajectory.append(step(J, *trajectory[-1], h, potential, u, rotor_momentum))
    qs, omegas = zip(*trajectory, strict=True)
    return trajectory[-1], np.array(qs), np.array(omegas)


def euler_reference(J, q, omega, t, potential=None, torque=None, rotor_momentum=None, rtol=1e-13):
    """(q, omega) at time t of the plain equations R' = skew(w) R, L' = R tau, in the world frame.

    torque: (3,) in body axes, None, or a function of time and R. There is no quaternion in them.
    """
    J, h_w = tensor(J), vector(rotor_momentum)
    u = torque if callable(torque) else (lambda *_: vector(torque))

    def rate(s: float, y: Array) -> Array:
        R, L = y[:9].reshape(3, 3), y[9:]
        w = R @ np.linalg.solve(J, R.T @ L - h_w)
        return np.concatenate([(skew(w) @ R).ravel(), R @ torque_at(R, potential, u(s, R))])

    R = rotation(np.asarray(q, dtype=float))
    y = np.concatenate([R.ravel(), R @ (J @ omega + h_w)])
    y = solve_ivp(rate, (0.0, t), y, method="DOP853", rtol=rtol, atol=rtol / 10).y[:, -1]
    q1 = quaternion_of_rotation(y[:9].reshape(3, 3), near=q)
    return q1, np.linalg.solve(J, rotation(q1).T @ y[9:] - h_w)
