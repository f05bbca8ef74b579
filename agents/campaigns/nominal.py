"""The nominal env: what of it a campaign can draw, and how a draw is given to it.

Numbers that `reset` takes differ from run to run. Any other number of the resolved configuration
stands in the arguments of an env, which a group of runs shares.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from rbgym.agents.cases import in_time
from rbgym.arguments import hint
from rbgym.envs import actuators
from rbgym.envs.layers import OF_BODY as BODY_ARGUMENTS
from rbgym.envs.orbit import places_of
from rbgym.envs.parts import parameters
from rbgym.envs.parts.sensors import Failing
from rbgym.quaternion import Array, from_rotation_vector, multiply, to_matrix

# How a number is set: by `parameters` or by `state` of a reset, or by arguments of the env.
PARAMETER, START, GROUP = "parameter", "start", "group"
PER_LANE = tuple(
    one.name for one in (*parameters.OF_BODY, *parameters.OF_MOUNTING, *parameters.OF_SENSOR)
)
_ZERO_NOMINAL = "misalignment", "axes", "rate_bias"
_ALIASES = {"body.inertia": "inertia"}
# Parts of the resolved configuration whose numbers an argument of the env sets.
_PARTS = ("body", "mgl", "torque_limit", "torque_scale", "actuator", "initial", "success", "sensor",
          "randomization", "disturbance", "faults", "constraints", "orbit")  # fmt: skip


class Place(NamedTuple):
    """Numbers that can be drawn, by name: how they are set, what they are without a spread (None
    where the env draws it), a label of each, and the bounds of what is possible."""

    name: str
    level: str
    nominal: Array | None
    labels: tuple[str, ...]
    low: float = -math.inf
    high: float = math.inf

    @property
    def columns(self) -> list[str]:
        """Names of the single numbers."""
        return [f"{self.name}.{label}" if label else self.name for label in self.labels]

    @property
    def default(self) -> Array:
        """The nominal numbers, 0 where the env draws them."""
        return np.zeros(len(self.labels)) if self.nominal is None else self.nominal


class Nominal:
    """The env of a campaign without a spread. names: of what the spread draws, so that `reset`
    takes those of them that are parameters. places: all that can be drawn, by name."""

    def __init__(self, env_id: str, env_kwargs: Mapping[str, Any], names: Iterable[str]) -> None:
        owns = {_own(name).partition(".")[0] for name in names}
        given = {name: value for name, value in env_kwargs.items() if name != "info"}  # all is seen
        if zeros := {name: 0.0 for name in PER_LANE if name in owns - {"rate_bias"}}:
            given["randomization"] = zeros | (given.get("randomization") or {})
        self.env_id, self.env_kwargs = env_id, in_time(env_id, given)
        self.env = self.make(1, {}).unwrapped
        self.tree: dict[str, Any] = self.env.resolved
        setup = self.env.episodes.setup
        if not math.isfinite(setup.limit):
            raise ValueError(f"max_episode_steps must be given for {env_id}, whose runs never end")
        self.has_target = bool(setup.parts.goal.has_target())
        self.places = {one.name: one for one in (*self._run_level(), *self._groups())}

    def make(self, lanes: int, changes: Mapping[str, Any]) -> Any:
        """A vector env of the campaign, some of its arguments changed; resets are the caller's."""
        mode, kwargs = AutoresetMode.DISABLED, {**self.env_kwargs, **changes}
        return gym.make_vec(self.env_id, lanes, autoreset_mode=mode, **kwargs)

    def find(self, name: str) -> tuple[Place, list[int]]:
        """The place of a name of a spread, and which of its numbers; ValueError, with a near name,
        for one that there is not."""
        own = _own(name)
        for one in self.places.values():
            if own == one.name:
                return one, [*range(len(one.labels))]
            if own in one.columns:
                return one, [one.columns.index(own)]
        known = [*dict.fromkeys((*PER_LANE, *self.places))]
        near = hint(own, [*known, *(c for one in self.places.values() for c in one.columns)])
        raise ValueError(
            f"spread must name numbers of the resolved configuration, {list(PER_LANE)} or what a "
            f"start has, {[n for n, one in self.places.items() if one.level == START]}, got "
            f"{name!r}{near}"
        )

    def _run_level(self) -> Iterator[Place]:
        """What `reset` takes."""
        episodes, xyz = self.env.episodes, ("x", "y", "z")
        for name, column in parameters.places(episodes).items():
            if name not in varied(self.env):
                continue
            nominal = np.full(column.size, 0.0 if name in _ZERO_NOMINAL else 1.0)
            if name == "inertia":
                nominal = np.array(self.env.body.moments)
            labels = _labels((column.size,) if column.size > 1 else ())
            low, high = float(np.min(column.low)), float(np.max(column.high))
            yield Place(name, PARAMETER, nominal, labels, low, high)
        yield Place("attitude", START, None, xyz)
        yield Place("attitude_angle", START, None, ("",), 0.0, math.pi)
        yield Place("quaternion", START, None, _labels((4,)))
        yield Place("angular_velocity", START, np.zeros(3), xyz)
        setup, physics = episodes.setup, episodes.rows.physics
        found = {
            **setup.actuator.effector.state_keys(),
            **places_of(physics.potential),
            **setup.parts.goal.state_keys(),
        }
        for name, key in found.items():
            rests = name in setup.actuator.effector.state_keys()
            rest = np.full(key.width, key.rest) if rests else None
            labels = _labels((key.width,) if key.width > 1 else ())
            yield Place(name, START, rest, labels, key.low, key.high)

    def _groups(self) -> Iterator[Place]:
        """Numbers of the resolved configuration that arguments of the env set."""
        for name, value in _leaves({part: self.tree.get(part) for part in _PARTS}):
            values = np.asarray(value, dtype=np.float64)
            if name not in _ALIASES:
                yield Place(name, GROUP, values.ravel(), _labels(values.shape))

    def arguments(self, values: Mapping[str, Array]) -> dict[str, Any]:
        """The arguments of an env with these numbers of `GROUP`, (size,), by name."""
        changes = dict[str, Any]()
        for name, numbers in values.items():
            part, _, rest = name.partition(".")
            node: Any = self.tree[part]
            for key in rest.split(".") if rest else ():
                node = node[key]
            shape = np.shape(node["value"])
            value = numbers.reshape(shape).tolist() if shape else float(numbers[0])
            changes[part] = self._changed(part, rest, value, changes.get(part))
        return changes

    def _changed(self, part: str, rest: str, value: Any, before: Any) -> Any:
        """The argument `part` with this number, over what it was or has become."""
        setup = self.env.episodes.setup
        if not rest:
            return value
        if part == "actuator":
            kind, _, key = rest.partition(".")
            parts = before or actuators.halved((setup.actuator.effector, *setup.actuator.stages))
            return [
                replace(one, **{key: value}) if type(one).__name__ == kind else one for one in parts
            ]
        if part == "sensor":
            sensor = setup.parts.sensor
            sensor = before or (sensor.sensor if isinstance(sensor, Failing) else sensor)
            return sensor._replace(**{rest: tuple(value) if isinstance(value, list) else value})
        if part == "body":
            own = before or {name: getattr(self.env.body, name) for name in BODY_ARGUMENTS}
        elif part == "orbit":
            own = before or asdict(setup.orbit)
        else:
            own = before or self.env_kwargs.get(part)
            if not isinstance(own, Mapping):  # a category of starts, or nothing
                own = {}
        return {**own, rest: value}

    def possible(self, values: Mapping[str, Array]) -> Any:
        """Which of the runs can be, (n,); values: (n, size) by name."""
        good = np.ones(len(next(iter(values.values()), ())), dtype=np.bool_)
        for name, numbers in values.items():
            place = self.places[name]
            good &= ((numbers >= place.low) & (numbers <= place.high)).all(axis=1)
            if name == "inertia":
                good &= (numbers > 0.0).all(axis=1)
                good &= 2.0 * numbers.max(axis=1) < numbers.sum(axis=1)
        return good

    def options(self, state: Mapping[str, Array], values: Mapping[str, Array]) -> dict[str, Any]:
        """The options of a reset that gives lanes these numbers, (n, size) by name. state: of the
        env's own starts, for what is not drawn."""
        found = {n: v for n, v in values.items() if self.places[n].level == PARAMETER}
        if found.keys() & {"inertia", "axes"}:
            n, B = len(next(iter(found.values()))), self.env.body.principal_rotation
            moments = found.get("inertia", np.tile(self.env.body.moments, (n, 1)))
            turned = to_matrix(from_rotation_vector(found.pop("axes", np.zeros((n, 3))))) @ B
            found["inertia"] = turned * moments[:, np.newaxis] @ turned.transpose(0, 2, 1)
        options = {"parameters": {n: v[:, 0] if v.shape[1] == 1 else v for n, v in found.items()}}
        starts = {n: v for n, v in values.items() if self.places[n].level == START}
        return options | ({"state": self._start(state, starts)} if starts else {})

    def _start(self, state: Mapping[str, Array], drawn: Mapping[str, Array]) -> dict[str, Any]:
        """options["state"]: the env's own, some of it drawn."""
        places = [n for n, one in self.places.items() if one.level == START]
        start = {n: state[n] for n in places if n in state}
        target = state["target_quaternion"]
        if self.has_target:
            start["target_quaternion"] = target
        turn = None
        if "attitude" in drawn:
            turn = from_rotation_vector(drawn["attitude"])
        elif "attitude_angle" in drawn:  # about the axis of the env's own start
            own = multiply(target * [1.0, -1.0, -1.0, -1.0], state["quaternion"])
            half, axis = 0.5 * drawn["attitude_angle"], own[:, 1:]
            length = np.linalg.norm(axis, axis=1, keepdims=True)
            axis = np.where(length > 0.0, axis, [1.0, 0.0, 0.0]) / np.where(length > 0, length, 1.0)
            turn = np.hstack([np.cos(half), np.sin(half) * axis])
        if turn is not None:
            start["quaternion"] = multiply(target, turn)
        for name, numbers in drawn.items():
            if name in start:
                start[name] = numbers[:, 0] if start[name].ndim == 1 else numbers
        return start


def varied(env: Any) -> set[str]:
    """Parameters that differ from episode to episode in an env."""
    named = {*env.episodes.setup.varied, "rate_bias"}
    return named | {"actuator_scale"} if "failure" in named else named


def _own(name: Any) -> str:
    """The name under which a number is drawn."""
    if not isinstance(name, str):
        raise ValueError(f"spread must name numbers by texts, got {name!r}")
    for alias, own in _ALIASES.items():
        if f"{name}.".startswith(f"{alias}."):
            return own + name.removeprefix(alias)
    return name


def _labels(shape: tuple[int, ...]) -> tuple[str, ...]:
    if shape == (3,):
        return ("x", "y", "z")
    return tuple(".".join(map(str, place)) for place in np.ndindex(shape))


def _leaves(tree: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Names and values of all numbers, or arrays of them."""
    for name, node in tree.items():
        if isinstance(node, Mapping) and {*node} == {"value", "source"}:
            value = node["value"]
            array = None if isinstance(value, str | dict | bool | None) else np.asarray(value)
            if array is not None and array.dtype.kind in "if" and array.size:
                yield before + name, value
        elif isinstance(node, Mapping):
            yield from _leaves(node, f"{before}{name}.")
