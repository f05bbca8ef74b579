"""`rbgym list`, `rbgym simulate` and `rbgym view`."""

import csv as csv_files
import importlib
import os
import signal
import sys
import webbrowser
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from typer import Option

import rbgym
from rbgym.agents.catalogue import CONTROLLERS
from rbgym.agents.commands import options
from rbgym.agents.commands.app import SEE, command
from rbgym.agents.run_folder import replacing
from rbgym.agents.terminal import bar, print_json, print_table
from rbgym.agents.view import Speed
from rbgym.registration import ENVIRONMENTS

_SCREENS = {"DISPLAY", "WAYLAND_DISPLAY", "BROWSER"}  # names of what shows a page
_RECORDED = 100_000  # most instants, unless --record-every says otherwise


@command(
    SEE, "rbgym list", "rbgym list | grep quat_", "rbgym list --module my_tasks --json", name="list"
)
def list_(
    module: Annotated[list[str] | None, Option(help="Module with tasks to import first.")] = None,
    as_json: options.Json = False,
) -> None:
    """List environments, integrators and controllers."""
    for name in module or ():
        if not all(part.isidentifier() for part in name.split(".")):
            raise ValueError(f"--module must be the name of a module, got {name!r}")
        importlib.import_module(name)
    content = catalogue()
    print_json(content) if as_json else _print_catalogue(content)


def catalogue() -> dict[str, list[dict[str, Any]]]:
    """Environments, integrators and controllers by name, ready for JSON."""
    fields = ("name", "title", "order", "symmetric", "explicit", "conserves", "supports", "source")
    records = [rbgym.integrators.get(name) for name in rbgym.integrators.names()]
    return {
        "environments": [{"env": k, "max_episode_steps": v[2]} for k, v in ENVIRONMENTS.items()],
        "integrators": [{f: getattr(record, f) for f in fields} for record in records],
        "controllers": [{"name": name} for name in CONTROLLERS],
    }


def _print_catalogue(content: Mapping[str, list[dict[str, Any]]]) -> None:
    envs = ((e["env"], str(e["max_episode_steps"])) for e in content["environments"])
    print_table("Environments", ("env", "longest episode [steps]"), envs)
    columns = ("name", "title", "order", "conserves free", "conserves in gravity", "source")
    rows = (
        (i["name"], i["title"], str(i["order"]), *_conserved(i["conserves"]), i["source"])
        for i in content["integrators"]
    )
    print_table("Integrators", columns, rows)
    print(f"default: {rbgym.integrators.DEFAULT}; NAME:4 is a composition of order 4\n")
    print_table("Controllers", ("name",), ((c["name"],) for c in content["controllers"]))


def _conserved(conserves: Mapping[str, Iterable[str]]) -> Iterator[str]:
    for potential in ("none", "heavy_top"):
        quantities = ", ".join(conserves.get(potential, ())).replace("angular_", "")
        yield quantities.replace("_", " ") or "-"


