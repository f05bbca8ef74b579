"""`check_vector_env` accepts a correct environment and none of the broken ones."""

import copy
from collections.abc import Callable
from typing import Any

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


class Walk(gym.Env[Any, Any]):
    """A push along a line; ends beyond 1 or after seven steps."""

    observation_space = OBSERVATION
    action_space = ACTION

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.state, self.elapsed = self.np_random.uniform(-0.1, 0.1, 2), 0
        return self.state.copy(), {"elapsed": 0}

    def step(self, action: Any) -> Any:
        velocity = self.state[1] + 0.5 * action[0]
        self.state = np.array([self.state[0] + 0.5 * velocity, velocity])
        self.elapsed += 1
        out, late = bool(abs(self.state[0]) > 1), self.elapsed >= LIMIT
        return self.state.copy(), float(1 - self.state[0]), out, late, {"elapsed": self.elapsed}


class VectorWalk(VectorEnv[Any, Any, Any]):
    """Correct, native, all three modes; the mutants below override one method each."""

    def __init__(self, num_envs: int, autoreset_mode: Any, max_episode_steps: int = LIMIT) -> None:
        self.num_envs, self.mode = num_envs, autoreset_mode
        self.metadata = {"autoreset_mode": autoreset_mode}
        self.single_observation_space, self.single_action_space = OBSERVATION, ACTION
        self.observation_space = batch_space(OBSERVATION, num_envs)
        self.action_space = batch_space(ACTION, num_envs)
        self.state = np.zeros((num_envs, 2))
        self.elapsed = np.zeros(num_envs, np.int64)
        self.done = np.zeros(num_envs, np.bool_)
        self.generators = [np.random.default_rng() for _ in range(num_envs)]

    def seeds(self, seed: Any) -> list[Any]:
        if isinstance(seed, int):
            return [seed + i for i in range(self.num_envs)]
        return [None] * self.num_envs if seed is None else seed

    def mask(self, options: Any) -> Any:
        return (options or {}).get("reset_mask", np.ones(self.num_envs, np.bool_))

    def start(self, mask: Any) -> None:
        for lane in np.flatnonzero(mask):
            self.state[lane] = self.generators[lane].uniform(-0.1, 0.1, 2)
        self.elapsed[mask], self.done[mask] = 0, False

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        mask = self.mask(options)
        for lane, own in enumerate(self.seeds(seed)):
            if own is not None and mask[lane]:
                self.generators[lane] = np.random.default_rng(own)
        self.start(mask)
        return self.observe(), {}

    def observe(self) -> Any:
        return self.state.copy()

    def move(self, actions: Any) -> None:
        self.state[:, 1] += 0.5 * actions[:, 0]
        self.state[:, 0] += 0.5 * self.state[:, 1]
        self.elapsed += 1

    def flags(self) -> Any:
        return np.abs(self.state[:, 0]) > 1, self.elapsed >= LIMIT

    def step(self, actions: Any) -> Any:
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

    def info(self) -> dict[str, Any]:
        return {"elapsed": self.elapsed.copy(), "_elapsed": np.ones(self.num_envs, np.bool_)}


def altered(index: int, change: Callable[[Any], Any]) -> Any:
    """A step method with one of the five results changed."""

    def step(self: Any, actions: Any) -> Any:
        result = list(VectorWalk.step(self, actions))
        result[index] = change(result[index])
        return tuple(result)

    return step


class ReturnsItsState(VectorWalk):
    def observe(self) -> Any:
        return self.state


class KeepsWhatItReturned(VectorWalk):
    def observe(self) -> Any:
        self.state = self.state.copy()
        return self.state

    def move(self, actions: Any) -> None:
        self.state = self.state.copy()
        super().move(actions)


class OneLaneLeavesTheSpace(VectorWalk):
    def observe(self) -> Any:
        bad = self.state.copy()
        bad[1:2] = np.nan
        return bad


