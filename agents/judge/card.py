"""The benchmark card of a task: controllers and policies compared on the same start states."""

import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import gymnasium as gym
import numpy as np
from gymnasium.spaces.utils import flatdim

from rbgym.agents import cases, controllers
from rbgym.agents.cases import BEHIND, DISPERSED, PRETRAINED, SHIPPED
from rbgym.agents.judge import tables
from rbgym.agents.judge.episodes import (
    Contender,
    PlayedEpisodes,
    contenders,
    joined,
    play_from,
    readable_in,
)
from rbgym.agents.judge.evaluation import Evaluation, summary, wilson_interval
from rbgym.agents.judge.tables import ALL
from rbgym.agents.policies import TrainedPolicy, trained
from rbgym.agents.run_folder import as_text, replacing
from rbgym.envs.base import AttitudeEnv
from rbgym.envs.parts.goals import Rest, Target

_ARCSECOND = math.radians(1.0 / 3600.0)
# Sensors of satellites that are judged without knowing their state. The gyro has Sensonor's figures
# for the STIM210: 0.10 deg/sqrt(h), and a bias of 10 deg/h rms over temperature (frequently asked
# questions, sensonor.com). The bias walk and the star tracker are examples of the order that small
# satellites fly, not of a product.
SENSORS: dict[str, Any] = {
    "gyro": {"angle_walk": math.radians(0.1) / 60.0, "rate_walk": 1e-7,
             "bias": math.radians(10.0) / 3600},
    "star_tracker": {"across_boresight": 10.0 * _ARCSECOND, "about_boresight": 70.0 * _ARCSECOND,
                     "boresight": (0.0, 0.0, 1.0), "period": 0.5, "slew_rate": math.radians(2.0)},
}  # fmt: skip
# Errors of attitude [rad] and bias [rad/s] that an estimator leaves after some seconds, to which
# `conditions_of` adds the gyros' noise: policies for behind the sensors are trained in them.
_LEFT = {"attitude": 5e-5, "rate_bias": 2e-6}
# Measurements as good as such estimates, for bodies with flexible modes.
_GOOD_GYRO = SENSORS["gyro"] | {"bias": 2e-5}
_GOOD_TRACKER = {"across_boresight": 3e-5, "about_boresight": 3e-5, "boresight": (0.0, 0.0, 1.0)}
# Errors of the body that a law assumes: relative ones, and misalignment of actuators [rad].
DISPERSIONS = {"inertia": 0.3, "actuator_scale": 0.2, "misalignment": 0.05}


@dataclass(frozen=True)
class Row:
    """One controller or algorithm. merits: evaluations by category and for "all". of_seeds: success
    rate by training seed; of several, the package's policy is the median. origin: a trained
    policy's algorithm, seed, timesteps, wall_time. conditions: evaluations of "all" in each of
    `conditions_of`, with the package's policy for it. holds: `controllers.validity` of a law."""

    merits: Mapping[str, Evaluation]
    of_seeds: Mapping[int, float]
    origin: Mapping[str, Any]
    conditions: Mapping[str, Evaluation] = field(default_factory=dict)
    holds: Sequence[tuple[str, float, float]] = ()


