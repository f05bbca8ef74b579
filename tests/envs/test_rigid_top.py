"""RigidTop-v0: the physics, the contract with Gymnasium, and bad input."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from family import at, make, many
from rbgym.quaternion import rotate

pytestmark = pytest.mark.interpreted

ID = "RigidTop-v0"


def test_constants_are_those_of_the_paper():
    env = make(ID)
    mass = 2700 * np.pi * 0.05**2 * 0.1 / 3
    assert env.potential.mgl == pytest.approx(mass * 9.81 * 0.075, rel=1e-12)
    np.testing.assert_allclose(env.torque_limit, env.potential.mgl * np.array([0.5, 0.5, 0.01]))
    assert env.dt == 0.02
    assert gym.spec(ID).max_episode_steps == 500


def test_start_states_fill_the_documented_ranges_uniformly():
    vec = many(ID, 4096)
    vec.reset(seed=11)
    state = vec.state
    axis = rotate(state["quaternion"], (0.0, 0.0, 1.0))
    tilt = np.arccos(axis[:, 2])
    assert tilt.max() <= 0.5
    assert np.mean(tilt) == pytest.approx(0.25, abs=0.01)
    # The direction has no preference: the mean of the horizontal unit vectors is near zero.
    direction = axis[:, :2] / np.linalg.norm(axis[:, :2], axis=1, keepdims=True)
    assert np.linalg.norm(direction.mean(axis=0)) < 4 / np.sqrt(4096)
    omega = state["angular_velocity"]
    assert np.abs(omega[:, 2]).max() <= 5
    assert np.std(omega[:, 2]) == pytest.approx(5 / np.sqrt(3), rel=0.03)
    assert np.hypot(omega[:, 0], omega[:, 1]).max() <= 0.1


def test_reward_is_the_documented_formula():
    env = make(ID)
    env.reset(seed=2)
    action = np.array([0.3, -0.5, 0.7])
    _, reward, *_, info = env.step(action)
    state = env.state
    tilt = np.arccos(rotate(state["quaternion"], (0.0, 0.0, 1.0))[2])
    terms = (
        (2 * np.sin(tilt / 2) / 0.2) ** 2,
        0.02 * np.sum(state["angular_velocity"] ** 2),
        0.02 * np.mean(action**2),
    )
    assert reward == pytest.approx(1 / (1 + sum(terms)), rel=1e-12)
    assert info["reward_closeness"] == reward
    assert info["attitude_error"] == pytest.approx(tilt, rel=1e-9)


@pytest.mark.parametrize(
    ("tilt", "spin", "ends"),
    [(1.54, 0.0, False), (1.55, 0.0, True), (0.0, 39.7, False), (0.0, 39.9, True)],
)
def test_the_fast_and_the_fallen_end(tilt, spin, ends):
    env = make(ID)
    at(env, [np.cos(tilt / 2), np.sin(tilt / 2), 0, 0], (0, 0, spin))
    # A period of full torque adds 0.2 rad/s to the spin, up to 40 rad/s; a tilt grows by 0.023.
    assert env.step(np.array([0.0, 0.0, 1.0]))[2] is ends


def test_success_needs_fifty_steps_at_rest_upright():
    env = make(ID)
    env.reset(options={"state": {"quaternion": [1, 0, 0, 0], "angular_velocity": [0.0, 0.0, 0.4]}})
    flags = [env.step(np.zeros(3))[4]["is_success"] for _ in range(60)]
    assert flags == [step >= 50 for step in range(1, 61)]


def test_sparse_reward_is_one_in_the_success_region_only():
    env = make(ID, reward="sparse")
    for tilt, expected in ((0.0, 1.0), (0.2, 0.0)):
        at(env, [np.cos(tilt / 2), np.sin(tilt / 2), 0, 0])
        assert env.step(np.zeros(3))[1] == expected


def test_before_a_reset_there_is_no_step_and_no_state():
    for env, action in ((make(ID), np.zeros(3)), (many(ID, 2), np.zeros((2, 3)))):
        for use in (lambda: env.step(action), env.invariants, lambda: env.state):  # noqa: B023
            with pytest.raises(gym.error.ResetNeeded, match=r"call reset\(\) before"):
                use()


def test_stepping_an_ended_lane_in_disabled_mode_names_it():
    vec = many(ID, 3, max_episode_steps=5, autoreset_mode=AutoresetMode.DISABLED)
    vec.reset(seed=0)
    for _ in range(5):
        vec.step(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="lane 0 has ended"):
        vec.step(np.zeros((3, 3)))


def test_a_step_that_cannot_be_solved_truncates_that_lane_alone():
    how = {"integrator": "imid", "dt": 2.0, "substeps": 1}
    vec = many(ID, 4, autoreset_mode=AutoresetMode.DISABLED, **how)
    spin = np.array([[0, 0, 0.1], [3, 20, 30], [0, 0, 0.1], [0, 0, 0.1]], dtype=float)
    at(vec, [1.0, 0, 0, 0], spin)
    _, _, _, truncated, info = vec.step(np.zeros((4, 3)))
    assert truncated.tolist() == [False, True, False, False]
    assert info["integration_failed"].tolist() == truncated.tolist()
    np.testing.assert_allclose(vec.state["angular_velocity"], spin, rtol=0, atol=1e-13)
