"""`rbgym evaluate` and `rbgym card`."""

import re
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from rbgym.agents.commands import options
from rbgym.agents.commands.app import JUDGE, command
from rbgym.agents.terminal import Counter, bar, print_json
from rbgym.registration import ENVIRONMENTS


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
    intervals: Annotated[
        bool, Option("--intervals", help="Print differences with confidence intervals.")
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
    from rbgym.agents.judge import evaluation, tables
    from rbgym.agents.judge.episodes import contenders

    if video:
        from rbgym.agents.judge import videos

        videos.require(video, video_episode, episodes)
    env, judged = contenders(names, env, dict(env_arg or ()))
    if explain:
        for n, one in enumerate(judged):
            if one.env_kwargs not in [other.env_kwargs for other in judged[:n]]:
                from rbgym.agents.commands.tables import print_resolved

                print_resolved(env, one.env_kwargs, as_json)
        return
    with bar() as shown:
        evaluations = {
            one.name: evaluation.evaluate(
                one.policy, env, episodes, split=split, seed=seed, **one.env_kwargs
            )
            for one in shown.track(judged, description="policies")
        }
    if as_json and intervals:
        raise ValueError("--intervals plays no part with --json")
    if as_json:
        heads = {one.name: {"env_id": env, "env_kwargs": one.env_kwargs} for one in judged}
        print_json({name: heads[name] | e.as_dict() for name, e in evaluations.items()})
    else:
        which = "fixed" if split == "test" else split
        tables.print_evaluations(evaluations, env, judged, which)
    if intervals:
        tables.print_differences(evaluations)
    if plot:
        from rbgym.agents.judge import plots

        plots.save(plots.comparison(evaluations), plot)
    if video:
        videos.film(video, env, judged, episode=video_episode)


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

    Without --policy, compare all that fit. --env-arg applies to every row; otherwise a trained
    policy keeps the arguments of its training.
    """
    given = dict(env_arg or ())
    if explain:
        from rbgym.agents.commands.tables import print_resolved

        print_resolved(env, given, as_json)
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
