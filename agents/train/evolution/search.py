"""Policies by evolution: CMA-ES over the weights of a small network, each tried on whole episodes.

Source: Hansen & Ostermeier (2001), Completely derandomized self-adaptation in evolution strategies,
Evolutionary Computation 9(2); the implementation is Hansen's own, `pip install 'rbgym[evolve]'`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rbgym.agents.judge.cases import by_name, task_of
from rbgym.agents.policies.network import Network
from rbgym.agents.train.evolution.generations import (
    LARGEST_SEED,
    Array,
    Generation,
    Objective,
    State,
    saved,
)
from rbgym.agents.train.evolution.rollouts import Rollout
from rbgym.arguments import count, number, positive


def mean_return(tried: Rollout) -> Array:
    """Mean return of each network, (networks,)."""
    mean: Array = tried.returns.mean(axis=1)
    return mean


def return_with_success(tried: Rollout) -> Array:
    """Mean return, times one plus the success rate: where all returns are high, to be done counts.
    For rewards that are positive, (networks,)."""
    return mean_return(tried) * (1.0 + np.asarray(tried.success.mean(axis=1)))


@dataclass(frozen=True)
class Search:
    """The best centre of all generations, and how it came about. reason: what ended the search."""

    network: Network
    history: tuple[Generation, ...]
    reason: str

    @property
    def best(self) -> Generation:
        """The generation that the network is the centre of."""
        return _best(self.history)


def search(
    env_id: str,
    network: Network,
    *,
    generations: int = 300,
    population: int = 64,
    episodes: int = 16,
    sigma: float = 0.5,
    seed: int = 0,
    objective: Objective = mean_return,
    stop_at_success: float | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    path: str | Path | None = None,
    progress: Callable[[Generation], None] = lambda generation: None,
) -> Search:
    """Maximise an objective over the parameters of networks like `network`, where it begins.

    generations: at most so many. population: candidates of a generation, each on the same
    `episodes` starts. sigma: first standard deviation of every parameter. objective: of a rollout,
    one number for each network. stop_at_success: success rate of the best centre that is enough.
    path: a file that keeps the search, written whole after each generation; called again with the
    same arguments (or more generations), the search goes on from it as if it had never stopped. It
    holds pickles: load your own only.

    The result depends on the arguments alone, wall times apart. No start is one of the test set.
    Raises ValueError for bad arguments, and where the file holds another search.
    """
    check_settings(generations, population, episodes, sigma, seed)
    if not isinstance(network, Network):
        raise ValueError(f"network must be a Network, got {network!r}")
    if not callable(objective):
        raise ValueError(f"objective must be callable, got {objective!r}")
    task_of(env_id)  # refuses what is none
    arrays, config = network.to_arrays()
    identity = {
        "env_id": env_id,
        "env_kwargs": by_name("env_kwargs", env_kwargs),
        "network": (network.shape, config, b"".join(part.tobytes() for part in arrays.values())),
        "population": population,
        "episodes": episodes,
        "sigma": sigma,
        "seed": seed,
        "objective": objective.__qualname__,
    }
    file = None if path is None else Path(path)
    state = saved(file, identity) if file else None
    state = state or State.at_start(identity, network)
    while not (reason := _reason(state, generations, stop_at_success)):
        progress(state.advance(objective))
        if file is not None:
            state.save(file)
    return Search(state.best, tuple(state.history), reason)


def _best(history: "list[Generation] | tuple[Generation, ...]") -> Generation:
    return max(history, key=lambda generation: generation.centre)


def _reason(state: State, generations: int, stop_at_success: float | None) -> str:
    """Why the search is over, or an empty string."""
    wanted = np.inf if stop_at_success is None else positive("stop_at_success", stop_at_success)
    if state.history and _best(state.history).success >= wanted:
        return "success"
    if len(state.history) >= generations:
        return "generations"
    return ", ".join(state.strategy.stop())


def check_settings(
    generations: int, population: int, episodes: int, sigma: float, seed: int
) -> None:
    """Raise ValueError for settings that a search refuses, ModuleNotFoundError without pycma."""
    import cma  # noqa: F401

    for name, value, least in (
        ("generations", generations, 1),
        ("population", population, 4),
        ("episodes", episodes, 1),
    ):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"{name} must be an integer from {least} on, got {value!r}")
    count("population", population)
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < LARGEST_SEED:
        raise ValueError(f"seed must be from 0 to {LARGEST_SEED - 1}, got {seed!r}")
    if not 0 < number(sigma) < np.inf:
        raise ValueError(f"sigma must be positive, got {sigma!r}")
