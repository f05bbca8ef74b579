"""What vector environments return: arrays inside nested values, equality of bits, and types."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium.vector.utils import create_empty_array, iterate

from rbgym.envs.checks.sources import Vec

Array: TypeAlias = npt.NDArray[Any]


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


def same(left: Any, right: Any, exact: bool = True) -> bool:
    """Equal to the last bit, types included; or to 1e-6."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[k], right[k], exact) for k in left)
    if isinstance(left, tuple | list) and isinstance(right, tuple | list):
        return len(left) == len(right) and all(
            same(a, b, exact) for a, b in zip(left, right, strict=True)
        )
    a, b = np.asarray(left), np.asarray(right)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype == object:
        return bool(np.all(a == b))
    if exact or a.dtype.kind not in "fc":
        return a.tobytes() == b.tobytes()
    return np.allclose(a, b, rtol=1e-6, atol=1e-6, equal_nan=True)


def pick(batch: Any, lane: int) -> Any:
    """A lane's part of `final_obs`: an object array, or batched as observations are."""
    if isinstance(batch, Mapping):
        return {key: pick(part, lane) for key, part in batch.items()}
    if isinstance(batch, tuple):
        return tuple(pick(part, lane) for part in batch)
    return batch[lane]


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


def check_final_obs(env: Vec, info: dict[str, Any], done: npt.NDArray[np.bool_], when: str) -> None:
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
