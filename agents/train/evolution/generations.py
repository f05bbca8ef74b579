"""The generations of a search by CMA-ES: its state, one step of it, and the file that keeps it."""

import hashlib
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbgym.agents.policies.network import Network
from rbgym.agents.run_folder import replacing
from rbgym.agents.train.evolution.rollouts import Rollout, rollout

Array = NDArray[np.float64]
Objective = Callable[[Rollout], Array]

# Beyond the test set, as all seeds from here on: the starts on which the centre is judged, then
# those of training, new ones in every generation.
JUDGED = range(2**32, 2**32 + 64)
_TRAINED = 2**33
LARGEST_SEED = 2**30
_DIGEST = hashlib.sha256().digest_size  # bytes before the pickle, which tell a damaged file


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


class _Normal:
    """Where CMA-ES takes its random numbers from, instead of NumPy's global generator."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)

    def __call__(self, *shape: int) -> Array:
        return self.generator.standard_normal(shape)


@dataclass
class State:
    """Everything that the next generation depends on.

    identity: what makes two searches the same. best: the centre that was the best so far, or the
    network that the search began with.
    """

    identity: dict[str, Any]
    strategy: Any
    best: Network
    history: list[Generation] = field(default_factory=list)

    @classmethod
    def at_start(cls, identity: dict[str, Any], network: Network) -> "State":
        """Before the first generation."""
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
        strategy = cma.CMAEvolutionStrategy(first, identity["sigma"], options)
        return cls(identity, strategy, network)

    def advance(self, objective: Objective) -> Generation:
        """Try a population, learn from it, and judge the new centre."""
        began, strategy = time.perf_counter(), self.strategy
        candidates = strategy.ask()
        tried = self._tried([self.best.with_parameters(vector) for vector in candidates])
        values = objective(tried)
        strategy.tell(candidates, (-values).tolist())
        centre = self.best.with_parameters(strategy.mean)
        judged = self._tried(centre, JUDGED)
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

    def _tried(self, networks: Network | list[Network], seeds: range | None = None) -> Rollout:
        """Episodes from these starts, or from those of this generation."""
        identity = self.identity
        if seeds is None:
            episodes = identity["episodes"]
            first = _TRAINED * (1 + identity["seed"]) + len(self.history) * episodes
            seeds = range(first, first + episodes)
        return rollout(networks, identity["env_id"], seeds=seeds, env_kwargs=identity["env_kwargs"])

    def save(self, file: Path) -> None:
        """Write the file, whole or not at all."""
        with replacing(file) as temporary:
            content = pickle.dumps(self)
            temporary.write_bytes(hashlib.sha256(content).digest() + content)


def saved(file: Path, identity: dict[str, Any]) -> State | None:
    """The search that a file holds; None without a file, ValueError where it is another search."""
    if not file.exists():
        return None
    written = file.read_bytes()
    digest, content = written[:_DIGEST], written[_DIGEST:]
    if hashlib.sha256(content).digest() != digest:
        raise ValueError(f"{str(file)!r} holds no search, or a damaged one")
    try:
        state = pickle.loads(content)
        there: dict[str, Any] = state.identity
    except (pickle.UnpicklingError, AttributeError, ImportError) as error:  # of another version
        raise ValueError(f"{str(file)!r} holds no search: {error}") from None
    differing = [name for name in identity if there.get(name) != identity[name]]
    if differing:
        raise ValueError(
            f"{str(file)!r} holds another search, with other {', '.join(differing)}: "
            "choose another file, or remove it"
        )
    assert isinstance(state, State)
    return state
