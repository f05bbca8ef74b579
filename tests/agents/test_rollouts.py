"""Rollouts against the vector environment, driven step by step from Python."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import flatdim
from gymnasium.vector import AutoresetMode

import rbgym
from fuzzing.interrupting import HOOKS
from interpreted_runs import MORE
from rbgym.agents.judge.evaluation import evaluate
from rbgym.agents.policies.memory import Integral
from rbgym.agents.policies.network import Network, Normalizer
from rbgym.agents.train import rollouts
from rbgym.agents.train.rollouts import rollout, rollout_test_set
from refusals import refused

FIELDS = ("returns", "lengths", "success", "attitude_error", "rate_error")
TOP = "RigidTop-v0"
SHORT = {"max_episode_steps": 60}
# Everything that an env can be given by name.
ALL = MORE["a line before thrusters, all that is drawn, all that ends"][1] | SHORT


def small(seed, width=7, channels=3, hidden=(8,), **kwargs):
    return Network.random((width, *hidden, channels), seed, **kwargs)


def step_by_step(network, env_id, seeds, **kwargs):
    """First episodes of a vector env under `predict`; lanes that end are begun again, unnoticed."""
    env = gym.make_vec(env_id, num_envs=len(seeds), autoreset_mode=AutoresetMode.DISABLED, **kwargs)
    seen, info = env.reset(seed=list(seeds))
    memory = begins = None
    running, got = np.ones(len(seeds), bool), {name: np.zeros(len(seeds)) for name in FIELDS}
    while running.any():
        actions, memory = network.predict(seen, memory, begins)
        seen, rewards, terminated, truncated, info = env.step(actions)
        got["returns"][running] += rewards[running]
        got["lengths"][running] += 1
        done = begins = terminated | truncated
        over = running & done
        for name in FIELDS[2:]:
            got[name][over] = info[f"is_{name}" if name == "success" else name][over]
        running &= ~done
        if done.any():
            seen, _ = env.reset(options={"reset_mask": done})
    env.close()
    return got


def assert_row(result, row, expected):
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(result, name)[row], expected[name], err_msg=name)


def assert_same(one, other):
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize(
    ("env_id", "kwargs"),
    [
        (TOP, {}),  # tops fall, at different times
        pytest.param("ReactionWheelSlew-v1", SHORT, marks=pytest.mark.interpreted),
        # Observations and rewards by goals.
        pytest.param("AttitudeReach-v0", SHORT, marks=pytest.mark.interpreted),
        ("AttitudeSlew-v1", ALL),
    ],
    ids=["falling", "wheels", "goals", "all"],
)
def test_episodes_are_those_of_the_vector_env_to_the_last_bit(env_id, kwargs):
    env = gym.make_vec(env_id, 1, **kwargs)
    width, (channels,) = flatdim(env.single_observation_space), env.single_action_space.shape
    normalizer = Normalizer(np.zeros(width), np.full(width, 0.1))
    networks = [small(s, width, channels, normalizer=normalizer) for s in (0, 1)]
    seeds = [5, 2**40, *range(100, 111)]  # 13, no multiple of eight
    result = rollout(networks, env_id, seeds=seeds, env_kwargs=kwargs)
    assert result.returns.shape == (2, 13)
    for row, network in enumerate(networks):
        assert_row(result, row, step_by_step(network, env_id, seeds, **kwargs))
    assert result.steps == result.lengths.sum()
    assert (result.returns[0] != result.returns[1]).any()


def test_a_memory_is_that_of_the_vector_env_and_alters_what_is_done():
    seeds, remembers = range(13), Integral(1, edge=0.1, share=0.5)
    network = small(0, width=10, memory=remembers)
    result = rollout(network, TOP, seeds=seeds)
    assert_row(result, 0, step_by_step(network, TOP, seeds))
    forgets = replace(network, memory=Integral(1, edge=0.1, share=1e-9))
    assert (rollout(forgets, TOP, seeds=seeds).returns != result.returns).all()


def test_a_rollout_of_the_test_set_is_its_evaluation():
    # A linear PD law for the top, by hand: of a small tilt, q is about (1, x, y, 0).
    weight = np.zeros((3, 7))
    weight[[0, 1], [1, 2]] = weight[[0, 1, 2], [4, 5, 6]] = -8.0
    network = Network(((weight, np.zeros(3)),))
    result = rollout_test_set(network, TOP, episodes=36)
    judged = evaluate(network, TOP, episodes=36)
    assert judged.success_rate > 0
    assert result.success.mean() == judged.success_rate
    assert result.returns.mean() == judged.mean_return
    assert result.lengths.mean() == judged.length
    ends = judged.played.attitude_error[result.lengths[0], np.arange(36)]
    np.testing.assert_array_equal(result.attitude_error[0], ends)


def test_a_result_does_not_depend_on_what_runs_beside_it(monkeypatch):
    networks = [small(s) for s in range(5)]
    together = rollout(networks, TOP, episodes=20, seed=7)
    for row in (0, 3):
        alone = rollout(networks[row], TOP, seeds=range(10, 13))
        assert_row(alone, 0, {name: getattr(together, name)[row, 3:6] for name in FIELDS})
    # Ranges that cut through a network's lanes, and that never close up.
    monkeypatch.setattr(rollouts, "BLOCKS", 2)
    assert_same(rollout(networks, TOP, episodes=20, seed=7), together)


@pytest.mark.usefixtures("threads_afterwards")
def test_a_result_does_not_depend_on_the_number_of_threads():
    networks = [small(s) for s in range(9)]
    one = rollout(networks, TOP, episodes=64, env_kwargs=SHORT)
    rbgym.set_num_threads(2)
    assert_same(rollout(networks, TOP, episodes=64, env_kwargs=SHORT), one)


@refused(
    ({"networks": []}, "networks must be at least one"),
    ({"networks": [small(0), small(1, hidden=(9,))]}, "networks must be alike"),
    ({"networks": small(0, 8)}, "networks must map 7 to 3 numbers"),
    ({"episodes": 0}, "episodes must be a positive integer, got 0"),
    ({"seeds": []}, "seeds must be at least one"),
    ({"seeds": [-1]}, "seed must be an integer from 0"),
    ({"env_id": "CartPole-v1"}, "env_id must be a task of rbgym, got 'CartPole-v1'"),
    ({"env_kwargs": {"obsrevation": "mrp"}}, "an env takes"),
    *(
        ({"env_kwargs": {name: hook}}, f"^{name} must be given by name .* vector environment")
        for name, hook in HOOKS.items()
    ),
)
def test_bad_arguments_are_named(arguments):
    rollout(**({"networks": small(0), "env_id": TOP} | arguments))


def test_a_network_whose_action_is_not_finite_is_named():
    huge, zero = np.full((8, 8), 1e30), np.zeros(8)
    # Infinite after two layers, and nothing times that is not a number.
    layers = ((huge[:, :7], zero + 1e30), (huge, zero), (np.zeros((3, 8)), zero[:3]))
    bad = Network(layers, "relu")
    with pytest.raises(ValueError, match=r"networks\[1\] must act finitely"):
        rollout([small(0, hidden=(8, 8), activation="relu"), bad], TOP, episodes=8)
