"""`rbgym view`."""

import signal
import webbrowser
from typing import Annotated

import typer

from rbgym.agents.commands.app import SEE, command
from rbgym.agents.commands.options import (
    EnvArgs,
    EnvOption,
    Inertia,
    Integrators,
    Policies,
    Rates,
    TimeStep,
    Unpickle,
    Weight,
)
from rbgym.agents.view import Speed


@command(
    SEE,
    "rbgym view -i forward_euler -i imidm -i quat_em",
    "rbgym view --env AttitudeSlew-v0 --policy pd --policy pretrained --policy bang_bang",
    "rbgym view --mgl 20 --omega 0,0,50 --tilt 30",
)
def view(
    env: EnvOption = None,
    integrator: Integrators = None,
    policy: Policies = None,
    dt: TimeStep = 0.05,
    inertia: Inertia = None,
    omega: Rates = "0.05,0.05,5",
    tilt: Annotated[float, typer.Option(help="Start tilt about x, in degrees.")] = 0.0,
    mgl: Weight = 0.0,
    seed: Annotated[int, typer.Option(help="Start of an environment.")] = 0,
    speed: Annotated[Speed, typer.Option(help="Of the simulation to the clock.")] = "1",
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
    """Show bodies or an environment live in a browser, on this machine.

    Up to three runs stand side by side, one for each integrator and policy; without an environment
    they are free bodies.
    """
    from rbgym.agents.view import page, scenario
    from rbgym.agents.view.server import address, close_server, open_server

    shown = scenario.scenario_of(
        env,
        integrator or (),
        policy or (),
        dt=dt,
        inertia=tuple(inertia or ()),
        rates=tuple(omega),
        tilt=tilt,
        mgl=mgl,
        seed=seed,
        env_kwargs=dict(env_arg or ()),
        unpickle=unpickle,
    )
    shown.simulation()  # raises ValueError, nothing opened, for what does not go together
    server = open_server(host, port, name or ())
    url = address(host, server.get_port())
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends it as Ctrl-C does
    print(f"rbgym: {url}  (Ctrl-C ends it)", flush=True)
    try:
        running = page.Page(server, shown, speed)
        if open_:
            webbrowser.open(url)
        running.run()
    except KeyboardInterrupt:
        print("rbgym: ended", flush=True)
    finally:
        signal.signal(signal.SIGTERM, before)
        close_server(server)
