"""The command line: `rbgym list | simulate | train | tune | evaluate | card | validate | bench`.

Only what a command needs is imported, when it runs: learning libraries belong to train and to the
evaluation of a trained policy. Bad input ends with one line on stderr and exit status 2.
"""

import importlib
import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Plot = Annotated[Path | None, typer.Option(help="Write a plot to this file.")]
Unpickle = Annotated[
    str | None, typer.Option(help="Algorithm of a model's zip whose author you trust (ppo).")
]
EnvArgs = Annotated[
    list[str] | None, typer.Option(help="KEY=VALUE, one argument of the environment.")
]


Ray = Annotated[
    str | None,
    typer.Option(help="Spread the work over this Ray cluster: host:port, auto or local."),
]

# What belongs to an extra, and to which.
_EXTRAS = dict.fromkeys(("matplotlib", "rich", "typer"), "cli")
_EXTRAS |= dict.fromkeys(("safetensors", "sb3_contrib", "scipy", "stable_baselines3"), "agents")
_EXTRAS |= dict.fromkeys(("tensorboard", "torch", "tqdm", "yaml"), "agents")
_EXTRAS |= {"cma": "evolve", "optuna": "tune", "ray": "rllib"}


class _CleanErrors(TyperGroup):
    """Turns what users can mend into one line on stderr and an exit status."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (ValueError, OSError) as error:
            _fail(error, 2)
        except ModuleNotFoundError as error:
            extra = _EXTRAS.get((error.name or "").partition(".")[0])
            install = f"; this command needs pip install 'rbgym[{extra}]'" if extra else ""
            _fail(f"{error}{install}", 2)
        except KeyboardInterrupt:
            _fail("interrupted; the same command goes on from the last checkpoint", 130)
        except Exception as error:
            from gymnasium.error import Error as GymnasiumError

            from rbgym import IntegrationError

            if not isinstance(error, GymnasiumError | IntegrationError):
                raise
            _fail(error, 2 if isinstance(error, GymnasiumError) else 1)


def _fail(message: object, status: int) -> None:
    typer.echo(f"rbgym: {message}", err=True)
    raise typer.Exit(status) from None


app = typer.Typer(
    cls=_CleanErrors,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Attitude control on structure-preserving rigid-body physics.",
)


@app.command("list")
def list_(
    module: Annotated[
        list[str] | None, typer.Option(help="Import this first: it may register tasks.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List environments, integrators and controllers."""
    from rbgym.agents import reports

    for name in module or ():
        importlib.import_module(name)
    content = reports.catalogue()
    reports.print_json(content) if as_json else reports.print_catalogue(content)


