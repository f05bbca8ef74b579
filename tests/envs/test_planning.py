"""A state that is taken and put back, and sequences of actions that are tried out from it."""

import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import rbgym
from family import IDS, SLEW, make, many
from refusals import refused, refused_and_unchanged

pytestmark = pytest.mark.interpreted

HORIZON = 12
# Everything that differs from episode to episode, and moves beside the body.
UNCERTAIN = {
    "actuator": {"lag": {"time_constant": 0.3}, "delay": {"seconds": 0.4}},
    "sensor": {"attitude": 1e-3, "rate": 1e-4, "rate_bias": 1e-3},
    "disturbance": {"white_noise": 1e-4},
    "randomization": {"inertia": 0.2},
}


def actions_for(env, *shape):
    channels = env.action_space.shape[-1]
    return np.random.default_rng(3).uniform(-1.2, 1.2, (*shape, channels)).astype(np.float32)


def flown(env, actions):
    """Everything that a few steps return, as bytes."""
    return [pickle.dumps(env.step(one)[:4]) for one in actions]


@pytest.mark.compiled
@pytest.mark.parametrize("env_id", IDS)
def test_an_env_goes_on_from_a_state_to_the_last_bit(env_id):
    env, other = make(env_id), make(env_id)
    env.reset(seed=5)
    actions = actions_for(env, 2 * HORIZON)
    flown(env, actions[:HORIZON])
    state = env.get_state()
    kept = copy.deepcopy(state)
    after, drawn = flown(env, actions[HORIZON:]), env.np_random.random(3)
    began = pickle.dumps(env.reset()[0])
    env.reset(seed=1)
    for one in (env, other):  # back, and where nothing was reset before
        one.np_random.integers(9, dtype=np.uint32)
        one.set_state(state)
        assert flown(one, actions[HORIZON:]) == after
        np.testing.assert_array_equal(one.np_random.random(3), drawn)
        assert pickle.dumps(one.reset()[0]) == began
    np.testing.assert_equal(state, kept)


@pytest.mark.parametrize("mode", AutoresetMode)
def test_lanes_go_on_from_a_state_whatever_becomes_of_them(mode):
    env = many(SLEW, 11, autoreset_mode=mode, max_episode_steps=HORIZON)
    env.reset(seed=5)
    few = HORIZON // 2 if mode is AutoresetMode.DISABLED else HORIZON
    actions = actions_for(env, 2 * few, 11)
    flown(env, actions[:few])
    state = env.get_state()
    assert state["rows"].shape[0] == 11
    after = flown(env, actions[few:])
    env.reset(seed=1)
    env.set_state(state)
    assert flown(env, actions[few:]) == after


def test_a_single_state_is_for_every_lane():
    env, lanes = make(SLEW, **UNCERTAIN), many(SLEW, 3, **UNCERTAIN)
    env.reset(seed=5)
    actions = actions_for(env, HORIZON)
    flown(env, actions[:4])
    lanes.set_state(env.get_state())
    for one in actions[4:]:
        seen, reward, *_ = env.step(one)
        many_seen, rewards, *_ = lanes.step(np.tile(one, (3, 1)))
        np.testing.assert_array_equal(many_seen, np.tile(seen, (3, 1)))
        assert (rewards == reward).all()


def test_what_is_no_state_is_refused_and_changes_nothing():
    env = make(SLEW)
    with pytest.raises(gym.error.ResetNeeded, match=r"reset\(\) before get_state\(\)"):
        env.get_state()
    env.reset(seed=0)
    state, other = env.get_state(), make(SLEW, body={"inertia": [0.2, 0.3, 0.4]})
    other.reset(seed=0)
    rows, generator = state["rows"], state["generator"]
    for bad, message in (
        (rows, "state must be what get_state gives"),
        ({"rows": rows}, "state must be what get_state gives"),
        ({"rows": rows[1:], "generator": generator}, "rows"),
        ({"rows": rows * np.nan, "generator": generator}, "finite"),
        ({"rows": rows, "generator": generator.astype(float)}, "uint64"),
        ({"rows": rows, "generator": generator | np.uint64(1 << 40)}, "generator"),
        ({"rows": rows, "generator": generator & np.uint64(0)}, "generator"),
        ({"rows": rows, "generator": [[1, 2], [3]]}, "uint64"),
        (other.get_state(), "the same moments of inertia, 0.185.* in row 11, got 0.2"),
    ):
        with refused_and_unchanged(env, message):
            env.set_state(bad)
    env.step(np.zeros(3))
    now, env.np_random = env.episodes.whole_state(), np.random.Generator(np.random.PCG64DXSM(0))
    for call in env.get_state, lambda: env.set_state(state):
        with pytest.raises(ValueError, match="np_random must be a Generator with a PCG64, got Gen"):
            call()
    np.testing.assert_array_equal(env.episodes.whole_state(), now)
    env.step(np.zeros(3))


