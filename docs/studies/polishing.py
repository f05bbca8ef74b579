"""A trained policy made surer: CMA-ES over its last layer, on whole episodes.

What a policy gradient leaves undone at the edge of the tolerances, a search for success does. The
layers before the last stay, so that there are few hundred parameters. The starts are those of the
categories of the task's test set, with other seeds; those of 4096 at which the policy fails come
again and again.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import cma
import numpy as np

from rbgym.agents.cases import Starts, shared
from rbgym.agents.policies import Network
from rbgym.agents.train import Rollout, rollout
from rbgym.agents.train.evolution.search import return_with_success
from rbgym.quaternion import Array

POPULATION, EPISODES, HARD, JUDGED_EVERY = 24, 32, 32, 5
JUDGED = range(2**32, 2**32 + 1024)
MINED = range(2**32 + 2**20, 2**32 + 2**20 + 4096)
_TRAINED = 2**33


def played(networks: list[Network], env_id: str, starts: list[Starts], kwargs: Any) -> Rollout:
    """Episodes of each network from these starts."""
    parts = [
        rollout(networks, env_id, seeds=one.seeds, env_kwargs={**kwargs, "initial": one.category})
        for one in starts
    ]
    every = zip(*(vars(part).values() for part in parts), strict=True)
    return Rollout(*(np.concatenate(values, axis=1) for values in every))


def failures(network: Network, env_id: str, kwargs: Any) -> list[Starts]:
    """Starts of MINED from which the network fails, at most HARD."""
    starts = shared(env_id, MINED)
    failed = iter(~played([network], env_id, starts, kwargs).success[0])
    found = [one._replace(seeds=[s for s in one.seeds if next(failed)]) for one in starts]
    found = [one._replace(seeds=one.seeds[: HARD // len(starts)]) for one in found]
    return [one for one in found if one.seeds]


def polished(
    network: Network,
    env_id: str,
    *,
    generations: int,
    seed: int = 0,
    env_kwargs: dict[str, Any] | None = None,
    sigma: float,
    report: Callable[[str], None] = lambda message: None,
) -> tuple[Network, dict[str, Any]]:
    """The network with the best last layer that was judged, and what it took.

    sigma: first standard deviation over that of the layer's weights.
    """
    began, steps, kwargs = time.perf_counter(), 0, env_kwargs or {}
    *before, (weight, bias) = network.layers
    first = np.concatenate([weight.ravel(), bias]).astype(float)
    rng = np.random.default_rng(seed)
    options = {"popsize": POPULATION, "seed": np.nan, "verbose": -9, "verb_log": 0,
               "randn": lambda *shape: rng.standard_normal(shape)}  # fmt: skip
    strategy: Any = cma.CMAEvolutionStrategy(first, sigma * float(weight.std()), options)

    def made(vector: Array) -> Network:
        last = vector[: weight.size].reshape(weight.shape), vector[weight.size :]
        return replace(network, layers=(*before, last))

    best, worth, hard = network, (-1.0, 0.0), failures(network, env_id, kwargs)
    report(f"fails from {sum(len(one.seeds) for one in hard)} starts or more of {len(MINED)}")
    for generation in range(generations + 1):
        if generation % JUDGED_EVERY == 0:
            centre = made(strategy.mean)
            found = played([centre], env_id, shared(env_id, JUDGED), kwargs)
            value = float(found.success.mean()), float(found.returns.mean())
            steps += found.steps
            report(f"generation {generation}: success {value[0]:.4f}, return {value[1]:.2f}")
            if value > worth:
                best, worth = centre, value
        candidates = strategy.ask()
        start = _TRAINED * (1 + seed) + generation * EPISODES
        starts = shared(env_id, range(start, start + EPISODES)) + hard
        tried = played([made(vector) for vector in candidates], env_id, starts, kwargs)
        steps += tried.steps
        strategy.tell(candidates, (-return_with_success(tried)).tolist())
    seconds = round(time.perf_counter() - began, 1)
    return best, {"generations": generations, "steps": steps, "seconds": seconds, "seed": seed}