@app.command()
def simulate(
    integrator: Annotated[str, typer.Option(help="See rbgym list.")] = "quat_em",
    inertia: Annotated[
        str, typer.Option(help="3 principal moments or 9 tensor entries [kg m^2].")
    ] = "6,8,3",
    omega: Annotated[str, typer.Option(help="Start rates, body axes [rad/s].")] = "10,20,20",
    quaternion: Annotated[str, typer.Option(help="Start attitude (w,x,y,z).")] = "1,0,0,0",
    dt: Annotated[float, typer.Option(help="Time step [s].")] = 0.01,
    steps: Annotated[int, typer.Option(help="Number of steps.")] = 1000,
    mgl: Annotated[float, typer.Option(help="Heavy top: m g l [N m]; 0 for none.")] = 0.0,
    record_every: Annotated[int, typer.Option(help="Steps between recorded instants.")] = 1,
    csv: Annotated[Path | None, typer.Option(help="Write the motion to this file.")] = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Simulate one rigid body and report how its invariants drift."""
    import rbgym
    from rbgym.agents import reports

    tensor = _numbers("inertia", inertia, (3, 9))
    trajectory = rbgym.simulate(
        rbgym.RigidBody(tensor if len(tensor) == 3 else [tensor[0:3], tensor[3:6], tensor[6:9]]),
        integrator=integrator,
        dt=dt,
        steps=steps,
        quaternion=_numbers("quaternion", quaternion, (4,)),
        angular_velocity=_numbers("omega", omega, (3,)),
        potential=rbgym.HeavyTop(mgl) if mgl else None,
        record_every=record_every,
    )
    if csv:
        reports.write_trajectory(trajectory, csv)
    if plot:
        from rbgym.agents.plots import plot_trajectory

        plot_trajectory(trajectory, f"{integrator}, dt = {dt} s", plot)
    reports.print_json(trajectory.drift()) if as_json else reports.print_drift(trajectory)


@app.command()
def train(
    env: Annotated[str, typer.Argument(help="Environment, see rbgym list.")],
    algo: Annotated[
        str, typer.Option(help="ppo, sac, td3, tqc, recurrent_ppo or cma_es; ppo with rllib.")
    ] = "ppo",
    engine: Annotated[str, typer.Option(help="sb3, or rllib for many machines.")] = "sb3",
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run; default runs/ENV-ALGO-SEED.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of training.")] = 0,
    timesteps: Annotated[int | None, typer.Option(help="Env steps; default as tuned.")] = None,
    hyperparameters: Annotated[
        Path | None, typer.Option(help="YAML like that of rl-baselines3-zoo, in place of ours.")
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
    """Train a policy; the same command resumes an interrupted run from its last checkpoint."""
    from rbgym.agents import engines, reports

    name = algo if engine == "sb3" else f"{engine}-{algo}"
    done = engines.train(
        env,
        algo,
        engine,
        out=out or Path("runs") / f"{env.rpartition(':')[2]}-{name}-{seed}",
        seed=seed,
        hyperparameters=hyperparameters,
        changes=_pairs("set", change),
        env_kwargs=_pairs("env-arg", env_arg),
        resume=not overwrite,
        report=lambda message: typer.echo(message, err=True),
        timesteps=timesteps,
        checkpoint_every=checkpoint_every,
        evaluate_every=evaluate_every,
        threads=threads,
        progress=progress,
        address=ray,
        runners=runners,
    )
    if as_json:
        reports.print_json(done.results)
        return
    steps, seconds = done.results["timesteps"], done.results["wall_time"]
    if done.resumed_from is None:
        typer.echo(
            f"{done.folder.path} was finished before ({steps} steps): --overwrite trains it anew"
        )
    else:
        typer.echo(f"trained {steps} steps in {seconds:.1f} s: {done.folder.policy}")


@app.command()
def evaluate(
    targets: Annotated[
        list[str],
        typer.Argument(help="Environment, and folders, controllers (pd) or 'pretrained'."),
    ],
    policy: Annotated[
        list[str] | None, typer.Option("--policy", "--compare", help="One more target.")
    ] = None,
    env: Annotated[
        str | None, typer.Option(help="Environment; default: the first run's, or RigidTop-v0.")
    ] = None,
    unpickle: Unpickle = None,
    episodes: Annotated[int, typer.Option(help="Start states of the test set.")] = 256,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Measure policies and controllers on the same fixed start states."""
    from rbgym.agents import comparison, reports

    env, targets = _env_among(targets, env)
    if not [*targets, *(policy or [])]:
        raise ValueError("--policy must name a controller, a folder or 'pretrained', got none")
    evaluations = comparison.compare([*targets, *(policy or [])], env, episodes, unpickle)
    if plot:
        from rbgym.agents.plots import plot_comparison

        plot_comparison(evaluations, plot)
    if as_json:
        reports.print_json({name: e.as_dict() for name, e in evaluations.items()})
    else:
        reports.print_evaluations(evaluations)


@app.command()
def tune(
    env: Annotated[str, typer.Argument(help="Environment, see rbgym list.")],
    algo: Annotated[str, typer.Option(help="As for train.")] = "ppo",
    trials: Annotated[int, typer.Option(help="How many trainings more.")] = 20,
    timesteps: Annotated[int, typer.Option(help="Env steps of each.")] = 100_000,
    storage: Annotated[
        str | None, typer.Option(help="URL of the study; default sqlite:///runs/tune.db.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the search and of each training.")] = 0,
    as_json: Json = False,
) -> None:
    """Search for hyperparameters with Optuna; the same command goes on with a study."""
    from rbgym.agents import reports, tuning

    study = tuning.tune(
        env,
        algo,
        trials=trials,
        timesteps=timesteps,
        storage=storage,
        seed=seed,
        report=lambda message: typer.echo(message, err=True),
    )
    best: dict[str, Any] = {
        "trial": study.best_trial.number,
        "return": study.best_value,
        "hyperparameters": tuning.hyperparameters(study.best_params),
    }
    if as_json:
        reports.print_json(best)
        return
    typer.echo(f"best of {len(study.trials)} trials: {best['trial']}, return {best['return']:.1f}")
    typer.echo(" ".join(f"--set {k}={v}" for k, v in best["hyperparameters"].items()))


@app.command()
def card(
    env: Annotated[str, typer.Argument(help="Environment, see rbgym list.")],
    policy: Annotated[
        list[str] | None,
        typer.Option(help="Controller, 'pretrained' or folder; default: all that fit."),
    ] = None,
    episodes: Annotated[int, typer.Option(help="Start states of the test set.")] = 256,
    out: Annotated[Path | None, typer.Option(help="Write OUT.md, OUT.json and OUT.png.")] = None,
    env_arg: EnvArgs = None,
    ray: Ray = None,
    as_json: Json = False,
) -> None:
    """Compare controllers and policies on a task's test set, by many figures of merit."""
    from rbgym.agents import card_report, reports
    from rbgym.agents.card import make_card
    from rbgym.agents.engines import spread_over

    kwargs = _pairs("env-arg", env_arg)
    made = make_card(env, policy or (), episodes=episodes, env_kwargs=kwargs, **spread_over(ray))
    if out:
        card_report.write(made, out)
    content = made.as_dict()
    reports.print_json(content) if as_json else typer.echo(card_report.markdown(content))


@app.command()
def validate(
    names: Annotated[list[str] | None, typer.Argument(help="Integrators; default all.")] = None,
    case: Annotated[
        list[str] | None,
        typer.Option(help="none, heavy_top, soft_wall or gravity_gradient; default all."),
    ] = None,
    steps: Annotated[int, typer.Option(help="Length of each run.")] = 20_000,
    quick: Annotated[
        bool, typer.Option("--quick", help="In gravity only, short runs, nothing of the papers.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with all claims and figures.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes that share the work.")] = 2,
    ray: Ray = None,
    as_json: Json = False,
) -> None:
    """Measure what each integrator declares, and what the papers claim.

    Exit status 1 if a declaration is broken. A claim of a paper that does not reproduce says so.
    """
    from rbgym.agents import validation_run

    if quick:
        case, steps = case or ["heavy_top"], min(steps, 2000)
    whole = not (names or case)
    found = validation_run.run(names, case, steps, jobs, papers=whole, html=html, ray=ray)
    found.print(as_json)
    if not found.kept:
        raise typer.Exit(1)


@app.command()
def bench(
    rounds: Annotated[int, typer.Option(help="How often each case is timed.")] = 15,
    seconds: Annotated[float, typer.Option(help="How long each time.")] = 0.1,
    as_json: Json = False,
) -> None:
    """Measure throughput beside Gymnasium's CartPole in the same run."""
    from rbgym.agents import reports
    from rbgym.agents.bench import bench as measure

    result = measure(rounds, seconds)
    reports.print_json(result) if as_json else reports.print_bench(result)


def _pairs(name: str, texts: list[str] | None) -> dict[str, Any]:
    """KEY=VALUE of an option, VALUE read as YAML; ValueError for what is none."""
    import yaml

    from rbgym.agents.presets import read_yaml

    pairs = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise ValueError(f"--{name} must be KEY=VALUE, got {text!r}")
        try:
            pairs[key] = read_yaml(value)
        except yaml.YAMLError as error:
            raise ValueError(f"--{name} {key} must be YAML: {error}") from None
    return pairs


def _env_among(targets: list[str], env: str | None) -> tuple[str | None, list[str]]:
    """The first target that is the id of an environment, unless `env` is one, and the others."""
    named = [
        target for target in targets if re.search(r"-v\d+$", target) and not Path(target).exists()
    ]
    if len(named) + (env is not None) > 1:
        raise ValueError(f"targets must name one environment at most, got {[*named, env]}")
    env = env or (named[0] if named else None)
    return env, [target for target in targets if target not in named]


def _numbers(name: str, text: str, counts: tuple[int, ...]) -> list[float]:
    """The comma-separated numbers of an option; ValueError unless there are so many."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) not in counts:
        wanted = " or ".join(map(str, counts))
        raise ValueError(f"{name} must be {wanted} comma-separated numbers, got {text!r}")
    return values


def main() -> None:
    """Run the command line; modules of the working folder can be imported, as with `python -m`."""
    sys.path.insert(0, "")
    app()
