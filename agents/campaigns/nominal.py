"""The nominal env of a campaign: which of its numbers can be drawn, and how they are set."""

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from rbgym.agents.cases import in_time
from rbgym.arguments import hint
from rbgym.envs import actuators
from rbgym.envs.layers import OF_BODY, leaves
from rbgym.envs.orbit import places_of
from rbgym.envs.parts import parameters
from rbgym.identification import rotation_vector
from rbgym.quaternion import Array, conjugate, from_rotation_vector, multiply, to_matrix

# Ways to set a number: at the `reset` of a run by `parameters` or `state`; by arguments of the env.
PARAMETER, START, GROUP = "parameter", "start", "group"
PER_RUN = tuple(one.name for one in parameters.ALL)
_AT_ZERO = "misalignment", "axes", "rate_bias"
# Numbers that a group cannot set: drawn as "inertia" and "delay", or set by the env.
_ELSEWHERE = "body.inertia", "sensor.dt", "actuator.Delay.seconds", "randomization.delay"
# Parts of the resolved configuration whose numbers an argument of the env sets.
_PARTS = ("body", "mgl", "torque_limit", "torque_scale", "actuator", "initial", "success", "sensor",
          "randomization", "disturbance", "faults", "constraints", "orbit")  # fmt: skip


class Place(NamedTuple):
    """Numbers that can be drawn together. level: how they are set. nominal: without a spread, None
    where the env draws them. labels: suffix of each number's name. low, high: possible bounds."""

    name: str
    level: str
    nominal: Array | None
    labels: tuple[str, ...]
    low: float = -math.inf
    high: float = math.inf

    @property
    def columns(self) -> list[str]:
        return [f"{self.name}.{label}" if label else self.name for label in self.labels]

    @property
    def default(self) -> Array:
        """The nominal numbers; 0 where the env draws them."""
        return np.zeros(len(self.labels)) if self.nominal is None else self.nominal


