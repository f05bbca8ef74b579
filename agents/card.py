"""The benchmark card of a task: controllers and policies side by side, on the same start states."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rbgym.agents import comparison, controllers, merits, shelf
from rbgym.agents.cases import PRETRAINED, Episodes, by_name, joined, play_category, starts_of
from rbgym.agents.comparison import Contender
from rbgym.agents.evaluation import settling, wilson_interval

ALL = "all"


@dataclass(frozen=True)
class Merits:
    """How some episodes went. success_interval: Wilson's, 95 %. Of the rest the medians, None
    where there is nothing to tell.

    final_error, overshoot: attitude [deg]; settling_time [s], over the successes; effort [N m s];
    torque_variation [N m]; unwound: successes that came by the long way round; eigenaxis_share:
    settling time over the least time of a turn about the eigenaxis, of starts at rest.
    """

    episodes: int
    success_rate: float
    success_interval: tuple[float, float]
    mean_return: float
    final_error: float
    settling_time: float | None
    overshoot: float | None
    effort: float
    torque_variation: float
    unwound: int | None
    eigenaxis_share: float | None


@dataclass(frozen=True)
class Row:
    """One controller or algorithm: merits by category and of "all"; success of each seed.

    of_seeds: by the seed of training, for policies trained with several; else empty. origin: what
    made a trained policy: algorithm, seed, timesteps, wall_time; empty for a controller.
    played: the episodes of all seeds, for plots.
    """

    merits: Mapping[str, Merits]
    of_seeds: Mapping[int, float]
    origin: Mapping[str, Any]
    played: Episodes = field(repr=False)


@dataclass(frozen=True)
class Card:
    """The rows of a task by name, best first. env_kwargs: arguments of the env for every row."""

    env_id: str
    rows: Mapping[str, Row]
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Without the episodes, ready for JSON; arguments that are no plain data by their repr."""
        rows = {
            name: {
                "merits": {category: vars(found) for category, found in row.merits.items()},
                "of_seeds": {str(seed): rate for seed, rate in row.of_seeds.items()},
                "origin": dict(row.origin),
            }
            for name, row in self.rows.items()
        }
        told = {name: _plain(value) for name, value in self.env_kwargs.items()}
        return {"env_id": self.env_id, "env_kwargs": told, "rows": rows}

    def _repr_html_(self) -> str:
        from rbgym.agents import card_report

        return card_report.html(self.as_dict())


def _plain(value: Any) -> Any:
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError):
        return repr(value)


def make_card(
    env_id: str,
    targets: Sequence[str] = (),
    *,
    episodes: int = 256,
    env_kwargs: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] = lambda done, pieces: None,
) -> Card:
    """Measure controllers and policies on the test set of a task.

    targets: names of controllers, "pretrained", or folders of runs or policies, of which those of
    one algorithm with different seeds make one row; without any, every controller that fits, and
    the package's policy if there is one. env_kwargs: arguments of the env for every row; a trained
    policy has those of its training beneath. progress: called with (done, all) before the first
    set of episodes and after each.
    Raises ValueError for bad arguments, and for a policy that cannot read what the env then shows.
    """
    kwargs, starts = by_name("env_kwargs", env_kwargs), starts_of(env_id, episodes)
    if not isinstance(targets, list | tuple) or not all(isinstance(t, str) for t in targets):
        raise ValueError(f"targets must be a list of names, got {targets!r}")
    env = gym.make(env_id, **kwargs)
    try:
        groups = _groups(list(targets) or _usual(env_id, env), env_id, kwargs)
        done, pieces = 0, len(starts) * sum(map(len, groups.values()))
        progress(done, pieces)
        rows = {}
        for name, members in groups.items():
            runs = []
            for one in members:
                played = []
                for some in starts:
                    kwargs_of_start = one.env_kwargs | some.kwargs
                    played.append(
                        play_category(
                            one.policy, env_id, some.category, some.seeds, kwargs_of_start
                        )
                    )
                    done += 1
                    progress(done, pieces)
                runs.append(joined(played))
            rows[name] = _row(members, runs, env_id)
    finally:
        env.close()
    best_first = sorted(rows, key=lambda name: -rows[name].merits[ALL].success_rate)
    return Card(env_id, {name: rows[name] for name in best_first}, kwargs)


