"""The command line: `rbgym list | simulate | train | evaluate | validate | bench`.

Only what a command needs is imported, when it runs: learning libraries belong to train and to the
evaluation of a trained policy. Bad input ends with one line on stderr and exit status 2.
"""

import importlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Plot = Annotated[Path | None, typer.Option(help="Write a plot to this file.")]


_EXTRAS = {"matplotlib", "scipy", "stable_baselines3", "tensorboard", "torch", "tqdm", "yaml"}
_INSTALL = "; this command needs pip install 'rbgym[{}]'"
Ray = Annotated[
    str | None,
    typer.Option(help="Spread the work over this Ray cluster: host:port, auto or local."),
]


class _CleanErrors(TyperGroup):
    """Turns what users can mend into one line on stderr and an exit status."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (ValueError, OSError) as error:
            _fail(error, 2)
        except ModuleNotFoundError as error:
            module = (error.name or "").partition(".")[0]
            extra = "rllib" if module == "ray" else "agents" if module in _EXTRAS else None
            _fail(f"{error}{_INSTALL.format(extra) if extra else ''}", 2)
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
    algo: Annotated[str, typer.Option(help="ppo, sac or td3; ppo with rllib.")] = "ppo",
    engine: Annotated[str, typer.Option(help="sb3, or rllib for many machines.")] = "sb3",
    out: Annotated[
        Path | None, typer.Option(help="Folder of the run; default runs/ENV-ALGO-SEED.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of training.")] = 0,
    timesteps: Annotated[int | None, typer.Option(help="Env steps; default as tuned.")] = None,
    checkpoint_every: Annotated[int, typer.Option(help="Env steps between checkpoints.")] = 50_000,
    overwrite: Annotated[bool, typer.Option(help="Start anew; lose what OUT holds.")] = False,
    ray: Annotated[
        str | None, typer.Option(help="rllib: the Ray cluster, host:port or auto; default local.")
    ] = None,
    runners: Annotated[
        int | None, typer.Option(help="rllib: processes that step lanes; default 2.")
    ] = None,
    progress: Annotated[bool, typer.Option(help="Show a progress bar.")] = True,
    as_json: Json = False,
) -> None:
    """Train a policy; the same command resumes an interrupted run from its last checkpoint."""
    from rbgym.agents import reports

    train_with, options = _engine(engine, ray, runners)
    name = algo if engine == "sb3" else f"{engine}-{algo}"
    out = out or Path("runs") / f"{env.rpartition(':')[2]}-{name}-{seed}"
    done = train_with(
        env,
        algo,
        **options,
        out=out,
        seed=seed,
        timesteps=timesteps,
        resume=not overwrite,
        checkpoint_every=checkpoint_every,
        progress=progress,
        report=lambda message: typer.echo(message, err=True),
    )
    if as_json:
        reports.print_json(done.results)
        return
    steps, seconds = done.results["timesteps"], done.results["wall_time"]
    if done.resumed_from is None:
        typer.echo(f"{out} was finished before ({steps} steps): --overwrite trains it anew")
    else:
        policy = done.folder.model if engine == "sb3" else done.folder.policy
        typer.echo(f"trained {steps} steps in {seconds:.1f} s: {policy}")


def _engine(name: str, ray: str | None, runners: int | None) -> tuple[Any, dict[str, Any]]:
    """What trains, and the arguments that only it takes."""
    own = {k: v for k, v in (("address", ray), ("runners", runners)) if v is not None}
    if name == "rllib":
        from rbgym.agents.rllib import training as rllib

        return rllib.train, own
    if name != "sb3":
        raise ValueError(f"engine must be sb3 or rllib, got {name!r}")
    if own:
        raise ValueError("engine must be rllib with --ray or --runners, got 'sb3'")
    from rbgym.agents import training as sb3

    return sb3.train, {}


@app.command()
def evaluate(
    targets: Annotated[list[str], typer.Argument(help="Folders of runs, or controllers (pd).")],
    compare: Annotated[list[str] | None, typer.Option(help="One more target.")] = None,
    env: Annotated[
        str | None, typer.Option(help="Environment; default: the first run's, or RigidTop-v0.")
    ] = None,
    episodes: Annotated[int, typer.Option(help="Start states of the test set.")] = 256,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Measure policies and controllers on the same fixed start states."""
    from rbgym.agents import comparison, reports

    evaluations = comparison.compare([*targets, *(compare or [])], env, episodes)
    if plot:
        from rbgym.agents.plots import plot_comparison

        plot_comparison(evaluations, plot)
    if as_json:
        reports.print_json({name: e.as_dict() for name, e in evaluations.items()})
    else:
        reports.print_evaluations(evaluations)


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
