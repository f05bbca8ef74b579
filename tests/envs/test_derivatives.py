"""Derivatives of a control period of an env, against differences of steps of the env itself."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

import rbgym
from differences import errors_off, slope, turned_by
from rbgym.envs.actuators import Thrusters
from rbgym.envs.derivatives import Differentiation, linearize
from rbgym.quaternion import rotate
from rbgym.rows import ROTOR, L, Q
from slopes import largest_error

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


def outcomes(env, names, actions):
    """A function of a change of the state and of the actions: what a step then comes to, as the
    state (attitude, rates and wheels), and as observation and reward."""
    start, state, episodes = env.get_state(), env.state, env.unwrapped.episodes
    batch = episodes.batch
    moments = batch.bodies[0].moments
    first, width = 0, len(names) - 6
    if width:
        first, _ = episodes.setup.actuator.effector.places(batch.physics)["wheel_momentum"]

    def after(dx, du):
        env.set_state(start)
        q = turned_by(state["quaternion"], dx[:3])
        omega, rotor = state["angular_velocity"] + dx[3:6], batch.rows(ROTOR, 3)
        if width:
            batch.put_rows(first, batch.rows(first, width) + dx[6:])
            rotor = rotor + dx[6:] @ np.array(env.unwrapped.actuator.axes)
        batch.put_rows(Q, q)
        batch.put_rows(ROTOR, rotor)
        batch.put_rows(L, rotate(q, moments * omega + rotor))
        batch._start(np.arange(LANES))
        _, reward, *_ = env.step(actions + du)
        found, part = env.state, episodes.setup.parts.observation
        seen = batch.rows(episodes.rows.observation_row(), part.width())
        wheels = batch.rows(first, width) if width else np.empty((LANES, 0))
        moved = found["quaternion"], np.hstack([found["angular_velocity"], wheels])
        return moved, np.hstack([seen, reward[:, None]])

    return after


def by_differences(env, names, actions, sizes):
    """Derivatives of the state, and of observation and reward, along state and actions."""
    after, m = outcomes(env, names, actions), actions.shape[1]
    here = np.zeros(len(names)), np.zeros(m)
    there = after(*here)[0]
    of_state, of_outcome = [], []
    for column, size in enumerate(sizes):
        change = np.zeros(len(sizes))
        change[column] = 1.0
        dx, du = change[: len(names)], change[len(names) :]

        def both(e, dx=dx, du=du):
            moved, outcome = after(e * dx, e * du)
            return np.hstack([errors_off(there, moved), outcome])

        whole = slope(both, size)
        of_state.append(whole[:, : len(names)])
        of_outcome.append(whole[:, len(names) :])
    return np.stack(of_state, axis=2), np.stack(of_outcome, axis=2)


@pytest.mark.slow
def test_a_step_of_a_top_has_the_derivatives_of_its_differences():
    env, actions = under_way("RigidTop-v0")
    start = env.get_state()
    linear, found = linearize(env, action=actions), Differentiation(env).of_step(actions)
    assert (env.get_state()["rows"] == start["rows"]).all()
    state, outcome = by_differences(env, linear.names, actions, [5e-3] * 9)
    whole = np.concatenate([linear.A, linear.B], axis=2)
    assert np.abs(whole - state).max() < 2e-11
    coordinates = len(linear.names)
    assert np.abs(found.whole[:, :coordinates] - state).max() < 2e-11
    assert np.abs(found.whole[:, coordinates:] - outcome).max() < 1e-9


@pytest.mark.slow
def test_momenta_of_wheels_are_coordinates():
    # Without dry friction, which has no derivative where a wheel stops.
    wheels = replace(gym.make("ReactionWheelSlew-v1").unwrapped.actuator, coulomb=0.0)
    env, actions = under_way("ReactionWheelSlew-v1", initial={"rate": 0.1}, actuator=wheels)
    linear = linearize(env, action=actions)
    assert linear.names[6:] == tuple(f"wheel_momentum_{n}" for n in range(4))
    sizes = [5e-3] * 6 + [1e-5] * 4 + [5e-3] * 4
    state, _ = by_differences(env, linear.names, actions, sizes)
    whole = np.concatenate([linear.A, linear.B], axis=2)
    assert np.abs(whole - state).max() < 1e-9


# The first changes its inertia, the target of the second swings.
@pytest.mark.slow
@pytest.mark.parametrize("env_id", ["ScalableSpin-v0", "AttitudeTracking-v1"])
def test_commands_move_the_state_and_what_is_seen_as_their_derivatives_say(env_id):
    env, actions = under_way(env_id)
    start, episodes = env.get_state(), env.unwrapped.episodes
    found, batch = Differentiation(env).of_step(actions), episodes.batch
    m, part = actions.shape[1], episodes.setup.parts.observation

    def after(du):
        env.set_state(start)
        _, reward, *_ = env.step(actions + du)
        seen = batch.rows(episodes.rows.observation_row(), part.width())
        moved = env.state["quaternion"], env.state["angular_velocity"]
        return moved, np.hstack([seen, reward[:, None]])

    there = after(np.zeros(m))[0]
    for n, du in enumerate(np.eye(m)):

        def both(e, du=du):
            moved, outcome = after(e * du)
            return np.hstack([errors_off(there, moved), outcome])

        whole = slope(both, 5e-3)
        assert np.abs(found.whole[:, :6, n - m] - whole[:, :6]).max() < 1e-9
        first = found.whole.shape[1] - found.shown.shape[1] - 1  # of the observation
        seen = found.whole[:, first : first + part.width(), n - m]
        assert np.abs(seen - whole[:, 6:-1]).max() < 1e-9
        assert np.abs(found.whole[:, -1, n - m] - whole[:, -1]).max() < 1e-9


def test_a_single_env_has_one_matrix_each_and_beyond_its_bounds_no_derivative():
    env = gym.make("RigidTop-v0")
    env.reset(seed=0)
    linear = rbgym.linearize(env, action=[2.0, 0.0, -2.0])
    assert linear.A.shape == (6, 6)
    assert (linear.B[:, [0, 2]] == 0.0).all()
    assert (linear.B[:, 1] != 0.0).any()


@pytest.mark.parametrize(
    ("kwargs", "names"),
    [
        ({"disturbance": lambda state: np.zeros((1, 3))}, "disturbance"),
        ({"actuator": [Thrusters()]}, "pulses"),
    ],
)
def test_what_has_no_derivative_is_named(kwargs, names):
    env = gym.make("AttitudeSlew-v1", **kwargs)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=names):
        linearize(env)


def test_bad_arguments_are_named():
    env = gym.make("RigidTop-v0")
    with pytest.raises(gym.error.ResetNeeded):
        linearize(env)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action must be finite numbers of shape"):
        linearize(env, action=[1.0])
    with pytest.raises(ValueError, match="env must be an environment of rbgym"):
        linearize(gym.make("CartPole-v1"))
    with pytest.raises(ValueError, match="state must be"):
        linearize(env, state={})


AWAY = [0.8, 0.36, 0.48, 0.0]
NONE = [0.0, 0.0, 0.0]
# Rates, momenta of wheels, commands: still; turned about one axis from rest; next to no torque; all
# of the momentum in the body and none in the whole; wheels alone; nothing of that.
_SINGULAR = [
    (NONE, NONE, NONE),
    (NONE, NONE, [0.5, 0.0, 0.0]),
    (NONE, NONE, [1e-8, 0.0, 0.0]),
    ([1e-3, 0.0, 0.0], [-4.407908750000001e-5, 0.0, 0.0], NONE),
    (NONE, [1e-3, 0.0, 0.0], NONE),
    ([0.01, 0.02, -0.01], [1e-3, -2e-3, 3e-3], [0.3, 0.2, -0.1]),
]


@pytest.mark.slow
@pytest.mark.parametrize("coulomb", [0.0, 5e-5])
def test_wheels_have_their_derivatives_at_rest_and_without_momentum(coulomb):
    rates, momenta, actions = np.swapaxes(_SINGULAR, 0, 1)
    if coulomb:  # which turns round where a wheel passes zero; just beyond, this has a slope
        momenta = momenta - 1e-5 * np.sign(actions)
    env = gym.make_vec(
        "InertialPointing-v0", len(actions), actuator={"wheels": {"coulomb": coulomb}}
    )
    names = "quaternion", "angular_velocity", "wheel_momentum"
    state = dict(zip(names, ([AWAY] * len(actions), rates, momenta), strict=True))
    env.reset(seed=0, options={"state": state})
    assert largest_error(env, actions) < 1e-6


EVERY = {
    "closeness": 1.0, "success": 1.0, "attitude": 0.5, "rate": 0.2, "effort": 0.1, "change": 0.3,
    "alive": 0.1, "progress": 1.0,
}  # fmt: skip


@pytest.mark.slow
def test_every_reward_has_its_derivatives_and_commands_under_way_are_state():
    env, actions = under_way(
        "AttitudeSlew-v1",
        reward=EVERY,
        actuator={"delay": {"seconds": 0.7}, "lag": {"time_constant": 0.4}},
        disturbance={"constant": (1e-4, 0.0, 0.0)},
    )
    names = Differentiation(env).names
    assert [n for n in names if "under_way" in n] == [f"under_way_{n}" for n in range(6)]
    assert names[-4:] == ("closeness", *(f"last_command_{n}" for n in range(3)))
    assert largest_error(env, actions, 1e-4) < 1e-6


@pytest.mark.slow
def test_noise_is_a_constant_of_the_step_and_what_sensors_hold_is_state():
    tracker = {"across_boresight": 5e-5, "about_boresight": 3e-4, "period": 1.5, "latency": 1.0}
    env, actions = under_way(
        "AttitudeSlew-v1",
        sensor={"gyro": {"angle_walk": 3e-5, "rate_walk": 1e-7}, "star_tracker": tracker},
        faults={"time": (1.0, 9.0), "kinds": ["sensor"]},
        disturbance={"white_noise": 1e-4},
        reward={"closeness": 1.0, "margin": 2.0},
        termination={"rate_limit": 0.08},
    )
    names = Differentiation(env).names
    kept = [*(f"last_attitude_{n}" for n in range(4)), *(f"tracked_{n}" for n in range(4)),
            *(f"coming_{n}" for n in range(4))]  # fmt: skip
    assert names[-12:] == tuple(kept)
    assert largest_error(env, actions, 1e-4) < 1e-6
    assert (env.step(actions)[-1]["reward_margin"] < 0.0).any()


@pytest.mark.interpreted
def test_what_has_no_derivative_is_said_in_one_line():
    with pytest.raises(ValueError, match="one array to have a derivative, not a dict of goals"):
        Differentiation(gym.make_vec("AttitudeReach-v0", 2))
