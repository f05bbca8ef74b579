"""Derivatives of a control period of an env: of its state, its observation and its reward."""

from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Dict
from numpy.typing import ArrayLike, NDArray

from rbgym.arguments import finite
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

    x are deviations of the state, in the order of `names`: the rotation vector theta of the
    attitude, body axes [rad]; the angular velocity, body axes [rad/s]; then the actuator's state,
    such as momenta of wheels or responses of a lag, in the units of the env's state. u are
    deviations of the action. A (s, s), B (s, m); of a vector env (n, s, s) and (n, s, m).
    """

    A: Array
    B: Array
    names: tuple[str, ...]


class StepDerivatives(NamedTuple):
    """Derivatives of a step of n envs with respect to the state (s columns) and the action (m).
    whole: (n, s + w + 1, s + m), of the state, see `Linear`, of the observation and of the reward.
    shown: the observations themselves (n, w), in float64."""

    whole: Array
    shown: Array


@compiled
def differentiate_step(
    task, physics, buffer, rows, commands, stepping, corrections, columns, more, limit, out, since,
    last,
):  # fmt: skip
    """`rbgym.engine.derivatives.differentiate` with a judged step: observation and reward follow
    the coordinates of the final state."""
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
            d = columns.duals_of(scratch, rows, i)
            seed_lane(physics, d, buffer, start + i, rows, columns, more)
            task.parts.disturbance.push(task, d, 0)  # as it was at the end of the period before
            hold_commands(physics, d, f, commands, min(body + i, len(commands) - 1), i, columns)
        failed = advance_block(physics, scratch, f, rows, True, stepping, corrections, columns)
        for i in range(LANES):
            d, k = columns.duals_of(scratch, rows, i), (body + i) * width
            judge_lane(task, d, 0, limit)
            show_lane(physics, d, columns, more, ends, k)
            k += 6 + len(more)
            for n in range(shows):
                ends[k + n] = d[(first + n) * LANES]
            for n in range(own):
                ends[k + shows + n] = d[(shown + n) * LANES]
            ends[k + shows + own] = d[(task.result_row() + at.REWARD) * LANES]
            if failed > 0.0 and refused < 0:
                bad = f[i + FAILED * LANES] + value(d[FAILED * LANES])
                refused = body + i if bad > 0.0 else refused
    return refused


def linearize(
    env: Any, state: dict[str, Any] | None = None, action: ArrayLike | None = None
) -> Linear:
    """Derivatives of one control period of an env with respect to its state and the action.

    env: single or vector; wrappers are ignored. The env itself does not change. state: as its
    `get_state` returns, by default the current one. action: of the action space's shape, by default
    zero; beyond +-1 it is cut, and its derivative is zero. The derivatives are those of the
    integrator's discrete step, exact to round-off, and not of a continuous equation. A disturbance
    is constant in a control period, and does not count in A. The memory of a scheme such as
    `dir_em` is derived from the state.

    Raises ValueError for bad arguments, and for a part without a derivative: a disturbance that is
    a callable, pulses. IntegrationError if the step cannot be solved.
    """
    episodes, shape = checked(env, ("disturbance",))
    batch, stepping = episodes.batch, episodes.stepping
    if state is None:
        env.unwrapped.get_state()  # raises before a reset
        buffer = batch.buffer
    else:
        buffer = lay_out(checked_state(episodes, state, episodes.size)[0])
    given = np.zeros(shape) if action is None else finite("action", action, shape)
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
    """Differentiates a step from the current state of an env, without stepping it.

    names: the coordinates, see `Linear`, then the memory of scheme, reward and sensors. rows: those
    of the coordinates after attitude and rates. Random numbers, as noise, count as constants.
    Raises ValueError for a part without a derivative: callable hooks, pulses, goals in a dict.
    """

    def __init__(self, env: Any) -> None:
        self.episodes, _ = checked(env, ("disturbance", "observation", "reward"))
        parts, batch = self.episodes.setup.parts, self.episodes.batch
        if isinstance(env.observation_space, Dict):
            raise ValueError("env must show one array to have a derivative, not a dict of goals")
        names, more = _more(self.episodes)
        rows, scheme = self.episodes.rows, batch.physics.scheme
        kept = scheme.memory_size() if scheme.keeps_state() else 0
        for first, entries in (
            (batch.physics.memory_row(), {"memory": range(kept)} if kept else {}),
            (rows.goal_row(), parts.goal.memory_entries(batch.physics)),
            (rows.reference_row(), parts.reference.memory_entries(batch.physics)),
            (rows.reward_row(), parts.reward.memory_entries(batch.physics)),
            (rows.sensor_row(), parts.sensor.memory_entries(batch.physics)),
            (rows.outage_row(), parts.outage.memory_entries(batch.physics)),
        ):
            for name, numbers in entries.items():
                names += _numbered(name, len(numbers))
                more = np.append(more, [first + n for n in numbers])
        self.names, self.rows = names, more
        self._kind = columns_for(batch)

    def of_step(self, actions: Array, strict: bool = True) -> StepDerivatives:
        """Derivatives of a step under these actions (n, m). If a step cannot be solved: with
        `strict` an IntegrationError, else the derivatives of that lane mean nothing."""
        episodes, s = self.episodes, len(self.names)
        batch, commands = episodes.batch, np.ascontiguousarray(actions, dtype=float)

        def args_of(first: int) -> tuple[Any, ...]:
            return (
                episodes.rows, batch.physics, batch.buffer, batch.block_rows, commands,
                episodes.stepping, corrections_of(batch.potential),
                _columns(self._kind, first, len(self.rows)), self.rows, episodes.setup.limit,
            )  # fmt: skip

        if differentiate_step not in batch.differentiate:  # the batch clears it with its physics
            batch.differentiate[differentiate_step] = Entry(differentiate_step)
        kernel, width = batch.differentiate[differentiate_step], s + episodes.setup.width + 1
        whole, ends = along(batch, width, s + batch.channels, kernel, args_of, strict)
        return StepDerivatives(whole, ends[:, s:-1])


def _columns(kind: type[InputColumns], first: int, more: int) -> InputColumns:
    return kind(-first, 6 - first, 6 + more - first, _AWAY, _AWAY, _AWAY, False)


def checked(env: Any, hooks: tuple[str, ...]) -> tuple[Episodes, tuple[int, ...]]:
    """Episodes of an env, and the shape of its actions; ValueError for a part without a derivative,
    as one of these hooks that is a callable."""
    base, episodes = episodes_of(env)
    for name in hooks:
        if (hook := episodes.setup.hooks.get(name)) is not None:
            raise ValueError(f"{name} must be given by name to have a derivative, got {hook!r}")
    actuator = episodes.batch.physics.actuator
    if isinstance(actuator, Driven) and isinstance(actuator.line.pulses, Pulsed):
        pulses = actuator.line.pulses
        raise ValueError(f"actuator must be without pulses to have a derivative, got {pulses!r}")
    return episodes, base.action_space.shape


def _more(episodes: Episodes) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Names of all coordinates; rows of those after attitude and rates."""
    physics, assembly = episodes.batch.physics, episodes.setup.actuator
    names, rows = list(_COORDINATES), list[int]()
    places = assembly.places(physics)
    for name in assembly.state_keys():
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
