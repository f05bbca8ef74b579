"""B-dot: what it reads, what it commands, and what that does to a tumbling body."""

import gymnasium as gym
import numpy as np
import pytest

from family import QUICK
from laws import drawn
from rbgym.agents import controllers
from rbgym.agents.judge.evaluation import evaluate
from rbgym.quaternion import from_rotation_vector, multiply, rotate_inverse

pytestmark = pytest.mark.interpreted

MAGNETIC = "MagneticDetumble-v1"
GOES_ON = np.zeros(20, bool)


def b_dot(**gains):
    return controllers.make("b_dot", gym.make(MAGNETIC, **QUICK[MAGNETIC]), **gains)


def turning(size, law):
    """Observations (20, 10) before and after a control period of bodies turning steadily in a field
    that stands, at rates of a size [rad/s]."""
    q, omega = drawn(20)
    omega *= size / np.linalg.norm(omega, axis=1, keepdims=True)
    after = multiply(q, from_rotation_vector(law.dt * omega))
    world = np.array([0.3, -0.5, 0.4])
    return [
        np.concatenate([attitude, omega / 0.3, rotate_inverse(attitude, world)], axis=1)
        for attitude in (q, after)
    ]


def test_b_dot_reads_nothing_but_the_magnetometer():
    law = b_dot()
    before, after = turning(0.02, law)
    m, memory = law.predict(after, law.predict(before)[1], GOES_ON)
    np.testing.assert_array_equal(memory, after[:, 7:] * law.field)
    blind = [np.concatenate([0 * rows[:, :7], rows[:, 7:]], axis=1) for rows in (before, after)]
    np.testing.assert_array_equal(law.predict(blind[1], law.predict(blind[0])[1], GOES_ON)[0], m)


def test_differences_of_the_field_are_the_cross_product_with_the_rates_that_a_gyro_has():
    law, gyros = b_dot(), controllers.make("magnetic_rate", gym.make(MAGNETIC, **QUICK[MAGNETIC]))
    before, after = turning(1e-3, law)
    m, _ = law.predict(after, law.predict(before)[1], GOES_ON)
    # Half a period old, and so turned by half of 1e-3 rad.
    np.testing.assert_allclose(m, gyros.predict(after)[0], atol=6e-4 * np.abs(m).max())
    assert 0.01 < np.abs(m).max() < 1.0


def test_bang_bang_gives_all_there_is_against_each_change_and_never_speeds_up_the_body():
    law = b_dot(bang_bang=True)
    before, after = turning(0.02, law)
    m, _ = law.predict(after, law.predict(before)[1], GOES_ON)
    change = after[:, 7:] - before[:, 7:]
    np.testing.assert_array_equal(m, np.where(change > 0, -1.0, 1.0))
    # The rates do no work but m . (B x omega) = m . dB/dt; at half a period's distance.
    omega = after[:, 4:7] * 0.3
    half = rotate_inverse(from_rotation_vector(-0.5 * law.dt * omega), after[:, 7:])
    power = np.sum(np.cross(m, half) * omega, axis=1)
    assert (power < 0).all()


def test_an_episode_starts_without_a_command_and_forgets_the_field_of_the_last():
    for law in (b_dot(), b_dot(bang_bang=True)):
        before, after = turning(0.02, law)
        first, memory = law.predict(before)
        np.testing.assert_array_equal(first, 0.0)
        begins = np.arange(20) % 2 == 0
        m, _ = law.predict(after, memory, begins)
        np.testing.assert_array_equal(m[begins], 0.0)
        assert (np.abs(m[~begins]).max(axis=1) > 0).all()


@pytest.mark.compiled
@pytest.mark.slow
def test_strong_coils_bring_all_to_rest_in_proportion_and_few_by_full_moments():
    env = gym.make(MAGNETIC)
    laws = (controllers.make("b_dot", env, bang_bang=b) for b in (False, True))
    proportional, full = (evaluate(law, MAGNETIC, 32) for law in laws)
    assert proportional.success_rate == 1.0
    assert full.success_rate < 0.4
    # What is left turns about the field, where there is no torque: it follows that, and no more.
    assert np.nanmedian(full.played.rate_error[-1]) > 0.005
