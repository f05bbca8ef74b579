"""First episodes of many lanes under networks, without a Python step of the environment.

The kernels of the environment and that of the network are called in turn on a range of bodies that
fits in the processor's cache, until all of its episodes are over; then the next range. Nothing of
the environment is written a second time, and episodes agree to the last bit with those of the
vector environment driven by `Network.predict`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from rbgym import threads
from rbgym.agents.judge.cases import by_name, starts_of, task_of
from rbgym.agents.policies.forward import Stack
from rbgym.agents.policies.network import Network
from rbgym.agents.train.evolution.rollout_range import BLOCKS, Course, run
from rbgym.arguments import count
from rbgym.envs.episodes import checked_seed
from rbgym.layout import LANES

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rollout:
    """What episodes gave; every array is (networks, episodes), and a column has one start state.

    lengths: steps. success: the task's. attitude_error [rad] and rate_error [rad/s]: how far from
    the goal at the end of the episode.
    """

    returns: Array
    lengths: NDArray[np.int64]
    success: NDArray[np.bool_]
    attitude_error: Array
    rate_error: Array

    @property
    def steps(self) -> int:
        """Steps of all episodes together."""
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
    """One episode of each network from each start, actions without noise.

    networks: one, or several of one shape (normalisers may differ). episodes: starts, with the
    seeds seed, seed + 1 and so on; or seeds: one for each start. env_kwargs: arguments of the env;
    hooks by name only. Multiples of 32 episodes fill the vector instructions of the network.

    A result depends on its network and seed only: neither on what runs beside it, nor on the number
    of threads (`rbgym.set_num_threads`). Raises ValueError for bad arguments, a network that does
    not fit the env, and one whose action is not finite.
    """
    task_of(env_id)  # refuses what is none
    env_kwargs, several = by_name("env_kwargs", env_kwargs), _several(networks)
    if seeds is None:
        seeds = range(checked_seed(seed), int(seed) + count("episodes", episodes))
    if not isinstance(seeds, Sequence | np.ndarray) or not len(seeds):
        raise ValueError(f"seeds must be at least one, in a list, got {seeds!r}")
    starts = [checked_seed(one) for one in seeds]
    stack, group = Stack.of(several), -(-len(starts) // LANES) * LANES
    # A network's lanes fill whole blocks: what is beyond its episodes repeats the last of them.
    padded = starts + starts[-1:] * (group - len(starts))
    env: Any = gym.make_vec(
        env_id,
        num_envs=group * len(several),
        autoreset_mode=AutoresetMode.DISABLED,
        **{"vectorization_mode": "vector_entry_point", **env_kwargs},
    ).unwrapped
    try:
        _refuse_what_does_not_fit(env, several[0])
        env.reset(seed=padded * len(several))
        real = np.tile(np.arange(group) < len(starts), len(several))
        course = Course(env, stack, np.arange(len(real)) // group, real)
        threads.over_ranges(len(real) // LANES, partial(run, course), BLOCKS)
    finally:
        env.close()
    shown = {name: value.reshape(len(several), group)[:, : len(starts)].copy()
             for name, value in course.results().items()}  # fmt: skip
    return Rollout(**shown)


def rollout_test_set(
    networks: Network | Sequence[Network],
    env_id: str,
    *,
    episodes: int = 256,
    env_kwargs: Mapping[str, Any] | None = None,
) -> Rollout:
    """The same from the first `episodes` states of the task's fixed test set, in its order: the
    episodes of `rbgym.agents.evaluation.evaluate`. `initial` plays no part."""
    parts, order = [], []
    env_kwargs = by_name("env_kwargs", env_kwargs)
    for case in starts_of(env_id, episodes):
        kwargs = {**env_kwargs, "initial": case.initial}
        parts.append(rollout(networks, env_id, seeds=case.seeds, env_kwargs=kwargs))
        order += case.seeds
    place = np.argsort(order)
    names = ("returns", "lengths", "success", "attitude_error", "rate_error")
    joined = {n: np.concatenate([getattr(part, n) for part in parts], axis=1) for n in names}
    return Rollout(**{name: value[:, place] for name, value in joined.items()})


def _several(networks: Any) -> list[Network]:
    several = list(networks) if isinstance(networks, list | tuple) else [networks]
    for one in several:
        if not isinstance(one, Network):
            raise ValueError(f"networks must be a Network, or a list of them, got {one!r}")
    return several


def _refuse_what_does_not_fit(env: Any, network: Network) -> None:
    setup = env.episodes.setup
    hooks = {"observation": setup.observe, "reward": setup.reward,
             "termination": setup.terminate, "disturbance": setup.disturb}  # fmt: skip
    for name, hook in hooks.items():
        if hook is not None:
            raise ValueError(
                f"{name} must be given by name in a rollout, got the callable {hook!r}: "
                "drive the vector environment by Network.predict"
            )
    space = env.single_observation_space
    width, channels = gym.spaces.flatdim(space), env.single_action_space.shape[0]
    if (network.sizes[0], network.sizes[-1]) != (width, channels):
        raise ValueError(
            f"networks must have {width} inputs and {channels} outputs, got {network.sizes}"
        )
