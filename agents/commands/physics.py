"""`rbgym list` and `rbgym simulate`."""

import importlib
from pathlib import Path
from typing import Annotated, Any

import typer

from rbgym.agents.commands import completion
from rbgym.agents.commands.app import SEE, app, examples
from rbgym.agents.commands.options import Json, Plot, numbers, to_write

_MOST_STEPS = 10**12
_RECORDED = 100_000  # instants, unless more are asked for
_MOST_RECORDED = 2_000_000  # about 2 GB


@app.command(
    "list",
    rich_help_panel=SEE,
    epilog=examples("rbgym list", "rbgym list | grep quat_", "rbgym list --module my_tasks --json"),
)
def list_(
    module: Annotated[
        list[str] | None, typer.Option(help="Import this first: it may register tasks.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List environments, integrators and controllers."""
    from rbgym.agents.commands import tables

    for name in module or ():
        if not all(part.isidentifier() for part in name.split(".")):
            raise ValueError(f"--module must be the name of a module, got {name!r}")
        importlib.import_module(name)
    content = tables.catalogue()
    tables.print_json(content) if as_json else tables.print_catalogue(content)


@app.command(
    rich_help_panel=SEE,
    epilog=examples(
        "rbgym simulate -i quat_em -i rkn4 -i trap --dt 0.05 --steps 10000",
        "rbgym simulate --mgl 20 --omega 0,0,50 --quaternion 0.8,0.6,0,0",
        "rbgym simulate -i akw --dt 0.05 --steps 1000000 --csv motion.csv",
    ),
)
def simulate(
    integrator: Annotated[
        list[str] | None,
        typer.Option(
            "--integrator",
            "-i",
            help="See rbgym list; again for each one to compare; default quat_em.",
            autocompletion=completion.integrators,
        ),
    ] = None,
    inertia: Annotated[
        str, typer.Option(help="3 principal moments or 9 tensor entries, in kg m^2.")
    ] = "6,8,3",
    omega: Annotated[str, typer.Option(help="Start rates about the body axes, in rad/s.")] = (
        "10,20,20"
    ),
    quaternion: Annotated[str, typer.Option(help="Start attitude w,x,y,z.")] = "1,0,0,0",
    dt: Annotated[float, typer.Option(help="Time step, in s.")] = 0.01,
    steps: Annotated[int, typer.Option(help="Number of steps.")] = 1000,
    mgl: Annotated[float, typer.Option(help="Heavy top: m g l, in N m; 0 for none.")] = 0.0,
    record_every: Annotated[
        int | None,
        typer.Option(help="Steps between recorded instants; default 1, more past 100,000 steps."),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(help="Write the motion to this file.", callback=to_write)
    ] = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Simulate one rigid body and report how its invariants drift.

    Several integrators stand side by side. Of the momentum of a heavy top only the vertical part is
    an invariant. Exit status 1 if an integrator cannot solve a step.
    """
    import rbgym
    from rbgym.agents.commands import tables

    names = list(dict.fromkeys(integrator or [rbgym.integrators.DEFAULT]))
    tensor = numbers("inertia", inertia, (3, 9))
    trajectories, failed = _simulated(
        names,
        body=rbgym.RigidBody(
            tensor if len(tensor) == 3 else [tensor[0:3], tensor[3:6], tensor[6:]]
        ),
        dt=dt,
        steps=steps,
        quaternion=numbers("quaternion", quaternion, (4,)),
        angular_velocity=numbers("omega", omega, (3,)),
        potential=rbgym.HeavyTop(mgl) if mgl else None,
        record_every=_recorded_every(steps, record_every),
    )
    if csv:
        tables.write_trajectories(trajectories, csv)
    _show(names, trajectories, as_json)
    if plot:
        _draw(names, trajectories, dt, plot)
    for message in failed:
        typer.echo(f"rbgym: {message}", err=True)
    if failed:
        raise typer.Exit(1)


def _draw(names: list[str], trajectories: dict[str, Any], dt: float, path: Path) -> None:
    """Motion, drift and polhode of one integrator; of several the drifts, side by side."""
    import rbgym
    from rbgym.agents.judge.plots import save

    if len(names) == 1:
        save(rbgym.plot.summary(trajectories[names[0]], f"{names[0]}, dt = {dt} s"), path)
    else:
        save(rbgym.plot.drifts(trajectories, f"dt = {dt} s"), path)


def _show(names: list[str], trajectories: dict[str, Any], as_json: bool) -> None:
    """The drift: of one integrator all of it, of several side by side; null for one without."""
    from rbgym.agents.commands import tables

    drifts = {name: tables.drift_of(one) for name, one in trajectories.items()}
    first = next(iter(drifts))
    if as_json:
        found = {name: drifts.get(name) for name in names}
        tables.print_json(found if len(names) > 1 else drifts[first])
    elif len(names) == 1:
        tables.print_drift(trajectories[first], drifts[first])
    else:
        tables.print_drifts(trajectories[first], drifts)


def _recorded_every(steps: int, given: int | None) -> int:
    """Steps between two recorded instants; ValueError where they would fill the memory."""
    if steps > _MOST_STEPS:
        raise ValueError(f"steps must be at most {_MOST_STEPS:,}, got {steps}")
    if given is None:
        return max(1, -(-steps // _RECORDED))
    if given > 0 and steps // given > _MOST_RECORDED:
        raise ValueError(
            f"record_every must leave at most {_MOST_RECORDED:,} instants, "
            f"got {given} of {steps} steps"
        )
    return given


def _simulated(names: list[str], **arguments: Any) -> tuple[dict[str, Any], list[str]]:
    """The trajectory of each integrator, and why others have none; one bar counts them all.

    Raises IntegrationError if none can solve its steps.
    """
    import rbgym
    from rbgym.agents.terminal import bar

    for name in names:
        rbgym.integrators.get(name)  # raises, before any work, for one that there is not
    found, failed = {}, []
    with bar() as shown:
        task = shown.add_task("", total=len(names) if len(names) > 1 else None)
        for name in names:
            shown.update(task, description=f"{name}, {arguments['steps']:,} steps")
            try:
                found[name] = rbgym.simulate(integrator=name, **arguments)
            except rbgym.IntegrationError as error:
                failed.append(str(error))
            shown.advance(task)
    if not found:
        raise rbgym.IntegrationError("; ".join(failed))
    return found, failed
