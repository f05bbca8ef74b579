"""The plan of a campaign, as plain data; the pilot that flies its runs; the figures of a run."""

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import joblib
import numpy as np
from gymnasium.wrappers.vector import TransformObservation
from numpy.typing import NDArray

from rbgym.agents.campaigns.nominal import Nominal
from rbgym.agents.campaigns.spread import Dispersions, Draws, drawn_names
from rbgym.agents.cases import Starts, by_name
from rbgym.agents.controllers.base import relative
from rbgym.agents.controllers.filtering import Estimating
from rbgym.agents.controllers.fitting import at_work
from rbgym.agents.judge.episodes import (
    Contender,
    Player,
    as_policy,
    contenders,
    require_fit,
    shows_target,
)
from rbgym.agents.judge.evaluation import settled_from
from rbgym.arguments import count, flag, number
from rbgym.envs.arguments import named
from rbgym.envs.layers import plain
from rbgym.envs.parts import parameters
from rbgym.envs.parts.goals import Target
from rbgym.envs.reset import checked_seed
from rbgym.identification import rotation_vector
from rbgym.quaternion import Array, angle_between, conjugate, multiply

Scales = NDArray[np.float32]  # of the columns of an observation
SUCCESS, _FAILED = "success", "integration failed"
# Figures of a run; a name ends in its unit. The settling time is infinite for a run that does not.
FIGURES = (
    "settling_s", "ape_deg", "rpe_deg", "rate_error_deg_s", "ake_deg", "effort_nms",
    "peak_rate_deg_s", "peak_torque_nm", "peak_wheel_momentum_nms", "violations",
)  # fmt: skip
# Runs of a group; runs of a group if they are longer than _LONG steps or share draws.
_WIDE, _NARROW, _LONG = 512, 32, 4000
_OF_STATE = "quaternion", "target_quaternion", "angular_velocity", "wheel_momentum"  # recorded
_READ = "observation", "preview"  # from a policy's training; the campaign sets all other arguments


@dataclass(frozen=True)
class Plan:
    """The settings of a campaign, see `campaign`. policies: names, or objects with `predict`, by
    name. group: number of runs that share an env. without: a source that stays nominal."""

    env_id: str
    policies: Mapping[str, Any]
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    spread: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    group: int = _WIDE
    window: float = 0.0
    estimator: bool = False
    impossible: str = "refuse"
    without: str | None = None

    @classmethod
    def of(cls, env_id: str, policies: Any, *, group: Any, window: Any, **given: Any) -> "Plan":
        """Check the arguments and fill in the defaults; ValueError for bad ones."""
        given["env_kwargs"] = by_name("env_kwargs", given.get("env_kwargs"))
        plan = cls(env_id, _listed(policies), **{n: v for n, v in given.items() if v is not None})
        checked_seed(plan.seed)
        flag("estimator", plan.estimator)
        named("impossible", plan.impossible, ("refuse", "redraw"))
        pilot = Pilot(plan)
        setup, task = pilot.nominal.setup, pilot.nominal.env.task
        narrow = pilot.spread.grouped or setup.limit > _LONG
        size = group if group is not None else _NARROW if narrow else _WIDE
        lasts = round(setup.dt * setup.limit, 9)
        seconds = min(setup.dt * task.settled_steps, lasts) if window is None else number(window)
        if not 0.0 <= seconds <= lasts:
            raise ValueError(f"window must be from 0 to the {lasts:g} s of a run, got {window!r}")
        drawn = plain(plan.spread)  # once checked, as infinity becomes None
        return replace(plan, spread=drawn, group=count("group", size), window=float(seconds))

    def draws(self) -> Dispersions:
        nominal = Nominal(self.env_id, self.env_kwargs, drawn_names(self.spread))
        return Dispersions(self.spread, nominal, self.seed, self.without)


def _listed(policies: Any) -> dict[str, Any]:
    """The policies by name; ValueError for anything else, and for one that is named twice."""
    listed = [policies] if isinstance(policies, str | Path) else policies
    pairs = [*listed.items()] if isinstance(listed, Mapping) else [
        (str(one), one) for one in (listed if isinstance(listed, Iterable) else ())
    ]  # fmt: skip
    found = {n: str(one) if isinstance(one, Path) else one for n, one in pairs}
    good = all(isinstance(one, str) or hasattr(one, "predict") for one in found.values())
    if not good or not all(isinstance(n, str) for n in found) or not 0 < len(found) == len(pairs):
        raise ValueError(
            "policies must name controllers, folders or 'pretrained', each once, or be objects "
            f"with predict by name, got {policies!r}"
        )
    return found