class Nominal:
    """The env of a campaign without its spread. names: of the numbers to draw; `reset` accepts
    those that are parameters of an episode. places: by name, all numbers that can be drawn."""

    def __init__(self, env_id: str, env_kwargs: Mapping[str, Any], names: Iterable[str]) -> None:
        drawn = {_own(name).partition(".")[0] for name in names} - {"rate_bias"}
        given = {name: value for name, value in env_kwargs.items() if name != "info"}  # all needed
        zeros, own = {name: 0.0 for name in PER_RUN if name in drawn}, given.get("randomization")
        if zeros and isinstance(own, Mapping | None):  # the env refuses any other
            given["randomization"] = {**zeros, **(own or {})}
        self.env_id, self.env_kwargs = env_id, in_time(env_id, given)
        self.env = self.make(1, {}).unwrapped
        self.setup, self.tree = self.env.episodes.setup, self.env.resolved
        if not math.isfinite(self.setup.limit):
            raise ValueError(f"max_episode_steps must be given for {env_id}, whose runs never end")
        found = (*self._parameters(), *self._starts(), *self._numbers())
        self.places = {one.name: one for one in found}

    def make(self, lanes: int, changes: Mapping[str, Any]) -> Any:
        """Make a vector env, with changed arguments; the caller resets its lanes."""
        mode, kwargs = AutoresetMode.DISABLED, {**self.env_kwargs, **changes}
        return gym.make_vec(self.env_id, lanes, autoreset_mode=mode, **kwargs)

    def find(self, name: str) -> tuple[Place, list[int]]:
        """Find the place of a name and the indices of its numbers; ValueError if unknown."""
        own = _own(name)
        for one in self.places.values():
            if own == one.name:
                return one, [*range(len(one.labels))]
            if own in one.columns:
                return one, [one.columns.index(own)]
        starts = [one.name for one in self.places.values() if one.level == START]
        raise ValueError(
            f"spread must name numbers of the resolved configuration, of a start {starts} or of "
            f"{list(PER_RUN)}, got {name!r}{hint(own, [*PER_RUN, *self.places])}"
        )

    def _parameters(self) -> Iterator[Place]:
        for name, column in parameters.places(self.env.episodes).items():
            nominal = np.full(column.size, 0.0 if name in _AT_ZERO else 1.0)
            nominal = np.array(self.env.body.moments) if name == "inertia" else nominal
            low, high = float(np.min(column.low)), float(np.max(column.high))
            if name in parameters.differing(self.setup.varied):
                yield Place(name, PARAMETER, nominal, _labels((column.size,)), low, high)

    def _starts(self) -> Iterator[Place]:
        yield Place("attitude", START, None, _labels((3,)))
        yield Place("attitude_angle", START, None, ("",), 0.0, math.pi)
        yield Place("angular_velocity", START, np.zeros(3), _labels((3,)))
        of_actuator = self.setup.actuator.state_keys()
        orbit = places_of(self.env.episodes.rows.physics.potential)
        of_goal = self.setup.parts.goal.state_keys()
        for name, key in {**of_actuator, **orbit, **of_goal}.items():
            rest = np.full(key.width, key.rest) if name in of_actuator else None
            yield Place(name, START, rest, _labels((key.width,)), key.low, key.high)

    def _numbers(self) -> Iterator[Place]:
        for name, leaf in leaves({part: self.tree[part] for part in _PARTS if part in self.tree}):
            with suppress(ValueError):  # inner lists that differ in length
                values = np.asarray(leaf["value"])
                if values.size and values.dtype.kind in "if" and not name.startswith(_ELSEWHERE):
                    yield Place(name, GROUP, values.ravel().astype(float), _labels(values.shape))

    def arguments(self, values: Mapping[str, Array]) -> dict[str, Any]:
        """Arguments of an env that set these numbers of the level `GROUP`, (size,) by name."""
        changes, known = dict[str, Any](), dict(leaves(self.tree))
        for name, numbers in values.items():
            part, *keys = name.split(".")
            value = numbers.reshape(np.shape(known[name]["value"])).tolist()
            changes[part] = self._changed(part, keys, value, changes.get(part))
        return changes

    def _changed(self, part: str, keys: list[str], value: Any, before: Any) -> Any:
        """The argument `part` with this number set; before: the argument as changed so far."""
        if not keys:
            return value
        if part == "actuator":
            kind, key = keys
            elements = (self.setup.actuator.effector, *self.setup.actuator.stages)
            return [
                replace(one, **{key: value}) if type(one).__name__ == kind else one
                for one in before or actuators.split_combined(elements)
            ]
        if part == "sensor":
            sensor = before or self.setup.parts.sensor
            return sensor._replace(**{keys[0]: tuple(value) if isinstance(value, list) else value})
        own = before or self.env_kwargs.get(part)
        if part == "body":
            own = before or {name: getattr(self.env.body, name) for name in OF_BODY}
        elif part == "orbit":
            own = before or asdict(self.setup.orbit)
        if not isinstance(own, Mapping | None):
            raise ValueError(f"{part} must be a dict where a spread draws of it, got {own!r}")
        return {**(own or {}), ".".join(keys): value}

    def possible(self, values: Mapping[str, Array], runs: int) -> NDArray[np.bool_]:
        """Whether each run's values are possible, (runs,) bool; values: (runs, size) by name."""
        good = np.ones(runs, dtype=np.bool_)
        for name, numbers in values.items():
            place = self.places[name]
            good &= ~((numbers < place.low) | (numbers > place.high)).any(axis=1)  # nan: the env's
            if name == "inertia":
                most = (0.5 + 1e-12) * numbers.sum(axis=1)  # a flat body has half of the sum
                good &= (numbers.min(axis=1) > 0) & (numbers.max(axis=1) <= most)
        return good

    def options(self, state: Mapping[str, Array], values: Mapping[str, Array]) -> dict[str, Any]:
        """Options of a reset that set these numbers, (n, size) by name; the rest as in `state`."""
        found = {n: v for n, v in values.items() if self.places[n].level == PARAMETER}
        n = len(state["quaternion"])
        if found.keys() & {"inertia", "axes"}:
            B = self.env.body.principal_rotation
            moments = found.get("inertia", np.tile(self.env.body.moments, (n, 1)))
            turned = to_matrix(from_rotation_vector(found.pop("axes", np.zeros((n, 3))))) @ B
            found["inertia"] = turned * moments[:, np.newaxis] @ turned.transpose(0, 2, 1)
        options = {"parameters": {n: v[:, 0] if v.shape[1] == 1 else v for n, v in found.items()}}
        starts = {n: v for n, v in values.items() if self.places[n].level == START}
        return options | ({"state": self._start(state, starts)} if starts else {})

    def _start(self, state: Mapping[str, Array], drawn: dict[str, Array]) -> dict[str, Any]:
        """options["state"]: the env's own start with the drawn numbers."""
        names = ["quaternion", *(n for n, one in self.places.items() if one.level == START)]
        if self.setup.parts.goal.has_target():
            names.append("target_quaternion")
        start, target = {n: state[n] for n in names if n in state}, state["target_quaternion"]
        relative = multiply(conjugate(target), state["quaternion"])
        if (angle := drawn.pop("attitude_angle", None)) is not None:
            own = relative[:, 1:]  # about the axis of the env's own start
            length = np.linalg.norm(own, axis=1, keepdims=True)
            axis = np.where(length > 0, own / np.where(length > 0, length, 1.0), [1.0, 0.0, 0.0])
            drawn["attitude"] = angle * axis
        if (turn := drawn.pop("attitude", None)) is not None:
            turn = np.where(np.isnan(turn), rotation_vector(relative), turn)
            start["quaternion"] = multiply(target, from_rotation_vector(turn))
        for n, v in drawn.items():
            values = v.reshape(start[n].shape)
            start[n] = np.where(np.isnan(values), start[n], values)
        return start


def _own(name: str) -> str:
    """The name under which a number is drawn."""
    return name.removeprefix("body.") if f"{name}.".startswith("body.inertia.") else name


def _labels(shape: tuple[int, ...]) -> tuple[str, ...]:
    if shape in ((), (1,)):
        return ("",)
    return tuple("xyz" if shape == (3,) else (".".join(map(str, k)) for k in np.ndindex(shape)))
