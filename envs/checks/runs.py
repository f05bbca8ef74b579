"""Runs of a vector environment: what each call returned, copied at once and split into lanes."""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import concatenate, create_empty_array, iterate

from rbgym.envs.checks.sources import Vec
from rbgym.envs.checks.values import (
    Array,
    arrays_in,
    check_final_obs,
    check_info,
    check_observation,
    check_vector,
    pick,
    same,
)

Actions: TypeAlias = list[list[Any]]
EARLY = 1  # DISABLED runs also reset lane 0 after this step, in mid-episode


@dataclass
class Record:
    """One call: which lanes ended, each lane's parts by name, and the very arrays returned."""

    when: str
    done: npt.NDArray[np.bool_]
    lanes: list[dict[str, Any]]
    arrays: list[Array]
    copies: list[Array]


def sample_actions(env: Vec, steps: int, seed: int) -> Actions:
    """Actions [step][lane]; those of a lane do not depend on the number of lanes."""
    spaces = [copy.deepcopy(env.single_action_space) for _ in range(env.num_envs)]
    for lane, space in enumerate(spaces):
        space.seed(1000 * seed + lane)
    return [[space.sample() for space in spaces] for _ in range(steps)]


def start(env: Vec, seed: Any) -> Record:
    """Reset by seed, with the types checked."""
    when = f"reset(seed={seed})"
    observation, info = _pair(env.reset(seed=seed), when)
    check_observation(env, observation, when)
    check_info(info, env.num_envs, when)
    lanes = [{"observation": part} for part in _split(env, observation)]
    return _record(when, np.zeros(env.num_envs, np.bool_), lanes, [observation])


def run(
    env: Vec, mode: AutoresetMode, seed: int, actions: Actions, *, early: bool = True
) -> list[Record]:
    """Reset and take all actions; DISABLED lanes that end are reset at once by `reset_mask`.

    Args:
        env: the environment.
        mode: its autoreset mode.
        seed: seed of the reset.
        actions: [step][lane].
        early: in DISABLED, reset lane 0 also in mid-episode.
    """
    records = [start(env, seed), *resume(env, mode, actions, 0, early=early)]
    check_memory(records)
    return records


def resume(
    env: Vec,
    mode: AutoresetMode,
    actions: Actions,
    first: int,
    *,
    early: bool = True,
    spoil: bool = False,
) -> list[Record]:
    """Take the actions from number `first` on, and `spoil` all arrays as a reusing caller would."""
    records = []
    for number in range(first, len(actions)):
        action = batch_actions(env, actions[number])
        records.append(_step(env, mode, action, f"step {number}"))
        if mode is AutoresetMode.DISABLED:
            mask = records[-1].done.copy()
            mask[0] |= early and number == EARLY
            _reset_lanes(env, records[-1], mask)
        if spoil:
            _overwrite([*records[-1].arrays, *arrays_in(action)])
    return records


def batch_actions(env: Vec, items: Sequence[Any]) -> Any:
    """One batched action from one action per lane."""
    space = env.single_action_space
    out: Any = create_empty_array(space, n=len(items))
    return concatenate(space, items, out)


def _step(env: Vec, mode: AutoresetMode, action: Any, when: str) -> Record:
    passed = copy.deepcopy(action)
    result = env.step(action)
    assert same(action, passed), f"{when} changed the action that was passed in: {passed!r}"
    assert isinstance(result, tuple), f"{when} must return a tuple, not {type(result)}"
    assert len(result) == 5, f"{when} must return five values, not {len(result)}"
    observation, rewards, terminations, truncations, info = result
    check_observation(env, observation, when)
    check_vector(rewards, np.floating, env.num_envs, "rewards", when)
    check_vector(terminations, np.bool_, env.num_envs, "terminations", when)
    check_vector(truncations, np.bool_, env.num_envs, "truncations", when)
    check_info(info, env.num_envs, when)
    done = terminations | truncations
    lanes = [
        {"observation": part, "reward": float(r), "terminated": bool(e), "truncated": bool(u)}
        for part, r, e, u in zip(
            _split(env, observation), rewards, terminations, truncations, strict=True
        )
    ]
    arrays = [observation, rewards, terminations, truncations]
    if mode is AutoresetMode.SAME_STEP:
        check_final_obs(env, info, done, when)
        arrays.append(info.get("final_obs", ()))
        for lane in np.flatnonzero(done):
            lanes[lane]["final_obs"] = copy.deepcopy(pick(info["final_obs"], int(lane)))
    return _record(when, done, lanes, arrays)


def _reset_lanes(env: Vec, record: Record, mask: npt.NDArray[np.bool_]) -> None:
    """Add to the record what the masked reset returns; the other lanes must not notice it."""
    parts = [lane["observation"] for lane in record.lanes]
    if mask.any():
        when = f"reset_mask={mask.tolist()} after {record.when}"
        observation, info = _pair(env.reset(options={"reset_mask": mask.copy()}), when)
        check_observation(env, observation, when)
        check_info(info, env.num_envs, when)
        parts, before = _split(env, observation), parts
        for lane in np.flatnonzero(~mask).tolist():
            assert same(parts[lane], before[lane]), (
                f"{when} changed lane {lane}, outside the mask: {before[lane]} -> {parts[lane]}"
            )
        record.arrays += arrays_in(observation)
        record.copies += [array.copy() for array in arrays_in(observation)]
    for lane, part in enumerate(parts):
        record.lanes[lane]["observation after reset_mask"] = part


def _pair(result: Any, when: str) -> tuple[Any, Any]:
    assert isinstance(result, tuple), f"{when} must return a tuple, not {type(result)}"
    assert len(result) == 2, f"{when} must return (observation, info), not {len(result)} values"
    return result


def _split(env: Vec, observation: Any) -> list[Any]:
    return list(iterate(env.observation_space, copy.deepcopy(observation)))


def _record(
    when: str, done: npt.NDArray[np.bool_], lanes: list[dict[str, Any]], values: list[Any]
) -> Record:
    arrays = list(arrays_in(values))
    return Record(when, done.copy(), lanes, arrays, [array.copy() for array in arrays])


def _overwrite(arrays: Iterable[Array]) -> None:
    for array in arrays:
        if array.flags.writeable and array.dtype.kind == "f":
            array[...] = np.nan
        elif array.flags.writeable and array.dtype.kind in "biu":
            array[...] = ~array


def check_memory(records: Sequence[Record]) -> None:
    """No array returned by one call changes later or shares memory with another call's."""
    for number, record in enumerate(records):
        for array, taken in zip(record.arrays, record.copies, strict=True):
            assert same(array, taken), f"an array returned by {record.when} changed later"
            for other in records[:number]:
                shared = any(np.shares_memory(array, earlier) for earlier in other.arrays)
                assert not shared, f"{record.when} and {other.when} return the same memory"


def check_equal(
    left: Sequence[Record],
    right: Sequence[Record],
    claim: str,
    lanes: Iterable[int],
    exact: bool = True,
) -> None:
    """Both runs agree in these lanes; `claim` says why they should."""
    wanted = list(lanes)
    for a, b in zip(left, right, strict=True):
        for lane in wanted:
            for name in sorted(a.lanes[lane].keys() | b.lanes[lane].keys()):
                one, other = (record.lanes[lane].get(name) for record in (a, b))
                assert same(one, other, exact), (
                    f"{claim}; but at {a.when}, lane {lane}, {name} is {one} and {other}"
                )
