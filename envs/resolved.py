"""All numbers that an env was made of, as plain data, each with where it comes from."""

import math
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any

import numpy as np

from rbgym.compiled.record import Record
from rbgym.envs.actuators import halved
from rbgym.envs.episodes import Episodes
from rbgym.envs.layers import OF_BODY, Layers
from rbgym.envs.orbit import Orbit
from rbgym.envs.task import Task

# What coils repeat of it.
_OF_ORBIT = {"orbit", *(one.name for one in fields(Orbit))}
_BY_KEY = ("disturbance", "randomization", "faults", "constraints", "termination")


def resolved(task: Task, episodes: Episodes, layers: Layers) -> dict[str, Any]:
    """The tree of parts, by the names of the arguments of `gym.make`.

    A leaf is {"value": plain data, "source": name of the layer that has said it}, see
    `rbgym.envs.layers`: "task", "satellite", "difficulty" or "argument".
    """
    setup, batch, arguments = episodes.setup, episodes.batch, layers.arguments
    parts, body, actuator = setup.parts, batch.bodies[0], setup.actuator

    def leaf(value: Any, *path: str) -> dict[str, Any]:
        return {"value": plain(value), "source": layers.source(*path)}

    def each(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
        return {key: leaf(value, name, key) for key, value in values.items()}

    def part(name: str, record: Record) -> dict[str, Any]:
        """A part by its fields, of which arguments may have other names."""
        source = layers.last(name)
        kind = {"kind": type(record).__name__, **record._asdict()}
        return {key: {"value": plain(value), "source": source} for key, value in kind.items()}

    said = [name for name in ("difficulty", "satellite") if name in arguments]
    tree: dict[str, Any] = {name: leaf(arguments[name], name) for name in said}
    tree |= {
        "body": each("body", {name: getattr(body, name) for name in OF_BODY}),
        "mgl": leaf(getattr(batch.potential, "mgl", 0.0), "mgl"),
        "dt": leaf(setup.dt, "dt"),
        "substeps": leaf(setup.substeps, "substeps"),
        "max_episode_steps": leaf(setup.limit, "max_episode_steps"),
        "integrator": leaf(batch.integrator.name, "integrator"),
        "projection": leaf(batch.projection, "projection"),
        "rate_limit": leaf(task.rate_limit, "rate_limit"),
        "torque_limit": leaf(actuator.limits, "torque_limit"),
        "torque_scale": leaf(setup.strength, "torque_scale"),
        "actuator": {
            type(one).__name__: {
                key: leaf(value, "actuator", type(one).__name__)
                for key, value in vars(one).items()
                if key not in _OF_ORBIT
            }
            for one in halved((actuator.effector, *actuator.stages))
        },
        "initial": each("initial", parts.start._asdict()),
        "success": each("success", _success(task, setup.dt)),
        "observation": leaf(arguments.get("observation", "quaternion"), "observation"),
        "reference": part("reference", parts.reference),
        "sensor": part("sensor", parts.sensor),
        "reward": part("reward", parts.reward),
    }
    for name in _BY_KEY:
        value = arguments.get(name)
        tree[name] = each(name, value) if isinstance(value, Mapping) else leaf(value, name)
    if setup.orbit is not None:
        tree["orbit"] = each("orbit", asdict(setup.orbit))
    return tree


def lines(tree: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The tree as rows of a table: name, value, source."""
    found: list[tuple[str, str, str]] = []
    for name, node in tree.items():
        if {*node} == {"value", "source"}:
            found.append((name, str(node["value"]), str(node["source"])))
        else:
            found += [(f"{name}.{below}", *rest) for below, *rest in lines(node)]  # type: ignore[misc]
    return found


def plain(value: Any) -> Any:
    """Numbers, strings, lists and dicts of them; None for no limit, the name of what else."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bool | int | str | None):
        return value
    if isinstance(value, Record):
        return {"kind": type(value).__name__, **plain(value._asdict())}
    if is_dataclass(value) and not isinstance(value, type):
        return {"kind": type(value).__name__, **plain(vars(value))}
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return getattr(value, "__qualname__", type(value).__qualname__)


def _success(task: Task, dt: float) -> dict[str, Any]:
    return {
        "angle": task.angle,
        "rate": task.rate,
        "seconds": task.settled_steps * dt,
        "momentum": task.momentum,
        "docked": task.docked,
    }
