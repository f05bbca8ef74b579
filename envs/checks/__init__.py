"""Does a vectorised environment keep Gymnasium's promises? `check_vector_env` finds out.

It works on anybody's `VectorEnv`. Every check compares recorded runs: the same environment twice,
other batch sizes, a copy of it, and Gymnasium's own `SyncVectorEnv` over the single environment,
driven by the same seeds and actions.
"""

import copy
import importlib
import inspect
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial, wraps
from itertools import pairwise
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space
from gymnasium.wrappers import TimeLimit

from rbgym.envs.checks.runs import (
    Actions,
    Record,
    Vec,
    check_equal,
    check_memory,
    resume,
    same,
    start,
)

__all__ = ["check_vector_env"]

Factory: TypeAlias = Callable[..., Vec]
Single: TypeAlias = Callable[[], gym.Env[Any, Any]]


def check_vector_env(
    make_vector_env: str | Vec | Factory,
    *,
    num_envs: int = 3,
    seed: int = 0,
    steps: int = 40,
    single_env: Single | None = None,
    modes: Sequence[AutoresetMode] | None = None,
    max_episode_steps: int | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    per_lane_seeds: bool = True,
    random_start: bool = True,
    exact: bool = True,
    check_copy: bool = True,
    check_pickle: bool = False,
) -> None:
    """Raise an AssertionError that says what breaks the vector API, in which lane, at which step.

    Args:
        make_vector_env: a registered id (its native vector entry point, else SyncVectorEnv); or a
            factory, called as `factory(num_envs=n, autoreset_mode=mode)`; or a ready environment,
            examined in its own mode and size, and left open.
        num_envs: number of lanes (a ready environment has its own).
        seed: first seed; lane i has seed + i.
        steps: steps of each run; some episode must end within them.
        single_env: makes the single environment to compare with; an id has `gym.make`.
        modes: the autoreset modes to examine; None: all three, or the only one where the factory
            takes no `autoreset_mode`.
        max_episode_steps: time limit, passed to `gym.make`, `gym.make_vec` or the factory, and
            put around `single_env`. None: 7 for an id, otherwise untouched.
        env_kwargs: further keyword arguments for the id or the factory.
        per_lane_seeds: lane i depends on seed + i alone. False for environments with one generator
            for all lanes, which are then compared with the single one at one lane.
        random_start: another seed gives another start.
        exact: compare with the single environment bit for bit; False: to 1e-6.
        check_copy: a deep copy continues bit for bit.
        check_pickle: so does a pickled one.
    """
    kwargs = dict(env_kwargs or {})
    if isinstance(make_vector_env, str):
        kwargs["max_episode_steps"] = 7 if max_episode_steps is None else max_episode_steps
        make_vector_env, by_id = _of_id(make_vector_env, kwargs)
        single_env = single_env or by_id
    elif max_episode_steps is not None:
        kwargs["max_episode_steps"] = max_episode_steps
        single_env = _limited(single_env, max_episode_steps) if single_env else None
    copiers = [copy.deepcopy] * check_copy + [_pickled] * check_pickle
    own = not isinstance(make_vector_env, VectorEnv)
    for opened, mode, lanes in _variants(make_vector_env, num_envs, modes, kwargs):
        with opened(lanes) as env:
            case = Case(env, mode, lanes, seed, steps)
            case.check_spaces()
            with opened(lanes) as other:
                case.check_repeats(other)
            case.check_seeds(random_start, per_lane_seeds)
            if per_lane_seeds:
                case.check_resets_are_apart()
            if per_lane_seeds and own:
                with opened(max(lanes - 1, 1)) as fewer:
                    case.check_number_does_not_matter(fewer)
            case.check_autoreset()
            for copier in copiers:
                case.check_copy(copier)
            if single_env is not None and per_lane_seeds:
                case.check_against_single(env, single_env, exact)
            elif single_env is not None and (own or lanes == 1):  # with one generator for all
                with opened(1) as one:
                    case.check_against_single(one, single_env, exact)


