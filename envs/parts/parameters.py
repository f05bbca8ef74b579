"""Reads and sets the parameters that differ from episode to episode, by name. To set one, its
number is written to its row before the episode begins; NaN there means that it is drawn: see
`settle` in `rbgym.envs.rows`."""

import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np

from rbgym.arguments import quietly
from rbgym.body import RigidBody
from rbgym.compiled.record import known
from rbgym.envs.arguments import keys, named
from rbgym.envs.episodes import Episodes, Lanes
from rbgym.envs.parts.columns import BODY, Column, bounds, placed
from rbgym.envs.parts.observations import Both, More
from rbgym.envs.reset import per_lane
from rbgym.quaternion import Array, from_matrix, to_matrix
from rbgym.rows import LANES

_ASKEW = 1e-9  # largest products of inertia about principal axes, relative to the moments
_TURNS = "axes", "misalignment"  # rotation vectors, stored as the vector part of a quaternion
# In the order of their rows in `Spread`, in `Differing`, and in sensors with a bias.
OF_BODY = (
    Column("inertia", 3, unit="kg m^2", frame=BODY, low=0.0, high=math.inf, words="tensor, (3, 3)"),
    Column("mass", low=0.01, high=100.0, words="factor of the mass"),
    Column("gravity", low=0.0, high=100.0, words="factor of the weight, on top of that"),
    Column("torque", low=0.0, high=100.0, words="factor of the torque limit"),
    Column("axes", 3, unit="rad", frame=BODY,
           words="rotation vector of the principal axes; part of `inertia`"),
    Column("noise", low=0.0, high=100.0, words="factor of the noise and the biases of sensors"),
)  # fmt: skip
OF_MOUNTING = (
    Column("misalignment", 3, unit="rad", frame=BODY, words="rotation vector of the mounting"),
    Column(
        "delay", low=0.0, high=100.0, words="factor of the delay, at most the largest that is drawn"
    ),
    Column("friction", low=0.0, high=100.0, words="factor of the friction of wheels"),
    Column("actuator_scale", low=0.0, high=100.0, words="factor of each command; 0: it has failed"),
)
OF_SENSOR = (
    Column("rate_bias", 3, unit="rad/s", frame=BODY, low=-math.inf, high=math.inf,
           words="of the gyros, as it is now"),
)  # fmt: skip
ALL = (*OF_BODY, *OF_MOUNTING, *OF_SENSOR)


class OfBody(More):
    """Shows a parameter of the body that no sensor measures. which: its index in `ALL`; places:
    offsets of its rows; scales: the value of each number that is shown as 1. A rotation is shown as
    2 sin(angle / 2) times its axis, nearly the rotation vector."""

    which: int
    places: tuple[int, ...]
    scales: tuple[float, ...]

    @known
    def width(self):
        return len(self.places)

    def since(self, rows):
        """The first row of the part that holds the parameter."""
        return rows.randomization_row()

    def write_more(self, rows, buffer, i, k, q, wanted):
        first = i + self.since(rows) * LANES
        for n in range(len(self.places)):
            buffer[k + n * LANES] = buffer[first + self.places[n] * LANES] / self.scales[n]

    def columns(self) -> tuple[Column, ...]:
        one, size = ALL[self.which], len(self.places)
        if one.name in _TURNS:
            return (replace(one, words=f"{one.words.partition(';')[0]} a e, as 2 sin(a / 2) e"),)
        low, high = bounds([one])[:, 0]
        words = "principal moments" if one.name == "inertia" else one.words
        return (replace(one, size=size, scale=self.scales, words=words, low=low, high=high),)


class OfMounting(OfBody):
    """Shows a parameter of the actuator."""

    def since(self, rows):
        return rows.physics.actuator.mounting_row(rows.physics)


class OfSensor(OfBody):
    """Shows a parameter of the gyros."""

    def since(self, rows):
        return rows.sensor_row()


def columns_of(names: list[Any], varied: Any, sensor: Any, channels: int, body: RigidBody) -> More:
    """Columns that show these parameters to a policy; ValueError for a parameter that does not
    differ from episode to episode."""
    mounting = (*OF_MOUNTING[:-1], replace(OF_MOUNTING[-1], size=channels))
    kinds = dict.fromkeys(placed(OF_BODY), OfBody) | dict.fromkeys(placed(mounting), OfMounting)
    columns = placed(OF_BODY) | placed(mounting) | placed(OF_SENSOR if sensor.has_bias else ())
    shown, open_to = More(), [one for one in columns if one in differing(varied)]
    for name in names:
        named("observation behind its form", name, open_to, ", which randomization names")
        first, size = columns[name].first, columns[name].size
        scales = [0.5 if name in _TURNS else 1.0] * size
        if name == "inertia":
            scales = body.moments.tolist()
        kind: Any = kinds.get(name, OfSensor)
        one = kind([*columns].index(name), (*range(first, first + size),), tuple(scales))
        shown = Both(shown, one) if shown.width() else one
    return shown


def differing(varied: Iterable[str]) -> set[str]:
    """Names of the parameters that differ; a failure shows as a factor of a command."""
    return {"actuator_scale" if name == "failure" else name for name in varied} | {"rate_bias"}


def places(episodes: Episodes) -> dict[str, Column]:
    """The parameters that have rows in this env; first: their first row of a body."""
    rows, physics, found = episodes.rows, episodes.rows.physics, dict[str, Column]()
    actuator = physics.actuator
    if rows.parts.randomization.rows_needed(physics):
        found |= placed(OF_BODY, rows.randomization_row())
    if (line := getattr(actuator, "line", None)) and line.mounting.rows_needed(physics):
        turn, delay, friction, scale = OF_MOUNTING
        delay = replace(delay, high=line.mounting.delay.highest)
        scale = replace(scale, size=actuator.channels())
        found |= placed((turn, delay, friction, scale), actuator.mounting_row(physics))
    if rows.parts.sensor.has_bias:
        found |= placed(OF_SENSOR, rows.sensor_row())
    return found


