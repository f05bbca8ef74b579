"""`rbgym export`."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from rbgym.agents.commands import options
from rbgym.agents.commands.app import TRAIN, command
from rbgym.agents.terminal import print_json


@command(
    TRAIN,
    "rbgym export pretrained --env AttitudeSlew-v1 --c flight",
    "rbgym export runs/first --c flight --onnx flight",
    "rbgym export pd --env RigidTop-v0 --gain frequency=8 --c flight",
)
def export(
    policy: Annotated[
        str,
        Argument(
            help="Folder of a run, controller (pd, lqr) or 'pretrained'.",
            autocompletion=options.policies,
        ),
    ],
    env: options.EnvOption = None,
    env_arg: options.EnvArgs = None,
    gain: Annotated[
        list[Any] | None,
        Option(parser=options.pair, metavar="KEY=VALUE", help="One gain of a controller."),
    ] = None,
    c: Annotated[
        Path | None,
        Option("--c", help="Write policy.c and policy.json here.", callback=options.folder_to_make),
    ] = None,
    onnx: Annotated[
        Path | None, Option(help="Write policy.onnx here.", callback=options.folder_to_make)
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Write a policy for a flight computer: as one C99 file, or as an ONNX model.

    Each comes with the contract of what it reads and commands: names, units, frames, scales, and
    the control period. C is for networks and for PD and linear-quadratic laws, ONNX for networks.
    The environment is the one named, else that of the run, else RigidTop-v0.
    """
    options.known_policies(policy)  # before anything heavy is imported

    import gymnasium as gym

    from rbgym.agents import controllers
    from rbgym.agents.export import export_c, export_onnx
    from rbgym.agents.judge.contenders import contenders

    if c is None and onnx is None:
        raise ValueError("--c or --onnx must name a folder, got neither")
    env_id, (found,) = contenders([policy], env, env_kwargs=dict(env_arg or ()))
    flown: Any = gym.make(env_id, **found.env_kwargs).unwrapped
    chosen, gains = found.policy, dict(gain or ())
    if isinstance(chosen, str):
        chosen = controllers.make(chosen, flown, **gains)
    elif gains:
        raise ValueError(f"--gain must be left out for a trained policy, got {gains}")
    about = {"policy": policy, "env_id": env_id, "env_kwargs": found.env_kwargs, "gains": gains}
    told: dict[str, Any] = {}
    if onnx is not None:
        told = export_onnx(onnx, chosen, flown, about)
    if c is not None:
        told = export_c(c, chosen, flown, about)
    if as_json:
        print_json(told)
        return
    written = [file for file in (c and c / "policy.c", onnx and onnx / "policy.onnx") if file]
    typer.echo(f"wrote {' and '.join(map(str, written))}, for every {flown.dt:g} s")
