"""The target's acceleration: against a target's motion in closed form."""

import numpy as np
import pytest

from laws import BODY, FREE, J, drawn
from rbgym.agents.controllers import AttitudePD, GeometricTracking, Hysteretic, QuaternionFeedback
from rbgym.quaternion import conjugate, from_rotation_vector, multiply, rotate_inverse

pytestmark = pytest.mark.interpreted

STEP = 1e-4
X, Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


def target(t):
    """Attitude (4,) of a target that swings about two axes."""
    about_z = from_rotation_vector(0.8 * np.sin(t + 0.3) * Z)
    return multiply(about_z, from_rotation_vector(0.6 * np.cos(1.3 * t) * X))


def rate_of(attitude, t):
    """Angular velocity in the axes of what has an attitude, from its derivative: q' = q omega/2."""
    change = (attitude(t + STEP) - attitude(t - STEP)) / (2 * STEP)
    return 2 * multiply(conjugate(attitude(t)), change)[..., 1:]


@pytest.mark.parametrize("cls", [AttitudePD, QuaternionFeedback, Hysteretic, GeometricTracking])
def test_a_body_on_the_path_of_its_target_accelerates_as_that_does(cls):
    """On it there is no error, and all the torque is that of the motion: J dOmega/dt and gyroscopic
    torque, in closed form. The law sees the rates of the periods, dt apart."""
    law = cls(BODY, FREE, rate_limit=2.0, dt=1e-3, frequency=1.0, moving=True)
    memory, t = None, 0.7
    for late in (-law.dt, 0.0):
        Omega = rate_of(target, t + late)[None]
        seen = (np.array([[1.0, 0.0, 0.0, 0.0]]), Omega, Omega)
        u, memory = law.feedback(seen, memory, np.array([memory is None]))
    # The mean of the last period is the acceleration in its middle.
    a = (rate_of(target, t) - rate_of(target, t - law.dt)) / law.dt
    np.testing.assert_allclose(u[0], J @ a + np.cross(Omega[0], J @ Omega[0]), rtol=0, atol=1e-5)
    assert np.abs(J @ a).max() > 0.3


def test_the_error_obeys_its_oscillator_beside_a_target_that_accelerates():
    law = AttitudePD(BODY, FREE, rate_limit=2.0, dt=1e-3, frequency=0.7, damping=0.9, moving=True)
    (q, omega), memory, t = drawn(20), None, 0.7
    omega *= 0.5

    def seen(late):
        """The body turns on with its rates; relative attitude, rates, the target's rates."""
        turned = multiply(q, from_rotation_vector(late * omega))
        relative = multiply(conjugate(target(t + late)), turned)
        return relative, omega, rotate_inverse(relative, rate_of(target, t + late))

    for late in (-law.dt, 0.0):
        u, memory = law.feedback(seen(late), memory, np.array([memory is None]))
    acceleration = np.linalg.solve(J, (u - np.cross(omega, omega @ J)).T).T
    target_change = (seen(STEP)[2] - seen(-STEP)[2]) / (2 * STEP)
    relative, _, w = seen(0.0)
    v = relative[:, 1:] * np.sign(relative[:, :1])
    expected = -2 * 0.7**2 * v - 2 * 0.9 * 0.7 * (omega - w)
    # A mean of the period before: half of 1e-3 s late.
    np.testing.assert_allclose(acceleration - target_change, expected, rtol=0, atol=2e-3)
