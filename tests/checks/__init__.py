"""Does a vectorised environment keep Gymnasium's promises? `check_vector_env` finds out.

It works on anybody's `VectorEnv`. Every check compares recorded runs: the same environment twice,
other batch sizes, a copy of it, and Gymnasium's own `SyncVectorEnv` over the single environment,
driven by the same seeds and actions.
"""

import copy
import pickle
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import batch_space

from checks.runs import (
    Actions,
    Record,
    Vec,
    check_equal,
    check_memory,
    resume,
    same,
    start,
)

Factory: TypeAlias = Callable[..., Vec]
LANES, SEED, STEPS = 3, 0, 40
Single: TypeAlias = Callable[[], gym.Env[Any, Any]]


def check_vector_env(
    make_vector_env: str | Factory,
    *,
    single_env: Single | None = None,
    modes: Sequence[AutoresetMode] = tuple(AutoresetMode),
    env_kwargs: Mapping[str, Any] | None = None,
    check_pickle: bool = False,
) -> None:
    """Raise an AssertionError that says what breaks the vector API, in which lane, at which step.

    Args:
        make_vector_env: a registered id with a native vector entry point, whose episodes get
            seven steps; or a factory, called as `factory(num_envs=n, autoreset_mode=mode)`.
        single_env: makes the single environment to compare with; an id has `gym.make`.
        modes: the autoreset modes to examine.
        env_kwargs: further keyword arguments for the id or the factory.
        check_pickle: a pickled copy continues bit for bit, as a deep copy does.
    """
    kwargs = dict(env_kwargs or {})
    if isinstance(make_vector_env, str):
        make_vector_env, single_env = _of_id(make_vector_env, {"max_episode_steps": 7} | kwargs)
        kwargs = {}
    copiers = [copy.deepcopy] + [_pickled] * check_pickle
    for mode in modes:
        opened = partial(make_vector_env, autoreset_mode=mode, **kwargs)
        with closing(opened(num_envs=LANES)) as env, closing(opened(num_envs=LANES)) as other:
            case = Case(env, mode)
            case.check_spaces()
            case.check_repeats(other)
            case.check_seeds()
            case.check_resets_are_apart()
            with closing(opened(num_envs=LANES - 1)) as fewer:
                case.check_number_does_not_matter(fewer)
            case.check_autoreset()
            for copier in copiers:
                case.check_copy(copier)
            if single_env is not None:
                case.check_against_single(single_env)


