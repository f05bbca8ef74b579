"""`rbgym view`."""

from typing import Annotated

import typer

from rbgym.agents.commands import completion
from rbgym.agents.commands.app import SEE, app, examples
from rbgym.agents.commands.options import EnvArgs, Unpickle, env_args, numbers


@app.command(
    rich_help_panel=SEE,
    epilog=examples(
        "rbgym view -i forward_euler -i imidm -i quat_em",
        "rbgym view --env AttitudeSlew-v0 --policy pd --policy pretrained --policy bang_bang",
        "rbgym view --mgl 20 --omega 0,0,50 --tilt 30",
    ),
)
def view(
    env: Annotated[
        str | None,
        typer.Option(
            help="Environment, see rbgym list; default a free body.",
            autocompletion=completion.environments,
        ),
    ] = None,
    integrator: Annotated[
        list[str] | None,
        typer.Option(
            "--integrator",
            "-i",
            help="Scheme; up to three run side by side.",
            autocompletion=completion.integrators,
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="Who acts: 'pretrained', a controller, a folder; one for each run.",
            autocompletion=completion.policies,
        ),
    ] = None,
    dt: Annotated[float, typer.Option(help="Time step of a free body, in s.")] = 0.05,
    inertia: Annotated[
        str | None,
        typer.Option(help="Of a free body: 3 principal moments or 9 tensor entries, in kg m^2."),
    ] = None,
    omega: Annotated[
        str, typer.Option(help="Start rates about the body axes, in rad/s.")
    ] = "0.05,0.05,5",
    tilt: Annotated[float, typer.Option(help="Start tilt about x, in degrees.")] = 0.0,
    mgl: Annotated[float, typer.Option(help="Heavy top: m g l, in N m; 0 for none.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Start of an environment.", min=0)] = 0,
    speed: Annotated[str, typer.Option(help="Of the simulation to the clock, 1/100 to 100.")] = "1",
    env_arg: EnvArgs = None,
    unpickle: Unpickle = None,
    host: Annotated[
        str, typer.Option(help="Address to listen at; 0.0.0.0 lets other machines in.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port, or the next that is free.")] = 8080,
    name: Annotated[
        list[str] | None, typer.Option(help="A further name of this machine that is answered to.")
    ] = None,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open a browser.")] = True,
) -> None:
    """Show bodies or an environment live in a browser, on this machine."""
    from rbgym.agents.view import page
    from rbgym.agents.view.scenario import scenario_of

    scenario = scenario_of(
        env,
        integrator or (),
        policy or (),
        dt=dt,
        inertia=numbers("inertia", inertia, (3, 9)) if inertia else (),
        rates=numbers("omega", omega, (3,)),
        tilt=tilt,
        mgl=mgl,
        seed=seed,
        env_kwargs=env_args(env_arg),
        unpickle=unpickle,
    )
    page.serve(scenario, speed=speed, host=host, port=port, names=name or (), opens=open_)
