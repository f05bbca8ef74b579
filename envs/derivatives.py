"""Derivatives of a control period of an env: of its state, and of what it shows and earns."""

from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Dict
from numpy.typing import ArrayLike, NDArray

from rbgym.arguments import real
from rbgym.compiled.dual import ITEM, as_duals, value
from rbgym.compiled.jit import Entry, compiled
from rbgym.engine.advance import lay_out
from rbgym.engine.derivatives import (
    InputColumns,
    advance_block,
    along,
    columns_for,
    corrections_of,
    hold_commands,
    kernel_of,
    lane_of,
    room_for_duals,
    seed_lane,
    show_lane,
)
from rbgym.envs import rows as at
from rbgym.envs.actuators.driven import Driven
from rbgym.envs.actuators.line import Pulsed
from rbgym.envs.episodes import Episodes
from rbgym.envs.kernels import judge_lane
from rbgym.envs.planning import checked_state, episodes_of
from rbgym.quaternion import Array
from rbgym.rows import FAILED, LANES, index

_AWAY = -99
_COORDINATES = (*(f"theta_{x}" for x in "xyz"), *(f"omega_{x}" for x in "xyz"))


class Linear(NamedTuple):
    """x_1 = A x + B u + ..., of one control period, about a state and an action.

    x are errors of the state, in the order of `names`: the rotation vector theta in body axes by
    which the attitude is off [rad]; the angular velocity, body axes [rad/s]; then what the actuator
    has, as momenta of wheels or, behind a lag, responses, in the units of the env's state. u are
    errors of the action. A (s, s), B (s, m); of a vector env (n, s, s) and (n, s, m).
    """

    A: Array
    B: Array
    names: tuple[str, ...]


class StepDerivatives(NamedTuple):
    """Derivatives of what a step of n envs makes, along errors of the state (s columns), then of
    the action (m). whole: (n, s + w + 1, s + m), of the state, see `Linear`, of the observation and
    of the reward. shown: the observations themselves (n, w), in float64."""

    whole: Array
    shown: Array


@compiled
def differentiate_step(
    task, physics, buffer, rows, commands, stepping, corrections, columns, more, limit, out, since,
    last,
):  # fmt: skip
    """As `rbgym.engine.derivatives.differentiate`, judged: behind the coordinates of the end come
    the observation and the reward."""
    size = index(rows) * LANES
    first, shows = task.observation_row(), task.parts.observation.width()
    actuator, refused = physics.actuator, -1
    shown, own = actuator.shown_row(physics), actuator.shown_rows()
    width = 6 + len(more) + shows + own + 1
    scratch, f, ends = room_for_duals(size * ITEM), np.empty(size), as_duals(out, 0, 1)
    for block in range(since, last):
        start, body = block * size, block * LANES
        f[:] = buffer[start : start + size]
        for i in range(LANES):
            d = lane_of(columns, scratch, rows, i)
            seed_lane(physics, d, buffer, start + i, rows, stepping, columns, more)
            hold_commands(physics, d, f, commands, min(body + i, len(commands) - 1), i, columns)
        failed = advance_block(physics, scratch, f, rows, True, stepping, corrections, columns)
        for i in range(LANES):
            d, k = lane_of(columns, scratch, rows, i), (body + i) * width
            judge_lane(task, d, 0, limit)
            show_lane(physics, d, columns, more, ends, k)
            k += 6 + len(more)
            for n in range(shows):
                ends[k + n] = d[(first + n) * LANES]
            for n in range(own):
                ends[k + shows + n] = d[(shown + n) * LANES]
            ends[k + shows + own] = d[(task.told_row() + at.REWARD) * LANES]
            if failed > 0.0 and refused < 0:
                bad = f[i + FAILED * LANES] + value(d[FAILED * LANES])
                refused = body + i if bad > 0.0 else refused
    return refused


def linearize(
    env: Any, state: dict[str, Any] | None = None, action: ArrayLike | None = None
) -> Linear:
    """Derivatives of one control period of an env with respect to its state and the action.

    env: single or vector, in wrappers perhaps, which play no part. state: as of its `get_state`, by
    default the state that it is in; it stays. action: of the action space's shape, by default zero;
    beyond +-1 it is cut, and has no derivative. The step is that of the env's integrator, so the
    derivatives are exact to round-off, and none of them is of a continuous equation. A disturbance
    stands still in a control period.

    Raises ValueError for bad arguments, and where a part has no derivative: a disturbance that is a
    callable, pulses. IntegrationError where the step cannot be solved.
    """
    episodes, shape = checked(env, ("disturbance",))
    batch, stepping = episodes.batch, episodes.stepping
    if state is None:
        env.unwrapped.get_state()  # which raises before a reset
        buffer = batch.buffer
    else:
        buffer = lay_out(checked_state(episodes, state, episodes.size)[0])
    given = np.zeros(shape) if action is None else real("action", action)
    if given.shape != shape or not np.isfinite(given).all():
        raise ValueError(f"action must be finite numbers of shape {shape}, got {action!r}")
    names, more = _more(episodes)
    commands = np.ascontiguousarray(given, dtype=float).reshape(batch.size, -1)
    kind = columns_for(batch)
    width, kernel = 6 + len(more), kernel_of(batch, kind)

    def args_of(first: int) -> tuple[Any, ...]:
        return (
            batch.physics, buffer, batch.block_rows, commands, stepping,
            corrections_of(batch.potential), _columns(kind, first, len(more)), more,
        )  # fmt: skip

    whole, _ = along(batch, width, width + batch.channels, kernel, args_of)
    A, B = np.split(whole, [width], axis=2)
    lead = shape[:-1]
    return Linear(A.reshape(*lead, width, -1), B.reshape(*lead, width, -1), names)


