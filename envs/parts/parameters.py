"""What differs from episode to episode, by name: where its numbers stand, to read and to set them.

A number that is set stands in its row when the episode begins, NaN in that of one to be drawn: see
`settle` in `rbgym.envs.rows`.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from rbgym.arguments import quietly
from rbgym.body import RigidBody
from rbgym.envs.arguments import keys
from rbgym.envs.episodes import Episodes, Lanes
from rbgym.envs.parts.columns import BODY, Column, bounds, placed
from rbgym.envs.reset import per_lane
from rbgym.quaternion import Array

_ASKEW = 1e-9  # how large products of inertia about the principal axes may be, to the moments
# In the order of their rows: those of `Spread`, of `Differing`, and of sensors with a bias.
OF_BODY = (
    Column("inertia", 3, unit="kg m^2", frame=BODY, low=0.0, high=math.inf, words="tensor, (3, 3)"),
    Column("mass", low=0.01, high=100.0, words="factor of the mass"),
    Column("gravity", low=0.0, high=100.0, words="factor of the weight, on top of that"),
    Column("torque", low=0.0, high=100.0, words="factor of the torque limit"),
)
OF_MOUNTING = (
    Column("misalignment", 3, unit="rad", frame=BODY, words="rotation vector of the mounting"),
    Column("delay", low=0.0, words="factor of the delay, at most the largest that is drawn"),
    Column("actuator_scale", low=0.0, high=100.0, words="factor of each command; 0: it has failed"),
)
OF_SENSOR = (
    Column("rate_bias", 3, unit="rad/s", frame=BODY, low=-math.inf, high=math.inf,
           words="of the gyros, as it is now"),
)  # fmt: skip


def places(episodes: Episodes) -> dict[str, Column]:
    """What has rows in this env; first: the row of a body at which it begins."""
    rows, physics, found = episodes.rows, episodes.rows.physics, dict[str, Column]()
    actuator = physics.actuator
    if rows.parts.randomization.rows_needed(physics):
        found |= placed(OF_BODY, rows.randomization_row())
    if (line := getattr(actuator, "line", None)) and line.mounting.rows_needed(physics):
        turn, delay, scale = OF_MOUNTING
        delay = replace(delay, high=line.mounting.delay.highest)
        scale = replace(scale, size=actuator.channels())
        found |= placed((turn, delay, scale), actuator.mounting_row(physics))
    if rows.parts.sensor.has_bias:
        found |= placed(OF_SENSOR, rows.sensor_row())
    return found


def _open(episodes: Episodes) -> dict[str, Column]:
    """Those that users read and set."""
    named = {"actuator_scale" if name == "failure" else name for name in episodes.setup.varied}
    return {n: one for n, one in places(episodes).items() if n in named | {"rate_bias"}}


def read(episodes: Episodes) -> dict[str, Array]:
    """What the episodes of all lanes fly with; the inertia, whether or not it differs."""
    batch, present = episodes.batch, places(episodes)
    found, B = dict[str, Array](), batch.bodies[0].principal_rotation
    for name, column in _open(episodes).items():
        values = batch.rows(column.first, column.size)
        if name == "misalignment":
            half = np.arcsin(np.linalg.norm(values, axis=1, keepdims=True))
            values = 2.0 * values / np.sinc(half / np.pi)
        found[name] = values[:, 0] if column.size == 1 else values
    moments = np.array([body.moments for body in batch.bodies])
    if "inertia" in present:
        moments = batch.rows(present["inertia"].first, 3)
    return {**found, "inertia": B * moments[:, np.newaxis] @ B.T}


@quietly
def checked(episodes: Episodes, lanes: Lanes, given: Any) -> dict[str, Array]:
    """The rows (n, size) of what options["parameters"] gives, by name; the inertia's are principal
    moments. Raises ValueError for what an episode of this env cannot have."""
    if given is None:
        return {}
    found, known, label = dict[str, Array](), _open(episodes), 'options["parameters"]'
    of = f"{label}, which randomization must name, if only with 0.0,"
    if isinstance(given, dict) and "inertia" in given and "inertia" not in known:
        # What `read` says of a body that does not differ may be given back.
        own, name = episodes.batch.bodies[0].inertia, f'{label}["inertia"]'
        values = per_lane(name, given["inertia"], (3, 3), lanes, episodes.size)
        if np.allclose(values, own, rtol=0.0, atol=_ASKEW * own.max()):
            given = {n: value for n, value in given.items() if n != "inertia"}
    for name, value in keys(of, given, known).items():
        column, argument = known[name], f'{label}["{name}"]'
        shape = (3, 3) if name == "inertia" else () if column.size == 1 else (column.size,)
        values = per_lane(argument, value, shape, lanes, episodes.size)
        if name == "inertia":
            values = _moments(argument, values, episodes.batch.bodies[0].principal_rotation)
        values = values.reshape(len(lanes), column.size)
        low, high = bounds([column])
        if ((values < low) | (values > high)).any():
            raise ValueError(f"{argument} must be within [{low[0]:g}, {high[0]:g}], got {value!r}")
        if name == "misalignment":
            half = 0.5 * np.linalg.norm(values, axis=1, keepdims=True)
            values = 0.5 * values * np.sinc(half / np.pi)
        found[name] = values
    return found


def _moments(argument: str, tensors: Array, axes: Array) -> Array:
    """Principal moments (n, 3) of tensors whose principal axes are these; else ValueError."""
    moments = np.diagonal(axes.T @ tensors @ axes, axis1=1, axis2=2)
    off = np.abs(axes * moments[:, np.newaxis] @ axes.T - tensors).max(axis=(1, 2))
    largest = moments.max(axis=1)
    askew = off > _ASKEW * largest
    for tensor in tensors[askew | (2.0 * largest >= moments.sum(axis=1))]:
        try:  # a body says what is wrong, or that it is round-off alone
            RigidBody(tensor)
        except ValueError as error:
            raise ValueError(f"{argument}: {error}") from None
    if askew.any():
        raise ValueError(
            f"{argument} must have the principal axes of the env's body: for others make an env "
            f"with body=, got {tensors[askew][0].tolist()}"
        )
    return moments


def put(episodes: Episodes, lanes: Lanes, values: dict[str, Array]) -> None:
    """Write what `checked` gave, and NaN for what is to be drawn."""
    for name, column in places(episodes).items():
        drawn = np.full((len(lanes), column.size), np.nan)
        episodes.batch.put_rows(column.first, values.get(name, drawn), lanes)
