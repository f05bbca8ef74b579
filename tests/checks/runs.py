"""Runs of a vector environment: what each call returned, with its types checked, copied at once
and split into lanes."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array, iterate
from numpy.typing import NDArray

Vec: TypeAlias = VectorEnv[Any, Any, Any]
Array: TypeAlias = NDArray[Any]
Flags: TypeAlias = NDArray[np.bool_]
Actions: TypeAlias = list[list[Any]]
EARLY = 1  # DISABLED runs also reset lane 0 after this step, in mid-episode


@dataclass
class Record:
    """One call: which lanes ended, each lane's parts by name, and the very arrays returned."""

    when: str
    done: Flags
    lanes: list[dict[str, Any]]
    arrays: list[Array] = field(default_factory=list)
    copies: list[Array] = field(default_factory=list)

    def keep(self, values: Any) -> "Record":
        """The record, with the arrays inside the values."""
        arrays = list(arrays_in(values))
        self.arrays += arrays
        self.copies += [array.copy() for array in arrays]
        return self


# --- runs -----------------------------------------------------------------------------------


def start(env: Vec, seed: Any) -> Record:
    """Reset by seed, with the types checked."""
    when = f"reset(seed={seed})"
    observation = _reset(env, when, seed=seed)
    lanes = [{"observation": part} for part in _split(env, observation)]
    return Record(when, np.zeros(env.num_envs, np.bool_), lanes).keep(observation)


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
    records, space = [], env.single_action_space
    for number in range(first, len(actions)):
        out: Any = create_empty_array(space, n=env.num_envs)
        action: Any = concatenate(space, actions[number], out)
        records.append(_step(env, mode, action, f"step {number}"))
        if mode is AutoresetMode.DISABLED:
            mask = records[-1].done.copy()
            mask[0] |= early and number == EARLY
            _reset_lanes(env, records[-1], mask)
        if spoil:
            for array in [*records[-1].arrays, *arrays_in(action)]:
                if array.flags.writeable and array.dtype.kind in "fbiu":
                    array[...] = np.nan if array.dtype.kind == "f" else ~array
    return records


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
    done, arrays = terminations | truncations, list(result[:4])
    parts = _split(env, observation), rewards.tolist(), terminations.tolist(), truncations.tolist()
    names = "observation", "reward", "terminated", "truncated"
    lanes = [dict(zip(names, values, strict=True)) for values in zip(*parts, strict=True)]
    if mode is AutoresetMode.SAME_STEP:
        check_final_obs(env, info, done, when)
        arrays.append(info.get("final_obs", ()))
        for lane in np.flatnonzero(done):
            lanes[lane]["final_obs"] = copy.deepcopy(pick(info["final_obs"], int(lane)))
    return Record(when, done, lanes).keep(arrays)


def _reset_lanes(env: Vec, record: Record, mask: Flags) -> None:
    """Add to the record what the masked reset returns; the other lanes must not notice it."""
    parts = [lane["observation"] for lane in record.lanes]
    if mask.any():
        when = f"reset_mask={mask.tolist()} after {record.when}"
        observation = _reset(env, when, options={"reset_mask": mask.copy()})
        parts, before = _split(env, observation), parts
        for lane in np.flatnonzero(~mask).tolist():
            assert same(parts[lane], before[lane]), (
                f"{when} changed lane {lane}, outside the mask: {before[lane]} -> {parts[lane]}"
            )
        record.keep(observation)
    for lane, part in enumerate(parts):
        record.lanes[lane]["observation after reset_mask"] = part


def _reset(env: Vec, when: str, **arguments: Any) -> Any:
    result: Any = env.reset(**arguments)
    assert isinstance(result, tuple), f"{when} must return a tuple, not {type(result)}"
    assert len(result) == 2, f"{when} must return (observation, info), not {len(result)} values"
    check_observation(env, result[0], when)
    check_info(result[1], env.num_envs, when)
    return result[0]


def _split(env: Vec, observation: Any) -> list[Any]:
    return list(iterate(env.observation_space, copy.deepcopy(observation)))


# --- comparisons ----------------------------------------------------------------------------


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
    lanes: Sequence[int] | None = None,
) -> None:
    """Both runs agree in these lanes, default all; `claim` says why they should."""
    for a, b in zip(left, right, strict=True):
        for lane in range(len(a.lanes)) if lanes is None else lanes:
            for name in sorted(a.lanes[lane].keys() | b.lanes[lane].keys()):
                one, other = (record.lanes[lane].get(name) for record in (a, b))
                assert same(one, other), (
                    f"{claim}; but at {a.when}, lane {lane}, {name} is {one} and {other}"
                )


