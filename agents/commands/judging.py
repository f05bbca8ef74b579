"""`rbgym campaign`, `rbgym evaluate` and `rbgym card`."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from rbgym.agents.cases import resolved
from rbgym.agents.commands import options
from rbgym.agents.commands.app import JUDGE, command
from rbgym.agents.terminal import Counter, bar, print_json, print_table
from rbgym.registration import ENVIRONMENTS


@command(
    JUDGE,
    "rbgym campaign ReactionWheelSlew-v1 --policy pd --policy bang_bang --spread spread.yml "
    "--require require.yml --out runs/campaign",
    "rbgym campaign runs/campaign --require require.yml",
    "rbgym campaign runs/campaign --replay 4711 --policy pd --video run.mp4",
)
def campaign(
    context: typer.Context,
    target: Annotated[
        str,
        Argument(
            help="Environment, or the folder of a campaign to report or replay.",
            autocompletion=lambda: [*ENVIRONMENTS],
        ),
    ],
    policy: Annotated[
        list[str] | None,
        Option(
            help="Controller, 'pretrained' or folder, or a policy of the folder to replay.",
            autocompletion=options.policies,
        ),
    ] = None,
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
    estimator: options.Estimator = False,
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
        options.use_only(context, f"a replay from {target}", "replay", "video", "policy")
        _replay(Path(target), replay, policy, video, as_json)
        return
    wanted = _read("--require", require)
    if there:
        options.use_only(context, f"the folder of a campaign, {target}", "require")
    else:
        options.known_environments(target)
        if not options.known_policies(policy):
            raise ValueError("--policy must name a controller, a folder or 'pretrained', got none")
        if out is None:
            raise ValueError("--out must name a folder for the campaign, got none")
        options.check_env_args(target, dict(env_arg or ()))
    from rbgym.agents import campaigns
    from rbgym.agents.campaigns import pictures

    if there:
        found = campaigns.Report.of(campaigns.Campaign.open(target), wanted)
    else:
        found = campaigns.campaign(
            target, policy, runs, out or Path(), spread=_read("--spread", spread), require=wanted,
            env_kwargs=dict(env_arg or ()), seed=seed, window=window, estimator=estimator,
            impossible="redraw" if redraw else "refuse", jobs=jobs, with_budget=budget,
            progress=True,
        )  # fmt: skip
    print_json(found.as_dict()) if as_json else found.print()
    pictures.write(found, found.campaign.folder / "pictures")
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
    from rbgym.agents.judge import plots

    if policy is not None and len(policy) > 1:
        raise ValueError(f"--policy must name one policy to replay, got {policy}")
    campaign = Campaign.open(folder)
    found = Replay.of(campaign, run, policy[0] if policy else None, video)
    stem = folder / "replays" / re.sub(r"[^\w.-]", "_", f"{run}-{found.contender}")
    stem.parent.mkdir(exist_ok=True)
    found.write_csv(Path(f"{stem}.csv"))
    plots.save(found.figure(), Path(f"{stem}.png"))
    if as_json:
        print_json(found.row)
    else:
        cells = [(name, str(value)) for name, value in found.row.items()]
        print_table(f"{stem}.csv, .png", ("column", "value"), cells)
    if differing := found.differs(campaign):
        typer.echo(f"the replay differs in: {', '.join(differing)}", err=True)


@command(
    JUDGE,
    "rbgym evaluate AttitudeSlew-v1 --policy pretrained --policy pd",
    "rbgym evaluate AttitudeTracking-v1 --policy pd --policy pid --episodes 64",
    "rbgym evaluate RigidTop-v0 --policy runs/first --policy pd --plot comparison.png",
)
def evaluate(
    targets: Annotated[
        list[str],
        Argument(
            help="Environment; folders, controllers (pd) or 'pretrained'.",
            autocompletion=lambda: [*ENVIRONMENTS, *options.policies()],
        ),
    ],
    policy: options.Policies = None,
    env: options.EnvOption = None,
    env_arg: options.EnvArgs = None,
    episodes: options.Episodes = 256,
    split: options.Split = "test",
    seed: Annotated[int, Option(help="Seed of fresh start states.", min=0)] = 0,
    estimator: options.Estimator = False,
    intervals: Annotated[
        bool,
        Option(
            "--intervals",
            help="Print differences from the first policy, with 95 % intervals: "
            "a bootstrap over the start states. Seeds of training play no part.",
        ),
    ] = False,
    plot: options.Plot = None,
    video: options.Video = None,
    video_episode: Annotated[int, Option(help="Episode to film, from 0.", min=0)] = 0,
    explain: options.Explain = False,
    as_json: options.Json = False,
) -> None:
    """Measure policies and controllers on the same fixed start states.

    The environment is the one named, else the first run's, else RigidTop-v0. --env-arg applies to
    all of them. Otherwise a trained policy keeps the arguments of its training; a controller takes
    those of the listed runs, if they agree and no environment is named.
    """
    env, targets = _env_among(targets, env)
    names = [*options.known_policies(targets), *(policy or [])]
    if not names:
        raise ValueError("--policy must name a controller, a folder or 'pretrained', got none")
    if intervals and (as_json or len({*names}) == 1 or episodes < 2):
        raise ValueError(
            f"--intervals must be of two policies or more and two episodes or more, without --json,"
            f" got {names} and {episodes} episodes"
        )
    from rbgym.agents.judge import evaluation, tables
    from rbgym.agents.judge.episodes import contenders

    if video:
        from rbgym.agents.judge import videos

        if estimator:
            raise ValueError("--video must be left out with --estimator")
        videos.require(video, video_episode, episodes)
        if plot and plot.resolve() == video.resolve():
            raise ValueError(f"--plot and --video must be two files, got {str(plot)!r} twice")
    elif video_episode:
        raise ValueError(f"--video-episode must be left out without --video, got {video_episode}")
    env, judged = contenders(names, env, dict(env_arg or ()))
    if explain and as_json:
        print_json({one.name: resolved(env, one.env_kwargs) for one in judged})
        return
    if explain:
        for n, one in enumerate(judged):
            if one.env_kwargs not in [other.env_kwargs for other in judged[:n]]:
                options.print_resolved(env, one.env_kwargs, as_json=False)
        return
    if intervals and any(_physics(env, one) != _physics(env, judged[0]) for one in judged):
        raise ValueError(
            "--intervals must be of one env: policies bring the arguments of their training unless "
            f"--env-arg names them, got {[one.env_kwargs for one in judged]}"
        )
    chosen: dict[str, Any] = {"split": split, "seed": seed, "estimator": estimator}
    with bar() as shown:
        evaluations = {
            one.name: evaluation.evaluate(one.policy, env, episodes, **chosen, **one.env_kwargs)
            for one in shown.track(judged, description="policies")
        }
    if as_json:
        heads = {one.name: {"env_id": env, "env_kwargs": one.env_kwargs} for one in judged}
        print_json({name: heads[name] | e.as_dict() for name, e in evaluations.items()})
    else:
        tables.print_evaluations(evaluations, env, judged, "fixed" if split == "test" else split)
    if intervals:
        tables.print_differences(evaluations)
    if plot:
        from rbgym.agents.judge import plots

        plots.save(plots.comparison(evaluations), plot)
    if video:
        start = next(iter(evaluations.values())).played.start(video_episode)
        videos.film(video, env, judged, start)


def _physics(env: str, one: Any) -> dict[str, Any]:
    """The numbers of a contender's env, without what it observes and names for other numbers."""
    from rbgym.envs.layers import leaves  # its import compiles kernels

    seen = "observation", "info", "satellite", "difficulty"
    found = leaves(resolved(env, one.env_kwargs))
    return {name: leaf["value"] for name, leaf in found if name not in seen}


