"""`rbgym evaluate` and `rbgym card`."""

import re
from pathlib import Path
from typing import Annotated

import typer

from rbgym.agents.commands.app import app
from rbgym.agents.commands.options import EnvArgs, Json, Plot, Ray, Unpickle, pairs


@app.command()
def evaluate(
    targets: Annotated[
        list[str],
        typer.Argument(help="Environment, and folders, controllers (pd) or 'pretrained'."),
    ],
    policy: Annotated[
        list[str] | None, typer.Option("--policy", "--compare", help="One more target.")
    ] = None,
    env: Annotated[
        str | None, typer.Option(help="Environment; default: the first run's, or RigidTop-v0.")
    ] = None,
    unpickle: Unpickle = None,
    episodes: Annotated[int, typer.Option(help="Start states of the test set.")] = 256,
    plot: Plot = None,
    video: Annotated[
        Path | None, typer.Option(help="Write a video of one episode: OUT.mp4 or OUT.gif.")
    ] = None,
    video_episode: Annotated[
        int, typer.Option(help="Which episode of the test set is filmed, from 0.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """Measure policies and controllers on the same fixed start states."""
    from rbgym.agents import comparison, reports

    env, targets = _env_among(targets, env)
    if not [*targets, *(policy or [])]:
        raise ValueError("--policy must name a controller, a folder or 'pretrained', got none")
    if video:
        from rbgym.agents import videos

        videos.require(video, video_episode)
    evaluations = comparison.compare([*targets, *(policy or [])], env, episodes, unpickle)
    if plot:
        from rbgym.agents.plots import plot_comparison

        plot_comparison(evaluations, plot)
    if video:
        named = [*targets, *(policy or [])]
        videos.film(video, *comparison.contenders(named, env, unpickle), episode=video_episode)
    if as_json:
        reports.print_json({name: e.as_dict() for name, e in evaluations.items()})
    else:
        reports.print_evaluations(evaluations)


@app.command()
def card(
    env: Annotated[str, typer.Argument(help="Environment, see rbgym list.")],
    policy: Annotated[
        list[str] | None,
        typer.Option(help="Controller, 'pretrained' or folder; default: all that fit."),
    ] = None,
    episodes: Annotated[int, typer.Option(help="Start states of the test set.")] = 256,
    out: Annotated[Path | None, typer.Option(help="Write OUT.md, OUT.json and OUT.png.")] = None,
    env_arg: EnvArgs = None,
    ray: Ray = None,
    as_json: Json = False,
) -> None:
    """Compare controllers and policies on a task's test set, by many figures of merit."""
    from rbgym.agents import card_report, reports
    from rbgym.agents.card import make_card
    from rbgym.agents.engines import spread_over

    kwargs = pairs("env-arg", env_arg)
    made = make_card(env, policy or (), episodes=episodes, env_kwargs=kwargs, **spread_over(ray))
    if out:
        card_report.write(made, out)
    content = made.as_dict()
    reports.print_json(content) if as_json else typer.echo(card_report.markdown(content))


def _env_among(targets: list[str], env: str | None) -> tuple[str | None, list[str]]:
    """The first target that is the id of an environment, unless `env` is one, and the others."""
    named = [
        target for target in targets if re.search(r"-v\d+$", target) and not Path(target).exists()
    ]
    if len(named) + (env is not None) > 1:
        raise ValueError(f"targets must name one environment at most, got {[*named, env]}")
    env = env or (named[0] if named else None)
    return env, [target for target in targets if target not in named]