class Differentiation:
    """Derivatives of steps of one env, whose state is that before the step; it is not stepped.

    names: the coordinates, see `Linear`, then what reward and sensor keep from step to step. rows:
    those behind attitude and rates. What is drawn, as noise, is a constant. Raises ValueError where
    a part has no derivative: hooks that are callables, pulses, observations of goals.
    """

    def __init__(self, env: Any) -> None:
        self.episodes, _ = checked(env, ("disturbance", "observation", "reward"))
        parts, batch = self.episodes.setup.parts, self.episodes.batch
        if isinstance(env.observation_space, Dict):
            raise ValueError("env must show one array to have a derivative, not a dict of goals")
        names, more = _more(self.episodes)
        rows = self.episodes.rows
        for first, kept in (
            (rows.reward_row(), parts.reward.kept(batch.physics)),
            (rows.sensor_row(), parts.sensor.kept(batch.physics)),
        ):
            for name, numbers in kept.items():
                names += _numbered(name, len(numbers))
                more = np.append(more, [first + n for n in numbers])
        self.names, self.rows = names, more
        self._kind = columns_for(batch)

    def of_step(self, actions: Array, strict: bool = True) -> StepDerivatives:
        """Of a step under these actions (n, m). IntegrationError where it cannot be solved, if
        `strict`: else the derivatives of such a lane mean nothing."""
        episodes, s = self.episodes, len(self.names)
        batch, commands = episodes.batch, np.ascontiguousarray(actions, dtype=float)

        def args_of(first: int) -> tuple[Any, ...]:
            return (
                episodes.rows, batch.physics, batch.buffer, batch.block_rows, commands,
                episodes.stepping, corrections_of(batch.potential),
                _columns(self._kind, first, len(self.rows)), self.rows, episodes.setup.limit,
            )  # fmt: skip

        if differentiate_step not in batch.differentiate:  # with the physics that it has now
            batch.differentiate[differentiate_step] = Entry(differentiate_step)
        kernel, width = batch.differentiate[differentiate_step], s + episodes.setup.width + 1
        whole, ends = along(batch, width, s + batch.channels, kernel, args_of, strict)
        return StepDerivatives(whole, ends[:, s:-1])


def _columns(kind: type[InputColumns], first: int, more: int) -> InputColumns:
    return kind(-first, 6 - first, 6 + more - first, _AWAY, _AWAY, _AWAY, False)


def checked(env: Any, hooks: tuple[str, ...]) -> tuple[Episodes, tuple[int, ...]]:
    """Episodes of an env, and the shape of its actions; ValueError where something has no
    derivative, as where one of these hooks is a callable."""
    base, episodes = episodes_of(env)
    for name in hooks:
        if name in episodes.setup.hooks:
            hook = episodes.setup.hooks[name]
            raise ValueError(f"{name} must be given by name to have a derivative, got {hook!r}")
    actuator = episodes.batch.physics.actuator
    if isinstance(actuator, Driven) and isinstance(actuator.line.pulses, Pulsed):
        pulses = actuator.line.pulses
        raise ValueError(f"actuator must be without pulses to have a derivative, got {pulses!r}")
    return episodes, base.action_space.shape


def _more(episodes: Episodes) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Names of all coordinates; rows of those beside attitude and rates."""
    physics, effector = episodes.batch.physics, episodes.setup.actuator.effector
    names, rows = list(_COORDINATES), list[int]()
    places = effector.places(physics)
    for name in effector.state_keys():
        first, width = places[name]
        names += _numbered(name, width)
        rows += range(first, first + width)
    actuator = physics.actuator
    if isinstance(actuator, Driven):
        count, line = actuator.channels(), actuator.line
        for name, first, width in (
            ("response", actuator.lag_row(physics), count * line.lag.slots()),
            ("under_way", actuator.queue_row(physics), count * line.delay.slots()),
        ):
            names += [f"{name}_{n}" for n in range(width)]
            rows += range(first, first + width)
    return tuple(names), np.array(rows, np.int64)


def _numbered(name: str, width: int) -> tuple[str, ...]:
    return tuple(f"{name}_{n}" for n in range(width)) if width > 1 else (name,)
