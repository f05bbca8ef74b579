"""Search for hyperparameters with Optuna, on start states that are not those of the test set."""

import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.exceptions import StorageInternalError
from sqlalchemy.exc import SQLAlchemyError

from rbgym.agents.judge.cases import TUNING_SEEDS, shared
from rbgym.agents.judge.episodes import play_from
from rbgym.agents.policies.sb3 import is_off_policy
from rbgym.agents.run_folder import RunFolder
from rbgym.agents.train.run import load_policy
from rbgym.agents.train.sb3.training import config_of, train
from rbgym.arguments import count

# What a URL that is none, or a damaged database, may raise.
_DAMAGE = (SQLAlchemyError, StorageInternalError, ImportError, LookupError, TypeError, ValueError)
Space = Callable[[optuna.Trial], dict[str, Any]]


def tune(
    env_id: str,
    algo: str = "ppo",
    *,
    trials: int = 20,
    timesteps: int = 100_000,
    storage: str | None = None,
    seed: int = 0,
    space: Space | None = None,
    report: Callable[[str], None] = lambda message: None,
    progress: Callable[[int, int], None] = lambda done, trials: None,
) -> optuna.Study:
    """Run trials of a study, and return it; `study.best_params` are the best hyperparameters.

    What is maximised is the mean return of 64 episodes after `timesteps` of training. Their start
    states belong neither to the test set nor to the training. storage: a URL that Optuna
    understands; None for SQLite in runs/tune. A study that is there goes on, with as many trials
    more. space: hyperparameters of a trial; None for what is usually worth tuning. report: called
    with a message after each trial; progress: with (done, trials) before the first and after each.
    Raises ValueError for bad arguments.
    """
    trials = count("trials", trials)
    propose = space or (_off_policy if is_off_policy(algo) else _on_policy)
    config_of(env_id, algo, seed, timesteps)  # refuses what no trial could do
    trained = partial(train, env_id, algo, seed=seed, timesteps=timesteps)
    starts = shared(env_id, TUNING_SEEDS)  # refuses an env that is no task
    name = f"{env_id.rpartition(':')[2]}-{algo}"
    if storage is None:
        Path("runs").mkdir(exist_ok=True)
        storage = "sqlite:///runs/tune.db"
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.create_study(
            storage=storage, study_name=name, direction="maximize", load_if_exists=True
        )
        before = len(study.trials)
    except _DAMAGE as error:
        raise ValueError(f"storage must be a URL of a database, got {storage!r}: {error}") from None
    # Other trials where a study goes on.
    sampler_seed = int(np.random.SeedSequence([seed, before]).generate_state(1)[0])
    study.sampler = optuna.samplers.TPESampler(seed=sampler_seed)

    def objective(trial: optuna.Trial) -> float:
        with tempfile.TemporaryDirectory() as folder:
            trained(out=folder, changes=propose(trial), progress=False, evaluate_every=0)
            policy = load_policy(RunFolder(Path(folder)))
            return float(play_from(starts, policy, env_id, {}).returns.mean())

    def tell(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        progress(trial.number + 1 - before, trials)
        if trial.value is not None:
            params = trial.params.items()
            shown = (f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in params)
            report(f"trial {trial.number}: return {trial.value:.1f} with {', '.join(shown)}")

    progress(0, trials)
    try:  # hyperparameters that an algorithm refuses, or that diverge, are a failed trial
        study.optimize(objective, n_trials=trials, catch=(ValueError,), callbacks=[tell])
    except (SQLAlchemyError, StorageInternalError) as error:
        raise OSError(f"the study cannot be saved in {storage!r}: {error}") from error
    return study


# What is worth tuning of an algorithm, in ranges that suit many lanes.


def _on_policy(trial: optuna.Trial) -> dict[str, Any]:
    return {
        "n_envs": trial.suggest_categorical("n_envs", [32, 64, 128, 256]),
        "n_steps": trial.suggest_categorical("n_steps", [64, 128, 256]),
        "batch_size": trial.suggest_categorical("batch_size", [512, 1024, 2048]),
        "n_epochs": trial.suggest_int("n_epochs", 4, 16),
        "learning_rate": trial.suggest_float("learning_rate", 1e-4, 3e-3, log=True),
        "gamma": 1.0 - trial.suggest_float("one_minus_gamma", 1e-3, 5e-2, log=True),
        "gae_lambda": trial.suggest_float("gae_lambda", 0.8, 0.99),
        "ent_coef": trial.suggest_float("ent_coef", 1e-8, 1e-2, log=True),
    }


def _off_policy(trial: optuna.Trial) -> dict[str, Any]:
    return {
        "learning_rate": trial.suggest_float("learning_rate", 1e-4, 3e-3, log=True),
        "gamma": 1.0 - trial.suggest_float("one_minus_gamma", 1e-3, 5e-2, log=True),
        "batch_size": trial.suggest_categorical("batch_size", [128, 256, 512]),
        "tau": trial.suggest_float("tau", 1e-3, 5e-2, log=True),
        "train_freq": trial.suggest_categorical("train_freq", [1, 4, 8]),
        "gradient_steps": trial.suggest_categorical("gradient_steps", [1, 4, 8]),
    }


def hyperparameters(params: Mapping[str, Any]) -> dict[str, Any]:
    """The hyperparameters that a trial's parameters stand for."""
    found = dict(params)
    if "one_minus_gamma" in found:
        found["gamma"] = 1.0 - found.pop("one_minus_gamma")
    return found
