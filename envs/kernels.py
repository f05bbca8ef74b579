"""The two kernels of an environment: judge the step that was taken, restart what has ended."""

from typing import Any, NamedTuple

import numpy as np

from rbgym.envs.layout import (
    BEGUN,
    ELAPSED,
    EPISODE,
    KEPT,
    KEPT_ROWS,
    OBSERVATION,
    REWARD,
    SEED,
    STREAK,
    TERMINATED,
    TRUNCATED,
)
from rbgym.envs.parts import draw, is_inside, is_over, observe, reward, width
from rbgym.envs.random import uniforms
from rbgym.frames import in_principal_axes, view
from rbgym.integrators.interface import memory_size
from rbgym.jit import compiled, index, inlined, separate, spliced
from rbgym.kernels import start_lane
from rbgym.layout import COMMAND, FAILED, LANES, MEMORY, ROTOR, J, L, Q
from rbgym.quaternion import add, polished, times, to_world
from rbgym.rows import put_quaternion, put_vector, vector


class Parts(NamedTuple):
    """What a task is made of, as the kernels need it; see rbgym.envs.parts."""

    observation: Any
    reward: Any
    success: Any
    termination: Any
    start: Any


@spliced
def _judge_lane(parts, frame, buffer, i, limit):
    """Observation, reward and flags of one lane, and its clocks; all zero at a beginning."""
    begun = buffer[i + BEGUN * LANES] > 0.0
    q, omega = view(frame, buffer, i)
    inside = is_inside(parts.success, q, omega) & (not begun)
    over = is_over(parts.termination, q, omega) & (not begun)
    elapsed = 0.0 if begun else buffer[i + ELAPSED * LANES] + 1.0
    late = ((elapsed >= limit) | (buffer[i + FAILED * LANES] > 0.0)) & (not begun)
    observe(parts.observation, buffer, i, q, omega)
    value = reward(parts.reward, buffer, i, q, omega, vector(buffer, i, COMMAND), inside)
    buffer[i + BEGUN * LANES] = 0.0
    buffer[i + ELAPSED * LANES] = elapsed
    buffer[i + STREAK * LANES] = buffer[i + STREAK * LANES] + 1.0 if inside else 0.0
    buffer[i + REWARD * LANES] = 0.0 if begun else value
    buffer[i + TERMINATED * LANES] = 1.0 if over else 0.0
    buffer[i + TRUNCATED * LANES] = 1.0 if late else 0.0


@compiled
def judge(
    parts, keeper, potential, frame, buffer, limit, again, observations, rewards, over, late, kept
):
    """Judge every body; returns how many episodes ended, and how many bodies failed.

    again: where an episode had already ended, begin the next one instead. limit: steps, or inf.
    observations: (bodies, width), or (0, width) to leave them to somebody else. kept: (blocks,
    KEPT_ROWS * LANES), copies of those rows.
    """
    block_size = (MEMORY + memory_size(keeper)) * LANES
    blocks, bodies = len(buffer) // block_size, len(rewards)
    if again:
        for k in range(bodies):
            i = index((k // LANES) * block_size + k % LANES)
            if buffer[i + TERMINATED * LANES] + buffer[i + TRUNCATED * LANES] > 0.0:
                buffer[i + EPISODE * LANES] += 1.0
                _draw_lane(parts.start, keeper, potential, frame, buffer, i)
                put_vector(buffer, i, COMMAND, (0.0, 0.0, 0.0))
                buffer[i + BEGUN * LANES] = 1.0
    for block in range(blocks):
        for lane in range(LANES):
            _judge_lane(parts, frame, buffer, block * block_size + lane, limit)
    for block in range(blocks):
        for n in range(KEPT_ROWS * LANES):
            kept[block, n] = buffer[block * block_size + KEPT * LANES + n]
    if len(observations) > 0:
        for k in range(bodies):
            i = index((k // LANES) * block_size + k % LANES)
            _show(parts, buffer, i, observations, k)
    ended, failed = 0.0, 0.0
    for block in range(blocks):
        k, i = index(block * LANES), index(block * block_size)
        # A constant number of lanes makes wide moves of the loops.
        if k + LANES <= bodies:
            more = _report(buffer, i, LANES, k, rewards, over, late)
        else:
            more = _report(buffer, i, bodies - k, k, rewards, over, late)
        ended, failed = ended + more[0], failed + more[1]
    return ended, failed


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
def _show(parts, buffer, i, observations, k):
    for column in range(width(parts.observation)):
        observations[k, column] = buffer[i + (OBSERVATION + column) * LANES]


@separate
def _draw_lane(part, keeper, potential, frame, buffer, i):
    """Start the body in the state that its seed and the number of its episode give."""
    i = index(i)
    seed = np.uint64(buffer[i + SEED * LANES])
    upper = np.uint64(buffer[i + (SEED + 1) * LANES])
    a, b = uniforms(seed | (upper << np.uint64(32)), np.uint64(buffer[i + EPISODE * LANES]))
    q, omega = draw(part, a, b)
    q, omega = in_principal_axes(frame, buffer, i, q, omega)
    q = polished(q)
    Pi = add(times(vector(buffer, i, J), omega), vector(buffer, i, ROTOR))
    put_quaternion(buffer, i, Q, q)
    put_vector(buffer, i, L, to_world(q, Pi))
    start_lane(keeper, potential, buffer, i)


@compiled
def restart(parts, keeper, potential, frame, buffer, bodies, drawn, observations):
    """Begin the next episode of these bodies, drawn or (drawn=False) from the state they are in.

    Writes their rows of `observations`.
    """
    block_size = (MEMORY + memory_size(keeper)) * LANES
    for k in bodies:
        i = index((k // LANES) * block_size + k % LANES)
        buffer[i + EPISODE * LANES] += 1.0
        if drawn:
            _draw_lane(parts.start, keeper, potential, frame, buffer, i)
        put_vector(buffer, i, COMMAND, (0.0, 0.0, 0.0))
        buffer[i + BEGUN * LANES] = 1.0
        _judge_lane(parts, frame, buffer, i, np.inf)
        if len(observations) > 0:
            _show(parts, buffer, i, observations, k)