@dataclass(frozen=True)
class Case:
    """An environment in one autoreset mode; each check makes runs of it, and asserts a promise."""

    env: Vec
    mode: AutoresetMode
    num_envs: int
    seed: int
    steps: int

    @cached_property
    def first(self) -> list[Record]:
        """The run with which others are compared."""
        return self.run(self.env)

    def actions(self, env: Vec, extra: int = 0) -> Actions:
        """[step][lane], of every run, or with `extra` others; a lane's depend on no other lane."""
        spaces = [copy.deepcopy(env.single_action_space) for _ in range(env.num_envs)]
        for lane, space in enumerate(spaces):
            space.seed(1000 * (self.seed + extra) + lane)
        return [[space.sample() for space in spaces] for _ in range(self.steps)]

    def run(self, env: Vec, actions: Actions | None = None, *, early: bool = True) -> list[Record]:
        """A run from the seed. DISABLED lanes that end are reset at once by `reset_mask`; `early`:
        lane 0 also in mid-episode."""
        actions = actions or self.actions(env)
        records = [start(env, self.seed), *resume(env, self.mode, actions, 0, early=early)]
        check_memory(records)
        return records

    def check_spaces(self) -> None:
        """num_envs, the batched spaces and the declared mode are what was asked for."""
        env, lanes, mode = self.env, self.num_envs, _mode_of(self.env)
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
            begin = start(other, self.seed)
            rest = resume(other, self.mode, self.actions(other), 0, spoil=True)
            check_equal(self.first, [begin, *rest], "the same run")
        except AssertionError as error:
            raise AssertionError(
                "after the caller overwrote the arrays it had received or passed, which must be"
                f" its own: {error}"
            ) from error

    def check_seeds(self, random_start: bool, per_lane_seeds: bool) -> None:
        """Another seed gives another start; seed s means [s, s + 1, ...]."""
        if random_start:
            other = start(self.env, self.seed + 1000)
            assert not same(self.first[0].lanes, other.lanes), (
                f"seeds {self.seed} and {self.seed + 1000} give the same start (if every start is"
                " the same by design, pass random_start=False)"
            )
        if per_lane_seeds:
            listed = start(self.env, [self.seed + lane for lane in range(self.num_envs)])
            check_equal(self.first[:1], [listed], "seed s must mean [s, s + 1, ...]")

    def check_resets_are_apart(self) -> None:
        """DISABLED: a reset of one lane is nothing to the others."""
        if self.mode is AutoresetMode.DISABLED:
            calm = self.run(self.env, early=False)
            claim = "resetting lane 0 by reset_mask must not affect other lanes"
            check_equal(self.first, calm, claim, range(1, self.num_envs))

    def check_number_does_not_matter(self, fewer: Vec) -> None:
        """A lane depends on its own seed and actions, and not on how many lanes there are."""
        lanes = fewer.num_envs
        claim = f"a lane must not depend on num_envs ({self.num_envs} or {lanes})"
        check_equal(self.first, self.run(fewer), claim, range(lanes))

    def check_autoreset(self) -> None:
        """Some episode ends, and NEXT_STEP lanes spend the step after it on the reset."""
        assert any(record.done.any() for record in self.first), (
            f"no episode ended in {self.steps} steps: nothing to check autoreset on; pass a short"
            " max_episode_steps or more steps"
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
        half, name, actions = self.steps // 2, copier.__name__.strip("_"), self.actions(self.env)
        self.run(self.env, actions[:half])
        try:
            clone = copier(self.env)
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            raise AssertionError(f"{name} of the environment failed: {error}") from error
        rest, copied = (resume(env, self.mode, actions, half) for env in (self.env, clone))
        check_equal(rest, copied, f"a copy ({name}) must continue as the original does")
        clone.close()

    def check_against_single(self, env: Vec, single: Single, exact: bool) -> None:
        """The same as Gymnasium's SyncVectorEnv over the single environment."""
        lanes = [single] * env.num_envs
        with closing(SyncVectorEnv(lanes, autoreset_mode=self.mode)) as reference:
            for name in ("single_observation_space", "single_action_space"):
                mine, other = getattr(env, name), getattr(reference, name)
                assert mine == other, f"{name} is {mine}, the single environment has {other}"
            actions = self.actions(env)
            expected = self.run(reference, actions)
            claim = f"{self.mode.name}: must equal SyncVectorEnv over the single environment"
            check_equal(self.run(env, actions), expected, claim, exact=exact)


# --- where the environments come from -------------------------------------------------------


def _of_id(name: str, kwargs: Mapping[str, Any]) -> tuple[Factory, Single]:
    """The factory and the single environment behind a registered id ("module:Name-v0" too)."""
    module, _, local = name.rpartition(":")
    if module:
        importlib.import_module(module)
    single = partial(gym.make, local, disable_env_checker=True, **kwargs)
    entry = gym.spec(local).vector_entry_point
    if entry is None:
        return lambda num_envs, autoreset_mode, **_: SyncVectorEnv(
            [single] * num_envs, autoreset_mode=autoreset_mode
        ), single
    creator = load_env_creator(entry) if isinstance(entry, str) else entry
    native = partial(gym.make_vec, local, vectorization_mode="vector_entry_point")
    return wraps(creator, updated=())(native), single  # _variants looks at the creator


def _limited(single: Single, steps: int) -> Single:
    return lambda: TimeLimit(single(), steps)


def _pickled(env: Vec) -> Vec:
    clone: Vec = pickle.loads(pickle.dumps(env))
    return clone


def _mode_of(env: Vec) -> AutoresetMode:
    mode = env.metadata.get("autoreset_mode")
    assert isinstance(mode, AutoresetMode), (
        f"metadata['autoreset_mode'] must be an AutoresetMode, not {mode!r}"
    )
    return mode


def _variants(
    origin: Vec | Factory,
    num_envs: int,
    modes: Sequence[AutoresetMode] | None,
    kwargs: Mapping[str, Any],
) -> Iterator[tuple[Callable[[int], AbstractContextManager[Vec]], AutoresetMode, int]]:
    """For each autoreset mode that can be examined: what opens an environment of so many lanes, the
    mode, the number of lanes. A ready environment, which is the caller's, is left open."""
    if isinstance(origin, VectorEnv):
        ready = origin
        yield (lambda _: nullcontext(ready)), _mode_of(ready), ready.num_envs
        return

    def opened(lanes: int, **more: Any) -> AbstractContextManager[Vec]:
        return closing(origin(num_envs=lanes, **kwargs, **more))

    parameters = inspect.signature(origin).parameters.values()
    if any(p.name == "autoreset_mode" or p.kind is p.VAR_KEYWORD for p in parameters):
        for mode in modes or AutoresetMode:
            yield partial(opened, autoreset_mode=mode), mode, num_envs
    else:
        with opened(1) as env:
            mode = _mode_of(env)
        yield opened, mode, num_envs
