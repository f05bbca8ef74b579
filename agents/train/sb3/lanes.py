"""One lane's part of what a `gymnasium.vector.VectorEnv` returns, n lanes at a time.

Observations are arrays (n, ...), or dicts or tuples of them; final observations may also be object
arrays (n,) of single observations. A vector info maps names to such arrays, or to further vector
infos, with `_name` (n,) telling which lanes have it; it may compute its values when they are read.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

_FINAL = frozenset({"final_obs", "final_info"})


def copied(obs: Any) -> Any:
    """Return an observation, batched or single, whose arrays are the caller's own."""
    if isinstance(obs, Mapping):
        return {key: copied(part) for key, part in obs.items()}
    if isinstance(obs, tuple):
        return tuple(copied(part) for part in obs)
    return np.array(obs)


def row(obs: Any, lane: int) -> Any:
    """Return one lane's observation out of a batch (n, ...), not copied."""
    if isinstance(obs, Mapping):
        return {key: row(part, lane) for key, part in obs.items()}
    if isinstance(obs, tuple):
        return tuple(row(part, lane) for part in obs)
    return obs[lane]


def overwrite(obs: Any, source: Any, mask: np.ndarray) -> None:
    """Put the masked lanes of `source` (n, ...) into `obs` (n, ...), in place; mask (n,) bool."""
    if isinstance(obs, dict):
        for key, part in obs.items():
            overwrite(part, source[key], mask)
    elif isinstance(obs, tuple):
        for part, source_part in zip(obs, source, strict=True):
            overwrite(part, source_part, mask)
    else:
        obs[mask] = source[mask]


def info(infos: Any, lane: int) -> dict[str, Any]:
    """Return one lane's info dict, its arrays copied, without final_obs and final_info.

    infos: a vector info, or an object array (n,) of dicts or None.
    """
    if not isinstance(infos, Mapping):
        return dict(infos[lane] or {})
    names = [name for name in infos if name not in _FINAL and not _is_mask(infos, name)]
    return {name: _value(infos[name], lane) for name in names if _present(infos, name, lane)}


def finals(infos: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the final observations and final infos of a SAME_STEP step, both batched."""
    # not infos.get: a lazy dict need only define `in` and []
    final_info = infos["final_info"] if "final_info" in infos else {}  # noqa: SIM401
    return infos["final_obs"], final_info


def named(infos: Mapping[str, Any], names: Iterable[str], count: int) -> list[dict[str, Any]]:
    """Return a fresh info dict for each of `count` lanes, holding the named vector infos."""
    lane_infos: list[dict[str, Any]] = [{} for _ in range(count)]
    for name in names:
        if name not in infos:
            continue
        values = infos[name]
        for lane, lane_info in enumerate(lane_infos):
            if _present(infos, name, lane):
                lane_info[name] = _value(values, lane)
    return lane_infos


def _is_mask(infos: Mapping[str, Any], name: str) -> bool:
    return name.startswith("_") and name[1:] in infos


def _present(infos: Mapping[str, Any], name: str, lane: int) -> bool:
    mask = f"_{name}"
    return mask not in infos or bool(infos[mask][lane])


def _value(values: Any, lane: int) -> Any:
    """Return one lane's value; what has no lane axis belongs to all."""
    if isinstance(values, Mapping):
        return info(values, lane)
    if isinstance(values, list | tuple) or (isinstance(values, np.ndarray) and values.ndim > 0):
        value = values[lane]
        return value.copy() if isinstance(value, np.ndarray) else value
    return values