@dataclass(frozen=True)
class Flight:
    """n runs of a policy, and their figures.

    The attitude error e(t) is the rotation vector from target to body, body axes; if the goal is an
    axis, the angle to it. Errors by ECSS-E-ST-60-10C (2008), section 3.2, are the worst within the
    window, which is the last seconds of a run: APE, |e(t)|; RPE, |e(t) - mean of e over the
    window|; AKE, the angle between the true attitude and the estimator's, or the sensors' without
    an estimator.

    histories: by name, (instants, n), nan after the end: angle and rate_error to the goal [rad,
    rad/s], reached; (instants, n, size): relative (attitude relative to the target, w x y z),
    quaternion, target_quaternion, angular_velocity and, if there are wheels, wheel_momentum. Of
    each control period, so one instant fewer: cost, command, torque and shown, the attitude
    relative to the target that the policy used. lengths (n,): control periods flown. ended (n,):
    the reason of the end; "success" for a success.
    """

    histories: dict[str, Array]
    lengths: NDArray[np.int64]
    ended: NDArray[np.str_]
    names: list[str]
    turns: bool
    dt: float
    hold: float

    def figures(self, window: float) -> dict[str, Array]:
        """The task's `FIGURES` as flown, (n,) each; nan if the integration failed. window [s]."""
        seen, steps = self.histories, np.arange(len(self.histories["angle"]))[:, np.newaxis]
        periods = round(window / self.dt)
        inside = (steps <= self.lengths) & (steps >= self.lengths - periods)
        e = rotation_vector(seen["relative"]) if self.turns else seen["angle"][..., np.newaxis]
        e = np.where(inside[..., np.newaxis], e, 0.0)
        mean = e.sum(axis=0) / inside.sum(axis=0)[:, np.newaxis]

        def worst_deg(values: Array) -> Array:
            fewer = len(steps) - len(values)  # 1 if they are of control periods
            first = self.lengths - max(periods, fewer)  # a window has a control period at least
            within = (steps <= self.lengths - fewer) & (steps >= first)
            return np.degrees(np.where(within[: len(values)], values, 0.0).max(axis=0))

        def peak(name: str) -> Array:
            return np.asarray(np.nanmax(np.linalg.norm(seen[name], axis=-1), axis=0))

        found: dict[str, Callable[[], Array]] = {
            "settling_s": lambda: settled_from(seen["reached"], self.lengths, self.dt, self.hold),
            "ape_deg": lambda: worst_deg(np.linalg.norm(e, axis=-1)),
            "rpe_deg": lambda: worst_deg(np.linalg.norm(e - mean, axis=-1)),
            "rate_error_deg_s": lambda: worst_deg(seen["rate_error"]),
            "ake_deg": lambda: worst_deg(angle_between(seen["shown"], seen["relative"][:-1])),
            "effort_nms": lambda: self.dt * np.nansum(np.linalg.norm(seen["torque"], axis=-1), 0),
            "peak_rate_deg_s": lambda: np.degrees(peak("angular_velocity")),
            "peak_torque_nm": lambda: peak("torque"),
            "peak_wheel_momentum_nms": lambda: np.nanmax(np.abs(seen["wheel_momentum"]), (0, 2)),
            "violations": lambda: np.nansum(seen["cost"], axis=0),
        }
        failed = self.ended == _FAILED
        return {name: np.where(failed, np.nan, found[name]()) for name in self.names}


def figures_of(env: Any, estimator: bool = False) -> list[str]:
    """The names of `FIGURES` that apply to an env, with or without an estimator."""
    base, has = env.unwrapped, dict.fromkeys(FIGURES, True)
    has["ape_deg"] = has["rpe_deg"] = bool(base.goal.angle_off)
    noisy = estimator or bool(base.episodes.setup.parts.sensor.is_noisy())
    has["ake_deg"] = shows_target(env) and noisy
    has["peak_wheel_momentum_nms"] = base.actuator.rotors is not None
    has["violations"] = "source" not in base.resolved["constraints"]
    return [name for name in FIGURES if has[name]]