def _usual(env_id: str, env: gym.Env[Any, Any]) -> list[str]:
    known = env_id.rpartition(":")[2] in shelf.names()
    return [*controllers.for_env(env), *([PRETRAINED] if known else [])]


def _groups(targets: list[str], env_id: str, kwargs: dict[str, Any]) -> dict[str, list[Contender]]:
    """The members of each row, by its name."""
    groups: dict[str, list[Contender]] = {}
    for target in dict.fromkeys(targets):
        if target in controllers.names():
            groups[target] = [Contender(target, target, kwargs)]
            continue
        policy = comparison.load(target, env_id)
        member = Contender(target, policy, comparison.own_kwargs(policy, env_id, kwargs))
        algorithm = str(policy.config.get("algo", "policy"))
        shipped = target == PRETRAINED
        name = f"{algorithm}, shipped" if shipped else algorithm
        if name in groups and not _is_another_seed(policy, groups[name]):
            name = f"{algorithm}, {target}"
        groups.setdefault(name, []).append(member)
    return groups


def _is_another_seed(policy: Any, members: Sequence[Contender]) -> bool:
    """Whether the policy was trained as the others were, but for the seed."""
    same = ("algo", "hyperparameters", "env_kwargs", "timesteps")
    configs = [member.policy.config for member in members]
    alike = all(policy.config.get(key) == configs[0].get(key) for key in same)
    return alike and policy.config.get("seed") not in [config.get("seed") for config in configs]


def _row(members: Sequence[Contender], runs: list[Episodes], env_id: str) -> Row:
    configs = [getattr(member.policy, "config", {}) for member in members]
    origin = dict(configs[0])
    training = origin.get("training", {})
    told = {key: origin[key] for key in ("algo", "seed") if key in origin}
    told |= {key: training[key] for key in ("timesteps", "wall_time") if key in training}
    seeds = [int(config.get("seed", k)) for k, config in enumerate(configs)]
    rates = [float(run.success.mean()) for run in runs]
    together = joined(runs)
    categories = list(dict.fromkeys(together.category))
    env = gym.make(env_id, **members[0].env_kwargs)
    found = {ALL: measured(together, env.unwrapped)}
    for category in categories:
        part = chosen(together, together.category == category)
        found[str(category)] = measured(part, env.unwrapped)
    env.close()
    of_seeds = dict(zip(seeds, rates, strict=True)) if len(members) > 1 else {}
    return Row(found, of_seeds, told, together)


def chosen(played: Episodes, mask: NDArray[np.bool_]) -> Episodes:
    """Some of the episodes."""
    fields = dict(vars(played))
    for name in ("seeds", "category", "returns", "lengths", "success"):
        fields[name] = fields[name][mask]
    for name in ("attitude_error", "rate_error", "torque", "actions", "relative"):
        fields[name] = None if fields[name] is None else fields[name][:, mask]
    return Episodes(**fields)


def measured(played: Episodes, env: Any) -> Merits:
    """The merits of these episodes. env: the single env of the task."""
    n, successes = len(played.success), int(played.success.sum())
    unwound, share = merits.unwound(played), merits.share_of_eigenaxis_bound(played, env)
    return Merits(
        episodes=n,
        success_rate=successes / n,
        success_interval=wilson_interval(successes, n),
        mean_return=float(played.returns.mean()),
        final_error=float(np.degrees(np.median(merits.final_error(played)))),
        settling_time=_median(settling(played)[played.success]),
        overshoot=_median(np.degrees(merits.overshoot(played))),
        effort=float(np.median(merits.effort(played))),
        torque_variation=float(np.median(merits.torque_variation(played))),
        unwound=None if unwound is None else int(unwound.sum()),
        eigenaxis_share=None if share is None else _median(share),
    )


def _median(values: NDArray[np.float64]) -> float | None:
    """The median of what is not nan; None where nothing is left."""
    left = values[~np.isnan(values)]
    return float(np.median(left)) if len(left) else None