@dataclass(frozen=True)
class Case:
    """An environment in one autoreset mode; each check makes runs of it, and asserts a promise."""

    env: Vec
    mode: AutoresetMode

    @cached_property
    def first(self) -> list[Record]:
        """The run with which others are compared."""
        return self.run(self.env)

    def actions(self, env: Vec, extra: int = 0) -> Actions:
        """[step][lane], of every run, or with `extra` others; a lane's depend on no other lane."""
        spaces = [copy.deepcopy(env.single_action_space) for _ in range(env.num_envs)]
        for lane, space in enumerate(spaces):
            space.seed(1000 * extra + lane)
        return [[space.sample() for space in spaces] for _ in range(STEPS)]

    def run(self, env: Vec, actions: Actions | None = None, *, early: bool = True) -> list[Record]:
        """A run from the seed. DISABLED lanes that end are reset at once by `reset_mask`; `early`:
        lane 0 also in mid-episode."""
        actions = actions or self.actions(env)
        records = [start(env, SEED), *resume(env, self.mode, actions, 0, early=early)]
        check_memory(records)
        return records

    def check_spaces(self) -> None:
        """num_envs, the batched spaces and the declared mode are what was asked for."""
        env, lanes, mode = self.env, LANES, _mode_of(self.env)
        assert env.num_envs == lanes, f"num_envs is {env.num_envs}, asked for {lanes}"
        assert mode is self.mode, f"metadata['autoreset_mode'] is {mode}, asked for {self.mode}"
        for name in ("observation", "action"):
            single, batched = getattr(env, f"single_{name}_space"), getattr(env, f"{name}_space")
            assert batched == batch_space(single, lanes), (
                f"{name}_space is not the batch of {lanes} single_{name}_space:"
                f" {batched} and {single}"
            )

    def check_repeats(self, other: Vec) -> None:
        """The same seed and actions give the same bits, again and in a new environment.

        The last run overwrites each array once it was received or passed.
        """
        claim = "the same environment, seed and actions again must give the same bits"
        check_equal(self.first, self.run(self.env), claim)
        claim = "a new environment, same seed and actions, must give the same bits"
        check_equal(self.first, self.run(other), claim)
        try:
            begin = start(other, SEED)
            rest = resume(other, self.mode, self.actions(other), 0, spoil=True)
            check_equal(self.first, [begin, *rest], "the same run")
        except AssertionError as error:
            raise AssertionError(
                "after the caller overwrote the arrays it had received or passed, which must be"
                f" its own: {error}"
            ) from error

    def check_seeds(self) -> None:
        """Another seed gives another start; seed s means [s, s + 1, ...]."""
        other = start(self.env, SEED + 1000)
        assert not same(self.first[0].lanes, other.lanes), (
            f"seeds {SEED} and {SEED + 1000} give the same start"
        )
        listed = start(self.env, [SEED + lane for lane in range(LANES)])
        check_equal(self.first[:1], [listed], "seed s must mean [s, s + 1, ...]")

    def check_resets_are_apart(self) -> None:
        """DISABLED: a reset of one lane is nothing to the others."""
        if self.mode is AutoresetMode.DISABLED:
            calm = self.run(self.env, early=False)
            claim = "resetting lane 0 by reset_mask must not affect other lanes"
            check_equal(self.first, calm, claim, range(1, LANES))

    def check_number_does_not_matter(self, fewer: Vec) -> None:
        """A lane depends on its own seed and actions, and not on how many lanes there are."""
        lanes = fewer.num_envs
        claim = f"a lane must not depend on num_envs ({LANES} or {lanes})"
        check_equal(self.first, self.run(fewer), claim, range(lanes))

    def check_autoreset(self) -> None:
        """Some episode ends, and NEXT_STEP lanes spend the step after it on the reset."""
        assert any(record.done.any() for record in self.first), (
            f"no episode ended in {STEPS} steps: nothing to check autoreset on"
        )
        if self.mode is not AutoresetMode.NEXT_STEP:
            return
        decoy, others = self.actions(self.env), self.actions(self.env, extra=1)
        for number, (ended, after) in enumerate(pairwise(self.first)):
            for lane in np.flatnonzero(ended.done).tolist():
                parts = {k: after.lanes[lane][k] for k in ("reward", "terminated", "truncated")}
                assert not any(parts.values()), (
                    f"NEXT_STEP: {after.when} of lane {lane} follows its episode's end, so it must"
                    f" be the reset, with reward 0 and False flags, not {parts}"
                )
                decoy[number][lane] = others[number][lane]
        claim = "NEXT_STEP: the step after an episode's end must ignore the action"
        check_equal(self.first, self.run(self.env, decoy), claim)

    def check_copy(self, copier: Callable[[Vec], Vec]) -> None:
        """A copy taken half-way continues as the original does."""
        half, name, actions = STEPS // 2, copier.__name__.strip("_"), self.actions(self.env)
        self.run(self.env, actions[:half])
        try:
            clone = copier(self.env)
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            raise AssertionError(f"{name} of the environment failed: {error}") from error
        rest, copied = (resume(env, self.mode, actions, half) for env in (self.env, clone))
        check_equal(rest, copied, f"a copy ({name}) must continue as the original does")
        clone.close()

    def check_against_single(self, single: Single) -> None:
        """The same as Gymnasium's SyncVectorEnv over the single environment, bit for bit."""
        env, lanes = self.env, [single] * LANES
        with closing(SyncVectorEnv(lanes, autoreset_mode=self.mode)) as reference:
            for name in ("single_observation_space", "single_action_space"):
                mine, other = getattr(env, name), getattr(reference, name)
                assert mine == other, f"{name} is {mine}, the single environment has {other}"
            actions = self.actions(env)
            expected = self.run(reference, actions)
            claim = f"{self.mode.name}: must equal SyncVectorEnv over the single environment"
            check_equal(self.run(env, actions), expected, claim)


# --- where the environments come from -------------------------------------------------------


def _of_id(name: str, kwargs: Mapping[str, Any]) -> tuple[Factory, Single]:
    """The factory and the single environment behind a registered id ("module:Name-v0" too)."""
    native = partial(gym.make_vec, name, vectorization_mode="vector_entry_point", **kwargs)
    return native, partial(gym.make, name, disable_env_checker=True, **kwargs)


def _pickled(env: Vec) -> Vec:
    clone: Vec = pickle.loads(pickle.dumps(env))
    return clone


def _mode_of(env: Vec) -> AutoresetMode:
    mode = env.metadata.get("autoreset_mode")
    assert isinstance(mode, AutoresetMode), (
        f"metadata['autoreset_mode'] must be an AutoresetMode, not {mode!r}"
    )
    return mode
