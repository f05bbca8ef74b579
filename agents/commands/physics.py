"""`rbgym list` and `rbgym simulate`."""

import importlib
from pathlib import Path
from typing import Annotated

import typer

from rbgym.agents.commands.app import app
from rbgym.agents.commands.options import Json, Plot, numbers


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

    tensor = numbers("inertia", inertia, (3, 9))
    trajectory = rbgym.simulate(
        rbgym.RigidBody(tensor if len(tensor) == 3 else [tensor[0:3], tensor[3:6], tensor[6:9]]),
        integrator=integrator,
        dt=dt,
        steps=steps,
        quaternion=numbers("quaternion", quaternion, (4,)),
        angular_velocity=numbers("omega", omega, (3,)),
        potential=rbgym.HeavyTop(mgl) if mgl else None,
        record_every=record_every,
    )
    if csv:
        reports.write_trajectory(trajectory, csv)
    if plot:
        from rbgym.agents.plots import save

        save(rbgym.plot.summary(trajectory, f"{integrator}, dt = {dt} s"), plot)
    reports.print_json(trajectory.drift()) if as_json else reports.print_drift(trajectory)
