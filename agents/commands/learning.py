"""`rbgym train` and `rbgym tune`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rbgym.agents.commands import completion
from rbgym.agents.commands.app import TRAIN, app, examples
from rbgym.agents.commands.options import Env, EnvArgs, Json, env_args, folder_to_make, pairs, say


@app.command(
    rich_help_panel=TRAIN,
    epilog=examples(
        "rbgym train RigidTop-v0 --timesteps 100000 --out runs/first",
        "rbgym train TopSwingUp-v0 --algo cma_es",
        "rbgym train AttitudeSlew-v0 --set learning_rate=1e-3 --env-arg integrator=akw",
    ),
)
def train(
    env: Env,
    algo: Annotated[
        str,
        typer.Option(
            help="ppo, sac, td3, tqc, recurrent_ppo or cma_es; ppo with rllib.",
            autocompletion=completion.algorithms,
        ),
    ] = "ppo",
    engine: Annotated[
        str,
        typer.Option(help="sb3, or rllib for many machines.", autocompletion=completion.engines),
    ] = "sb3",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the run; default runs/ENV-ALGO-SEED.", callback=folder_to_make
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of training.")] = 0,
    timesteps: Annotated[
        int | None, typer.Option(help="Env steps, up to whole rollouts; default as tuned.")
    ] = None,
    hyperparameters: Annotated[
        Path | None,
        typer.Option(
            help="YAML like that of rl-baselines3-zoo, in place of ours.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    change: Annotated[
        list[str] | None, typer.Option("--set", help="KEY=VALUE, one hyperparameter.")
    ] = None,
    env_arg: EnvArgs = None,
    checkpoint_every: Annotated[
        int | None, typer.Option(help="Env steps between checkpoints; default 50,000.")
    ] = None,
    evaluate_every: Annotated[
        int | None, typer.Option(help="Env steps between runs on the test set; 0: never.")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Of torch; default 1.")] = None,
    overwrite: Annotated[bool, typer.Option(help="Start anew; lose what OUT holds.")] = False,
    ray: Annotated[
        str | None, typer.Option(help="rllib: the Ray cluster, host:port or auto; default local.")
    ] = None,
    runners: Annotated[
        int | None, typer.Option(help="rllib: processes that step lanes; default 2.")
    ] = None,
    progress: Annotated[
        bool | None, typer.Option("--progress/--no-progress", help="Show a progress bar.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a policy.

    The same command resumes an interrupted run from its last checkpoint; a finished one stays.
    """
    from rbgym.agents.commands import tables
    from rbgym.agents.train import engines

    name = algo if engine == "sb3" else f"{engine}-{algo}"
    done = engines.train(
        env,
        algo,
        engine,
        out=out or Path("runs") / f"{env.rpartition(':')[2]}-{name}-{seed}",
        seed=seed,
        hyperparameters=hyperparameters,
        changes=pairs("set", change),
        env_kwargs=env_args(env_arg),
        resume=not overwrite,
        report=say,
        timesteps=timesteps,
        checkpoint_every=checkpoint_every,
        evaluate_every=evaluate_every,
        threads=threads,
        progress=progress,
        address=ray,
        runners=runners,
    )
    if as_json:
        tables.print_json(done.results)
        return
    steps, seconds = done.results["timesteps"], done.results["wall_time"]
    if done.resumed_from is None:
        typer.echo(
            f"{done.folder.path} was finished before ({steps} steps): --overwrite trains it anew"
        )
    else:
        outcome = _outcome(done.results)
        typer.echo(f"trained {steps} steps in {seconds:.1f} s{outcome}: {done.folder.policy}")


def _outcome(results: dict[str, Any]) -> str:
    """What the last look at the policy gave, if there was one."""
    if not results.get("judgements"):
        return ""
    last = results["judgements"][-1]
    return f", success {100 * last['success_rate']:.1f} %, mean return {last['mean_return']:.1f}"


@app.command(
    rich_help_panel=TRAIN,
    epilog=examples(
        "rbgym tune RigidTop-v0 --trials 20",
        "rbgym tune AttitudeSlew-v0 --algo sac --timesteps 50000",
        "rbgym tune AttitudeSlew-v0 --storage sqlite:///slew.db --json",
    ),
)
def tune(
    env: Env,
    algo: Annotated[
        str, typer.Option(help="As for train.", autocompletion=completion.algorithms)
    ] = "ppo",
    trials: Annotated[int, typer.Option(help="How many trainings more.")] = 20,
    timesteps: Annotated[int, typer.Option(help="Env steps of each.")] = 100_000,
    storage: Annotated[
        str | None, typer.Option(help="URL of the study; default sqlite:///runs/tune.db.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the search and of each training.")] = 0,
    as_json: Json = False,
) -> None:
    """Search for hyperparameters with Optuna.

    The same command goes on with the study, with as many trials more.
    """
    from rbgym.agents.commands import tables
    from rbgym.agents.terminal import Counter, bar
    from rbgym.agents.train import tuning

    with bar() as shown:
        study = tuning.tune(
            env,
            algo,
            trials=trials,
            timesteps=timesteps,
            storage=storage,
            seed=seed,
            report=say,
            progress=Counter(shown, "trials"),
        )
    if not any(trial.value is not None for trial in study.trials):
        raise ValueError(f"none of {len(study.trials)} trials could be trained to its end")
    best: dict[str, Any] = {
        "trial": study.best_trial.number,
        "return": study.best_value,
        "hyperparameters": tuning.hyperparameters(study.best_params),
    }
    if as_json:
        tables.print_json(best)
        return
    typer.echo(f"best of {len(study.trials)} trials: {best['trial']}, return {best['return']:.1f}")
    typer.echo(" ".join(f"--set {k}={v}" for k, v in best["hyperparameters"].items()))
