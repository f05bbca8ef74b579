"""The contenders, and the episodes that they play from a task's fixed start states."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rbgym.agents import controllers
from rbgym.agents.cases import SHIPPED, Starts, by_name, check_policy, setup_of
from rbgym.agents.controllers import Controller, Policy, fitting
from rbgym.agents.controllers.base import relative
from rbgym.agents.policies import Attitude, SunDirection, TrainedPolicy, trained
from rbgym.arguments import flag
from rbgym.eigenaxis import eigenaxis_time
from rbgym.envs.parts.columns import bounds
from rbgym.envs.parts.goals import Target
from rbgym.envs.parts.observations import FORMS
from rbgym.quaternion import Array
from rbgym.registration import ENVIRONMENTS

OWN = "initial"  # the category of starts that an argument of the env draws
# Env arguments that change an observation's entries; `require_period` checks the scale of rates.
_ENTRIES = frozenset({"observation", "preview", "actuator"})
_INNER = "law", "policy", "pointing"  # what a law puts before the actuator


class Contender(NamedTuple):
    """A policy or a controller to judge. name: as the user gave it. policy: the policy, or the
    controller's name. env_kwargs: arguments of its env."""

    name: str
    policy: Any
    env_kwargs: dict[str, Any]

    @property
    def config(self) -> Mapping[str, Any] | None:
        """The content of a trained policy's policy.json; None for a controller."""
        return self.policy.config if isinstance(self.policy, TrainedPolicy) else None


def contenders(
    targets: Sequence[str], env_id: str | None = None, env_kwargs: Mapping[str, Any] | None = None
) -> tuple[str, list[Contender]]:
    """Resolve targets, which are folders of runs or policies, names of controllers, or of
    `SHIPPED`; returns the env's id and the contenders. env_id: None for that of the first
    folder, or else RigidTop-v0. env_kwargs: for all contenders; they override those of a policy's
    training. If env_id is None and all folders agree, controllers get the training's too.
    ValueError for other targets, and for a policy of other observations."""
    given = by_name("env_kwargs", env_kwargs)
    policies = {}
    for name in targets:
        if name not in (*controllers.names(), *SHIPPED):
            check_policy(name)
            policies[name] = trained.load(Path(name))
    configs = [policy.config for policy in policies.values() if "env_id" in policy.config]
    of_all: dict[str, Any] = {}
    if not env_id and configs:
        first, *others = [config.get("env_kwargs", {}) for config in configs]
        of_all = dict(first) if all(one == first for one in others) else {}
        of_all.pop("initial", None)
        env_id = str(configs[0]["env_id"])
        module = env_id.rpartition(":")[0]
        if module and module not in sys.modules:  # an untrusted policy file could name any module
            raise ValueError(
                f"env must be given for a policy of {env_id!r}, as its module would be imported: "
                f"say --env {env_id} if you trust it"
            )
    env_id = env_id or next(iter(ENVIRONMENTS))
    policies |= {name: trained.load(env_id, SHIPPED[name]) for name in SHIPPED if name in targets}
    found = []
    for name in targets:
        policy, kwargs = policies.get(name), {**of_all, **given}
        if policy is not None:
            kwargs = own_kwargs(policy, env_id, given if "env_id" in policy.config else kwargs)
        found.append(Contender(name, policy or name, kwargs))
    return env_id, found


