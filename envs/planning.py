"""Rollouts from a saved state of an env, which itself does not change."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym import threads
from rbgym.arguments import real
from rbgym.engine.advance import by_lane, lay_out
from rbgym.envs.episodes import Episodes
from rbgym.quaternion import Array
from rbgym.rows import LANES

Generator = NDArray[np.uint64]
# Blocks of a range: their state, some 4 kB each, should stay in a core's cache between steps.
BLOCKS = 64


def pcg64(generator: Any) -> np.random.PCG64:
    """The source of random bits of a generator as Gymnasium's; ValueError for another kind."""
    bits = getattr(generator, "bit_generator", None)
    if type(bits) is not np.random.PCG64:
        raise ValueError(f"np_random must be a Generator with a PCG64, got {generator!r}")
    return bits


def packed(bits: np.random.PCG64) -> Generator:
    """The state of a PCG64, (6,): two numbers of 128 bits, each with its lower half first, and
    whether and which 32 bits are left over."""
    state: Any = bits.state
    a, b = state["state"].values()
    has, left = state["has_uint32"], state["uinteger"]
    words = a | b << 128 | has << 256 | left << 320
    return np.frombuffer(words.to_bytes(48, "little"), "<u8").copy()


def unpack(words: Generator, bits: Any) -> None:
    """Set a PCG64 to the state that `packed` returned."""
    a, b, c, d, has, left = words.tolist()
    bits.state = {"bit_generator": "PCG64", "state": {"state": a | b << 64, "inc": c | d << 64},
                  "has_uint32": has, "uinteger": left}  # fmt: skip


def episodes_of(env: Any) -> tuple[Any, Episodes]:
    """An env without its wrappers, and its episodes; ValueError for an env that is not rbgym's."""
    base: Any = getattr(env, "unwrapped", None)
    episodes = getattr(base, "episodes", None)
    if not isinstance(episodes, Episodes):
        raise ValueError(f"env must be an environment of rbgym, got {env!r}")
    return base, episodes


def checked_state(episodes: Episodes, state: Any, size: int) -> tuple[Array, Generator]:
    """The rows (size, r) and generator of a state; ValueError if it is not a state of this env."""
    if not isinstance(state, dict) or state.keys() != {"rows", "generator"}:
        raise ValueError(f"state must be what get_state gives, rows and generator, got {state!r}")
    rows, r = real('state["rows"]', state["rows"]), episodes.batch.block_rows
    # The sum of squares is quicker: it is finite unless a number is not finite or beyond 1e150.
    finite = math.isfinite(np.vdot(rows, rows)) or np.isfinite(rows).all()
    if rows.shape not in ((r,), (size, r)) or not finite:
        raise ValueError(f'state["rows"] must be finite, ({r},) or ({size}, {r}), got {rows!r}')
    words = state["generator"]
    fits = isinstance(words, np.ndarray) and words.shape == (6,) and words.dtype == np.uint64
    whole = words.tolist() if fits else [0] * 6
    if not whole[2] & 1 or whole[4] > 1 or whole[5] >> 32:  # PCG64 has none such
        raise ValueError(f'state["generator"] must be of get_state, (6,) uint64, got {words!r}')
    rows, fixed = rows.reshape(-1, r), [*episodes.fixed]
    own = episodes.batch.block_view()[0, fixed, 0]
    for lane, n in np.argwhere(rows[:, fixed] != own):
        part, row = episodes.fixed[fixed[n]], fixed[n]
        raise ValueError(
            f'state["rows"] must be of an env with the same {part}, {own[n]} in row {row}, '
            f"got {rows[lane, row]}"
        )
    return rows if len(rows) == size else np.repeat(rows, size, axis=0), words


def rollout_actions(
    env: Any, state: dict[str, Any], actions: ArrayLike
) -> tuple[Array, dict[str, NDArray[Any]]]:
    """Rewards of k sequences of actions from a state of an env, which itself does not change.

    env: single or vector; wrappers are ignored. state: as its `get_state` returns, with rows (r,),
    or (k, r) for a different state for each sequence. actions: (k, horizon, channels).
    Returns rewards (k, horizon), and the final states, rows (k, r). They equal, to the last bit,
    those of a single env stepped from that state, with the same noise, except that steps after the
    end of an episode earn 0.0. `rbgym.set_num_threads` applies.

    Raises ValueError for bad arguments, and for a hook that is a callable.
    """
    base, episodes = episodes_of(env)
    for name, hook in episodes.setup.hooks.items():
        raise ValueError(
            f"{name} must be given by name to roll out actions, got the callable {hook!r}: "
            "set_state a vector env and step it"
        )
    channels, given = episodes.batch.channels, real("actions", actions)
    if given.ndim != 3 or not given.size or given.shape[2] != channels:
        raise ValueError(f"actions must have shape (k, horizon, {channels}), got {given.shape}")
    if not np.isfinite(given).all():
        raise ValueError(f"actions must be finite, got {actions!r}")
    k, horizon, _ = given.shape
    rows, generator = checked_state(episodes, state, k)
    episodes.follow(rows)
    commands = np.ascontiguousarray(given.transpose(1, 0, 2))
    rewards, last = np.zeros((horizon, k)), np.empty(rows.shape)
    split = base.task.split

    def run(first: int, end: int) -> None:
        lanes = slice(first * LANES, min(end * LANES, k))
        buffer, n = lay_out(rows[lanes]), lanes.stop - lanes.start
        outputs = episodes.room(n)
        observations, numbers, flags = outputs
        earned, ends = numbers[0, :n], flags[:2, :n]
        done = episodes.is_over(rows[lanes])
        for step in range(horizon):
            episodes.try_out(buffer, commands[step, lanes], outputs)
            if split:
                goals = split(observations)
                earned = base.compute_reward(goals["achieved_goal"], goals["desired_goal"], {})
            rewards[step, lanes] = np.where(done, 0.0, earned)
            done |= ends.any(axis=0)
        last[lanes] = by_lane(buffer, rows.shape[1])[:n]

    threads.over_ranges(-(-k // LANES), run, largest=BLOCKS)
    final = episodes.without_scratch(last)
    return np.ascontiguousarray(rewards.T), {"rows": final, "generator": generator.copy()}