@dataclass(frozen=True)
class Card:
    """The rows of a task by name, best first. env_kwargs: arguments of the env for every row."""

    env_id: str
    rows: Mapping[str, Row]
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Convert to data for JSON, without the episodes; other objects become their repr."""
        return {
            "env_id": self.env_id,
            "env_kwargs": {name: _plain(value) for name, value in self.env_kwargs.items()},
            "rows": {
                name: {
                    "merits": {kind: found.as_dict() for kind, found in row.merits.items()},
                    "of_seeds": {str(seed): rate for seed, rate in row.of_seeds.items()},
                    "origin": dict(row.origin),
                    "conditions": {name: e.as_dict() for name, e in row.conditions.items()},
                    "holds": [list(one) for one in row.holds],
                }
                for name, row in self.rows.items()
            },
        }

    def write(self, path: Path) -> None:
        """Write the tables (.md), the figures (.json) and the plot (.png), all three or none."""
        from rbgym.agents.judge import plots  # it needs matplotlib

        path.parent.mkdir(parents=True, exist_ok=True)
        content = self.as_dict()
        whole = {name: row.merits[ALL] for name, row in self.rows.items()}
        with replacing(path.with_name(f"{path.name}.md")) as temporary:
            temporary.write_text(tables.page(content), "utf-8")
            with replacing(path.with_name(f"{path.name}.json")) as data:
                data.write_text(as_text(content), "utf-8")
                figure = plots.card(tables.title(content), whole)
                plots.save(figure, path.with_name(f"{path.name}.png"))


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
    progress: Callable[[int, int], None] = lambda done, policies: None,
) -> Card:
    """Measure controllers and policies on the test set of a task.

    targets: names of controllers, "pretrained", or folders of runs or policies; those that differ
    only in the seed make one row. Without targets, all that fit. env_kwargs: arguments of the env
    for every row, which override those of a policy's training. progress: called with (done, all)
    before each. Raises ValueError for bad arguments, and for a policy that cannot read the
    observations of that env.
    """
    if not isinstance(targets, list | tuple) or not all(isinstance(t, str) for t in targets):
        raise ValueError(f"targets must be a list of names, got {targets!r}")
    starts = cases.starts_of(env_id, episodes)  # raises for bad arguments, before the work
    names = list(dict.fromkeys(targets))
    if not names:
        with closing(gym.make(env_id, **cases.by_name("env_kwargs", env_kwargs))) as env:
            names = controllers.for_env(env)
        names += [PRETRAINED] * (env_id.rpartition(":")[2] in trained.names())
    _, found = contenders(names, env_id, env_kwargs)
    groups: dict[str, list[Played]] = {}
    for done, one in enumerate(found):
        progress(done, len(found))
        members = groups.setdefault(_row_name(one, groups), [])
        known = play_from(starts, one.policy, env_id, one.env_kwargs)
        members.append(Played(one, known, _in_conditions(one, env_id, starts)))
    rows = [(name, _row(members, env_id)) for name, members in groups.items()]
    best_first = sorted(rows, key=lambda row: row[1].merits[ALL].rank)
    return Card(env_id, dict(best_first), dict(env_kwargs or {}))


class Played(NamedTuple):
    """A contender's episodes: `known`, where it knows its state, and those in each condition."""

    contender: Contender
    known: PlayedEpisodes
    conditions: dict[str, PlayedEpisodes]


def _in_conditions(one: Contender, env_id: str, starts: cases.Starts) -> dict[str, PlayedEpisodes]:
    found = {}
    for name, (kwargs, _, estimating) in conditions_of(env_id, one.env_kwargs).items():
        shipped = one.name == PRETRAINED and name in trained.conditions(env_id)
        policy = trained.load(env_id, name) if shipped else one.policy
        if isinstance(policy, TrainedPolicy):
            widths = [flatdim(space) for space in readable_in(env_id, kwargs)]
            if flatdim(policy.observation_space) not in widths:
                continue  # the policy was not trained for this condition
        found[name] = play_from(starts, policy, env_id, kwargs, estimating)
    return found


def _over_seeds(runs: list[PlayedEpisodes]) -> Evaluation:
    """Evaluate the episodes of all seeds. Those of one start, or of one seed, are not independent:
    the success rate's interval resamples both, and is at least as wide as that of one run."""
    found = summary(joined(runs))
    if len(runs) == 1:
        return found
    from rbgym.agents.judge.statistics import interval  # it needs scipy

    success = np.stack([one.success.astype(float) for one in runs])
    starts = success.shape[1]
    wilson = wilson_interval(round(found.success_rate * starts), starts)
    _, low, high = interval(success, np.mean)
    return replace(found, success_interval=(min(low, wilson[0]), max(high, wilson[1])))


def _row_name(one: Contender, groups: Mapping[str, list[Played]]) -> str:
    """The name of the contender's row; policies trained alike but for the seed share one."""
    if one.config is None:
        return one.name
    algorithm = name = str(one.config.get("algo", "policy"))
    if one.name in SHIPPED:
        name += f", shipped{one.name.removeprefix(PRETRAINED)}"
    others = [member.contender.config or {} for member in groups.get(name, ())]
    same = ("algo", "hyperparameters", "env_kwargs", "timesteps", "init_from")
    alike = all(one.config.get(key) == other.get(key) for other in others[:1] for key in same)
    another_seed = one.config.get("seed") not in [other.get("seed") for other in others]
    return name if not others or (alike and another_seed) else f"{algorithm}, {one.name}"


