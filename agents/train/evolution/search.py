"""Policies by evolution: CMA-ES over the weights of a small network, each tried on whole episodes.

Source: Hansen & Ostermeier (2001), Completely derandomized self-adaptation in evolution strategies,
Evolutionary Computation 9(2); the implementation is Hansen's own, `pip install 'rbgym[evolve]'`.
"""

import pickle
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from rbgym.agents.cases import by_name, task_of
from rbgym.agents.policies.network import Network
from rbgym.agents.run_folder import replacing
from rbgym.agents.train.evolution.rollouts import Rollout, rollout
from rbgym.arguments import count, positive
from rbgym.quaternion import Array

Objective = Callable[[Rollout], Array]

# Beyond the test set, as all seeds from here on: the starts on which the centre is judged, then
# those of training, new ones in every generation.
JUDGED = range(2**32, 2**32 + 64)
_TRAINED = 2**33
_SEEDS = 2**30


def mean_return(tried: Rollout) -> Array:
    """Mean return of each network, (networks,)."""
    return tried.returns.mean(axis=1)


def return_with_success(tried: Rollout) -> Array:
    """Mean return, times one plus the success rate: where all returns are high, to be done counts.
    For rewards that are positive, (networks,)."""
    return mean_return(tried) * (1.0 + np.asarray(tried.success.mean(axis=1)))


@dataclass(frozen=True)
class Generation:
    """One generation of a search.

    best, mean: objective of the candidates, on this generation's starts. centre, success: objective
    and success rate of the distribution's centre, on 64 starts that stay the same. sigma: overall
    step size. episodes, steps, seconds: so far, the judging included.
    """

    number: int
    best: float
    mean: float
    centre: float
    success: float
    sigma: float
    episodes: int
    steps: int
    seconds: float


@dataclass(frozen=True)
class Search:
    """The best centre of all generations, and how it came about. reason: what ended the search."""

    network: Network
    history: tuple[Generation, ...]
    reason: str

    @property
    def best(self) -> Generation:
        """The generation that the network is the centre of."""
        return max(self.history, key=lambda generation: generation.centre)


class _Normal:
    """Where CMA-ES takes its random numbers from, instead of NumPy's global generator."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)

    def __call__(self, *shape: int) -> Array:
        return self.generator.standard_normal(shape)


class State:
    """Everything that the next generation depends on.

    identity: what makes two searches the same. best: the centre that was the best so far, or the
    network that the search began with.
    """

    def __init__(self, identity: dict[str, Any], network: Network) -> None:
        import cma

        options = {
            "popsize": identity["population"],
            "randn": _Normal(identity["seed"]),
            "seed": np.nan,  # leave the global generator alone
            "verbose": -9,
            "verb_log": 0,
            "maxiter": np.inf,
        }
        first = network.parameters().astype(np.float64)
        self.strategy: Any = cma.CMAEvolutionStrategy(first, identity["sigma"], options)
        self.identity, self.best = identity, network
        self.history: list[Generation] = []

    def advance(self, objective: Objective) -> Generation:
        """Try a population, learn from it, and judge the new centre."""
        began, strategy, asked = time.perf_counter(), self.strategy, self.identity
        play = partial(rollout, env_id=asked["env_id"], env_kwargs=asked["env_kwargs"])
        candidates, episodes = strategy.ask(), asked["episodes"]
        first = _TRAINED * (1 + asked["seed"]) + len(self.history) * episodes
        networks = [self.best.with_parameters(vector) for vector in candidates]
        tried = play(networks, seeds=range(first, first + episodes))
        values = objective(tried)
        strategy.tell(candidates, (-values).tolist())
        centre = self.best.with_parameters(strategy.mean)
        judged = play(centre, seeds=JUDGED)
        last = self.history[-1] if self.history else None
        generation = Generation(
            number=len(self.history),
            best=float(values.max()),
            mean=float(values.mean()),
            centre=float(objective(judged)[0]),
            success=float(judged.success.mean()),
            sigma=float(strategy.sigma),
            episodes=(last.episodes if last else 0) + tried.returns.size + judged.returns.size,
            steps=(last.steps if last else 0) + tried.steps + judged.steps,
            seconds=(last.seconds if last else 0.0) + time.perf_counter() - began,
        )
        if all(generation.centre > earlier.centre for earlier in self.history):
            self.best = centre
        self.history.append(generation)
        return generation

    def save(self, file: Path) -> None:
        """Write the file, whole or not at all."""
        with replacing(file) as temporary:
            temporary.write_bytes(pickle.dumps(self))


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
    env_kwargs: Mapping[str, Any] | None = None,
    path: str | Path | None = None,
    progress: Callable[[Generation], None] = lambda generation: None,
) -> Search:
    """Maximise an objective over the parameters of networks like `network`, where it begins.

    generations: at most so many. population: candidates of a generation, each on the same
    `episodes` starts. sigma: first standard deviation of every parameter. objective: of a rollout,
    one number for each network.
    path: a file that keeps the search, written whole after each generation; called again with the
    same arguments (or more generations), the search goes on from it as if it had never stopped. It
    holds pickles: load your own only.

    The result depends on the arguments only, wall times apart. No start is one of the test set.
    Raises ValueError for bad arguments, and where the file holds another search.
    """
    check_settings(generations, population, episodes, sigma, seed)
    if not isinstance(network, Network):
        raise ValueError(f"network must be a Network, got {network!r}")
    if not callable(objective):
        raise ValueError(f"objective must be callable, got {objective!r}")
    task_of(env_id)  # raises where it is no task
    arrays, config = network.to_arrays()
    identity = {
        "env_id": env_id,
        "env_kwargs": by_name("env_kwargs", env_kwargs, must_end=True),
        "network": (network.shape, config, b"".join(part.tobytes() for part in arrays.values())),
        "population": population,
        "episodes": episodes,
        "sigma": sigma,
        "seed": seed,
        "objective": objective.__qualname__,
    }
    file = None if path is None else Path(path)
    state = _saved(file, identity) if file and file.exists() else State(identity, network)
    while True:
        found = Search(state.best, tuple(state.history), ", ".join(state.strategy.stop()))
        if len(found.history) >= generations:
            return replace(found, reason="generations")
        if found.reason:
            return found
        progress(state.advance(objective))
        if file is not None:
            state.save(file)


def check_settings(
    generations: int, population: int, episodes: int, sigma: float, seed: int
) -> None:
    """Raise ValueError for settings that a search refuses, ModuleNotFoundError without pycma."""
    if find_spec("cma") is None:
        why = "No module named 'cma': evolution needs pip install 'rbgym[evolve]'"
        raise ModuleNotFoundError(why, name="cma")
    count("generations", generations)
    count("episodes", episodes)
    if count("population", population) < 4:
        raise ValueError(f"population must be an integer from 4 on, got {population!r}")
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < _SEEDS:
        raise ValueError(f"seed must be from 0 to {_SEEDS - 1}, got {seed!r}")
    positive("sigma", sigma)


def _saved(file: Path, identity: dict[str, Any]) -> State:
    """The search that a file holds; ValueError where it is another search."""
    try:
        state: State = pickle.loads(file.read_bytes())
        there = state.identity
    except Exception as error:  # whatever a damaged pickle, or one of another version, raises
        raise ValueError(f"{str(file)!r} holds no search: {error}") from None
    if differing := [name for name in identity if there.get(name) != identity[name]]:
        raise ValueError(
            f"{str(file)!r} holds another search, with other {', '.join(differing)}: "
            "choose another file, or remove it"
        )
    return state
