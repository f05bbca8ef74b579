"""Tools that train policies. Each is imported at its first use, as it may need an extra."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rbgym.agents.extras import naming_extra
from rbgym.agents.run_folder import Training
from rbgym.arguments import flag
from rbgym.envs.arguments import keys, named

if TYPE_CHECKING:
    from rbgym.agents.train.gradients import DifferentiableEnv as DifferentiableEnv
    from rbgym.agents.train.rollouts import Rollout as Rollout
    from rbgym.agents.train.rollouts import rollout as rollout
    from rbgym.agents.train.rollouts import rollout_test_set as rollout_test_set
    from rbgym.agents.train.run import load_policy as load_policy
    from rbgym.agents.train.sb3.adapter import VectorEnvAdapter as VectorEnvAdapter
    from rbgym.agents.train.sb3.adapter import make_sb3_env as make_sb3_env

_MODULES = {
    "gradients": ("DifferentiableEnv",),
    "rollouts": ("Rollout", "rollout", "rollout_test_set"),
    "run": ("load_policy",),
    "sb3.adapter": ("VectorEnvAdapter", "make_sb3_env"),
}
_OF_SB3 = {"checkpoint_every", "evaluate_every", "threads"}  # arguments of its algorithms alone
_OTHERS = {"auto": "auto", "apg": "analytic"}  # algorithm -> its module


@naming_extra()
def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@naming_extra()
def train(
    env_id: str,
    algo: str = "auto",
    *,
    out: str | Path,
    seed: int = 0,
    hyperparameters: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    init_from: str | Path | None = None,
    resume: bool | None = True,
    progress: bool | None = None,
    report: Callable[[str], None] = lambda message: None,
    **more: Any,
) -> Training:
    """Train a policy into the folder `out`.

    algo: auto, which imitates a law and improves on it; ppo, sac, tqc, recurrent_ppo; apg, which
    uses gradients through the physics. hyperparameters: a YAML file that replaces ours; changes:
    values that override the file's. env_kwargs: arguments of the env. init_from: folder of the
    policy from which auto and apg start, without an imitation, and whose layers they keep. resume:
    continue from the last checkpoint, and do nothing if the run is finished; False discards the
    folder's content. progress: show a bar at a terminal. report: called with messages for people.
    more: timesteps; callbacks, which auto and apg call with the `Learner` after each iteration; and
    the arguments of Stable-Baselines3's algorithms alone, see
    `rbgym.agents.train.sb3.training.learn`. None counts as left out.

    Raises ValueError for bad arguments, one that `algo` does not use, and an `out` of another run.
    """
    from rbgym.agents.train.run import Job

    ours, shown = isinstance(algo, str) and algo in _OTHERS, progress is not False
    job = Job(env_id, algo, out, seed, hyperparameters, changes, env_kwargs, init_from,
              resume is None or flag("resume", resume), shown, report)  # fmt: skip
    if Path(out) == Path() and not Path("config.json").exists():  # as of an empty shell variable
        raise ValueError(f"out must name a folder, got {str(out)!r}")
    own = keys("train's other arguments", more, ("timesteps", "callbacks", *sorted(_OF_SB3)))
    given = {name: value for name, value in own.items() if value is not None}
    calls = given.get("callbacks", ())
    if not isinstance(calls, list | tuple) or not all(
        callable(one) if ours else hasattr(one, "init_callback") for one in calls
    ):
        kind = "functions" if ours else "Stable-Baselines3's callbacks"
        raise ValueError(f"callbacks must be a list of {kind}, got {calls!r}")
    if ours:
        for name in given.keys() & _OF_SB3:
            raise ValueError(f"{name} plays no part with {algo}, got {given[name]!r}")
        return import_module(f"{__name__}.{_OTHERS[algo]}").learn(job, **given)
    from rbgym.agents.policies.sb3 import ALGORITHMS
    from rbgym.agents.train.sb3 import training as sb3

    named("algo", algo, (*ALGORITHMS, *_OTHERS))
    return sb3.learn(job, **given)


@naming_extra()
def hyperparameters_of(
    env_id: str,
    algo: str = "auto",
    file: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
    init_from: str | Path | None = None,
    timesteps: int | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What `train` would train with: the hyperparameters, and under "algo" the algorithm, which
    auto may choose. Raises ValueError as `train` does, but for what only a network, a model or
    another algorithm's env can check."""
    from rbgym.agents.cases import spec_of
    from rbgym.agents.policies.sb3 import ALGORITHMS
    from rbgym.agents.train import presets
    from rbgym.agents.train.run import Job

    spec_of(env_id)  # raises, with a near name
    named("algo", algo, (*ALGORITHMS, *_OTHERS))
    job = Job(env_id, algo, ".", 0, file, changes, env_kwargs, init_from)
    if algo == "auto":
        algo, chosen, _ = import_module(f"{__name__}.auto").decide(job, timesteps)
    elif algo == "apg":
        chosen = import_module(f"{__name__}.analytic").recipe(job, timesteps)
    if algo not in _OTHERS:
        chosen = presets.of_sb3(algo, env_id, file, changes, timesteps)
    return {**chosen, "algo": algo}