def fly(player: Player, names: list[str], see: Callable[[Player, int], object] | None) -> Flight:
    """Fly all lanes to the end. names: of figures. see: called with the player and each instant."""
    env, n = player.env.unwrapped, player.env.num_envs
    lengths, ended = np.zeros(n, dtype=np.int64), np.full(n, "", dtype="<U18")
    seen = defaultdict[str, list[Array]](list)

    def look() -> None:
        state, info = env.state, player.info
        player.keep(
            seen,
            relative=multiply(conjugate(state["target_quaternion"]), state["quaternion"]),
            angle=info["attitude_error"],
            rate_error=info["rate_error"],
            reached=info["is_success"],
            **{name: state[name] for name in _OF_STATE if name in state},
        )
        if see is not None:
            see(player, len(seen["angle"]) - 1)

    look()
    for observation, actions, _ in player.first_episodes():
        player.keep(seen, command=actions, torque=player.info["applied_torque"])
        if "ake_deg" in names:
            player.keep(seen, shown=_shown(player, observation))
        if "violations" in names:
            player.keep(seen, cost=player.info["cost"])
        lengths += player.running
        look()
        done = player.start & player.running
        kinds = player.info["integration_failed"], player.info["is_success"], player.terminated
        ended[done] = np.select(kinds, (_FAILED, SUCCESS, "terminated"), "truncated")[done]
    return Flight(
        {name: np.stack(values) for name, values in seen.items()}, lengths, ended, names,
        isinstance(env.goal, Target), float(env.dt), float(env.dt * (env.task.settled_steps - 1)),
    )  # fmt: skip


def _shown(player: Player, observation: Any) -> Array:
    """The attitude relative to the target on which the policy based its action."""
    if isinstance(player.policy, Estimating):
        return np.asarray(player.state[0].attitude)
    rows = relative(observation) if isinstance(observation, dict) else observation
    return np.asarray(rows[:, :4])


def checksums(value: Any) -> list[str | None]:
    """Checksums of the objects and functions in a value, of the data and `predict` of objects, the
    code and values of functions; None without a pickle, or with another than that of its copy."""
    found = list[Any]()
    plain(value, found.append)
    methods = [type(one).predict for one in found if hasattr(type(one), "predict")]
    return [*map(_checksum, [*found, *methods])]


def _checksum(value: Any) -> str | None:
    try:
        content = _content(value)
        first, again = joblib.hash(content), joblib.hash(pickle.loads(pickle.dumps(content)))
    except Exception:  # of any type, from the object's own code
        return None
    return str(first) if first == again else None


def _content(value: Any) -> Any:
    """Of a function its code and the values that it holds, as a lambda cannot be pickled."""
    function = getattr(value, "py_func", value)  # of a compiled one
    if isinstance(function, CodeType):
        return function.co_code, function.co_names, [*map(_content, function.co_consts)]
    if isinstance(function, frozenset):
        return sorted(map(repr, function))
    if hasattr(value, "state_dict"):  # a torch module, whose pickle names addresses
        return {name: np.asarray(one) for name, one in value.state_dict().items()}
    if not isinstance(function, FunctionType):
        return value
    inner = [_content(cell.cell_contents) for cell in function.__closure__ or ()]
    defaults = function.__defaults__, function.__kwdefaults__
    return _content(function.__code__), defaults, inner


def _scales(env: Any) -> Scales:
    return np.concatenate([one.scale for one in env.unwrapped.columns.values()], dtype=np.float32)


def _in_units(env: Any, scales: Scales) -> Any:
    """A vector env whose observations have these scales of columns."""
    split, factors = env.unwrapped.task.split, _scales(env) / scales
    if (factors == 1.0).all():
        return env
    if split:
        own = split(factors)
        return TransformObservation(env, lambda seen: {n: own[n] * seen[n] for n in seen})
    return TransformObservation(env, lambda seen: factors * seen)


