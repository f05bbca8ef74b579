"""Derivatives of steps, exact to round-off: the kernels that take the steps, on dual numbers.

Each step runs twice: first on numbers, to solve its equation, then on duals from that solution.
There one Newton correction gives the derivatives of the unknowns (implicit function theorem). The
rest of the step, with projections and actuators, propagates the derivatives. So every scheme,
potential and actuator has the derivative of the very map that steps the body.

Coordinates of a change, at the start and at the end: the rotation vector theta in body axes,
q = q_0 (1, theta/2) to first order; the angular velocity in body axes, or the angular momentum in
world axes; then rows of the actuator's state.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rbgym.arguments import finite
from rbgym.compiled.dual import (
    ITEM,
    WIDTH,
    as_duals,
    as_steady_duals,
    merge,
    refusals_in_one_line,
    unit,
    value,
)
from rbgym.compiled.jit import MACHINE_CODE, Entry, compiled, inlined
from rbgym.compiled.record import Record
from rbgym.engine.batch import Batch, IntegrationError, aligned_zeros
from rbgym.engine.kernels import PROJECTIONS, start_lane, take_step
from rbgym.engine.projection import keep_level, let_work, project
from rbgym.engine.steps import correct, finish, predict, redo, redo_explicit
from rbgym.integrators.composition import COUNTS, STAGES
from rbgym.integrators.free_scale import FreeScaleFar
from rbgym.integrators.interface import Kicks
from rbgym.potentials import HeavyTop, Potential
from rbgym.quaternion import Array, add, dot, qconj, qmul, times, to_world
from rbgym.rows import (
    FAILED,
    J_INV,
    LANES,
    SOLVED,
    TORQUE,
    X_SIZE,
    J,
    L,
    Q,
    X,
    index,
    put_quaternion,
    put_vector,
    quaternion,
    vector,
    view,
)
from rbgym.threads import over_ranges

_AWAY = -99  # a column outside the pass


class InputColumns(Record):
    """The first column of derivatives of each input, counted from the first column of the pass; a
    pass ignores columns outside it. of_momentum: whether the coordinates contain the momentum."""

    at_state: int
    at_more: int
    at_commands: int
    at_torque: int
    at_inertia: int
    at_mgl: int
    of_momentum: bool

    def duals_of(self, scratch, rows, i):
        """The duals of lane i of a block as a buffer of its own, in which it is lane 0: its rows
        are next to each other, and so stay in the cache."""
        return as_duals(scratch, i * rows * ITEM, LANES)


class SteadyInputColumns(InputColumns):
    """No columns of inertia and mgl; the inertia of the bodies is constant."""

    def duals_of(self, scratch, rows, i):
        return as_steady_duals(scratch, i * rows * ITEM, LANES)


@inlined
def _three(column):
    return unit(column), unit(column + 1), unit(column + 2)


@inlined
def room_for_duals(numbers):
    """Space for so many float64 numbers, aligned to a cache line as vectors of duals must be."""
    spare = np.empty(numbers + 8)
    first = (8 - index(spare.ctypes.data) // 8 % 8) % 8
    return spare[first : first + numbers]


@inlined
def seed_lane(physics, d, numbers, start, rows, columns, more):
    """Set the duals d of the lane whose numbers begin at `start`, with the columns of the pass."""
    i = 0
    for row in range(rows):
        d[row * LANES] = numbers[start + row * LANES]
    for n in range(len(more)):
        d[more[n] * LANES] += unit(columns.at_more + n)
    q, momentum = quaternion(d, i, Q), vector(d, i, L)
    body_q, omega = view(physics, numbers, start)  # numbers, without derivatives
    x, y, z = add(vector(d, i, J), _three(columns.at_inertia))
    put_vector(d, i, J, (x, y, z))
    one = merge(1.0, 1.0)
    put_vector(d, i, J_INV, (one / x, one / y, one / z))
    theta = _three(columns.at_state)
    turn = (one, 0.5 * theta[0], 0.5 * theta[1], 0.5 * theta[2])
    change = _three(columns.at_state + 3)
    physics.actuator.release(physics, d, i, add(omega, change))
    moments, rotor = vector(d, i, J), physics.rotors.rotor_momentum(d, i)
    q, omega = physics.frame.in_principal_axes(
        physics, d, i, qmul(body_q, turn), add(omega, change)
    )
    put_quaternion(d, i, Q, q)
    if columns.of_momentum:
        put_vector(d, i, L, add(momentum, change))
    else:
        put_vector(d, i, L, to_world(q, add(times(moments, omega), rotor)))
    torque = physics.frame.to_principal(physics, d, i, _three(columns.at_torque))
    put_vector(d, i, TORQUE, add(vector(d, i, TORQUE), torque))
    if physics.potential.row_count() > 0:
        k = i + physics.potential_row() * LANES
        d[k] += unit(columns.at_mgl)
    # Level and memory follow from attitude and rates, as at a start, but keep their values.
    start_lane(physics, d, i)
    for row in range(physics.actuator_row()):
        k = row * LANES
        d[k] = merge(numbers[start + k], d[k])
    for n in range(len(more)):  # but not a memory that is a coordinate
        k = more[n] * LANES
        if more[n] < physics.actuator_row():
            d[k] = numbers[start + k] + unit(columns.at_more + n)


@inlined
def hold_commands(physics, d, f, commands, body, i, columns):
    """Write a body's commands to lane i of the numbers f and, with derivatives, to its duals d."""
    actuator = physics.actuator
    row = actuator.command_row(physics)
    for n in range(actuator.channels()):
        c = commands[body, n]
        f[i + (row + n) * LANES] = min(max(c, -1.0), 1.0)
        d[(row + n) * LANES] = min(max(c + unit(columns.at_commands + n), -1.0), 1.0)
    actuator.hold(physics, f, i)
    actuator.hold(physics, d, 0)


