"""Fast rollouts of networks: one episode in each lane. The kernels of the env and of the network
run in turn on blocks that fit in the processor's cache, without the Python step of the env.
Episodes agree to the last bit with those of a vector env under `Network.predict`."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rbgym import threads
from rbgym.agents.cases import Starts, by_name, starts_of, task_of
from rbgym.agents.policies.forward import Stack
from rbgym.agents.policies.network import Network, joined
from rbgym.arguments import count
from rbgym.envs.planning import BLOCKS
from rbgym.envs.reset import checked_seed
from rbgym.envs.rows import ERROR, RATE_ERROR, STREAK
from rbgym.quaternion import Array
from rbgym.rows import LANES

# A range drops its ended blocks once this share still runs: stepping them costs more than a copy.
_CLOSE_UP = 0.75
_KINDS = (np.float64, np.int64, np.bool_, np.float64, np.float64)  # dtypes of a Rollout's arrays


@dataclass(frozen=True, eq=False)
class Rollout:
    """Results of episodes. Every array is (networks, episodes); a column shares one start state.
    lengths: steps. attitude_error [rad], rate_error [rad/s]: from the goal, at the end."""

    returns: Array
    lengths: NDArray[np.int64]
    success: NDArray[np.bool_]
    attitude_error: Array
    rate_error: Array

    @property
    def steps(self) -> int:
        """Number of steps, summed over all episodes."""
        return int(self.lengths.sum())


def rollout(
    networks: Network | Sequence[Network],
    env_id: str,
    *,
    episodes: int = 256,
    seed: int = 0,
    seeds: Sequence[int] | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
) -> Rollout:
    """Fly one episode of each network from each start, with actions without noise.

    networks: one, or several of one shape (normalisers may differ). episodes: number of starts,
    with the seeds seed, seed + 1 and so on; or seeds: one for each start. env_kwargs: arguments of
    the env; hooks by name only; a satellite has its own time limit, as in `evaluate`. Multiples of
    32 episodes use whole blocks. A result depends only on its network and seed. ValueError for bad
    arguments, a network that does not fit, and actions that are not finite.
    """
    task_of(env_id)  # raises for any other env
    if seeds is None:
        seeds = range(checked_seed(seed), int(seed) + count("episodes", episodes))
    if not isinstance(seeds, Sequence | np.ndarray) or np.shape(seeds)[:1] in ((), (0,)):
        raise ValueError(f"seeds must be at least one, in a list, got {seeds!r}")
    return _flown(networks, env_id, Starts([], [checked_seed(one) for one in seeds]), env_kwargs)


def _flown(networks: Any, env_id: str, starts: Starts, env_kwargs: Any) -> Rollout:
    networks = list(networks) if isinstance(networks, list | tuple) else [networks]
    for one in networks:
        if not isinstance(one, Network):
            raise ValueError(f"networks must be a Network, or a list of them, got {one!r}")
    env_kwargs = by_name("env_kwargs", env_kwargs, must_end=True)
    # A network's lanes fill whole blocks: the spare lanes repeat its last episode.
    episodes = len(starts.seeds)
    stack, group = Stack.of(networks), -(-episodes // LANES) * LANES
    every: Any = ((one + one[-1:] * (group - episodes)) * len(networks) for one in starts)
    padded = Starts(*every)
    env: Any = padded.env(env_id, env_kwargs).unwrapped
    with closing(env):
        _check_fit(env, networks[0])
        padded.begin(env)
        seen, lanes = env.episodes.observations(), np.arange(env.num_envs)
        empty: Any = (np.zeros(len(lanes), kind) for kind in _KINDS)
        found = Rollout(*empty)

        def play(first: int, last: int) -> None:
            own = lanes[first * LANES : last * LANES]
            real, owner = own % group < episodes, own[::LANES] // group
            part, steps = _Range(env, networks[0], stack, found, own, real, owner, seen[own]), 0
            while part.running.any():
                part.step()
                steps += 1
                part.book(steps)

        threads.over_ranges(len(lanes) // LANES, play, largest=BLOCKS)
    every = (value.reshape(-1, group) for value in vars(found).values())
    return Rollout(*(value[:, :episodes].copy() for value in every))


def rollout_test_set(
    networks: Network | Sequence[Network],
    env_id: str,
    *,
    episodes: int = 256,
    split: str = "test",
    env_kwargs: Mapping[str, Any] | None = None,
) -> Rollout:
    """`rollout` from the first `episodes` states of the task's fixed test set, in its order, see
    `rbgym.agents.judge.evaluate`. ValueError also for `initial`, which the set fixes."""
    return _flown(networks, env_id, starts_of(env_id, episodes, split), env_kwargs)


def _check_fit(env: Any, network: Network) -> None:
    for name, hook in env.episodes.setup.hooks.items():
        raise ValueError(
            f"{name} must be given by name in a rollout, got the callable {hook!r}: "
            "drive the vector environment by Network.predict"
        )
    space = env.single_observation_space
    width, channels = gym.spaces.flatdim(space), env.single_action_space.shape[0]
    if (network.width, network.sizes[-1]) != (width, channels):
        raise ValueError(f"networks must map {width} to {channels} numbers, got {network}")


class _Range:
    """Blocks in which an episode still runs. like: one of the networks, which have memories of one
    kind. found: results of all lanes, which it fills. lanes: indices of the blocks' lanes. real:
    (n,) bool, false for spare lanes. owner: network of each block. seen: first observations."""

    def __init__(
        self, env: Any, like: Network, stack: Stack, found: Rollout, lanes: Any,
        real: NDArray[np.bool_], owner: Any, seen: Any,
    ) -> None:  # fmt: skip
        self.env, self.network, self.stack, self.found, self.lanes = env, like, stack, found, lanes
        self.running, self.owner, self.returns = real, owner, np.zeros(len(lanes))
        self.memory: Any = None
        self.episodes, self.split = env.episodes, env.task.split
        self.view = self.episodes.batch.block_view()[lanes[0] // LANES :][: len(owner)]
        self._allocate(seen)

    def _allocate(self, seen: Any) -> None:
        n = len(self.lanes)
        self.buffer = self.view.reshape(-1)
        self.actions = np.empty((n, self.episodes.batch.channels))
        self.outputs = self.episodes.room(n)
        self.observations, numbers, flags = self.outputs
        self.observations[...] = seen
        self.rewards, self.ends = numbers[0, :n], flags[:2, :n]

    def step(self) -> None:
        seen = joined(self.split(self.observations)) if self.split else self.observations
        read, self.memory = self.network.read(seen, self.memory, None)
        self.stack.act(self.owner, read, self.actions)
        if not np.isfinite(self.actions).all():
            bad = int(np.argmin(np.isfinite(self.actions).all(axis=1)))
            which = self.owner[bad // LANES]
            raise ValueError(f"networks[{which}] must act finitely, got {self.actions[bad]}")
        self.episodes.try_out(self.buffer, self.actions, self.outputs)
        if self.split:
            goal = self.split(self.observations)
            self.rewards = self.env.compute_reward(goal["achieved_goal"], goal["desired_goal"], {})
        np.add(self.returns, self.rewards, out=self.returns, where=self.running)

    def book(self, steps: int) -> None:
        """Record the results of lanes whose episode has just ended, and drop ended blocks."""
        done = self.running & self.ends.any(axis=0)
        if not done.any():
            return
        found, where, rows = self.found, self.lanes[done], self.episodes.rows
        result = rows.result_row()
        streak, error, rate_error = (
            self.view[:, row].reshape(-1)[done]
            for row in (rows.first_row() + STREAK, result + ERROR, result + RATE_ERROR)
        )
        found.lengths[where], found.returns[where] = steps, self.returns[done]
        found.success[where] = streak >= self.episodes.setup.settled_steps
        found.attitude_error[where], found.rate_error[where] = error, rate_error
        self.running &= ~done
        alive = np.logical_or.reduce(self.running.reshape(-1, LANES), axis=1)
        if alive.sum() > _CLOSE_UP * len(alive):
            return
        lanes, seen = np.repeat(alive, LANES), self.observations
        moved = self.view[alive]
        self.view = self.view[: len(moved)]
        self.view[...] = moved
        self.owner, self.lanes = self.owner[alive], self.lanes[lanes]
        self.running, self.returns = self.running[lanes], self.returns[lanes]
        self.memory = None if self.memory is None else self.memory[lanes]
        self._allocate(seen[lanes])