class Pilot:
    """Flies the groups of a plan. Laws are made for the nominal env and do not know the draws."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.spread = plan, plan.draws()
        self.nominal = self.spread.nominal
        targets = [one for one in plan.policies.values() if isinstance(one, str)]
        found = iter(contenders(targets, plan.env_id, plan.env_kwargs)[1])
        self.contenders = {
            name: next(found) if isinstance(one, str) else Contender(name, one, {})
            for name, one in plan.policies.items()
        }
        self.figures = [*FIGURES]  # that apply to all contenders
        self._laws = {name: self._law(one) for name, one in self.contenders.items()}
        self._drawn: tuple[Any, ...] = ()  # the latest group and its draws

    def digests(self) -> dict[str, Any]:
        """Checksums, which reveal that a trained policy or an object was replaced."""
        found = {name: checksums(one) for name, one in self.plan.policies.items()}
        return {
            name: found[name] or joblib.hash((one.config, one.policy.network.to_arrays()[0]))
            for name, one in self.contenders.items()
            if found[name] or one.config is not None
        }

    def _reads(self, one: Contender) -> dict[str, Any]:
        return {n: one.env_kwargs[n] for n in _READ if n in one.env_kwargs}

    def _law(self, one: Contender) -> tuple[Any, Scales]:
        """A contender at work in the nominal env, and the scales of the columns that it reads."""
        require_fit(one.policy, self.plan.env_id, self.plan.env_kwargs)
        with closing(self.nominal.make(1, self._reads(one))) as env:
            apply = figures_of(env, self.plan.estimator)
            self.figures = [name for name in self.figures if name in apply]
            fit = Estimating.for_env if self.plan.estimator else at_work
            return fit(as_policy(one.policy), env), _scales(env)

    def fly(self, group: int, name: str, see: Any = None) -> tuple[dict[str, Any], Flight]:
        """Fly a group of runs with one contender; returns the columns of the campaign's table,
        (size,) each, and the flight. see: of `fly`."""
        size = self.plan.group
        runs = range(group * size, (group + 1) * size)
        if self._drawn[:1] != (group,):
            redraw, spread = self.plan.impossible == "redraw", self.spread
            self._drawn = (
                group, spread.seeds(runs), spread.of_runs(runs), *spread.of_group(group, redraw)
            )  # fmt: skip
        _, seeds, draws, shared, changes = self._drawn
        (law, scales), kwargs = self._laws[name], self.nominal.env_kwargs | changes
        with suppress(Exception):  # what cannot be copied raises any type
            law, kwargs = deepcopy((law, kwargs))  # so that the next flight begins alike
        with closing(self.nominal.make(size, kwargs | self._reads(self.contenders[name]))) as env:
            player = Player(law, _in_units(env, scales), Starts([], seeds))
            self._begin(player, seeds, draws)
            tiled = {n: np.tile(one, (size, 1)) for n, one in shared.items()}
            columns = self._columns(player, draws | tiled)
            flight = fly(player, self.figures, see)
        rows = {
            "run": np.array(runs, dtype=np.int64),
            "contender": np.array([name] * size),
            "seed": np.array(seeds, dtype=np.int64),
            "group": np.full(size, group, dtype=np.int64),
            **columns,
            SUCCESS: flight.ended == "success",
            **flight.figures(self.plan.window),
            "seconds": flight.dt * flight.lengths,
            "ended": flight.ended,
        }
        return rows, flight

    def _begin(self, player: Player, seeds: list[int], draws: Draws) -> None:
        """Reset the env with the runs' draws instead of its own."""
        env, own = player.env, player.env.unwrapped.state
        for _ in range(2):  # twice if draws move the target, as a place on an orbit does
            options = self.nominal.options(own, draws)
            player.observation, player.info = env.reset(seed=seeds, options=options)
            target = env.unwrapped.state["target_quaternion"]
            turn = multiply(target, conjugate(own["target_quaternion"]))
            if np.allclose(target, own["target_quaternion"], rtol=0.0, atol=1e-12):
                break
            turned = multiply(turn, own["quaternion"])
            own = own | {"target_quaternion": target, "quaternion": turned}

    def _columns(self, player: Player, draws: Draws) -> dict[str, Array]:
        """All draws, a column for each number: first the spread's, then the env's own."""
        env, places = player.env.unwrapped, self.nominal.places
        drawn, found = dict[str, Array](), dict[str, Array]()

        def put(into: dict[str, Array], name: str, rows: Array) -> None:
            columns = rows.reshape(len(rows), -1).T
            into |= dict(zip(places[name].columns, np.ascontiguousarray(columns), strict=True))

        for name, values in draws.items():
            put(drawn, name, values)
        drawn = {name: drawn[name] for name in self.spread.columns}
        differing = parameters.differing(env.episodes.setup.varied) - {*draws}
        for name, values in env.parameters.items():
            if name == "inertia" and differing & {"inertia", "axes"}:
                found |= {f"inertia.{2 * a}": values[:, k, k].copy() for k, a in enumerate("xyz")}
            elif name in differing:
                put(found, name, values)
        found["start.attitude_error_deg"] = np.degrees(player.info["attitude_error"])
        found["start.rate_error_deg_s"] = np.degrees(player.info["rate_error"])
        if "wheel_momentum" in env.state:
            put(found, "wheel_momentum", env.state["wheel_momentum"])
        faults = ("fault", "fault_channel", "fault_time")
        found |= {n: np.array(player.info[n], np.float64) for n in faults if n in player.info}
        return drawn | found | drawn  # the spread's first, and as it draws them
