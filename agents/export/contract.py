"""The contract of an exported policy: name, unit, frame and scale of each input and output."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from rbgym import __version__
from rbgym.agents.controllers.base import read_by_laws, refuse_wrappers, relative
from rbgym.agents.policies import Network
from rbgym.agents.policies.network import joined, read_by_networks
from rbgym.envs.base import AttitudeEnv
from rbgym.envs.parts.columns import Column

CONVENTIONS = (
    "Quaternions are scalar first (w, x, y, z), of unit length, and map body to world; relative to "
    "a target, body to target. observation = quantity / scale, cut at low and high; commanded "
    "quantity = scale * action, the action cut at +-1 and held for one control period."
)


def checked_env(env: Any) -> AttitudeEnv:
    """The unwrapped single env; ValueError for any other, and for `refuse_wrappers`."""
    base = getattr(env, "unwrapped", None)
    if not isinstance(base, AttitudeEnv):
        raise ValueError(f"env must be a single environment of rbgym, got {env!r}")
    refuse_wrappers(env)
    return base


def row(env: AttitudeEnv, policy: Any, observation: Any) -> Any:
    """Flatten an observation to the numbers (width,) float32 that the exported policy reads. From a
    dict of goals, a network reads all parts in the order of their names, a law the attitude
    relative to the target."""
    if not env.task.split:
        return observation
    flat = joined if isinstance(policy, Network) else relative
    return np.asarray(flat(observation), np.float32)


def contract(env: AttitudeEnv, policy: Any, about: Mapping[str, Any] | None) -> dict[str, Any]:
    """The contract as data for JSON. about: further entries, such as the policy's name; ValueError
    for the name of an entry that it has, and for values that JSON cannot hold."""
    try:
        more = json.loads(json.dumps(dict(about or {}), allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise ValueError(f"about must be a dict of plain data, got {about!r}") from None
    columns = (read_by_networks if isinstance(policy, Network) else read_by_laws)(env)
    own = {
        "control_period_s": env.dt,
        "conventions": CONVENTIONS,
        "observation": _entries(columns.values()),
        "action": _entries(env.commands.values()),
        "resolved": env.resolved,
    }
    if taken := more.keys() & {"rbgym", *own, "golden"}:
        raise ValueError(f"about must have names of its own, got the contract's {sorted(taken)}")
    whole = {"rbgym": __version__, **more, **own}
    # JSON has no infinity: the bound of an unbounded side is null.
    return json.loads(json.dumps(whole), parse_constant=lambda _: None)


def _entries(columns: Iterable[Column]) -> list[dict[str, Any]]:
    """Convert columns to data for JSON, with the bounds in float32, as the spaces have them."""
    return [
        {
            **{name: getattr(one, name) for name in ("first", "name", "size", "unit", "frame")},
            "scale": [*one.scale],  # type: ignore[misc]
            **({"what": one.words} if one.words else {}),
            "low": np.asarray(one.low, np.float32).tolist(),
            "high": np.asarray(one.high, np.float32).tolist(),
        }
        for one in columns
    ]