@inlined
def advance_block(physics, scratch, f, rows, commanded, stepping, corrections, columns):
    """Advance the duals of one block by a control period, and its numbers f if the scheme has
    unknowns; returns 0.0, or more if a step could not be solved."""
    substeps, h, failed, actuator = stepping.substeps, stepping.h, 0.0, physics.actuator
    stages = COUNTS[index(stepping.composition)]
    driven = commanded and (not actuator.is_steady())
    if not physics.scheme.has_unknowns():
        for i in range(LANES):
            for stage in range(substeps * stages):
                d = columns.duals_of(scratch, rows, i)
                failed += _advance_lane(physics, d, f, i, driven, stepping, stage, corrections)
        return failed
    for stage in range(substeps * stages):
        part = STAGES[index(stepping.composition), index(stage % stages)]
        length, kicks = h * part[0], Kicks(h * part[1], h * part[2], h * h * part[3])
        if driven and stage % stages == 0:
            begins = h * (stage // stages)
            for i in range(LANES):
                actuator.drive(physics, f, i, begins, h, h * substeps)
        left = take_step(physics, f, 0, 1, len(f), length, kicks, stepping.projection)
        if left > 0:
            for i in range(LANES):
                if f[i + SOLVED * LANES] < 0.0:
                    redo(physics.scheme, physics, f, i, length, kicks, stepping.projection)
        for i in range(LANES):
            failed += f[i + FAILED * LANES]
            d = columns.duals_of(scratch, rows, i)
            failed += _advance_lane(physics, d, f, i, driven, stepping, stage, corrections)
        if driven and stage % stages == stages - 1:
            for i in range(LANES):
                actuator.settle(physics, f, i, h, h * substeps)
    return failed


@inlined
def _advance_lane(physics, d, f, i, driven, stepping, stage, corrections):
    """Advance the duals d of lane i by a stage, with the unknowns of the numbers f; returns 0.0, or
    more if the stage could not be solved."""
    substeps, h, actuator = stepping.substeps, stepping.h, physics.actuator
    stages = COUNTS[index(stepping.composition)]
    part = STAGES[index(stepping.composition), index(stage % stages)]
    length, kicks = h * part[0], Kicks(h * part[1], h * part[2], h * h * part[3])
    last, scheme = stage % stages == stages - 1, physics.scheme
    if driven and stage % stages == 0:
        actuator.drive(physics, d, 0, h * (stage // stages), h, h * substeps)
    predict(physics, scheme, d, 0, length, kicks)
    if scheme.has_unknowns():
        for _ in range(corrections):
            for row in range(X, X_SIZE + 1):
                x = d[row * LANES] if row < X_SIZE else merge(0.0, 0.0)
                d[row * LANES] = merge(f[i + row * LANES], x)
            d[SOLVED * LANES] = 0.0
            correct(physics, d, 0, length)
    if finish(physics, scheme, d, 0, length, kicks, stepping.projection) > 0:
        redo_explicit(scheme, physics, d, 0, length, kicks, stepping.projection)
    # After the last step the level matters only if the projection keeps it, as without a torque.
    ends = stage == substeps * stages - 1 and (not actuator.turns_rotors())
    works = ends and dot(vector(d, 0, TORQUE), vector(d, 0, TORQUE)) > 0.0
    held = last and (not works) and stepping.projection > 0.0
    if scheme.is_projected(physics.potential) and held:
        lacking = keep_level(physics, d, 0)
        if lacking > 0:
            let_work(physics, d, 0)
        for _ in range(PROJECTIONS):
            if lacking == 0:
                break
            lacking = project(physics, d, 0)
    if driven and last:
        actuator.settle(physics, d, 0, h, h * substeps)
    return value(d[FAILED * LANES])


@inlined
def show_lane(physics, d, columns, more, out, k):
    """Write the coordinates of the lane at the end, and their derivatives, to `out` from k on."""
    i = 0
    q, omega = view(physics, d, i)
    apart = qmul(qconj((value(q[0]), value(q[1]), value(q[2]), value(q[3]))), q)
    last = vector(d, i, L) if columns.of_momentum else omega
    for n in range(3):
        out[k + n], out[k + 3 + n] = 2.0 * apart[1 + n], last[n]
    for n in range(len(more)):
        out[k + 6 + n] = d[i + more[n] * LANES]


@compiled
def differentiate(
    physics, buffer, rows, commands, stepping, corrections, columns, more, out, first, last
):
    """Derivatives of a control period for the bodies in blocks `first` to `last` - 1; does not
    change the buffer.

    commands: (bodies, channels), or (0, channels) for the held torque. corrections: number of
    Newton corrections of the unknowns' derivatives. more: rows of further coordinates. out: space
    for 6 + len(more) duals of each body. Returns the first body with an unsolved step, or -1.
    """
    size, width, refused = index(rows) * LANES, 6 + len(more), -1
    scratch, f, ends = room_for_duals(size * ITEM), np.empty(size), as_duals(out, 0, 1)
    for block in range(first, last):
        start, body = block * size, block * LANES
        f[:] = buffer[start : start + size]
        for i in range(LANES):
            d = columns.duals_of(scratch, rows, i)
            seed_lane(physics, d, buffer, start + i, rows, columns, more)
            if len(commands) > 0:
                hold_commands(physics, d, f, commands, min(body + i, len(commands) - 1), i, columns)
        failed = advance_block(
            physics, scratch, f, rows, len(commands) > 0, stepping, corrections, columns
        )
        for i in range(LANES):
            d = columns.duals_of(scratch, rows, i)
            physics.actuator.present(physics, d, 0)
            show_lane(physics, d, columns, more, ends, (body + i) * width)
            if failed > 0.0 and refused < 0:
                bad = f[i + FAILED * LANES] + value(d[FAILED * LANES])
                refused = body + i if bad > 0.0 else refused
    return refused


_FEWEST_BLOCKS = 2  # worth handing to a thread: some ten microseconds


def along(
    batch: Batch,
    width: int,
    columns: int,
    kernel: Entry,
    args_of: Callable[[int], tuple[Any, ...]],
    strict: bool = True,
) -> tuple[Array, Array]:
    """Derivatives (size, width, columns) of the end of a period with respect to so many columns of
    inputs, and the end itself (size, width).

    kernel: `differentiate`, or one with the same last arguments. args_of(first): the arguments
    before those, for the columns from `first` on. Raises IntegrationError if a step has no
    solution; if not `strict`, the result is then meaningless instead. Raises ValueError if a user's
    part cannot be differentiated, NotImplementedError where Python takes the place of machine code.
    """
    if not MACHINE_CODE:
        raise NotImplementedError("derivatives need machine code: run without NUMBA_DISABLE_JIT")
    passes, ends = [], np.empty(0)
    for first in range(0, columns, WIDTH):
        ends = aligned_zeros(batch.blocks * LANES, width, ITEM)
        work = partial(kernel.call, *args_of(first), ends.reshape(-1))
        with refusals_in_one_line():
            bodies = over_ranges(batch.blocks, work, fewest=_FEWEST_BLOCKS)
        for body in bodies:
            if strict and 0 <= body < batch.size:  # spare lanes do not matter
                where = f" of body {body}" if batch.size > 1 else ""
                raise IntegrationError(
                    f"the step{where} has no solution, so no derivative: use a shorter step"
                )
        passes.append(ends[: batch.size, :, : min(WIDTH, columns - first)])
    return np.concatenate(passes, axis=2), ends[: batch.size, :, WIDTH]


def corrections_of(potential: Potential) -> int:
    """How many Newton corrections make derivatives exact: the second derivatives of a potential
    without an `of_lane` of its own, such as a user's, come from differences, good to ten digits; a
    second correction squares that error."""
    is_own = type(potential).of_lane is Potential.of_lane
    return 2 if is_own and not potential.is_uniform() else 1


@dataclass(frozen=True, eq=False)
class Jacobian:
    """Derivatives of the state of n bodies after some steps; see `rbgym.Batch.jacobian`.

    Rows: rotation vector [rad], body axes; then angular velocity [rad/s], body axes, or angular
    momentum [kg m^2/s], world axes. With respect to: state (n, 6, 6), the same coordinates at the
    start; torque (n, 6, 3), the held torque [N m], body axes; inertia (n, 6, 3), the principal
    moments [kg m^2], in the order of `RigidBody.moments`; mgl (n, 6, 1), mgl of a `HeavyTop` [N m].
    Inputs outside `of` have None.
    """

    state: Array
    torque: Array | None = None
    inertia: Array | None = None
    mgl: Array | None = None

    def jvp(self, state: Array, torque: Array | None = None) -> Array:
        """The change at the end (n, 6) for changes (n, 6) of the start and (n, 3) of the torque."""
        given = finite("state", state, (len(self.state), 6))
        change: Array = np.einsum("nij,nj->ni", self.state, given)
        if torque is None:
            return change
        if self.torque is None:
            raise ValueError('torque must be None unless the Jacobian is of=("state", "torque")')
        turned = finite("torque", torque, (len(self.state), 3))
        return np.asarray(change + np.einsum("nij,nj->ni", self.torque, turned))

    def vjp(self, gradient: Array) -> tuple[Array, Array | None]:
        """Gradients (n, 6) and (n, 3) of a function with respect to start and torque, from its
        gradient (n, 6) with respect to the end."""
        end = finite("gradient", gradient, (len(self.state), 6))
        along = None if self.torque is None else np.einsum("nij,ni->nj", self.torque, end)
        return np.einsum("nij,ni->nj", self.state, end), along


_WIDTHS = {"state": 6, "torque": 3, "inertia": 3, "mgl": 1}
_NONE = np.empty(0, np.int64)


def jacobian(batch: Batch, h: float, steps: int, of: tuple[str, ...], coordinates: str) -> Jacobian:
    """See `rbgym.Batch.jacobian`."""
    given = (of,) if isinstance(of, str) else of
    known = isinstance(given, tuple | list) and all(isinstance(n, str) for n in given)
    if not known or not set(given) <= set(_WIDTHS):
        raise ValueError(f"of must be among {list(_WIDTHS)}, got {of!r}")
    if "mgl" in given and not isinstance(batch.potential, HeavyTop):
        raise ValueError(f"of must leave out 'mgl' unless the potential is a HeavyTop, got {of!r}")
    if not isinstance(coordinates, str) or coordinates not in ("rates", "momentum"):
        raise ValueError(f"coordinates must be 'rates' or 'momentum', got {coordinates!r}")
    names = [name for name in _WIDTHS if name in given or name == "state"]
    firsts = dict(zip(names, np.cumsum([0, *(_WIDTHS[n] for n in names)]).tolist(), strict=False))
    stepping = batch.stepping(h, steps)
    kind = InputColumns if {"inertia", "mgl"} & set(names) else columns_for(batch)
    kernel, no_commands = kernel_of(batch, kind), np.empty((0, batch.channels))
    physics = batch.physics if kind is SteadyInputColumns else batch.of_any_inertia()

    def args_of(first: int) -> tuple[Any, ...]:
        state, torque, inertia, mgl = (firsts.get(name, _AWAY) - first for name in _WIDTHS)
        columns = kind(state, _AWAY, _AWAY, torque, inertia, mgl, coordinates == "momentum")
        return (
            physics, batch.buffer, batch.block_rows, no_commands, stepping,
            corrections_of(batch.potential), columns, _NONE,
        )  # fmt: skip

    widths = [_WIDTHS[name] for name in names]
    whole, _ = along(batch, 6, sum(widths), kernel, args_of)
    parts = np.split(whole, np.cumsum(widths), axis=2)
    return Jacobian(**{n: part.copy() for n, part in zip(names, parts, strict=False)})


def columns_for(batch: Batch) -> type[InputColumns]:
    """The class of columns without inertia and mgl, for these bodies."""
    return InputColumns if isinstance(batch.physics.scheme, FreeScaleFar) else SteadyInputColumns


def kernel_of(batch: Batch, kind: type[InputColumns]) -> Entry:
    """The batch's entry to `differentiate` for columns of this class."""
    return batch.differentiate.setdefault(kind, Entry(differentiate))