@command(
    JUDGE,
    "rbgym card RigidTop-v0 --policy pd --policy lqr --episodes 64",
    "rbgym card AttitudeSlew-v1 --out cards/slew",
    "rbgym card RigidTop-v0 --env-arg integrator=akw --json",
)
def card(
    env: options.Env,
    policy: options.Policies = None,
    episodes: options.Episodes = 256,
    out: Annotated[
        Path | None, Option(help="Write OUT.md, .json and .png.", callback=options.files_beside)
    ] = None,
    env_arg: options.EnvArgs = None,
    explain: options.Explain = False,
    as_json: options.Json = False,
) -> None:
    """Compare controllers and policies on a task, by many figures of merit.

    Without --policy, compare all that fit but mpc and ilqr, and the shipped policy. --env-arg
    applies to every row; otherwise a trained policy keeps the arguments of its training.
    """
    given = dict(env_arg or ())
    if explain:
        options.print_resolved(env, given, as_json)
        return
    from rbgym.agents.judge import tables
    from rbgym.agents.judge.card import make_card

    with bar() as shown:
        show = Counter(shown, "policies")
        made = make_card(env, policy or (), episodes=episodes, env_kwargs=given, progress=show)
    if out:
        made.write(out)
    content = made.as_dict()
    print_json(content) if as_json else tables.print_card(content)


def _env_among(targets: list[str], env: str | None) -> tuple[str | None, list[str]]:
    """Split targets into one env id (default `env`) and the others; ValueError for several ids."""
    ids = [one for one in targets if re.search(r"-v\d+$", one) and not Path(one).exists()]
    named = [*ids, *([env] if env else [])]
    if len(named) > 1:
        raise ValueError(f"targets must name one environment at most, got {named}")
    options.known_environments(named)
    return next(iter(named), None), [one for one in targets if one not in ids]
