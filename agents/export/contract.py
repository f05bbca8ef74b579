"""What a policy reads and commands, by name, unit, frame and scale: what a flight computer has to
hand to it, and to make of its answer."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from rbgym import __version__
from rbgym.agents.controllers.base import read_by_laws, relative
from rbgym.agents.policies import Network
from rbgym.agents.policies.network import joined, read_by_networks
from rbgym.envs.base import AttitudeEnv
from rbgym.envs.parts.columns import Column, bounds

CONVENTIONS = (
    "Quaternions are scalar first (w, x, y, z), of unit length, and map body to world; relative to "
    "a target, body to target. observation = quantity / scale, cut at low and high; commanded "
    "quantity = scale * action, the action cut at +-1 and held for one control period."
)
Entry = dict[str, Any]


def checked_env(env: Any) -> AttitudeEnv:
    """The bare single env; ValueError for any other."""
    base = getattr(env, "unwrapped", None)
    if not isinstance(base, AttitudeEnv):
        raise ValueError(f"env must be a single environment of rbgym, got {env!r}")
    return base


def row(env: AttitudeEnv, policy: Any, observation: Any) -> Any:
    """An observation as the numbers (width,) float32 that the exported policy reads: of goals,
    a network reads all parts in the order of their names, a law the attitude relative to that
    wanted."""
    if not env.task.split:
        return observation
    flat = joined if isinstance(policy, Network) else relative
    return np.asarray(flat(observation), np.float32)


def contract(
    env: AttitudeEnv, policy: Any, sides: Any, about: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The contract as data for JSON. sides: lowest and highest of what it reads, two rows.
    about: what else is to be told, the policy's name and such; ValueError for what JSON has not."""
    try:
        more = json.loads(json.dumps(dict(about or {}), allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise ValueError(f"about must be a dict of plain data, got {about!r}") from None
    columns = (read_by_networks if isinstance(policy, Network) else read_by_laws)(env)
    return {
        "rbgym": __version__,
        **more,
        "control_period_s": env.dt,
        "conventions": CONVENTIONS,
        "observation": _entries(columns.values(), sides),
        "action": _entries(env.commands.values(), bounds(env.commands.values())),
        "resolved": env.resolved,
    }


def _entries(columns: Iterable[Column], sides: Any) -> list[Entry]:
    """The columns as data; sides: lowest and highest of each."""
    return [
        {
            **{name: getattr(one, name) for name in ("first", "name", "size", "unit", "frame")},
            "scale": [*one.scale],  # type: ignore[misc]
            **({"what": one.words} if one.words else {}),
            "low": np.asarray(sides[0][one.place], np.float64).tolist(),
            "high": np.asarray(sides[1][one.place], np.float64).tolist(),
        }
        for one in columns
    ]
