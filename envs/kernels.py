"""The kernel of an environment: begin episodes, and judge the step that was taken."""

import math
from typing import Any, NamedTuple

import numpy as np

from rbgym.actuation import block_rows, first_row
from rbgym.compiled.jit import compiled, index, inlined, lane_body, outlined
from rbgym.envs.actuators.driven import begin as begin_actuator
from rbgym.envs.actuators.driven import present, shown_from, shown_rows
from rbgym.envs.actuators.effector import rebuild
from rbgym.envs.layout import (
    BEGUN,
    DRAWN,
    ELAPSED,
    EPISODE,
    ERROR,
    LAST_COMMAND,
    NOISE,
    OBSERVATION,
    PLACED,
    RATE_ERROR,
    REWARD,
    SEED,
    STREAK,
    TERMINATED,
    TRUNCATED,
)
from rbgym.envs.parts.disturbances import push
from rbgym.envs.parts.endings import is_inside, is_over
from rbgym.envs.parts.goals import compare
from rbgym.envs.parts.observations import observe, width
from rbgym.envs.parts.references import begin, follow
from rbgym.envs.parts.rewards import reward
from rbgym.envs.parts.sensors import calibrate, seen_attitude, seen_rate
from rbgym.envs.parts.spreads import vary
from rbgym.envs.parts.starts import draw
from rbgym.envs.parts.tallies import tally
from rbgym.envs.random import numbers, uniforms
from rbgym.frames import in_principal_axes, view
from rbgym.kernels import start_lane
from rbgym.layout import COMMAND, DISTURBANCE, FAILED, LANES, ROTOR, J, L, Q
from rbgym.quaternion import add, polished, times, to_world
from rbgym.rows import put_quaternion, put_vector, vector

_NO_TORQUE = (0.0, 0.0, 0.0)
_ATTEMPTS = 64  # at a start that is not over at once


class Parts(NamedTuple):
    """What a task is made of, as the kernels need it: each from the file of that name."""

    observation: Any
    sensor: Any
    goal: Any
    reference: Any
    reward: Any
    success: Any
    ends: Any
    start: Any
    spread: Any
    disturbance: Any
    tally: Any


@lane_body
def _judge_lane(parts, keeper, frame, actuator, buffer, i, limit):
    """Observation, reward and flags of one lane, and its clocks; all zero at a beginning."""
    begun = buffer[i + BEGUN * LANES] > 0.0
    elapsed = 0.0 if begun else buffer[i + ELAPSED * LANES] + 1.0
    buffer[i + BEGUN * LANES] = 0.0
    buffer[i + ELAPSED * LANES] = elapsed
    follow(parts.reference, buffer, i)
    q, omega = view(frame, buffer, i)
    square, rate_square, wanted, relative = compare(parts.goal, buffer, i, q, omega)
    inside = is_inside(parts.success, buffer, i, square, rate_square) & (not begun)
    over = is_over(parts.ends, buffer, i, q, omega) & (not begun)
    late = ((elapsed >= limit) | (buffer[i + FAILED * LANES] > 0.0)) & (not begun)
    sensor = parts.sensor
    observe(
        parts.observation,
        parts.reference,
        buffer,
        i,
        seen_attitude(sensor, buffer, i, q),
        seen_attitude(sensor, buffer, i, relative),
        seen_rate(sensor, buffer, i, omega),
        wanted,
    )
    present(actuator, frame, buffer, i, first_row(keeper))
    value = reward(parts.reward, buffer, i, square, rate_square, actuator, inside, over, begun)
    push(parts.disturbance, buffer, i)
    tally(parts.tally, buffer, i, q, begun)
    buffer[i + ERROR * LANES] = square
    buffer[i + RATE_ERROR * LANES] = rate_square
    buffer[i + STREAK * LANES] = buffer[i + STREAK * LANES] + 1.0 if inside else 0.0
    buffer[i + REWARD * LANES] = value
    buffer[i + TERMINATED * LANES] = 1.0 if over else 0.0
    buffer[i + TRUNCATED * LANES] = 1.0 if late else 0.0


