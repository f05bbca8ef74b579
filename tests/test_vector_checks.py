"""`check_vector_env` accepts correct environments and names the fault of each broken one."""

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

    def __init__(self, num_envs: int = 1, autoreset_mode: Any = AutoresetMode.NEXT_STEP) -> None:
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
        return [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed

    def mask(self, options: Any) -> Any:
        return (options or {}).get("reset_mask", np.ones(self.num_envs, np.bool_))

    def start(self, mask: Any) -> None:
        for lane in np.flatnonzero(mask):
            self.state[lane] = self.generators[lane].uniform(-0.1, 0.1, 2)
        self.elapsed[mask], self.done[mask] = 0, False

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        if seed is not None:
            self.generators = [np.random.default_rng(s) for s in self.seeds(seed)]
        self.start(self.mask(options))
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
        return [s + 10 * self.num_envs for s in super().seeds(seed)]


class ResetsOneStepEarly(VectorWalk):
    def step(self, actions: Any) -> Any:
        _, rewards, terminations, truncations, info = super().step(actions)
        if self.mode is AutoresetMode.NEXT_STEP:
            self.start(terminations | truncations)
        return self.observe(), rewards, terminations, truncations, info


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


MUTANTS: list[tuple[type[VectorWalk], str]] = [
    (ReturnsItsState, "changed later"),
    (KeepsWhatItReturned, "after the caller overwrote"),
    (OneLaneLeavesTheSpace, "lane 1 is not in single_observation_space"),
    (ChangesTheAction, "changed the action"),
    (SeedIgnored, "give the same start"),
    (SeedsDependOnTheNumberOfLanes, "must not depend on num_envs"),
    (ResetsOneStepEarly, "with reward 0"),
    (ActsInTheResetStep, "must ignore the action"),
    (NoFinalObservation, "ended without info"),
    (MaskResetsAllLanes, "outside the mask"),
    (MaskAdvancesAllGenerators, "must not affect other lanes"),
    (NeverEnds, "no episode ended"),
    (CopiesForgetTheClock, "a copy .* must continue"),
]
SEEN_ONLY_BESIDE_THE_SINGLE_ENV: list[tuple[type[VectorWalk], str]] = [
    (FinalObservationIsTheReset, "SAME_STEP: must equal .* final_obs is"),
    (TimeLimitIsATermination, "must equal .* terminated is True and False"),
]


def test_a_correct_environment_passes_in_all_modes():
    check_vector_env(VectorWalk, single_env=Walk, check_pickle=True)


@pytest.mark.parametrize(("mutant", "message"), MUTANTS)
def test_each_mutant_is_named_without_a_single_environment(mutant, message):
    with pytest.raises(AssertionError, match=message):
        check_vector_env(mutant)


@pytest.mark.parametrize(("mutant", "message"), SEEN_ONLY_BESIDE_THE_SINGLE_ENV)
def test_some_mutants_show_beside_the_single_environment(mutant, message):
    check_vector_env(mutant)
    with pytest.raises(AssertionError, match=message):
        check_vector_env(mutant, single_env=Walk)
