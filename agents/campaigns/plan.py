"""What a campaign flies, as plain data, and the pilot that flies one group of its runs."""

import json
import zlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rbgym.agents import controllers
from rbgym.agents.campaigns.flight import Flight, Recorder
from rbgym.agents.campaigns.nominal import Nominal, varied
from rbgym.agents.campaigns.spread import Draws, Spread, drawn_names
from rbgym.agents.judge.contenders import Contender, contenders
from rbgym.agents.judge.episodes import Player
from rbgym.agents.policies import TrainedPolicy
from rbgym.arguments import count, flag, number
from rbgym.envs.arguments import named
from rbgym.envs.layers import plain
from rbgym.envs.reset import checked_seed
from rbgym.quaternion import Array

IMPOSSIBLE = "refuse", "redraw"
GROUP_SIZE, SMALL_GROUP = 256, 32
# What a policy was trained to read; all else is that of the campaign, for all contenders.
_READ = "observation", "preview"


@dataclass(frozen=True)
class Plan:
    """What a campaign flies. policies: names, or objects with `predict`, by name. group: runs that
    share an env. window [s]. estimator: whether one stands in front of every contender. without:
    the source that stays nominal."""

    env_id: str
    policies: Mapping[str, Any]
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    spread: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    group: int = GROUP_SIZE
    window: float | None = None
    estimator: bool = False
    impossible: str = "refuse"
    without: str | None = None

    @classmethod
    def of(cls, env_id: str, policies: Any, **given: Any) -> "Plan":
        """Checked; ValueError for what is none of this."""
        listed = [policies] if isinstance(policies, str) else policies
        by_name = listed if isinstance(listed, Mapping) else {str(one): one for one in listed}
        if not by_name:
            raise ValueError("policies must name a controller, a folder or 'pretrained', got none")
        plan = cls(env_id, dict(by_name), **{n: v for n, v in given.items() if v is not None})
        checked_seed(plan.seed)
        flag("estimator", plan.estimator)
        named("impossible", plan.impossible, IMPOSSIBLE)
        pilot = Pilot(plan)
        size = given.get("group") or (SMALL_GROUP if pilot.spread.grouped else GROUP_SIZE)
        dt, task = float(pilot.nominal.env.dt), pilot.nominal.env.task
        window = dt * task.settled_steps if plan.window is None else number(plan.window)
        limit = dt * pilot.nominal.env.episodes.setup.limit
        if not 0.0 <= window <= limit:
            raise ValueError(
                f"window must be from 0 to the {limit:g} s of a run, got {plan.window!r}"
            )
        return replace(plan, group=count("group", size), window=window)

    def identity(self) -> dict[str, Any]:
        """What makes two campaigns the same, as JSON holds it."""
        found: dict[str, Any] = plain(vars(self))
        return found


@dataclass(frozen=True)
class Leg:
    """A group of runs that one contender flew: their numbers and seeds, what they drew and began
    with, (n,) each by the name of its column; and the flight."""

    runs: range
    seeds: list[int]
    columns: dict[str, Array]
    flight: Flight


class Pilot:
    """Flies the groups of a plan. contenders: by name, each with the law that is made for the
    nominal env."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.nominal = Nominal(plan.env_id, plan.env_kwargs, drawn_names(plan.spread))
        self.spread = Spread(plan.spread, self.nominal, plan.seed, plan.without)
        targets = [one for one in plan.policies.values() if isinstance(one, str)]
        _, found = contenders(targets, plan.env_id, plan.env_kwargs)
        by_target = dict(zip(targets, found, strict=True))
        self.contenders = {
            name: by_target[one] if isinstance(one, str) else Contender(name, one, {})
            for name, one in plan.policies.items()
        }
        self._laws = {name: self._law(one) for name, one in self.contenders.items()}

    def digests(self) -> dict[str, int]:
        """What tells a trained policy from another of its name."""
        return {
            name: zlib.crc32(json.dumps(one.config, sort_keys=True, default=str).encode())
            for name, one in self.contenders.items()
            if one.config is not None
        }

    def _reads(self, one: Contender) -> dict[str, Any]:
        """Arguments of the env by which it shows what this policy reads."""
        return {n: one.env_kwargs[n] for n in _READ if n in one.env_kwargs}

    def _law(self, one: Contender) -> Any:
        """What acts, as it is made for the nominal env: it does not know what was drawn."""
        with closing(self.nominal.make(1, self._reads(one))) as env:
            if isinstance(one.policy, TrainedPolicy):
                one.policy.require(self.plan.env_id, env.single_observation_space)
            law = one.at_work(env)
            return controllers.Estimating.for_env(law, env) if self.plan.estimator else law

    def fly(self, group: int, name: str, **watch: Any) -> Leg:
        """The runs of a group as one contender flies them. watch: of a `Recorder`, whose lane is
        the run's place in the group."""
        plan, spread = self.plan, self.spread
        runs = range(group * plan.group, (group + 1) * plan.group)
        seeds = spread.seeds(runs)
        of_group, changes = spread.of_group(group, plan.impossible)
        of_runs, _ = spread.of_runs(runs, "redraw")
        changes = changes | self._reads(self.contenders[name])
        with closing(self.nominal.make(plan.group, changes)) as env:
            player = Player(self._laws[name], env, seeds)
            state = env.unwrapped.state
            options = self.nominal.options(state, of_runs)
            player.observation, player.info = env.reset(seed=seeds, options=options)
            shared = {n: np.tile(one, (plan.group, 1)) for n, one in of_group.items()}
            columns = self._columns(player, of_runs | shared)
            flight = Recorder(player, plan.window or 0.0, **watch).fly()
        return Leg(runs, seeds, columns, flight)

    def _columns(self, player: Player, draws: Draws) -> dict[str, Array]:
        """Everything that was drawn, one number a column: by the spread, and by the env itself."""
        found, places, env = dict[str, Array](), self.nominal.places, player.env.unwrapped
        for name, values in draws.items():
            found |= dict(zip(places[name].columns, values.T, strict=True))
        found = {name: found[name] for name in self.spread.columns}
        differs = varied(env)
        for name, values in env.parameters.items():
            if name in differs - {*draws, "inertia"} and name in places and values.any():
                rows = values.reshape(len(values), -1).T
                found |= dict(zip(places[name].columns, rows, strict=True))
        if "inertia" in differs and "inertia" not in draws:
            tensor = env.parameters["inertia"]
            found |= {f"inertia.{'xyz'[k]}{'xyz'[k]}": tensor[:, k, k] for k in range(3)}
        found["start.attitude_error_deg"] = np.degrees(player.info["attitude_error"])
        found["start.rate_error_deg_s"] = np.degrees(player.info["rate_error"])
        for name in ("wheel_momentum",):
            if name in env.state and name not in draws:
                rows = env.state[name].T
                found |= dict(zip(places[name].columns, rows, strict=True))
        for name in ("fault", "fault_channel", "fault_time"):
            if name in player.info:
                found[name] = np.asarray(player.info[name], dtype=np.float64)
        return {name: np.array(values, dtype=np.float64) for name, values in found.items()}