@command(
    SEE,
    "rbgym simulate -i quat_em -i rkn4 -i trap --dt 0.05 --steps 10000",
    "rbgym simulate --mgl 20 --omega 0,0,50 --quaternion 0.8,0.6,0,0",
    "rbgym simulate -i akw --dt 0.05 --steps 1000000 --csv motion.csv",
)
def simulate(
    integrator: options.Integrators = None,
    inertia: options.Inertia = "6,8,3",
    omega: options.Rates = "10,20,20",
    quaternion: Annotated[
        Any, Option(parser=options.numbers(4), metavar="W,X,Y,Z", help="Start attitude.")
    ] = "1,0,0,0",
    dt: options.TimeStep = 0.01,
    steps: Annotated[int, Option(help="Number of steps.", min=1)] = 1000,
    mgl: options.Weight = 0.0,
    record_every: Annotated[
        int | None,
        Option(help="Steps between instants; default 1, more past 100,000 steps.", min=1),
    ] = None,
    csv: Annotated[
        Path | None, Option(help="Write the motion to this file.", callback=options.file_to_write)
    ] = None,
    plot: options.Plot = None,
    as_json: options.Json = False,
) -> None:
    """Simulate one rigid body and report how its invariants drift.

    Several integrators are compared; without any, exact:4 runs. Of the momentum of a heavy top
    only the vertical part is an invariant. Exit status 1 if an integrator cannot solve a step.
    """
    if csv and plot and csv.resolve() == plot.resolve():
        raise ValueError(f"--csv and --plot must be two files, got {str(csv)!r} twice")
    names = list(dict.fromkeys(integrator or [rbgym.integrators.DEFAULT]))
    trajectories, failures = _simulate(
        names,
        body=rbgym.RigidBody(np.reshape(inertia, (-1, 3)).squeeze()),
        dt=dt, steps=steps, quaternion=quaternion, angular_velocity=omega,
        potential=rbgym.HeavyTop(mgl) if mgl else None,
        record_every=max(1, -(-steps // _RECORDED)) if record_every is None else record_every,
    )  # fmt: skip
    if csv:
        write_trajectories(trajectories, csv)
    drifts = {}
    for name, one in trajectories.items():  # only what the exact motion conserves
        drift = one.drift()
        drifts[name] = {quantity: drift[quantity] for quantity in one.conserved}
    if as_json and len(names) == 1:
        print_json(drifts[names[0]])
    elif as_json:
        print_json({name: drifts.get(name) for name in names})  # null for one that failed
    else:
        _print_drifts(trajectories, drifts)
    if plot:
        from rbgym.agents.judge.plots import save

        if len(names) == 1:
            figure = rbgym.plot.summary(trajectories[names[0]], f"{names[0]}, dt = {dt} s")
        else:
            figure = rbgym.plot.drifts(trajectories, f"dt = {dt} s")
        save(figure, plot)
    for message in failures:
        typer.echo(f"rbgym: {message}", err=True)
    if failures:
        raise typer.Exit(1)


def _simulate(names: list[str], **arguments: Any) -> tuple[dict[str, Any], list[str]]:
    """Simulate with each; returns trajectories and messages of failures. Raises if all fail."""
    for name in names:
        rbgym.integrators.get(name)  # raises for an unknown one, before any work
    found, failures = {}, []
    with bar() as shown:
        for name in shown.track(names, description=f"{arguments['steps']:,} steps"):
            try:
                found[name] = rbgym.simulate(integrator=name, **arguments)
            except rbgym.IntegrationError as error:
                failures.append(str(error))
    if not found:
        raise rbgym.IntegrationError("; ".join(failures))
    return found, failures


def _print_drifts(trajectories: Mapping[str, Any], drifts: Mapping[str, Any]) -> None:
    """Print the drift of each invariant; for several integrators, a row of largest drifts each."""
    name, first = next(iter(trajectories.items()))
    until = f"until t = {first.time[-1]:.6g} s, relative where it can be"
    if len(drifts) == 1:
        errors = [(key, f"{e['max']:.3g}", f"{e['final']:.3g}") for key, e in drifts[name].items()]
        again = f"; {first.redone} steps took the slower solver" if first.redone else ""
        print_table(f"Drift of {name} {until}{again}", ("quantity", "max", "final"), errors)
        return
    quantities = [quantity.replace("_", " ") for quantity in drifts[name]]
    rows = [(key, *(f"{e['max']:.2g}" for e in drift.values())) for key, drift in drifts.items()]
    print_table(f"Largest drift {until}", ("integrator", *quantities), rows)


def write_trajectories(trajectories: Mapping[str, "rbgym.Trajectory"], path: Path) -> None:
    """Write a CSV file, a line for each instant; of several motions a column names each scheme."""
    header = ["time", "qw", "qx", "qy", "qz", "wx", "wy", "wz", "Lx", "Ly", "Lz", "energy"]
    several = len(trajectories) > 1
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv_files.writer(file)
        writer.writerow([*(["integrator"] if several else []), *header])
        for name, one in trajectories.items():
            motion = (one.quaternion, one.angular_velocity, one.angular_momentum, one.energy)
            lines = np.column_stack((one.time, *motion)).tolist()
            writer.writerows([name, *line] if several else line for line in lines)


@command(
    SEE,
    "rbgym view -i forward_euler -i imidm -i quat_em",
    "rbgym view --env AttitudeSlew-v1 --policy pd --policy pretrained --policy bang_bang",
    "rbgym view --mgl 20 --omega 0,0,50 --tilt 30",
)
def view(
    context: typer.Context,
    env: options.EnvOption = None,
    integrator: options.Integrators = None,
    policy: options.Policies = None,
    dt: options.TimeStep = 0.05,
    inertia: options.Inertia = None,
    omega: options.Rates = "0.05,0.05,5",
    tilt: Annotated[float, Option(help="Start tilt about x, in degrees.")] = 0.0,
    mgl: options.Weight = 0.0,
    seed: Annotated[int, Option(help="Seed of an environment's start.", min=0, max=2**53)] = 0,
    speed: Annotated[Speed, Option(metavar="RATIO", help="Simulated over real time.")] = "1",
    env_arg: options.EnvArgs = None,
    host: Annotated[str, Option(help="Address; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, Option(help="Port, or the next free one.", min=0, max=65535)] = 8080,
    name: Annotated[
        list[str] | None, Option(help="Another name under which browsers reach this machine.")
    ] = None,
    open_: Annotated[bool, Option("--open/--no-open", help="Open a browser.")] = True,
) -> None:
    """Show bodies or an environment live in a browser, on this machine.

    Shows up to three runs next to each other, one for each integrator and policy; without an
    environment they are free bodies.
    """
    shared = "env", "integrator", "speed", "host", "port", "name", "open_"
    free, of_env = ("dt", "inertia", "omega", "tilt", "mgl"), ("policy", "seed", "env_arg")
    options.use_only(context, env or "a free body", *shared, *(of_env if env else free))
    options.once([*(env_arg or ()), *[("integrator", "")] * bool(integrator)])
    from rbgym.agents.view import page, simulation
    from rbgym.agents.view.server import address, close_server, open_server

    shown = simulation.scenario_of(
        env, integrator or (), policy or (), dt=dt, inertia=tuple(inertia or ()),
        rates=tuple(omega), tilt=tilt, mgl=mgl, seed=seed, env_kwargs=dict(env_arg or ()),
    )  # fmt: skip
    shown.simulation()  # raises ValueError for options that do not fit, before a port is opened
    server = open_server(host, port, name or ())
    url = address(host, server.get_port())
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # end as on Ctrl-C
    print(f"rbgym: {url}  (Ctrl-C ends it)", flush=True)
    try:
        running = page.Page(server, shown, speed)
        # Without a screen a browser would run in the terminal, and the page only after it.
        if open_ and (sys.platform != "linux" or os.environ.keys() & _SCREENS):
            webbrowser.open(url)
        running.run()
    except KeyboardInterrupt:
        print("rbgym: ended", flush=True)
    finally:
        signal.signal(signal.SIGTERM, before)
        close_server(server)
