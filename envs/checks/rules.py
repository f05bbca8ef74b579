"""The rules: each takes a case, makes runs of it and asserts one promise of the vector API."""

import copy
import pickle
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import batch_space

from rbgym.envs.checks.runs import (
    Actions,
    Record,
    check_equal,
    resume,
    run,
    sample_actions,
    start,
)
from rbgym.envs.checks.sources import Single, Source, Vec, mode_of
from rbgym.envs.checks.values import same


@dataclass(frozen=True)
class Case:
    """One environment in one autoreset mode, and how to examine it."""

    source: Source
    seed: int
    steps: int
    per_lane_seeds: bool

    def actions(self, env: Vec, extra: int = 0) -> Actions:
        """The actions of every run, or with `extra` other ones."""
        return sample_actions(env, self.steps, self.seed + extra)

    def run(self, env: Vec, actions: Actions | None = None, *, early: bool = True) -> list[Record]:
        """A run of all steps from the case's seed."""
        chosen = self.actions(env) if actions is None else actions
        return run(env, self.source.mode, self.seed, chosen, early=early)


def check_spaces(case: Case) -> None:
    """num_envs, the batched spaces and the declared mode are what was asked for."""
    with case.source.build() as env:
        lanes = case.source.num_envs
        assert env.num_envs == lanes, f"num_envs is {env.num_envs}, asked for {lanes}"
        mode = mode_of(env)
        assert mode is case.source.mode, (
            f"metadata['autoreset_mode'] is {mode}, asked for {case.source.mode}"
        )
        for name in ("observation", "action"):
            single = getattr(env, f"single_{name}_space")
            batched = getattr(env, f"{name}_space")
            assert batched == batch_space(single, lanes), (
                f"{name}_space is not the batch of {lanes} single_{name}_space:"
                f" {batched} and {single}"
            )


def check_repeats(case: Case) -> None:
    """The same seed and actions give the same bits, again and in a new environment.

    The last run overwrites each array once it was received or passed.
    """
    with case.source.build() as env, case.source.build() as other:
        lanes = range(env.num_envs)
        first = case.run(env)
        claim = "the same environment, seed and actions again must give the same bits"
        check_equal(first, case.run(env), claim, lanes)
        claim = "a new environment, same seed and actions, must give the same bits"
        check_equal(first, case.run(other), claim, lanes)
        try:
            begin = start(other, case.seed)
            rest = resume(other, case.source.mode, case.actions(other), 0, spoil=True)
            check_equal(first, [begin, *rest], "the same run", lanes)
        except AssertionError as error:
            raise AssertionError(
                "after the caller overwrote the arrays it had received or passed, which must be"
                f" its own: {error}"
            ) from error


def check_seeds(case: Case, random_start: bool) -> None:
    """Another seed gives another start; seed s means [s, s + 1, ...]."""
    with case.source.build() as env:
        lanes = range(env.num_envs)
        first = start(env, case.seed)
        if random_start:
            other = start(env, case.seed + 1000)
            assert not same(first.lanes, other.lanes), (
                f"seeds {case.seed} and {case.seed + 1000} give the same start (if every start is"
                " the same by design, pass random_start=False)"
            )
        if case.per_lane_seeds:
            listed = start(env, [case.seed + lane for lane in lanes])
            check_equal([first], [listed], "seed s must mean [s, s + 1, ...]", lanes)


def check_lanes_are_independent(case: Case) -> None:
    """A lane depends on its own seed and actions: not on their number, not on others' resets."""
    if not case.per_lane_seeds:
        return
    with case.source.build() as env:
        lanes = env.num_envs
        full = case.run(env)
        if case.source.mode is AutoresetMode.DISABLED:
            calm = case.run(env, early=False)
            claim = "resetting lane 0 by reset_mask must not affect other lanes"
            check_equal(full, calm, claim, range(1, lanes))
    if case.source.rebuilds:
        fewer = max(lanes - 1, 1)
        with case.source.build(fewer) as env:
            claim = f"a lane must not depend on num_envs ({lanes} or {fewer})"
            check_equal(full, case.run(env), claim, range(fewer))


def check_autoreset(case: Case) -> None:
    """Some episode ends, and NEXT_STEP lanes spend the step after it on the reset."""
    with case.source.build() as env:
        actions = case.actions(env)
        records = case.run(env, actions)
        assert any(record.done.any() for record in records), (
            f"no episode ended in {case.steps} steps: nothing to check autoreset on; pass a short"
            " max_episode_steps or more steps"
        )
        if case.source.mode is not AutoresetMode.NEXT_STEP:
            return
        decoy, others = copy.deepcopy(actions), case.actions(env, extra=1)
        for number, (ended, after) in enumerate(pairwise(records)):
            for lane in np.flatnonzero(ended.done):
                _check_reset_step(after, int(lane))
                decoy[number][lane] = others[number][lane]
        claim = "NEXT_STEP: the step after an episode's end must ignore the action"
        check_equal(records, case.run(env, decoy), claim, range(env.num_envs))


def _check_reset_step(record: Record, lane: int) -> None:
    parts = {key: record.lanes[lane][key] for key in ("reward", "terminated", "truncated")}
    assert not any(parts.values()), (
        f"NEXT_STEP: {record.when} of lane {lane} follows its episode's end, so it must be the"
        f" reset, with reward 0 and False flags, not {parts}"
    )


def check_copy(case: Case, copier: Callable[[Vec], Vec]) -> None:
    """A copy taken half-way continues as the original does."""
    mode, half, name = case.source.mode, case.steps // 2, copier.__name__
    with case.source.build() as env:
        actions = case.actions(env)
        case.run(env, actions[:half])
        try:
            clone = copier(env)
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            raise AssertionError(f"{name} of the environment failed: {error}") from error
        rest = resume(env, mode, actions, half)
        claim = f"a copy ({name}) must continue as the original does"
        check_equal(rest, resume(clone, mode, actions, half), claim, range(env.num_envs))
        clone.close()


def check_against_single(case: Case, single: Single, exact: bool) -> None:
    """The same as Gymnasium's SyncVectorEnv over the single environment.

    Where lanes share a generator, only one lane can be compared.
    """
    lanes = case.source.num_envs if case.per_lane_seeds else 1
    if lanes != case.source.num_envs and not case.source.rebuilds:
        return
    mode = case.source.mode
    claim = f"{mode.name}: must equal SyncVectorEnv over the single environment"
    reference: Vec = SyncVectorEnv([single] * lanes, autoreset_mode=mode)
    with case.source.build(lanes) as env, closing(reference):
        for name in ("single_observation_space", "single_action_space"):
            mine, other = getattr(env, name), getattr(reference, name)
            assert mine == other, f"{name} is {mine}, the single environment has {other}"
        actions = case.actions(env)
        expected = case.run(reference, actions)
        check_equal(case.run(env, actions), expected, claim, range(lanes), exact)