def same(left: Any, right: Any) -> bool:
    """Equal to the last bit, types included."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    if isinstance(left, tuple | list) and isinstance(right, tuple | list):
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(same(a, b) for a, b in pairs)
    a, b = np.asarray(left), np.asarray(right)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(np.all(a == b)) if a.dtype == object else a.tobytes() == b.tobytes()


def arrays_in(value: Any) -> Iterator[Array]:
    """Every numeric array inside dicts, sequences and object arrays."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield value
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from arrays_in(value[key])
    elif isinstance(value, tuple | list | np.ndarray):
        for part in value:
            yield from arrays_in(part)


def pick(batch: Any, lane: int) -> Any:
    """A lane's part of `final_obs`: an object array, or batched as observations are."""
    if isinstance(batch, Mapping):
        return {key: pick(part, lane) for key, part in batch.items()}
    return tuple(pick(p, lane) for p in batch) if isinstance(batch, tuple) else batch[lane]


# --- types ----------------------------------------------------------------------------------


def check_observation(env: Vec, observation: Any, when: str) -> None:
    """The batch lies in observation_space, with its dtypes; each lane in the single space."""
    space, single = env.observation_space, env.single_observation_space
    if single.is_np_flattenable:
        expected = arrays_in(create_empty_array(single, n=env.num_envs))
        for want, got in zip(expected, arrays_in(observation), strict=False):
            assert (got.dtype, got.shape) == (want.dtype, want.shape), (
                f"{when}: observation is {got.dtype}{list(got.shape)},"
                f" observation_space says {want.dtype}{list(want.shape)}"
            )
    if not space.contains(observation):
        for lane, item in enumerate(iterate(space, observation)):
            assert single.contains(item), (
                f"{when}: observation of lane {lane} is not in single_observation_space: {item!r}"
            )
        raise AssertionError(f"{when}: observation is not in observation_space: {observation!r}")


def check_vector(value: Any, kind: type[np.generic], lanes: int, name: str, when: str) -> None:
    """An array of shape (lanes,) of the kind of dtype."""
    assert isinstance(value, np.ndarray), f"{when}: {name} must be an array, not {type(value)}"
    assert np.issubdtype(value.dtype, kind), (
        f"{when}: {name} must have dtype {kind.__name__}, not {value.dtype}"
    )
    assert value.shape == (lanes,), f"{when}: {name} must have shape ({lanes},), not {value.shape}"


def check_info(info: Any, lanes: int, when: str) -> None:
    """A dict in which every array `key` has one row per lane and a boolean mask `_key`."""
    assert isinstance(info, dict), f"{when}: info must be a dict, not {type(info)}"
    for key, value in info.items():
        if not isinstance(value, np.ndarray) or str(key).startswith("_"):
            continue
        assert value.shape[:1] == (lanes,), (
            f"{when}: info[{key!r}] must have {lanes} rows, its shape is {value.shape}"
        )
        assert f"_{key}" in info, f"{when}: info[{key!r}] lacks its mask info['_{key}']"
        check_vector(info[f"_{key}"], np.bool_, lanes, f"info['_{key}']", when)


def check_final_obs(env: Vec, info: dict[str, Any], done: Flags, when: str) -> None:
    """SAME_STEP: final_obs for exactly the lanes that ended, each in the single space."""
    mask = info.get("_final_obs", np.zeros(env.num_envs, np.bool_))
    check_vector(mask, np.bool_, env.num_envs, "info['_final_obs']", when)
    wrong = np.flatnonzero(mask != done)
    assert not wrong.size, (
        f"{when}: lane {wrong[0]} {'ended without' if done[wrong[0]] else 'goes on but has'}"
        " info['final_obs'] (by its mask info['_final_obs'])"
    )
    assert "final_obs" in info or not done.any(), f"{when}: info['final_obs'] is missing"
    for lane in np.flatnonzero(done):
        item = pick(info["final_obs"], int(lane))
        assert env.single_observation_space.contains(item), (
            f"{when}: final_obs of lane {lane} is not in single_observation_space: {item!r}"
        )
