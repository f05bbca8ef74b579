"""Step functions of one free body: correct ones, and ones with a single fault each.

Most faults are put on the exact motion, so that nothing else is wrong with them.
"""

from functools import cache

import numpy as np

from rbgym.quaternion import conjugate, from_rotation_vector, multiply, normalized, rotate
from rbgym.testing import integrator_step

INERTIA = np.array([6.0, 8.0, 3.0])


@cache
def _exact():
    return integrator_step(INERTIA, "exact")  # compiles, and so not while tests are collected


def exact(q, omega, dt):
    return _exact()(q, omega, dt)


def exact_for(duration):
    """The exact motion, for a time duration(q, omega, dt) instead of dt."""
    return lambda q, omega, dt: exact(q, omega, duration(q, omega, dt))


def turned_by(attitude):
    """The exact rates, with an attitude(q, turn): turn is the exact one, body axes."""

    def step(q, omega, dt):
        q_after, rates = exact(q, omega, dt)
        return normalized(attitude(q, multiply(conjugate(q), q_after))), rates

    return step


def power(turn, exponent):
    """The rotation about the same axis by a multiple of the angle (below half a turn)."""
    turn = turn * np.sign(turn[0])
    sine = np.linalg.norm(turn[1:])
    angle = 2 * np.arctan2(sine, turn[0])
    return from_rotation_vector(exponent * angle * turn[1:] / sine)


def in_place(q, omega, dt):
    """Exact, but writes into the arrays that it is given and returns them."""
    q[:], omega[:] = exact(q, omega, dt)
    return q, omega


class OneBuffer:
    """Exact, but returns the same arrays each time."""

    def __init__(self):
        self.q, self.omega = np.zeros(4), np.zeros(3)

    def __call__(self, q, omega, dt):
        self.q[:], self.omega[:] = exact(q, omega, dt)
        return self.q, self.omega


def either_sign(q, omega, dt):
    """Exact, but returns the quaternion with w >= 0."""
    q, omega = exact(q, omega, dt)
    return (q if q[0] >= 0 else -q), omega


def planar_rotations(q, omega, dt):
    """Symmetric splitting into rotations about the axes: keeps momentum, not energy."""
    momentum = INERTIA * omega
    for axis, share in ((0, 0.5), (1, 0.5), (2, 1.0), (1, 0.5), (0, 0.5)):
        angle = np.zeros(3)
        angle[axis] = share * dt * momentum[axis] / INERTIA[axis]
        turn = from_rotation_vector(angle)
        q, momentum = multiply(q, turn), rotate(conjugate(turn), momentum)
    return normalized(q), momentum / INERTIA


def overturning(q, omega, dt):
    """The attitude turns too far, by the square of the step: energy stays, momentum does not."""
    return turned_by(lambda q, turn: multiply(q, power(turn, 1 + 0.01 * dt**2)))(q, omega, dt)


def growing_quaternion(q, omega, dt):
    """Exact, but the quaternion's length grows."""
    length = np.linalg.norm(q)
    after, omega = exact(q / length, omega, dt)
    return after * length * (1 + 1e-9), omega


# Always late, in proportion to the step.
first_order = exact_for(lambda q, omega, dt: dt * (1 + 0.01 * dt))


@exact_for
def faster_upward(q, omega, dt):
    """Faster the more vertical its momentum is, by the square of the step."""
    momentum = rotate(q, INERTIA * omega)
    return dt * (1 + 0.01 * dt**2 * (momentum[2] / np.linalg.norm(momentum)) ** 2)


@exact_for
def one_way(q, omega, dt):
    """Faster in one direction of time than in the other, by the square of the step."""
    return dt * (1 + 0.01 * dt**2 * np.prod(omega) / np.linalg.norm(omega) ** 3)


world_rates = turned_by(lambda q, turn: multiply(turn, q))
missing_half = turned_by(lambda q, turn: multiply(q, power(turn, 2.0)))
half_too_many = turned_by(lambda q, turn: multiply(q, power(turn, 0.5)))
wrong_way = turned_by(lambda q, turn: multiply(q, conjugate(turn)))
stuck = turned_by(lambda q, turn: q)


def world_to_body(q, omega, dt):
    """The quaternion maps world to body."""
    q, omega = exact(conjugate(q), omega, dt)
    return conjugate(q), omega


def scalar_last(q, omega, dt):
    """The quaternion is (x, y, z, w)."""
    q, omega = exact(np.roll(q, 1), omega, dt)
    return np.roll(q, -1), omega


def no_gyroscopic_term(q, omega, dt):
    """The rates stay."""
    return normalized(multiply(q, from_rotation_vector(omega * dt))), omega


def gyroscopic_sign(q, omega, dt):
    """Euler's equations with the wrong sign."""
    after, _ = exact(q, omega, dt)
    return after, omega + dt * np.cross(omega, INERTIA * omega) / INERTIA


def rates_of(q, omega):
    """Rates of attitude and of body rates."""
    gyroscopic = np.cross(INERTIA * omega, omega) / INERTIA
    return np.concatenate([multiply(q, np.array([0.0, *omega])) / 2, gyroscopic])


def explicit_euler(q, omega, dt):
    """First order; gains energy until it blows up."""
    after = np.concatenate([q, omega]) + dt * rates_of(q, omega)
    return after[:4], after[4:]


def runge_kutta_4(q, omega, dt):
    """The classical method, the quaternion normalised after each step."""
    start = np.concatenate([q, omega])
    slopes = [rates_of(q, omega)]
    for share in (0.5, 0.5, 1.0):
        stage = start + share * dt * slopes[-1]
        slopes.append(rates_of(stage[:4], stage[4:]))
    after = start + dt / 6 * (slopes[0] + 2 * slopes[1] + 2 * slopes[2] + slopes[3])
    return normalized(after[:4]), after[4:]