class ChangesTheAction(VectorWalk):
    def move(self, actions: Any) -> None:
        actions *= 0.5
        super().move(actions)


class SeedIgnored(VectorWalk):
    def seeds(self, seed: Any) -> list[Any]:
        return list(range(self.num_envs))


class SeedsDependOnTheNumberOfLanes(VectorWalk):
    def seeds(self, seed: Any) -> list[Any]:
        return [s and s + 10 * self.num_envs for s in super().seeds(seed)]


class ResetsOneStepEarly(VectorWalk):
    def step(self, actions: Any) -> Any:
        _, rewards, terminations, truncations, info = super().step(actions)
        if self.mode is AutoresetMode.NEXT_STEP:
            self.start(terminations | truncations)
        return self.observe(), rewards, terminations, truncations, info


class RewardsTheResetStep(VectorWalk):
    step = altered(1, lambda rewards: np.where(rewards == 0, 1.0, rewards))


class ActsInTheResetStep(VectorWalk):
    def start(self, mask: Any) -> None:
        super().start(mask)
        self.state[mask] += self.push[mask]

    def move(self, actions: Any) -> None:
        self.push = 0.01 * actions
        super().move(actions)

    def reset(self, **kwargs: Any) -> Any:
        self.push = np.zeros((self.num_envs, 1))
        return super().reset(**kwargs)


class NoFinalObservation(VectorWalk):
    step = altered(4, lambda info: {k: info[k] for k in info if "final_obs" not in k})


class FinalObservationIsTheReset(VectorWalk):
    def step(self, actions: Any) -> Any:
        result = super().step(actions)
        if "final_obs" in result[4]:
            result[4]["final_obs"] = result[0].copy()
        return result


class MaskResetsAllLanes(VectorWalk):
    def mask(self, options: Any) -> Any:
        return np.ones(self.num_envs, np.bool_)


class MaskAdvancesAllGenerators(VectorWalk):
    def mask(self, options: Any) -> Any:
        chosen = super().mask(options)
        for lane in np.flatnonzero(~chosen):
            self.generators[lane].uniform()
        return chosen


class TimeLimitIsATermination(VectorWalk):
    def flags(self) -> Any:
        out, late = super().flags()
        return out | late, np.zeros_like(late)


class NeverEnds(VectorWalk):
    def flags(self) -> Any:
        return np.zeros((2, self.num_envs), np.bool_)


class CopiesForgetTheClock(VectorWalk):
    def __deepcopy__(self, memo: Any) -> Any:
        clone = type(self)(self.num_envs, self.mode)
        clone.state, clone.done = self.state.copy(), self.done.copy()
        clone.generators = copy.deepcopy(self.generators, memo)
        return clone


MUTANTS = [
    ReturnsItsState, KeepsWhatItReturned, OneLaneLeavesTheSpace, ChangesTheAction, SeedIgnored,
    SeedsDependOnTheNumberOfLanes, ResetsOneStepEarly, RewardsTheResetStep, ActsInTheResetStep,
    NoFinalObservation, FinalObservationIsTheReset, MaskResetsAllLanes, MaskAdvancesAllGenerators,
    TimeLimitIsATermination, NeverEnds, CopiesForgetTheClock,
]  # fmt: skip


@pytest.fixture
def check() -> Any:
    """Checks a vector environment of walks under an id."""

    def checked(cls: type[VectorWalk]) -> None:
        gym.register("Walk-v0", entry_point=Walk, vector_entry_point=cls)
        check_vector_env("Walk-v0", check_pickle=True, refuses=False)

    yield checked
    del gym.registry["Walk-v0"]


def test_a_correct_environment_passes_in_all_modes(check: Any) -> None:
    check(VectorWalk)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_each_mutant_is_found_out(check: Any, mutant: type[VectorWalk]) -> None:
    with pytest.raises(AssertionError):
        check(mutant)
