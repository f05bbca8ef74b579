"""Derivatives of a control period of an env, against differences of steps of the env itself."""

import gymnasium as gym
import numpy as np
import pytest

import rbgym
from rbgym.envs.actuators import Thrusters
from rbgym.envs.derivatives import Differentiation, linearize
from refusals import refused
from slopes import assert_has_those_of_differences, largest_error

LANES = 3


def under_way(env_id, **kwargs):
    """A vector env some steps into its episodes, and commands."""
    env = gym.make_vec(env_id, num_envs=LANES, **kwargs)
    env.reset(seed=3)
    rng = np.random.default_rng(1)
    shape = env.action_space.shape
    for _ in range(3):
        env.step(rng.uniform(-0.5, 0.5, shape).astype(np.float32))
    return env, rng.uniform(-0.6, 0.6, shape)


def assert_linear(env, actions):
    """That `linearize` and the derivatives of what is seen and earned are those of differences."""
    start, linear = env.get_state(), linearize(env, action=actions)
    assert (env.get_state()["rows"] == start["rows"]).all()
    whole = Differentiation(env).of_step(actions).whole[:, : len(linear.names)]
    np.testing.assert_allclose(np.dstack([linear.A, linear.B]), whole, rtol=0, atol=2e-11)
    assert largest_error(env, actions, 1e-4) < 1e-9


@pytest.mark.slow
def test_a_step_of_a_top_has_the_derivatives_of_its_differences():
    assert_linear(*under_way("RigidTop-v0"))


@pytest.mark.slow
def test_momenta_of_wheels_are_coordinates():
    # Without dry friction, which has no derivative where a wheel stops.
    wheels = {"wheels": {"coulomb": 0.0}}
    env, actions = under_way("InertialPointing-v0", initial={"rate": 0.1}, actuator=wheels)
    assert linearize(env).names[6:] == tuple(f"wheel_momentum_{n}" for n in range(3))
    assert_linear(env, actions)


@pytest.mark.slow
def test_the_size_of_a_body_and_its_rate_are_coordinates():
    """Against a body that `reset` places."""
    assert_linear(*under_way("ScalableSpin-v0"))
    env = gym.make("ScalableSpin-v0").unwrapped
    env.reset(seed=0)
    env.step([0.5])
    put = "quaternion", "angular_velocity", "scale", "scale_rate"
    (A, B, names), start = linearize(env, action=[0.3]), {name: env.state[name] for name in put}

    def after(action, **change):
        env.reset(options={"state": start | change})
        env.step([action])
        return np.array([*env.state["angular_velocity"], *(env.state[name] for name in put[2:])])

    e = 1e-6
    for name in put[2:]:
        ends = (after(0.3, **{name: start[name] + sign * e}) for sign in (1, -1))
        wanted = np.subtract(*ends) / (2 * e)
        np.testing.assert_allclose(A[3:, names.index(name)], wanted, rtol=0, atol=1e-8)
    assert B[3:, 0] == pytest.approx((after(0.3 + e) - after(0.3 - e)) / (2 * e), abs=1e-8)


def test_a_single_env_has_one_matrix_each_and_beyond_its_bounds_no_derivative():
    env = gym.make("RigidTop-v0")
    env.reset(seed=0)
    linear = rbgym.linearize(env, action=[2.0, 0.0, -2.0])
    assert linear.A.shape == (6, 6)
    assert (linear.B[:, [0, 2]] == 0.0).all()
    assert (linear.B[:, 1] != 0.0).any()


@pytest.mark.interpreted
@refused(
    ({"disturbance": lambda state: np.zeros((1, 3))}, "disturbance"),
    ({"actuator": [Thrusters()]}, "pulses"),
)
def test_what_has_no_derivative_is_named(kwargs):
    env = gym.make("AttitudeSlew-v1", **kwargs)
    env.reset(seed=0)
    linearize(env)


def test_bad_arguments_are_named():
    env = gym.make("RigidTop-v0")
    with pytest.raises(gym.error.ResetNeeded):
        linearize(env)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action must be finite real numbers of shape"):
        linearize(env, action=[1.0])
    with pytest.raises(ValueError, match="env must be an environment of rbgym"):
        linearize(gym.make("CartPole-v1"))
    with pytest.raises(ValueError, match="state must be"):
        linearize(env, state={})


@pytest.mark.slow
@pytest.mark.parametrize("coulomb", [0.0, 5e-5])
def test_wheels_have_their_derivatives_at_rest_and_without_momentum(coulomb):
    wheels = {"wheels": {"coulomb": coulomb}}
    assert_has_those_of_differences("InertialPointing-v0", actuator=wheels)


EVERY = {
    "closeness": 1.0, "success": 1.0, "attitude": 0.5, "rate": 0.2, "effort": 0.1, "change": 0.3,
    "alive": 0.1, "progress": 1.0,
}  # fmt: skip


@pytest.mark.slow
def test_every_reward_has_its_derivatives_and_commands_under_way_are_state():
    """Beside a target that swings."""
    env, actions = under_way(
        "AttitudeTracking-v1",
        reward=EVERY,
        actuator={"delay": {"seconds": 0.7}, "lag": {"time_constant": 0.4}},
        disturbance={"constant": (1e-4, 0.0, 0.0)},
    )
    names = Differentiation(env).names
    assert [n for n in names if "under_way" in n] == [f"under_way_{n}" for n in range(6)]
    assert names[-4:] == ("closeness", *(f"last_command_{n}" for n in range(3)))
    assert largest_error(env, actions, 1e-4) < 1e-9


@pytest.mark.slow
def test_noise_is_a_constant_of_the_step_and_what_sensors_hold_is_state():
    tracker = {"across_boresight": 5e-5, "about_boresight": 3e-4, "period": 1.5, "latency": 1.0}
    env, actions = under_way(
        "AttitudeSlew-v1",
        sensor={"gyro": {"angle_walk": 3e-5, "rate_walk": 1e-7}, "star_tracker": tracker},
        faults={"time": (1.0, 9.0), "kinds": ["sensor"]},
        disturbance={"white_noise": 1e-4},
        reward={"closeness": 1.0, "margin": 2.0},
        constraints={"command": 0.9},
        termination={"rate_limit": 0.05},
    )
    names = Differentiation(env).names
    kept = {"last_attitude": 4, "tracked": 4, "coming": 4, "last_measured": 7}
    assert names[-19:] == tuple(f"{name}_{n}" for name, size in kept.items() for n in range(size))
    assert largest_error(env, actions, 1e-4) < 1e-6
    assert (env.step(actions)[-1]["reward_margin"] < 0.0).any()


@pytest.mark.interpreted
def test_what_has_no_derivative_is_said_in_one_line():
    with pytest.raises(ValueError, match="one array to have a derivative, not a dict of goals"):
        Differentiation(gym.make_vec("AttitudeReach-v0", 2))
