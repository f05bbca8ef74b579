"""`check_vector_env` accepts a correct environment and none of the broken ones."""

import copy

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from checks import check_vector_env

OBSERVATION = Box(-100.0, 100.0, (2,), np.float64)
ACTION = Box(-1.0, 1.0, (1,), np.float64)
LIMIT = 7


class Walk(gym.Env):
    """A push along a line; ends beyond 1 or after seven steps."""

    observation_space = OBSERVATION
    action_space = ACTION

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state, self.elapsed = self.np_random.uniform(-0.1, 0.1, 2), 0
        return self.state.copy(), {"elapsed": 0}

    def step(self, action):
        velocity = self.state[1] + 0.5 * action[0]
        self.state = np.array([self.state[0] + 0.5 * velocity, velocity])
        self.elapsed += 1
        out, late = bool(abs(self.state[0]) > 1), self.elapsed >= LIMIT
        return self.state.copy(), float(1 - self.state[0]), out, late, {"elapsed": self.elapsed}


class VectorWalk(VectorEnv):
    """Correct, native, all three modes; the mutants below have other methods."""

    def __init__(self, num_envs, autoreset_mode, max_episode_steps=LIMIT):
        self.num_envs, self.mode = num_envs, autoreset_mode
        self.metadata = {"autoreset_mode": autoreset_mode}
        self.single_observation_space, self.single_action_space = OBSERVATION, ACTION
        self.observation_space = batch_space(OBSERVATION, num_envs)
        self.action_space = batch_space(ACTION, num_envs)
        self.state = np.zeros((num_envs, 2))
        self.elapsed = np.zeros(num_envs, np.int64)
        self.done = np.zeros(num_envs, np.bool_)
        self.generators = [np.random.default_rng() for _ in range(num_envs)]

    def seeds(self, seed):
        if isinstance(seed, int):
            return [seed + i for i in range(self.num_envs)]
        return [None] * self.num_envs if seed is None else seed

    def mask(self, options):
        return (options or {}).get("reset_mask", np.ones(self.num_envs, np.bool_))

    def start(self, mask):
        for lane in np.flatnonzero(mask):
            self.state[lane] = self.generators[lane].uniform(-0.1, 0.1, 2)
        self.elapsed[mask], self.done[mask] = 0, False

    def reset(self, *, seed=None, options=None):
        mask = self.mask(options)
        for lane, own in enumerate(self.seeds(seed)):
            if own is not None and mask[lane]:
                self.generators[lane] = np.random.default_rng(own)
        self.start(mask)
        return self.observe(), {}

    def observe(self):
        return self.state.copy()

    def move(self, actions):
        self.state[:, 1] += 0.5 * actions[:, 0]
        self.state[:, 0] += 0.5 * self.state[:, 1]
        self.elapsed += 1

    def flags(self):
        return np.abs(self.state[:, 0]) > 1, self.elapsed >= LIMIT

    def step(self, actions):
        stale = self.done.copy() & (self.mode is AutoresetMode.NEXT_STEP)
        self.move(actions)
        self.start(stale)
        rewards = np.where(stale, 0.0, 1 - self.state[:, 0])
        terminations, truncations = self.flags()
        self.done = terminations | truncations
        info = self.info()
        if self.mode is AutoresetMode.SAME_STEP and self.done.any():
            ended = self.done.copy()
            info |= {"final_obs": self.observe(), "_final_obs": ended}
            self.start(ended)
        return self.observe(), rewards, terminations, truncations, info

    def info(self):
        return {"elapsed": self.elapsed.copy(), "_elapsed": np.ones(self.num_envs, np.bool_)}


def with_results(change):
    """A step method whose results a function changes."""

    def step(self, actions):
        return change(self, *VectorWalk.step(self, actions))

    return step


def halves_the_action(self, actions):
    actions *= 0.5
    VectorWalk.move(self, actions)


def keeps_what_it_returned(self):
    self.state = self.state.copy()
    return self.state


def resets_one_step_early(self, _, rewards, terminations, truncations, info):
    if self.mode is AutoresetMode.NEXT_STEP:
        self.start(terminations | truncations)
    return self.observe(), rewards, terminations, truncations, info


def final_observation_is_the_reset(self, observation, *rest):
    if "final_obs" in rest[-1]:
        rest[-1]["final_obs"] = observation.copy()
    return observation, *rest


def advances_all_generators(self, options):
    chosen = VectorWalk.mask(self, options)
    for lane in np.flatnonzero(~chosen):
        self.generators[lane].uniform()
    return chosen


def forgets_the_clock(self, memo):
    clone = type(self)(self.num_envs, self.mode)
    clone.state, clone.done = self.state.copy(), self.done.copy()
    clone.generators = copy.deepcopy(self.generators, memo)
    return clone


MUTANTS = {
    "returns its state": {"observe": lambda self: self.state},
    "keeps what it returned": {"observe": keeps_what_it_returned},
    "changes the action": {"move": halves_the_action},
    "seed ignored": {"seeds": lambda self, seed: list(range(self.num_envs))},
    "resets one step early": {"step": with_results(resets_one_step_early)},
    "no final observation": {
        "step": with_results(lambda self, *results: (*results[:4], self.info()))
    },
    "final observation is the reset": {"step": with_results(final_observation_is_the_reset)},
    "mask resets all lanes": {"mask": lambda self, options: np.ones(self.num_envs, bool)},
    "mask advances all generators": {"mask": advances_all_generators},
    "time limit is a termination": {
        "flags": lambda self: (
            np.logical_or(*VectorWalk.flags(self)),
            np.zeros(self.num_envs, bool),
        )
    },
    "never ends": {"flags": lambda self: np.zeros((2, self.num_envs), bool)},
    "copies forget the clock": {"__deepcopy__": forgets_the_clock},
}


@pytest.fixture
def check():
    """Checks a vector environment of walks under an id."""

    def checked(cls, **kwargs):
        gym.register("Walk-v0", entry_point=Walk, vector_entry_point=cls)
        check_vector_env("Walk-v0", refuses=False, **kwargs)

    yield checked
    del gym.registry["Walk-v0"]


def test_a_correct_environment_passes_in_all_modes(check):
    check(VectorWalk, check_pickle=True)


@pytest.mark.parametrize("methods", MUTANTS.values(), ids=MUTANTS)
def test_each_mutant_is_found_out(check, methods):
    with pytest.raises(AssertionError):
        check(type("Mutant", (VectorWalk,), methods))