def own_kwargs(policy: Any, env_id: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The env arguments of a policy's training, without `initial`, overridden by `given`;
    ValueError if the policy cannot read the observations of that env, and by `require_period`."""
    learned_in = by_name("env_kwargs", policy.config.get("env_kwargs"))
    learned_in.pop("initial", None)
    kwargs = {**learned_in, **given}
    (own, *_), seen = (readable_in(env_id, some) for some in (learned_in, kwargs))
    alike = _ENTRIES.isdisjoint(given) and gym.spaces.flatdim(own) == gym.spaces.flatdim(seen[0])
    if not (alike and policy.observation_space == own):
        policy.require(env_id, *seen)
    require_period(policy, env_id, kwargs)
    return kwargs


def require_fit(policy: Any, env_id: str, env_kwargs: Mapping[str, Any]) -> None:
    """Raise ValueError by `require_period`, and for a policy of another task by `own_kwargs`."""
    learned = policy.config.get("env_id") if isinstance(policy, TrainedPolicy) else None
    if learned and learned.rpartition(":")[2] != env_id.rpartition(":")[2]:
        own_kwargs(policy, env_id, env_kwargs)
    require_period(policy, env_id, env_kwargs)


def require_period(policy: Any, env_id: str, env_kwargs: Mapping[str, Any]) -> None:
    """Raise ValueError for a law of another control period or rate limit; for a policy trained with
    another argument `rate_limit` (with that of a satellite the torque goes too); and for one whose
    memory learned another period or, if it turns with the body, rate limit or coarse cells."""
    able, is_law = list[tuple[str, Any]](), isinstance(policy, Controller | controllers.Estimating)
    law: Any = policy if is_law else None
    while law is not None:
        able += [(n, getattr(law, n)) for n in ("dt", "rate_limit") if getattr(law, n, None)]
        law = next((getattr(law, n) for n in _INNER if hasattr(law, n)), None)
    if isinstance(policy, TrainedPolicy):
        own = policy.config.get("env_kwargs", env_kwargs).get("rate_limit")
        if (memory := getattr(policy.network, "memory", None)) is not None:
            learned = _units(policy.learned_in(env_id)).items()
            able += [*learned] if isinstance(memory, Attitude | SunDirection) else [*learned][:1]
        if env_kwargs.get("rate_limit") != own:
            usual = _units(setup_of(env_id, {**env_kwargs, "rate_limit": own}))
            able.append(("rate_limit", usual["rate_limit"]))
    has = _units(setup_of(env_id, env_kwargs)) if able else {}
    for name, value in able:
        if (here := has[name]) != value:
            raise ValueError(f"{name} must be {value!r}, as in the policy's own env, got {here!r}")


def _units(setup: Any) -> dict[str, Any]:
    """What `require_period` compares, by argument."""
    normals = getattr(setup.parts.sensor, "normals", ())
    scale = setup.parts.observation.scale
    return {"dt": setup.dt, "rate_limit": scale, "sensor['coarse_sun']['normals']": normals}


def readable_in(env_id: str, env_kwargs: dict[str, Any]) -> list[gym.Space[Any]]:
    """The observation spaces of the policies that can run in an env, see `controllers.at_work`."""
    with closing(gym.make(env_id, **env_kwargs)) as env:
        return fitting.readable(env)


@dataclass(frozen=True)
class PlayedEpisodes:
    """One episode from each of n start states, in the order of their seeds.

    category, returns, lengths [steps], success: (n,). costs: (n,) of constraints, or nan.
    least_time: (n,), of a turn from the start to the target about the eigenaxis [s]; nan where no
    such bound exists. Histories (instants, n), from the start on, nan after a lane's end:
    attitude_error [rad] and rate_error [rad/s] to the goal; reached, 1.0 where the task is done;
    torque (instants, n, 3) [N m], body axes, mean of each control period, and actions (instants, n,
    channels), both nan at the start; wheel_speed (instants, n, wheels) relative to the body
    [rad/s]; relative (instants, n, 4), attitude relative to the target, or nan. dt: control period
    [s]. settled: angle [rad] and rate [rad/s] within which the task is done after `hold` [s].
    limit: of time [s].
    """

    seeds: NDArray[np.int64]
    category: NDArray[np.str_]
    returns: Array
    costs: Array
    lengths: NDArray[np.int64]
    success: NDArray[np.bool_]
    least_time: Array
    attitude_error: Array
    rate_error: Array
    torque: Array
    actions: Array
    wheel_speed: Array
    relative: Array
    reached: Array
    dt: float
    settled: tuple[float, float]
    hold: float
    limit: float

    def start(self, episode: int) -> Starts:
        """The start of one episode, counted from 0."""
        name = str(self.category[episode])
        return Starts([] if name == OWN else [name], [int(self.seeds[episode])])

    @property
    def time(self) -> Array:
        """Instants of the histories [s]."""
        return np.asarray(self.dt * np.arange(len(self.attitude_error)), dtype=np.float64)

    def chosen(self, lanes: NDArray[Any]) -> "PlayedEpisodes":
        """Select episodes by a mask (n,) or by indices, in their order."""
        found = {name: getattr(self, name)[lanes] for name in _LANES}
        found |= {name: getattr(self, name)[:, lanes] for name in _HISTORIES}
        return PlayedEpisodes(**(vars(self) | found))


_NAMES = [one.name for one in fields(PlayedEpisodes)]
_LANES, _HISTORIES = _NAMES[:7], _NAMES[7:14]  # shapes (n, ...) and (instants, n, ...)


def joined(parts: list[PlayedEpisodes]) -> PlayedEpisodes:
    """Concatenate episodes, in the order of their seeds."""
    instants = max(len(part.attitude_error) for part in parts)
    found = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _LANES}
    for name in _HISTORIES:
        histories = [getattr(part, name) for part in parts]
        ends = [np.full((instants - len(one), *one.shape[1:]), np.nan) for one in histories]
        whole = [np.concatenate(both) for both in zip(histories, ends, strict=True)]
        found[name] = np.concatenate(whole, axis=1)
    return PlayedEpisodes(**(vars(parts[0]) | found)).chosen(np.argsort(found["seeds"]))


def play_from(
    starts: Starts,
    policy: Policy | str,
    env_id: str,
    env_kwargs: Mapping[str, Any],
    estimating: bool = False,
) -> PlayedEpisodes:
    """Run one episode from each start state. estimating: behind an estimator. A model keeps its
    current normalisation. ValueError for bad arguments, and for `initial`, which a set fixes."""
    given = by_name("env_kwargs", env_kwargs, must_end=True)
    given = {name: value for name, value in given.items() if name != "info"}  # all of it is needed
    require_fit(policy, env_id, given)
    with closing(starts.env(env_id, given)) as env:
        own = as_policy(policy)
        own = controllers.Estimating.for_env(own, env) if flag("estimator", estimating) else own
        return _first_episodes(Player(own, env, starts), starts)


def as_policy(policy: Any) -> Any:
    """The policy; a model of Stable-Baselines3 as a `TrainedPolicy`, with its VecNormalize."""
    return TrainedPolicy.of(policy) if hasattr(policy, "get_vec_normalize_env") else policy


class Player:
    """Runs a policy in a vector env from its starts; holds the latest observation and the memory.
    policy: a controller's name, a Stable-Baselines3 model, or any object with `predict`."""

    def __init__(self, policy: Any, env: Any, starts: Starts) -> None:
        self.env, self.policy = env, controllers.at_work(as_policy(policy), env)
        self.observation, self.info = starts.begin(env)
        self.state: Any = None
        self.start = np.ones(env.num_envs, dtype=np.bool_)  # lanes at the start of an episode
        self.running = self.start  # lanes in their first episode
        self.terminated = np.zeros(env.num_envs, dtype=np.bool_)

    def step(self) -> tuple[Any, Any]:
        """Act once in every lane; returns actions, rewards. `start` then marks ended episodes."""
        actions, self.state = self.policy.predict(
            self.observation, state=self.state, episode_start=self.start, deterministic=True
        )
        self.observation, rewards, terminated, truncated, self.info = self.env.step(actions)
        self.start, self.terminated = terminated | truncated, terminated
        return actions, rewards

    def first_episodes(self) -> Iterator[tuple[Any, Any, Any]]:
        """Yield observations, actions and rewards until every lane's first episode has ended."""
        while self.running.any():
            observation = self.observation
            yield observation, *self.step()
            self.running = self.running & ~self.start
            if self.start.any() and self.running.any():
                self.observation, _ = self.env.reset(options={"reset_mask": self.start.copy()})

    def keep(self, histories: Mapping[str, list[Array]], **values: Any) -> None:
        """Append values of all lanes to histories, nan where the first episode has ended."""
        for name, value in values.items():
            rows = np.asarray(value, dtype=np.float64)
            mask = self.running.reshape(-1, *(1,) * (rows.ndim - 1))
            histories[name].append(np.where(mask, rows, np.nan))


def _first_episodes(player: Player, starts: Starts) -> PlayedEpisodes:
    """Play and record the first episode of each lane of a vector env in DISABLED mode."""
    env, n = player.env.unwrapped, len(starts.seeds)
    success, lengths = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.int64)
    returns, costs = np.zeros(n), np.zeros(n)
    histories: dict[str, list[Array]] = {name: [] for name in _HISTORIES}
    with_target = shows_target(player.env)
    wheels = env.actuator.rotors

    def record(actions: Any, torque: Any) -> None:
        seen, info, speed = player.observation, player.info, np.empty((n, 0))
        seen = relative(seen) if isinstance(seen, dict) else seen
        if wheels is not None:
            state = env.state
            along = state["angular_velocity"] @ wheels.matrix
            speed = state["wheel_momentum"] / wheels.inertia - along
        player.keep(
            histories, torque=torque, actions=actions, wheel_speed=speed,
            relative=seen[:, :4] if with_target else np.full((n, 4), np.nan),
            attitude_error=info["attitude_error"], rate_error=info["rate_error"],
            reached=info["is_success"],
        )  # fmt: skip

    record(np.full((n, env.single_action_space.shape[0]), np.nan), np.full((n, 3), np.nan))
    for _, actions, rewards in player.first_episodes():
        running, info = player.running, player.info
        returns[running] += rewards[running]
        costs[running] += info["cost"][running] if "cost" in info else np.nan
        lengths += running
        record(actions, info["applied_torque"])
        success |= running & player.start & info["is_success"]
    found: Any = {name: np.stack(values) for name, values in histories.items()}
    return PlayedEpisodes(
        seeds=np.array(starts.seeds),
        category=np.array(starts.categories or [OWN] * n),
        returns=returns, costs=costs, lengths=lengths, success=success,
        least_time=_least_time(env, found["relative"][0], found["rate_error"][0]),
        dt=float(env.dt), settled=(env.task.angle, env.task.rate),
        hold=float(env.dt * (env.task.settled_steps - 1)),
        limit=float(env.dt * env.episodes.setup.limit),
        **found,
    )  # fmt: skip


def shows_target(env: Any) -> bool:
    """Whether an observation, or `relative` of it, starts with the quaternion to the target."""
    base, space = env.unwrapped, env.single_observation_space
    if not isinstance(base.goal, Target) or base.task.split:
        return isinstance(base.goal, Target)
    low, high = bounds(FORMS["quaternion"].columns())
    return np.array_equal(space.low[:4], low) and np.array_equal(space.high[:4], high)


def _least_time(env: Any, q: Array, rate_error: Array) -> Array:
    """`PlayedEpisodes.least_time`. q: the first attitude relative to the target, (n, 4)."""
    limit = np.asarray(env.torque_limit)
    if not (limit > 0).all():
        return np.full(len(rate_error), np.nan)
    angle = 2.0 * np.arctan2(np.linalg.norm(q[:, 1:], axis=1), np.abs(q[:, 0]))
    fair = (rate_error < 1e-6) & (angle > env.task.angle)
    axis = np.where(fair[:, None], q[:, 1:], [1.0, 0.0, 0.0])
    least = eigenaxis_time(np.where(fair, angle, 1.0), axis, env.body.inertia, limit)
    return np.where(fair, least, np.nan)
