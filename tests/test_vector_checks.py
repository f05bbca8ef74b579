"""`check_vector_env` finds out each of these faults."""

import copy

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from checks import check_vector_env
from rbgym.envs.tasks.top import RigidTopEnv, RigidTopVectorEnv


def with_results(change):
    """A step whose results a function changes."""

    def step(self, actions):
        return change(self, *RigidTopVectorEnv.step(self, actions))

    return {"step": step}


def with_call(change):
    """A reset whose seed and options a function changes."""

    def reset(self, *, seed=None, options=None):
        seed, options = change(self, seed, options)
        return RigidTopVectorEnv.reset(self, seed=seed, options=options)

    return {"reset": reset}


def keeps_what_it_returned(self, observation, *rest):
    kept = vars(self).setdefault("kept", observation)
    kept[...] = observation
    return kept, *rest


def halves_the_action(self, actions):
    actions *= 0.5
    return RigidTopVectorEnv.step(self, actions)


def resets_one_step_early(self, observation, rewards, terminated, truncated, info):
    ended = terminated | truncated
    if self.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP and ended.any():
        observation, _ = self.reset(options={"reset_mask": ended})
    return observation, rewards, terminated, truncated, info


def has_no_final_observation(self, *results):
    *results, info = results
    return *results, {key: value for key, value in info.items() if "final_obs" not in key}


def ends_with_the_reset(self, observation, *rest):
    if "final_obs" in rest[-1]:
        rest[-1]["final_obs"] = observation.copy()
    return observation, *rest


def late_is_terminated(self, observation, rewards, terminated, truncated, info):
    return observation, rewards, terminated | truncated, np.zeros_like(truncated), info


def never_ends(self, observation, rewards, terminated, truncated, info):
    return observation, rewards, np.zeros_like(terminated), np.zeros_like(truncated), info


def resets_all_lanes(self, seed, options):
    if "reset_mask" in (options or {}):
        options = options | {"reset_mask": np.ones(self.num_envs, bool)}
    return seed, options


MUTANTS = {
    "keeps what it returned": with_results(keeps_what_it_returned),
    "changes the action": {"step": halves_the_action},
    "seed ignored": with_call(lambda self, seed, options: (None, options)),
    "resets one step early": with_results(resets_one_step_early),
    "no final observation": with_results(has_no_final_observation),
    "final observation is the reset": with_results(ends_with_the_reset),
    "mask resets all lanes": with_call(resets_all_lanes),
    "time limit is a termination": with_results(late_is_terminated),
    "never ends": with_results(never_ends),
    "copies share their state": {"__deepcopy__": lambda self, memo: copy.copy(self)},
}


@pytest.fixture
def check():
    """Checks a vector environment with other methods."""

    def checked(methods):
        mutant = type("Mutant", (RigidTopVectorEnv,), methods)
        gym.register("Mutant-v0", entry_point=RigidTopEnv, vector_entry_point=mutant)
        check_vector_env("Mutant-v0")

    yield checked
    del gym.registry["Mutant-v0"]


def test_a_correct_environment_passes(check):
    check({})


@pytest.mark.parametrize("methods", MUTANTS.values(), ids=MUTANTS)
def test_each_mutant_is_found_out(check, methods):
    with pytest.raises(AssertionError):
        check(methods)