@compiled
def judge(
    parts,
    keeper,
    potential,
    frame,
    actuator,
    buffer,
    limit,
    first,
    told,
    again,
    alone,
    observations,
    rewards,
    over,
    late,
    kept,
):
    """Judge every body; returns how many episodes ended, and how many bodies failed.

    again: where an episode had already ended, begin the next one instead. alone: begin those whose
    BEGUN row says so, and look at no others. limit: steps, or inf. observations: (bodies, width),
    or (0, width) to leave them to somebody else. kept: (blocks, rows * LANES), copies of so many
    rows: the last three from the row `told` on, the others from `first` on.
    """
    block_size, rows = block_rows(keeper, actuator) * LANES, kept.shape[1] // LANES - 3
    bodies, ended, failed = len(rewards), 0.0, 0.0
    # Block by block from beginning to report, so that each is read from memory once.
    for block in range(len(buffer) // block_size):
        start, k = index(block * block_size), index(block * LANES)
        # Lanes beyond the last body are at rest, and never begin.
        lanes = min(LANES, bodies - k)
        if alone or (again and _any_ended(buffer, start) > 0.0):
            # The one place where episodes begin: two would be compiled to other round-off.
            for lane in range(lanes):
                i = start + index(lane)
                over_or_late = buffer[i + TERMINATED * LANES] + buffer[i + TRUNCATED * LANES] > 0.0
                if again and over_or_late:
                    buffer[i + BEGUN * LANES] = DRAWN
                if buffer[i + BEGUN * LANES] > 0.0:
                    _begin_lane(parts, keeper, potential, frame, actuator, buffer, i)
        if alone:
            for lane in range(lanes):
                i = start + index(lane)
                if buffer[i + BEGUN * LANES] > 0.0:
                    _judge_lane(parts, keeper, frame, actuator, buffer, i, limit)
                    if len(observations) > 0:
                        _show(parts, keeper, actuator, buffer, i, observations, k + index(lane))
            continue
        for lane in range(LANES):
            i = block * block_size + lane
            _judge_lane(parts, keeper, frame, actuator, buffer, i, limit)
        # A row is one wide move.
        for row in range(rows):
            to, since = index(row) * LANES, start + index(first + row) * LANES
            for lane in range(LANES):
                kept[block, to + lane] = buffer[since + lane]
        for row in range(3):
            to, since = index(rows + row) * LANES, start + index(told + row) * LANES
            for lane in range(LANES):
                kept[block, to + lane] = buffer[since + lane]
        if len(observations) > 0:
            for lane in range(lanes):
                i, j = start + index(lane), k + index(lane)
                _show(parts, keeper, actuator, buffer, i, observations, j)
        # A constant number of lanes makes wide moves of the loops.
        if lanes == LANES:
            more = _report(buffer, start, LANES, k, rewards, over, late)
        else:
            more = _report(buffer, start, lanes, k, rewards, over, late)
            for lane in range(lanes, LANES):
                put_vector(buffer, start + index(lane), DISTURBANCE, _NO_TORQUE)
        ended, failed = ended + more[0], failed + more[1]
    return ended, failed


@inlined
def _any_ended(buffer, start):
    """Above zero where an episode of the block has ended."""
    ended = 0.0
    for lane in range(LANES):
        ended += (
            buffer[start + lane + TERMINATED * LANES] + buffer[start + lane + TRUNCATED * LANES]
        )
    return ended


@inlined
def _report(buffer, i, lanes, k, rewards, over, late):
    """Outcome of the first lanes of the block at i; returns how many ended, and failed."""
    ended, failed = 0.0, 0.0
    for lane in range(lanes):
        rewards[k + lane] = buffer[i + lane + REWARD * LANES]
    for lane in range(lanes):
        over[k + lane] = buffer[i + lane + TERMINATED * LANES] > 0.0
    for lane in range(lanes):
        late[k + lane] = buffer[i + lane + TRUNCATED * LANES] > 0.0
    for lane in range(lanes):
        terminated = buffer[i + lane + TERMINATED * LANES]
        ended += max(terminated, buffer[i + lane + TRUNCATED * LANES])
        failed += buffer[i + lane + FAILED * LANES]
    return ended, failed


@inlined
def _show(parts, keeper, actuator, buffer, i, observations, k):
    columns = width(parts.observation)
    for column in range(columns):
        observations[k, column] = buffer[i + (OBSERVATION + column) * LANES]
    j = i + (first_row(keeper) + shown_from(actuator)) * LANES
    for n in range(shown_rows(actuator)):
        observations[k, columns + n] = buffer[j + n * LANES]


@outlined
def _begin_lane(parts, keeper, potential, frame, actuator, buffer, i):
    """What the lane's seed and the number of its next episode give it."""
    i = index(i)
    buffer[i + EPISODE * LANES] += 1.0
    low, high = np.uint64(buffer[i + SEED * LANES]), np.uint64(buffer[i + (SEED + 1) * LANES])
    seed, episode = low | (high << np.uint64(32)), np.uint64(buffer[i + EPISODE * LANES])
    a, b = uniforms(seed, episode)
    c, key = numbers(seed, episode, np.uint64(3)), numbers(seed, episode, np.uint64(4))
    buffer[i + NOISE * LANES] = math.floor(key[0] * 9007199254740992.0)
    q, omega = view(frame, buffer, i)  # where it was put, before its inertia changes
    varied = numbers(seed, episode, np.uint64(5)), numbers(seed, episode, np.uint64(6))
    rebuild(actuator, buffer, i)
    mass = vary(parts.spread, potential, buffer, i, varied[0], varied[1])
    if buffer[i + BEGUN * LANES] == DRAWN:
        q, omega = draw(parts.start, buffer, i, a, b, c)
        for attempt in range(1, _ATTEMPTS):
            if not is_over(parts.ends, buffer, i, q, omega):
                break
            block = np.uint64(16 + 4 * attempt)
            a, b = numbers(seed, episode, block), numbers(seed, episode, block + np.uint64(1))
            c = numbers(seed, episode, block + np.uint64(2))
            q, omega = draw(parts.start, buffer, i, a, b, c)
    q, omega = in_principal_axes(frame, buffer, i, q, omega)
    q = polished(q)
    put_quaternion(buffer, i, Q, q)
    own = numbers(seed, episode, np.uint64(9)), numbers(seed, episode, np.uint64(10))
    more = numbers(seed, episode, np.uint64(11)), numbers(seed, episode, np.uint64(12))
    placed = buffer[i + BEGUN * LANES] == PLACED
    where = first_row(keeper)
    begin_actuator(
        actuator, frame, buffer, i, where, placed, mass, own[0], own[1] + more[0], more[1]
    )
    Pi = add(times(vector(buffer, i, J), omega), vector(buffer, i, ROTOR))
    put_vector(buffer, i, L, to_world(q, Pi))
    start_lane(keeper, potential, buffer, i)
    a, b = numbers(seed, episode, np.uint64(7)), numbers(seed, episode, np.uint64(8))
    begin(parts.reference, buffer, i, a, b)
    calibrate(parts.sensor, buffer, i)
    for row in (COMMAND, COMMAND + 3, LAST_COMMAND, LAST_COMMAND + 3):
        put_vector(buffer, i, row, (0.0, 0.0, 0.0))
