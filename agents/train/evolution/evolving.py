"""Training by evolution in a run's folder: `search`, with hyperparameters from YAML."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rbgym.agents.cases import in_time
from rbgym.agents.run_folder import SEARCH, RunFolder, Training
from rbgym.agents.terminal import Counter, bar
from rbgym.agents.train import presets, run
from rbgym.agents.train.evolution.search import (
    Generation,
    check_settings,
    return_with_success,
    search,
)

ALGORITHM = "cma_es"
_SETTINGS = ("generations", "population", "episodes", "sigma")
_KEYS = (*_SETTINGS, "net_arch", "rates")


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
    """Search a small network into the folder `out`, see `rbgym.agents.train.sb3.training.train`.

    The objective is `return_with_success`. Called again after an interruption, it goes on from the
    last generation. progress: show a bar at a terminal. Raises ValueError for bad arguments, and if
    `out` holds another run.
    """
    chosen = presets.read(ALGORITHM, env_id, hyperparameters, changes, known=_KEYS, needed=_KEYS)
    settings = {key: chosen[key] for key in _SETTINGS} | {"seed": seed}
    check_settings(**settings)
    config = run.config_of(env_id, ALGORITHM, seed, chosen, env_kwargs)
    folder, file = RunFolder(Path(out)), Path(out) / SEARCH
    network, spaces = run.first_network(env_id, ALGORITHM, chosen, seed, config["env_kwargs"])
    if (finished := folder.claim(config, resume)) is not None:
        return Training(folder, finished, None)
    resumed = file.exists()
    with bar(hidden=not progress) as shown:
        count = Counter(shown, "generations", chosen["generations"])

        def follow(now: Generation) -> None:
            count(now.number + 1, chosen["generations"])
            if now.number % 10 == 0:
                success = f"success {100 * now.success:.1f} %"
                report(f"generation {now.number}: objective {now.centre:.1f}, {success}")

        found = search(
            env_id,
            network,
            **settings,
            objective=return_with_success,
            env_kwargs=in_time(env_id, config["env_kwargs"]),
            path=file,
            progress=follow,
        )
    # As of a training by gradients; success and return are those of the search's own starts.
    judgements = [
        {
            "timesteps": g.steps,
            "seconds": g.seconds,
            "success_rate": g.success,
            "mean_return": g.centre / (1.0 + g.success),  # what the objective was made of
        }
        for g in found.history
    ]
    results = {
        "timesteps": found.history[-1].steps,
        "wall_time": found.history[-1].seconds,
        "judgements": judgements,
    }
    return run.finish(folder, config, results, found.network, spaces, int(resumed))
