"""`rbgym train` and `rbgym export`."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from rbgym.agents.catalogue import names as controllers
from rbgym.agents.commands import options
from rbgym.agents.commands.app import TRAIN, command
from rbgym.agents.run_folder import Training
from rbgym.agents.terminal import plain, print_json
from rbgym.agents.train import hyperparameters_of
from rbgym.agents.train import train as train_policy

_STEPS: Any = {"parser": options.whole, "metavar": "INTEGER"}


@command(
    TRAIN,
    "rbgym train RigidTop-v0 --algo ppo --timesteps 100000 --out runs/first",
    "rbgym train TopSwingUp-v0 --teacher swing_up",
    "rbgym train AttitudeSlew-v1 --set learning_rate=1e-3 --env-arg integrator=akw",
)
def train(
    env: options.Env,
    algo: options.Algorithm = "auto",
    out: Annotated[
        Path | None,
        Option(
            help="Folder of the run; default runs/ENV-ALGO-SEED. Use only your own: resuming "
            "unpickles its checkpoint, which can run code.",
            callback=options.folder_to_make,
        ),
    ] = None,
    seed: Annotated[int, Option(help="Seed of the training.", min=0)] = 0,
    teacher: Annotated[
        str | None, Option(help="Law to imitate: best, none or NAME.", autocompletion=controllers)
    ] = None,
    seeds: Annotated[
        int, Option(help="Number of seeds to train, from --seed on, into OUT/SEED.", min=1)
    ] = 1,
    init_from: Annotated[
        Path | None, Option(help="Policy to start from.", exists=True, file_okay=False)
    ] = None,
    timesteps: Annotated[Any | None, Option(help="Env steps; default as tuned.", **_STEPS)] = None,
    hyperparameters: Annotated[
        Path | None,
        Option(help="YAML like RL Zoo's, which replaces ours.", exists=True, dir_okay=False),
    ] = None,
    change: Annotated[
        list[Any] | None, Option("--set", help="One hyperparameter.", **options.PAIRS)
    ] = None,
    env_arg: options.EnvArgs = None,
    checkpoint_every: Annotated[
        Any | None, Option(help="Env steps between checkpoints, default 50,000; 0: one.", **_STEPS)
    ] = None,
    evaluate_every: Annotated[
        Any | None, Option(help="Env steps between evaluations; 0: never.", **_STEPS)
    ] = None,
    threads: Annotated[int | None, Option(help="Threads of torch; default 1.", min=1)] = None,
    overwrite: Annotated[
        bool, Option(help="Start from scratch; delete the run that OUT holds.")
    ] = False,
    progress: Annotated[bool | None, Option("--progress/--no-progress", help="Show a bar.")] = None,
    explain: options.Explain = False,
    as_json: options.Json = False,
) -> None:
    """Train a policy.

    The same command resumes an interrupted run from its last checkpoint, and extends a finished
    one if --timesteps is larger. `rbgym evaluate` reads a run from its first evaluation on.
    """
    env_kwargs = dict(env_arg or ())
    if env_kwargs:  # before a learning library is imported, which takes seconds
        options.check_env_args(env, env_kwargs)
    if seed + seeds > 2**32:
        raise ValueError(f"seeds must end below 2**32, got {seeds} from --seed {seed} on")
    if teacher is not None:
        if algo != "auto":
            raise ValueError(f"--teacher plays no part with {algo}, got {teacher!r}")
        change = options.once([*(change or ()), ("teacher", teacher)])
    changes = dict(change or ())
    if timesteps and (lost := {"iterations", "n_timesteps"} & changes.keys()):
        raise ValueError(f"--set must leave {', '.join(lost)} to --timesteps, got {changes}")
    if explain:
        chosen = hyperparameters_of(
            env, algo, hyperparameters, changes, init_from, timesteps, env_kwargs
        )
        given = {*changes, *(("iterations", "n_timesteps") if timesteps else ())}
        file = str(hyperparameters or f"{chosen['algo']}.yml")
        shown = {
            name: {"value": value, "source": "argument" if name in given else file}
            for name, value in chosen.items()
        }
        options.print_resolved(env, env_kwargs, as_json, {"hyperparameters": shown})
        return
    folder = out or Path("runs") / f"{env.rpartition(':')[2]}-{algo}-{seed}"
    results = []
    for n in range(seeds):
        out = folder / str(seed + n) if seeds > 1 else folder
        done = train_policy(
            env, algo, out=out, seed=seed + n, hyperparameters=hyperparameters, changes=changes,
            env_kwargs=env_kwargs, init_from=init_from, resume=not overwrite, report=_say,
            timesteps=timesteps, threads=threads, progress=progress,
            checkpoint_every=checkpoint_every, evaluate_every=evaluate_every,
        )  # fmt: skip
        results.append(done.results)
        if not as_json:
            _report(done, seeds - n - 1)
    if as_json:
        print_json(results if seeds > 1 else results[0])


def _report(done: Training, left: int) -> None:
    """Print the results of a training. left: number of seeds still to train."""
    from rbgym.agents.train.run import is_better, summary

    found = done.results
    if done.resumed_from is None:
        typer.echo(
            f"{done.folder.path} was finished before ({found['timesteps']} steps): "
            "--overwrite trains it again"
        )
        return
    line = f"trained {found['timesteps']} steps in {found['wall_time']:.1f} s"
    line += f", on the test set: {summary(found['test'])}" if "test" in found else ""
    typer.echo(plain(f"{line}: {done.folder.policy}"))
    if "idle" in found:
        typer.echo(f"doing nothing, on the validation set: {summary(found['idle'])}")
        if law := found.get("teacher"):
            typer.echo(f"{law['law']}, on the validation set: {summary(law)}")
            if is_better(law, found["judgements"][found.get("kept", 0)]):
                line = "the law is better: try more --set iterations or rounds, or another --seed"
                typer.echo(line)
    if left:
        _say(f"{left} more seeds: about {left * found['wall_time'] / 60.0:.0f} min")


def _say(message: str) -> None:
    """Print on stderr, above a progress bar, which captures `print` but not Click's `echo`."""
    print(plain(message), file=sys.stderr)


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
        list[Any] | None, Option(help="One gain of a controller.", **options.PAIRS)
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

    Each comes with the contract of its inputs and outputs: names, units, frames, scales, and the
    control period. C is for networks and most laws, ONNX for networks.
    The environment is the one named, else that of the run, else RigidTop-v0.
    """
    options.known_policies(policy)  # before the heavy imports
    import gymnasium as gym

    from rbgym.agents.controllers import at_work
    from rbgym.agents.export import export_c, export_onnx
    from rbgym.agents.judge.episodes import contenders

    if c is None and onnx is None:
        raise ValueError("--c or --onnx must name a folder, got neither")
    env_id, (found,) = contenders([policy], env, env_kwargs=dict(env_arg or ()))
    flown: Any = gym.make(env_id, **found.env_kwargs).unwrapped
    gains = dict(gain or ())
    if gains and not isinstance(found.policy, str):
        raise ValueError(f"--gain must be left out for a trained policy, got {gains}")
    chosen = at_work(found.policy, flown, **gains)
    about = {"policy": policy, "env_id": env_id, "env_kwargs": found.env_kwargs, "gains": gains}
    contract: dict[str, Any] = {}
    if c is not None and (c / "policy.safetensors").exists():  # before anything is written
        raise ValueError(f"--c must not name the folder of a policy, got {str(c)!r}")
    if onnx is not None:
        contract = export_onnx(onnx, chosen, flown, about)
    if c is not None:
        contract = export_c(c, chosen, flown, about)
    if as_json:
        print_json(contract)
        return
    written = [file for file in (c and c / "policy.c", onnx and onnx / "policy.onnx") if file]
    typer.echo(f"wrote {' and '.join(map(str, written))}, to call every {flown.dt:g} s")
