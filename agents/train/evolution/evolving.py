"""Training by evolution in a run's folder: `rbgym.agents.search`, hyperparameters from YAML."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from rich.progress import Progress

from rbgym.agents.policies import trained
from rbgym.agents.policies.network import Network, Normalizer
from rbgym.agents.run_folder import SEARCH, RunFolder, Training, write_json
from rbgym.agents.terminal import Counter, bar
from rbgym.agents.train import presets
from rbgym.agents.train.evolution.generations import LARGEST_SEED, Generation
from rbgym.agents.train.evolution.search import Search, check_settings, return_with_success, search
from rbgym.agents.train.judging import THRESHOLD
from rbgym.agents.train.run_config import TOLD, described
from rbgym.envs.parts.observations import FORMS

ALGORITHM = "cma_es"
_KEYS = ("net_arch", "generations", "population", "episodes", "sigma", "rates")
Spaces = tuple[gym.spaces.Box, gym.spaces.Box]


def evolve(
    env_id: str,
    *,
    out: str | Path,
    seed: int = 0,
    hyperparameters: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
    resume: bool = True,
    env_kwargs: dict[str, Any] | None = None,
    report: Callable[[str], None] = lambda message: None,
    progress: bool = True,
) -> Training:
    """Search a small network into the folder `out`, as `rbgym.agents.training.train` does.

    The objective is `return_with_success`. Called again after an interruption, it goes on from the
    last generation. progress: show a bar at a terminal. Raises ValueError for bad arguments, and if
    `out` holds another run.
    """
    kwargs = dict(env_kwargs or {})
    chosen = presets.block(ALGORITHM, env_id, hyperparameters, changes)
    presets.require_known("hyperparameters", chosen, _KEYS)
    _check(chosen)
    config = described(env_id, ALGORITHM, seed, chosen, kwargs)
    folder, file = RunFolder(Path(out)), Path(out) / SEARCH
    first, spaces = _first(env_id, chosen, seed, kwargs)
    settings = {key: chosen[key] for key in ("generations", "population", "episodes", "sigma")}
    check_settings(**settings, seed=seed)
    if not resume:
        folder.clear()
    folder.claim(config)
    if folder.results.exists():
        return Training(folder, folder.read_results(), None)
    resumed = file.exists()
    with bar() if progress else nullcontext() as shown:
        found = search(
            env_id,
            first,
            **settings,
            seed=seed,
            objective=return_with_success,
            env_kwargs=kwargs,
            path=file,
            progress=_telling(report, shown, chosen["generations"]),
        )
    results = _results(found)
    told = {key: config[key] for key in TOLD} | {"training": results}
    trained.write(folder.path, found.network, spaces, told)
    write_json(folder.results, results)
    return Training(folder, results, 1 if resumed else 0)


def _check(chosen: Mapping[str, Any]) -> None:
    """Raise ValueError for what is missing, or cannot be a network."""
    missing = [key for key in _KEYS if key not in chosen]
    if missing:
        raise ValueError(f"hyperparameters must have {list(_KEYS)}, got none of {missing}")
    hidden, rates = chosen["net_arch"], chosen["rates"]
    if not isinstance(hidden, list) or not all(isinstance(n, int) and n > 0 for n in hidden):
        raise ValueError(f"net_arch must be a list of positive integers, got {hidden!r}")
    if not isinstance(rates, int | float) or not rates > 0:
        raise ValueError(f"rates must be a positive number, got {rates!r}")


def _first(
    env_id: str, chosen: Mapping[str, Any], seed: int, kwargs: dict[str, Any]
) -> tuple[Network, Spaces]:
    """Random weights, behind a normaliser that shows rates larger; and the env's spaces."""
    if not 0 <= seed < LARGEST_SEED:
        raise ValueError(f"seed must be from 0 to {LARGEST_SEED - 1}, got {seed!r}")
    form = kwargs.get("observation", "quaternion")
    if not isinstance(form, str) or form not in FORMS:
        raise ValueError(f"observation must be one of {list(FORMS)} for {ALGORITHM}, got {form!r}")
    env = gym.make(env_id, **kwargs)
    try:
        seen, done = env.observation_space, env.action_space
    finally:
        env.close()
    if not (isinstance(seen, gym.spaces.Box) and isinstance(done, gym.spaces.Box)):
        raise ValueError(f"env_id must be a task whose observations are a box, got {env_id!r}")
    rates = len(FORMS[form].low)
    variance = np.ones(seen.shape[0])
    variance[rates : rates + 3] = chosen["rates"] ** -2.0
    sizes = (seen.shape[0], *chosen["net_arch"], done.shape[0])
    normalizer = Normalizer(np.zeros(len(variance)), variance)
    return Network.random(sizes, seed, normalizer=normalizer), (seen, done)


def _telling(
    report: Callable[[str], None], shown: Progress | None, generations: int
) -> Callable[[Generation], None]:
    count = Counter(shown, "generations", generations) if shown else None

    def told(generation: Generation) -> None:
        if count:
            count(generation.number + 1, generations)
        if generation.number % 10 == 0:
            success = f"success {100 * generation.success:.1f} %"
            report(f"generation {generation.number}: objective {generation.centre:.1f}, {success}")

    return told


def _results(found: Search) -> dict[str, Any]:
    """As of a training by gradients; success and return are those of the search's own starts."""
    last = found.history[-1]
    reached = (g.seconds for g in found.history if g.success >= THRESHOLD)
    return {
        "timesteps": last.steps,
        "wall_time": last.seconds,
        "steps_per_second": last.steps / last.seconds,
        "time_to_threshold": next(reached, None),
        "replay_buffer_bytes": 0,
        "judgements": [
            {
                "timesteps": g.steps,
                "seconds": g.seconds,
                "success_rate": g.success,
                "mean_return": g.centre / (1.0 + g.success),  # what the objective was made of
            }
            for g in found.history
        ],
    }
