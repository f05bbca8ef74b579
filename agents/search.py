"""Policies by evolution: CMA-ES over the weights of a small network, each tried on whole episodes.

Source: Hansen & Ostermeier (2001), Completely derandomized self-adaptation in evolution strategies,
Evolutionary Computation 9(2); the implementation is Hansen's own, `pip install 'rbgym[evolve]'`.
"""

import pickle
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbgym.agents.network import Network
from rbgym.agents.rollout import Rollout, rollout
from rbgym.agents.run_folder import replacing

Array = NDArray[np.float64]
Objective = Callable[[Rollout], Array]

# Beyond the test set, as all seeds from here on: the starts on which the centre is judged, then
# those of training, new ones in every generation.
_JUDGED = range(2**32, 2**32 + 64)
_TRAINED, _LARGEST_SEED = 2**33, 2**30


def mean_return(tried: Rollout) -> Array:
    """Mean return of each network, (networks,)."""
    mean: Array = tried.returns.mean(axis=1)
    return mean


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


@dataclass
class _State:
    """Everything that the next generation depends on; what is saved."""

    identity: dict[str, Any]
    strategy: Any
    best: Network
    history: list[Generation] = field(default_factory=list)


def search(
    env_id: str,
    network: Network,
    *,
    generations: int = 300,
    population: int = 48,
    episodes: int = 16,
    sigma: float = 0.3,
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
    one number for each network. stop_at_success: success rate of the centre that is enough. path: a
    file that keeps the search, written whole after each generation; called again with the same
    arguments (or more generations), the search goes on from it as if it had never stopped. It holds
    pickles: load your own only.

    The result depends on the arguments alone, wall times apart. No start is one of the test set.
    Raises ValueError for bad arguments, and where the file holds another search.
    """
    for name, value, least in (("generations", generations, 1), ("population", population, 4),
                               ("episodes", episodes, 1)):  # fmt: skip
        if not isinstance(value, int) or value < least:
            raise ValueError(f"{name} must be an integer from {least} on, got {value!r}")
    if not 0 <= seed < _LARGEST_SEED:
        raise ValueError(f"seed must be from 0 to {_LARGEST_SEED - 1}, got {seed!r}")
    if not 0 < sigma < np.inf:
        raise ValueError(f"sigma must be positive, got {sigma!r}")
    identity = {
        "env_id": env_id, "shape": network.shape, "population": population, "episodes": episodes,
        "sigma": sigma, "seed": seed, "objective": objective.__qualname__,
        "env_kwargs": dict(env_kwargs or {}), "first": network.parameters().tobytes(),
    }  # fmt: skip
    file = None if path is None else Path(path)
    state = _resumed(file, identity) or _State(identity, _strategy(identity, network), network)
    reason = _reason(state, generations, stop_at_success)
    while not reason:
        progress(_generation(state, objective))
        if file is not None:
            with replacing(file) as temporary:
                temporary.write_bytes(pickle.dumps(state))
        reason = _reason(state, generations, stop_at_success)
    return Search(state.best, tuple(state.history), reason)


def _strategy(identity: dict[str, Any], network: Network) -> Any:
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
    return cma.CMAEvolutionStrategy(first, identity["sigma"], options)


def _generation(state: _State, objective: Objective) -> Generation:
    """Try a population, learn from it, and judge the new centre."""
    began, strategy, identity = time.perf_counter(), state.strategy, state.identity
    episodes, number = identity["episodes"], len(state.history)
    first = _TRAINED * (1 + identity["seed"]) + number * episodes
    candidates = strategy.ask()
    tried = rollout(
        [state.best.with_parameters(vector) for vector in candidates],
        identity["env_id"],
        seeds=range(first, first + episodes),
        env_kwargs=identity["env_kwargs"],
    )
    values = objective(tried)
    strategy.tell(candidates, (-values).tolist())
    centre = state.best.with_parameters(strategy.mean)
    judged = rollout(centre, identity["env_id"], seeds=_JUDGED, env_kwargs=identity["env_kwargs"])
    last = state.history[-1] if state.history else None
    generation = Generation(
        number=number,
        best=float(values.max()),
        mean=float(values.mean()),
        centre=float(objective(judged)[0]),
        success=float(judged.success.mean()),
        sigma=float(strategy.sigma),
        episodes=(last.episodes if last else 0) + tried.returns.size + judged.returns.size,
        steps=(last.steps if last else 0) + tried.steps + judged.steps,
        seconds=(last.seconds if last else 0.0) + time.perf_counter() - began,
    )
    if all(generation.centre > earlier.centre for earlier in state.history):
        state.best = centre
    state.history.append(generation)
    return generation


def _reason(state: _State, generations: int, stop_at_success: float | None) -> str:
    """Why the search is over, or an empty string."""
    if stop_at_success is not None and state.history:
        best = max(state.history, key=lambda generation: generation.centre)
        if best.success >= stop_at_success:
            return "success"
    if len(state.history) >= generations:
        return "generations"
    return ", ".join(state.strategy.stop())


def _resumed(file: Path | None, identity: dict[str, Any]) -> _State | None:
    """The search that a file holds; None without one, ValueError where it is another."""
    if file is None or not file.exists():
        return None
    try:
        state = pickle.loads(file.read_bytes())
        there: dict[str, Any] = state.identity
    except (pickle.UnpicklingError, EOFError, AttributeError) as error:
        raise ValueError(f"{str(file)!r} holds no search: {error}") from None
    differing = [name for name in identity if there.get(name) != identity[name]]
    if differing:
        raise ValueError(
            f"{str(file)!r} holds another search, with other {', '.join(differing)}: "
            "choose another file, or remove it"
        )
    assert isinstance(state, _State)
    return state