def _row(members: list[Played], env_id: str) -> Row:
    configs = [one.contender.config or {} for one in members]
    runs = [one.known for one in members]
    training = configs[0].get("training", {})
    origin = {key: configs[0][key] for key in ("algo", "seed") if key in configs[0]}
    origin |= {key: training[key] for key in ("timesteps", "wall_time") if key in training}
    rates = {
        int(config.get("seed", k)): float(run.success.mean())
        for k, (config, run) in enumerate(zip(configs, runs, strict=True))
    }
    merits = {ALL: _over_seeds(runs)}
    for category in dict.fromkeys(runs[0].category):
        merits[str(category)] = _over_seeds([one.chosen(one.category == category) for one in runs])
    conditions = {
        name: _over_seeds([one.conditions[name] for one in members])
        for name in members[0].conditions
    }
    seeds = training.get("of_seeds", {})  # a shipped policy is the median of these
    rates = rates if len(runs) > 1 else {int(seed): float(rate) for seed, rate in seeds.items()}
    one, holds = members[0].contender, []
    if isinstance(one.policy, str):
        with closing(gym.make(env_id, **one.env_kwargs)) as env:
            holds = controllers.validity(one.policy, env)
    return Row(merits, rates, origin, conditions, holds)


class Condition(NamedTuple):
    """A harder variant of a task. env_kwargs: arguments of the env for judging. trained_in: those
    for training a policy for it. estimating: whether an estimator processes the observations."""

    env_kwargs: dict[str, Any]
    trained_in: dict[str, Any]
    estimating: bool = False


def conditions_of(env_id: str, given: Mapping[str, Any]) -> dict[str, Condition]:
    """The conditions that a task allows, by name, except those whose arguments are `given`.
    "behind": `SENSORS` measure the state, an estimator filters them, and commands act one control
    period late; policies are trained in noise without the delay (`controllers.at_work`), with
    flexible modes behind both. "dispersed": bodies and actuators vary by `DISPERSIONS`."""
    task, found = cases.task_of(env_id), {}
    with closing(gym.make(env_id, **given)) as made:
        env = cast(AttitudeEnv, made.unwrapped)
        dt, wheels = float(env.dt), env.actuator.rotors
    attitude_only = isinstance(task.goal, Target | Rest) and not task.docked
    if attitude_only and not given.keys() & {"sensor", "actuator"}:
        measured = {} if env.episodes.setup.parts.sensor.is_noisy() else {"sensor": SENSORS}
        behind = {**given, "actuator": {"delay": {"seconds": dt}}, **measured}
        noise = _LEFT | {"rate": SENSORS["gyro"]["angle_walk"] / math.sqrt(dt)}
        trained_in = {**given, "sensor": noise}
        if env.episodes.setup.actuator.modes:  # whose motion `Foreseeing` does not predict
            tracker = _GOOD_TRACKER | {"period": dt}
            trained_in = behind | {"sensor": {"gyro": _GOOD_GYRO, "star_tracker": tracker}}
        found[BEHIND] = Condition(behind, trained_in, True)
    if "randomization" not in given:
        friction = {"friction": 0.5} if wheels and (wheels.viscous or wheels.coulomb) else {}
        dispersed = {**given, "randomization": DISPERSIONS | friction}
        found[DISPERSED] = Condition(dispersed, dispersed)
    return {name: one for name, one in found.items() if _is_possible(env_id, one)}


def _is_possible(env_id: str, condition: Condition) -> bool:
    with warnings.catch_warnings():  # that sensors are too coarse, without the estimator
        warnings.filterwarnings("ignore", message="sensor", category=UserWarning)
        try:
            with closing(gym.make(env_id, **condition.env_kwargs)) as env:
                if condition.estimating:
                    controllers.Estimating.for_env(controllers.Idle(), env)
        except ValueError:  # another observation, a dict of goals, a part that the task lacks
            return False
    return True