def _open(episodes: Episodes) -> dict[str, Column]:
    """The parameters that users read and set; the axes are part of the inertia."""
    named = differing(episodes.setup.varied)
    if "axes" in named:
        named = named - {"axes"} | {"inertia"}
    return {n: one for n, one in places(episodes).items() if n in named}


def read(episodes: Episodes) -> dict[str, Array]:
    """The parameters of the current episodes of all lanes; always with the inertia."""
    batch, present = episodes.batch, places(episodes)
    found, B = dict[str, Array](), batch.bodies[0].principal_rotation[np.newaxis]
    for name, column in _open(episodes).items():
        values = batch.rows(column.first, column.size)
        if name in _TURNS:
            half = np.arcsin(np.linalg.norm(values, axis=1, keepdims=True))
            values = 2.0 * values / np.sinc(half / np.pi)
        found[name] = values[:, 0] if column.size == 1 else values
    moments = np.array([body.moments for body in batch.bodies])
    if "inertia" in present:
        moments = batch.rows(present["inertia"].first, 3)
    if "axes" in episodes.setup.varied:
        B = to_matrix(batch.rows(batch.physics.frame_row(), 4))
    return {**found, "inertia": B * moments[:, np.newaxis] @ B.transpose(0, 2, 1)}


@quietly
def checked(episodes: Episodes, lanes: Lanes, given: Any) -> dict[str, Array]:
    """The rows (n, size) of options["parameters"], by name; those of the inertia are principal
    moments. Raises ValueError for values that an episode of this env cannot have."""
    if given is None:
        return {}
    found, own_columns, label = dict[str, Array](), _open(episodes), 'options["parameters"]'
    of = f"{label}, which randomization must name, if only with 0.0,"
    if isinstance(given, dict) and "axes" in given:
        of = f"{label}, where axes are part of inertia,"
    if isinstance(given, dict) and "inertia" in given and "inertia" not in own_columns:
        # `read` returns the inertia of a body that does not differ too: accept it back.
        own, name = episodes.batch.bodies[0].inertia, f'{label}["inertia"]'
        values = per_lane(name, given["inertia"], (3, 3), lanes, episodes.size)
        if np.allclose(values, own, rtol=0.0, atol=_ASKEW * own.max()):
            given = {n: value for n, value in given.items() if n != "inertia"}
    for name, value in keys(of, given, own_columns).items():
        column, argument = own_columns[name], f'{label}["{name}"]'
        shape = (3, 3) if name == "inertia" else () if column.size == 1 else (column.size,)
        values = per_lane(argument, value, shape, lanes, episodes.size)
        if name == "inertia":
            values, turns = _moments(argument, values, episodes.batch.bodies[0].principal_rotation)
            if "axes" in episodes.setup.varied:
                found["axes"] = turns
            elif turns.any():
                raise ValueError(
                    f"{argument} must have the principal axes of the env's body, where "
                    f"randomization does not name 'axes', got {value!r}"
                )
        values = values.reshape(len(lanes), column.size)
        low, high = bounds([column])
        if ((values < low) | (values > high)).any():
            raise ValueError(f"{argument} must be within [{low[0]:g}, {high[0]:g}], got {value!r}")
        if name in _TURNS:
            half = 0.5 * np.linalg.norm(values, axis=1, keepdims=True)
            values = 0.5 * values * np.sinc(half / np.pi)
        found[name] = values
    return found


def _moments(argument: str, tensors: Array, axes: Array) -> tuple[Array, Array]:
    """Principal moments (n, 3) of inertia tensors, and the vector part (n, 3) of the smallest
    rotation from `axes` to their principal axes. ValueError for a matrix that is no inertia."""
    moments = np.diagonal(axes.T @ tensors @ axes, axis1=1, axis2=2).copy()
    off = np.abs(axes * moments[:, np.newaxis] @ axes.T - tensors).max(axis=(1, 2))
    turns, largest = np.zeros_like(moments), moments.max(axis=1)
    askew = off > _ASKEW * largest
    for n in np.flatnonzero(askew | (2.0 * largest >= moments.sum(axis=1))):
        try:  # RigidBody refuses a bad tensor, but accepts round-off
            body = RigidBody(tensors[n])
        except ValueError as error:
            raise ValueError(f"{argument}: {error}") from None
        if askew[n]:
            overlap = axes.T @ body.principal_rotation
            every = [list(p) for p in permutations(range(3))]
            order = max(every, key=lambda p: np.abs(np.diagonal(overlap[:, p])).sum())
            cosines = np.diagonal(overlap[:, order])
            nearest = body.principal_rotation[:, order] * np.where(cosines < 0.0, -1.0, 1.0)
            if np.linalg.det(nearest) < 0.0:
                nearest[:, np.argmin(np.abs(cosines))] *= -1.0
            moments[n], turns[n] = body.moments[order], from_matrix(nearest @ axes.T)[1:]
    return moments, turns


def put(episodes: Episodes, lanes: Lanes, values: dict[str, Array]) -> None:
    """Write the rows that `checked` returned, and NaN for parameters to be drawn."""
    for name, column in places(episodes).items():
        drawn = np.full((len(lanes), column.size), np.nan)
        episodes.batch.put_rows(column.first, values.get(name, drawn), lanes)
