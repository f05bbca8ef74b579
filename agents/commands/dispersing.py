"""`rbgym campaign`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from rbgym.agents.commands import options
from rbgym.agents.commands.app import JUDGE, command
from rbgym.agents.terminal import print_json, print_table
from rbgym.registration import ENVIRONMENTS


@command(
    JUDGE,
    "rbgym campaign ReactionWheelSlew-v1 --policy pd --policy bang_bang --spread spread.yml "
    "--require require.yml --out runs/campaign",
    "rbgym campaign runs/campaign --require require.yml",
    "rbgym campaign runs/campaign --replay 4711 --policy pd --video run.mp4",
)
def campaign(
    target: Annotated[
        str,
        Argument(
            help="Environment, or the folder of a campaign to report or replay.",
            autocompletion=lambda: [*ENVIRONMENTS],
        ),
    ],
    policy: options.Policies = None,
    runs: Annotated[int, Option(help="Runs of each policy.", min=1)] = 1000,
    spread: Annotated[
        Path | None, Option(help="YAML: distributions by name.", metavar="FILE")
    ] = None,
    require: Annotated[Path | None, Option(help="YAML: limits by figure.", metavar="FILE")] = None,
    out: Annotated[
        Path | None,
        Option(help="Folder of the campaign.", metavar="DIR", callback=options.folder_to_make),
    ] = None,
    env_arg: options.EnvArgs = None,
    seed: Annotated[int, Option(help="Seed of all draws.", min=0)] = 0,
    window: Annotated[
        float | None, Option(help="Last seconds of a run, in which errors count.", min=0.0)
    ] = None,
    estimator: Annotated[
        bool, Option("--estimator", help="Put an estimator in front of every policy.")
    ] = False,
    redraw: Annotated[
        bool, Option("--redraw", help="Replace impossible draws instead of refusing them.")
    ] = False,
    budget: Annotated[
        bool, Option("--budget", help="Fly again without each source, for its contribution.")
    ] = False,
    jobs: Annotated[int | None, Option(help="Number of processes.", min=1)] = None,
    replay: Annotated[
        int | None, Option(help="Fly this run of the folder again; write CSV and plot.", min=0)
    ] = None,
    video: Annotated[
        Path | None,
        Option(help="Film the replay: OUT.mp4 or OUT.gif.", callback=options.file_to_write),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Fly a task many times with dispersed numbers, and judge requirements on all runs.

    All policies fly the same draws. The same command continues an interrupted campaign. Exit
    status 1 if the runs do not show that every requirement is met.
    """
    there = (Path(target) / "campaign.json").is_file()
    if replay is not None or video is not None:
        if not there or replay is None:
            raise ValueError(f"--replay must name a run of a campaign, got {replay} of {target!r}")
        _replay(Path(target), replay, policy, video, as_json)
        return
    wanted = _read("--require", require)
    if there:
        of_flight = {"--spread": spread, "--out": out, "--env-arg": env_arg, "--window": window,
                     "--estimator": estimator, "--redraw": redraw, "--budget": budget}  # fmt: skip
        if unused := [name for name, value in of_flight.items() if value]:
            raise ValueError(f"{unused[0]} plays no part with the folder of a campaign, {target!r}")
    else:
        options.known_environments(target)
        if not policy:
            raise ValueError("--policy must name a controller, a folder or 'pretrained', got none")
        if out is None:
            raise ValueError("--out must name a folder for the campaign, got none")
        options.check_env_args(target, dict(env_arg or ()))
    from rbgym.agents import campaigns
    from rbgym.agents.campaigns import pictures

    if there:
        flown = campaigns.Campaign.open(target)
        found = campaigns.Report.of(flown, wanted)
    else:
        found = campaigns.campaign(
            target, policy, runs, out or Path(), spread=_read("--spread", spread), require=wanted,
            env_kwargs=dict(env_arg or ()), seed=seed, window=window, estimator=estimator,
            impossible="redraw" if redraw else "refuse", jobs=jobs, with_budget=budget,
            progress=True,
        )  # fmt: skip
    pictures.write(found, found.campaign.folder / "pictures")
    print_json(found.as_dict()) if as_json else found.print()
    if not found.all_met:
        raise typer.Exit(1)


def _read(option: str, path: Path | None) -> Mapping[str, Any]:
    if path is None:
        return {}
    from rbgym.agents.train.presets import read_file

    found = read_file(option, path)
    if not isinstance(found, Mapping):
        raise ValueError(f"{option} must hold a mapping by name, got {found!r} in {str(path)!r}")
    return found


def _replay(
    folder: Path, run: int, policy: list[str] | None, video: Path | None, as_json: bool
) -> None:
    from rbgym.agents.campaigns import Campaign, Replay
    from rbgym.agents.judge import plots, videos

    if video is not None:
        videos.require(video)
    if policy is not None and len(policy) > 1:
        raise ValueError(f"--policy must name one policy to replay, got {policy}")
    campaign = Campaign.open(folder)
    found = Replay.of(campaign, run, policy[0] if policy else None, video)
    stem = folder / "replays" / f"{run}-{found.contender.replace('/', '_')}"
    stem.parent.mkdir(exist_ok=True)
    found.write_csv(stem.with_suffix(".csv"))
    plots.save(found.figure(), stem.with_suffix(".png"))
    row = {name: getattr(value, "item", lambda v=value: v)() for name, value in found.row.items()}
    if as_json:
        print_json(row)
    else:
        print_table(f"{stem}.csv, .png", ("column", "value"), [(n, str(v)) for n, v in row.items()])
    if differing := found.differs(campaign):
        typer.echo(f"the replay differs in: {', '.join(differing)}", err=True)
