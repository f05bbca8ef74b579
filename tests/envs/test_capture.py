"""TumblingCapture-v0: a target that tumbles freely, and a dock that turns with it."""

import gymnasium as gym
import numpy as np
import pytest

import rbgym
from rbgym.envs.tasks.free_flyer import ARM
from rbgym.quaternion import rotate

pytestmark = pytest.mark.interpreted

TASK = "TumblingCapture-v0"


@pytest.fixture(scope="module")
def env():
    return gym.make(TASK).unwrapped


def flown(env, steps=60):
    env.reset(seed=3)
    states, shown = [env.state], []
    rng = np.random.default_rng(0)
    for _ in range(steps):
        shown.append(env.step(rng.uniform(-1, 1, 6).astype(np.float32))[0])
        states.append(env.state)
    return states, np.array(shown, dtype=np.float64)


def test_the_target_moves_as_a_free_body_of_revolution(env):
    states, _ = flown(env)
    q = np.array([s["target_quaternion"] for s in states])
    rate = np.array([s["target_angular_velocity"] for s in states])
    assert 0.03 <= np.linalg.norm(rate[0]) <= 0.1
    # Against the closed form of a general body, which the motion of a target does not use.
    body = rbgym.RigidBody([1.0, 1.0, 0.4])
    motion = rbgym.simulate(
        body, integrator="exact", dt=env.dt, steps=len(q) - 1,
        quaternion=q[0], angular_velocity=rate[0],
    )  # fmt: skip
    same = np.abs(np.sum(q * motion.quaternion, axis=1))
    np.testing.assert_allclose(same, 1.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(rate, motion.angular_velocity, rtol=0, atol=1e-13)
    momentum = rotate(q, rate * [1.0, 1.0, 0.4])
    np.testing.assert_allclose(momentum - momentum[0], 0.0, rtol=0, atol=1e-13)


def test_position_and_velocity_are_shown_from_the_dock_which_turns_with_the_target(env):
    states, shown = flown(env)
    dock = np.array([rotate(s["target_quaternion"], np.array([ARM, 0.0, 0.0])) for s in states])
    for state, row, place in zip(states[1:], shown, dock[1:], strict=True):
        gap = rotate(state["quaternion"], 4.0 * row[7:10])
        np.testing.assert_allclose(gap, state["position"] - place, rtol=0, atol=1e-6)
    # The dock's velocity by differences of its place.
    ahead = (dock[2:] - dock[:-2]) / (2.0 * env.dt)
    for state, row, drift in zip(states[1:-1], shown, ahead, strict=False):
        gap = rotate(state["quaternion"], row[10:13])
        assert gap == pytest.approx(state["velocity"] - drift, abs=0.1**3 * env.dt**2 + 1e-6)


def test_a_flyer_that_is_put_on_the_dock_is_there_and_the_target_turns_as_the_seed_says(env):
    states, _ = flown(env, steps=1)
    q, rate = states[0]["target_quaternion"], states[0]["target_angular_velocity"]
    arm = np.array([ARM, 0.0, 0.0])
    on_it = {
        "target_quaternion": q,
        "quaternion": q,
        "angular_velocity": rate,
        "position": rotate(q, arm),
        "velocity": rotate(q, np.cross(rate, arm)),
    }
    seen, info = env.reset(seed=3, options={"state": on_it})
    assert info["attitude_error"] < 1e-7
    np.testing.assert_allclose(seen[7:13], 0.0, rtol=0, atol=1e-7)
    np.testing.assert_array_equal(env.state["target_angular_velocity"], rate)