def test_a_state_of_an_env_with_other_constants_is_refused():
    turned, size = ([[3, x, 0], [x, 4, 0], [0, 0, 5]] for x in (1, -1)), ([9, 9, 1], [8, 8, 1])
    for env_id, owner, name, values in (
        (SLEW, "torque limit", "torque_limit", (0.001, 0.002)),
        ("RigidTop-v0", "potential", "mgl", (1.0, 2.0)),
        ("ScalableSpin-v0", "moments of inertia", "body", [{"inertia": one} for one in size]),
        (SLEW, "principal axes", "body", [{"inertia": one} for one in turned]),
        (SLEW, "orbit", "disturbance", [{"gravity_gradient": n} for n in (1e-3, 2e-3)]),
    ):
        one, other = (make(env_id, **{name: value}) for value in values)
        one.reset(seed=0), other.reset(seed=0)
        with refused_and_unchanged(one, f"of an env with the same {owner}, "):
            one.set_state(other.get_state())


# Three seconds of random torques are too much for its wheels.
WIDE = {"DetumbleToPoint-v0": {"rate_limit": 2.0}}


@pytest.mark.parametrize("integrator", ["akw", "rrr", "mkrk_rk4"])
@pytest.mark.parametrize("env_id", ["FreeFlyer-v0", "RigidTop-v0"])
def test_the_state_of_a_body_that_has_failed_can_be_put_back(env_id, integrator):
    env = make(env_id, integrator=integrator, substeps=1)
    env.reset(seed=1)
    state = env.get_state()
    state["rows"][5:8] = 1e6  # momentum, by which the body turns too far in a step
    env.set_state(state)
    *_, info = env.step(np.zeros(env.action_space.shape, np.float32))
    assert info["integration_failed"]
    kept = env.get_state()
    assert np.isfinite(kept["rows"]).all()
    env.set_state(kept)
    np.testing.assert_array_equal(env.get_state()["rows"], kept["rows"])
    env.reset()
    assert np.isfinite(env.get_state()["rows"]).all()


@pytest.mark.parametrize(
    ("env_id", "kwargs"),
    [*(pytest.param(env_id, WIDE.get(env_id, {}), marks=pytest.mark.compiled) for env_id in IDS),
     (SLEW, UNCERTAIN)],
)  # fmt: skip
def test_rewards_and_states_are_those_of_a_clone_that_is_stepped(env_id, kwargs):
    env, clone = make(env_id, **kwargs), make(env_id, **kwargs)
    env.reset(seed=5)
    flown(env, actions_for(env, 3))
    state, actions = env.get_state(), actions_for(env, 9, HORIZON)
    rewards, states = rbgym.rollout_actions(env, state, actions)
    assert rewards.shape == (9, HORIZON)
    for k, sequence in enumerate(actions):
        clone.set_state(state)
        steps = [clone.step(one) for one in sequence]
        over = np.cumsum([0, *(end or late for _, _, end, late, _ in steps[:-1])]) > 0
        expected = np.where(over, 0.0, [reward for _, reward, *_ in steps])
        np.testing.assert_array_equal(rewards[k], expected)
        np.testing.assert_array_equal(states["rows"][k], clone.get_state()["rows"])
    np.testing.assert_equal(env.get_state(), state)


def test_nothing_is_earned_after_the_end_of_an_episode_and_nothing_begins_anew():
    env = many("RigidTop-v0", 2, max_episode_steps=8)  # which would reset itself
    env.reset(seed=5)
    state, actions = env.get_state(), actions_for(env, 2, HORIZON)
    rewards, states = rbgym.rollout_actions(env, state, actions)
    assert (rewards[:, :8] > 0).all()
    assert (rewards[:, 8:] == 0).all()
    later, _ = rbgym.rollout_actions(env, states, actions)
    assert (later == 0).all()


@pytest.mark.usefixtures("threads_afterwards")
@pytest.mark.compiled
def test_rollouts_depend_neither_on_threads_nor_on_what_runs_beside_them():
    env = make("TopSwingUp-v0")
    env.reset(seed=5)
    state, actions = env.get_state(), actions_for(env, 1100, 5)
    rbgym.set_num_threads(2)
    rewards, states = rbgym.rollout_actions(env, state, actions)
    rbgym.set_num_threads(1)
    alone, last = rbgym.rollout_actions(env, state, actions[1000:1003])
    np.testing.assert_array_equal(rewards[1000:1003], alone)
    np.testing.assert_array_equal(states["rows"][1000:1003], last["rows"])


@refused(
    (np.zeros((4, 3)), r"shape \(k, horizon, 3\)"),
    (np.zeros((4, 5, 2)), r"shape \(k, horizon, 3\)"),
    (np.zeros((0, 5, 3)), r"shape \(k, horizon, 3\)"),
    (np.full((1, 1, 3), np.inf), "finite"),
    ("up", "numbers"),
)
def test_actions_that_cannot_be_rolled_out_are_refused(actions):
    env = make(SLEW)
    env.reset(seed=0)
    rbgym.rollout_actions(env, env.get_state(), actions)


def test_other_envs_and_callable_hooks_are_refused():
    with pytest.raises(ValueError, match="environment of rbgym"):
        rbgym.rollout_actions(gym.make("CartPole-v1"), {}, np.zeros((1, 1, 3)))
    env = make(SLEW, reward=lambda state, commands: np.zeros(len(commands)))
    env.reset(seed=0)
    with pytest.raises(ValueError, match="reward must be given by name"):
        rbgym.rollout_actions(env, env.get_state(), np.zeros((1, 1, 3)))
