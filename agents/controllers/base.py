"""What classical controllers share: what they have to know of an env, the interface of learned
policies, and limits of torque."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from inspect import signature
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorActionWrapper, VectorObservationWrapper
from numpy.typing import ArrayLike, NDArray

from rbgym.arguments import count, finite, number, positive, real
from rbgym.body import RigidBody
from rbgym.envs.base import AttitudeEnv, AttitudeVectorEnv
from rbgym.envs.parts.columns import Column, placed, width
from rbgym.envs.parts.goals import Axis, Rest, Target
from rbgym.potentials import HeavyTop, SoftWall
from rbgym.quaternion import Array, conjugate, multiply, rotate, rotate_inverse
from rbgym.trajectory import checked_body

Flags = NDArray[np.bool_]
Seen = tuple[Array, Array, Array]  # quaternion, angular velocity, that of the target
_LARGEST = 1e100
_ATTITUDES = "quaternion", "quaternion_continuous"
_CHANGES = (  # wrappers that stand between a law and what it reads or commands
    gym.ObservationWrapper, gym.ActionWrapper, VectorObservationWrapper, VectorActionWrapper,
)  # fmt: skip


class Plant:
    """An env, single or vector, as what is controlled. ValueError for any that is not rbgym's.

    given: what the classes take of an env, by the names of their arguments. columns: of an
    observation as laws read it, by name; commands: of an action. strength: factor of all torques.
    wheels, coils, scaling: the actuator, where it has that; unloads: what takes the momentum of its
    wheels, and unloads_by: its full command. target, rest, axis: whether the goal is one of these
    kinds. moves: whether there is a target that moves. measured: whether sensors stand between the
    state and an observation. reads: the columns of attitude, rates and perhaps the target's rates,
    0 where the attitude is no quaternion. first: the column from which an actuator shows itself, in
    `shown` columns. delay, lag [s], has_pulses: of commands; waiting: how many of each wait.
    mixing: (3, channels), the torque of full commands, body axes [N m], that of coils left out.
    out: number of the wheel that does not answer, of those from 0 on; None where all do.
    """

    def __init__(self, env: Any, out: int | None = None) -> None:
        base = getattr(env, "unwrapped", None)
        if not isinstance(base, AttitudeEnv | AttitudeVectorEnv):
            raise ValueError(f"env must be an environment of rbgym, got {env!r}")
        _refuse_wrappers(env)
        actuator: Any = base.actuator
        parts, assembly = base.episodes.setup.parts, base.episodes.setup.actuator
        self.env, self.actuator, self.strength = base, actuator, base.torque_scale
        self.body, self.potential, self.goal = base.body, base.potential, base.goal
        self.columns, self.commands = read_by_laws(base), base.commands
        self.shown = width(assembly.columns)
        self.first = width(self.columns.values()) - self.shown
        numbers: dict[str, Any] = {}
        for stage in assembly.stages:
            numbers |= vars(stage)
        self.delay, self.lag = numbers.get("seconds", 0.0), numbers.get("time_constant", 0.0)
        record: Any = assembly.record
        self.waiting = record.line.delay.slots() if "seconds" in numbers else 0
        self.has_pulses = "minimum_pulse" in numbers
        self.wheels, self.unloads = actuator.rotors, actuator.sheds
        is_coils = [*self.commands] == ["magnetic_moment"] and actuator.around is not None
        self.coils = actuator if is_coils else None
        self.scaling = actuator if "scaling_force" in self.commands else None
        self.has_forces = "force" in self.commands
        self.target, self.rest = isinstance(base.goal, Target), isinstance(base.goal, Rest)
        self.axis = base.goal if isinstance(base.goal, Axis) else None
        self.measured = bool(parts.sensor.is_noisy())
        self.moves = self.target and bool(base.task.reference(base.dt).moves())
        rates = "angular_velocity", "target_angular_velocity"
        self.reads = 10 if self.shows(*rates) else 7 if self.shows(rates[0]) else 0
        keep_out, sensor = self.columns.get("keep_out"), parts.sensor
        self.given: dict[str, Any] = {
            "body": base.body,
            "integrator": base.integrator,
            "substeps": base.episodes.setup.substeps,
            "torque_limit": base.torque_limit,
            "mixing": np.diag(base.torque_limit),
            "rate_limit": base.rate_limit,
            "dt": base.dt,
            "moving": self.moves,
            "potential": base.potential,
            "goal": self.axis,
            "channels": width(self.commands.values()),
            "width": self.first,
            "cones": parts.constraints.angles(),
            "column": keep_out.first if keep_out else 0,
            "strength": self.strength,
            "scaling": self.scaling,
            # Of one that may fail, those of what is in it.
            "normals": getattr(getattr(sensor, "sensor", sensor), "normals", ()),
        }
        self.out = out
        if self.wheels is not None:
            motor, answer = self.commands["wheel_torque"].factor, without(self.wheels, out)
            self.given["mixing"] = motor * self.wheels.matrix
            if out is not None:
                self.given["mixing"][:, out] = 0.0
            if out is not None or self.unloads is not None:
                self.given["torque_limit"] = motor * answer.shares
            if self.unloads is not None:
                self.unloads_by = np.array([*self.commands.values()][1].scale)
        # Scales that laws take, by the names of what is commanded and shown.
        shown = {one.name: one for one in assembly.columns} | self.columns
        for name, one in {
            "force_limit": self.commands.get("force"),
            "dipole": self.commands.get("magnetic_moment"),
            "field": shown.get("magnetic_field"),
            "spin_scale": shown.get("wanted_spin"),
            "distance": shown.get("position") if self.has_forces else None,
            "speed": shown.get("velocity") if self.has_forces else None,
        }.items():
            if one is not None:
                self.given[name] = one.factor
        if self.has_forces:
            self.given["dock"] = base.goal.dock()
        self.mixing = np.hstack([self._torque_of(one) for one in self.commands.values()])

    def _torque_of(self, command: Column) -> Array:
        if command.name == "wheel_torque":
            return command.factor * np.asarray(self.wheels.matrix)
        if command.name == "torque":
            return np.diag(command.scale)
        return np.zeros((3, command.size))

    def shows(self, *names: str) -> bool:
        """Whether observations begin with the quaternion of what the goal speaks of and these, in
        that order, and have all rates among them as parts of `rate_limit`."""
        attitude, *rest = self.columns.values()
        of_goal = attitude.frame == self.goal.attitude_shown
        of_limit = all(
            np.all(np.asarray(self.columns[name].scale) == self.env.rate_limit)
            for name in names
            if name.endswith("angular_velocity") and name in self.columns
        )
        found = tuple(one.name for one in rest[: len(names)])
        return attitude.name in _ATTITUDES and of_goal and of_limit and found == names


def plant_of(env: Any) -> Plant:
    """The plant that an env is, or a plant as it is."""
    return env if isinstance(env, Plant) else Plant(env)


def without(wheels: Any, out: int | None) -> Any:
    """The wheels but for number `out`, if that is one."""
    if out is None:
        return wheels
    axes = list(np.asarray(wheels.axes))
    if len(axes) < 4 or isinstance(out, bool) or out not in range(len(axes)):
        raise ValueError(f"out must be None, or one of 0 to 3 of four wheels, got {out!r}")
    del axes[int(out)]
    return replace(wheels, axes=axes)


class Bound(NamedTuple):
    """What a law holds for: a number of an env, in words and of its `Plant`, below `most`."""

    words: str
    most: float
    of: Callable[[Plant], float]


def _refuse_wrappers(env: Any) -> None:
    """ValueError where a wrapper changes observations or actions, which laws take as the env has
    them."""
    space, layer = env.unwrapped.observation_space, env
    while layer is not env.unwrapped:
        if isinstance(layer, _CHANGES) or layer.observation_space != space:
            raise ValueError(
                "env must have no wrapper that changes observations or actions for a controller, "
                f"got {type(layer).__name__}; env.unwrapped is without"
            )
        layer = layer.env


class Policy(Protocol):
    """What a classical controller and a Stable-Baselines3 model have in common."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, Any]:
        """Actions for a batch of observations, and the policy's own state."""
        ...


class Controller:
    """Commands for observations; a subclass gives `commands`, or `act` where it has a memory.
    least: columns that an observation must have; usual: what errors say where it is 0. by_name:
    whether it finds its columns by their names, and needs no attitude at the front. holds: for
    which envs it does what it is for."""

    least = 0
    usual = "one row or n rows of"
    by_name: ClassVar[bool] = False
    holds: ClassVar[tuple[Bound, ...]] = ()

    @classmethod
    def for_env(cls, env: Any, **gains: Any) -> Self:
        """The controller for an env, single or vector. Raises ValueError where it does not fit."""
        plant = plant_of(env)
        return cls(**cls.arguments(plant), **{**cls.usual_gains(plant), **gains})

    @classmethod
    def arguments(cls, plant: Plant) -> dict[str, Any]:
        """What the class takes of an env; ValueError, which says for which envs it is."""
        takes = signature(cls).parameters
        return {name: value for name, value in plant.given.items() if name in takes}

    @classmethod
    def usual_gains(cls, plant: Plant) -> dict[str, Any]:
        """Gains that suit an env better than the defaults of the class."""
        return {}

    def refuse_gains(self, *names: str, **values: float) -> None:
        """Raise ValueError for gains, by name or value, that are no positive numbers, or whose
        powers would be none."""
        for name, value in ({name: getattr(self, name) for name in names} | values).items():
            if positive(name, value) > _LARGEST:
                raise ValueError(f"{name} must be at most {_LARGEST:g}, got {value!r}")

    def commands(self, rows: Array) -> Array:
        """Commands (n, channels) for observations (n, columns), without a memory."""
        raise NotImplementedError

    def act(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        """Commands (n, channels) for observations (n, columns), and the memory afterwards."""
        return self.commands(rows), None

    def fits(self, columns: int) -> bool:
        """Whether an observation may have so many columns."""
        return columns >= self.least

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.float32], Any]:
        """Actions for observations (n, columns) or (columns,), or for a dict of goals, and the
        memory for the next call, as Stable-Baselines3's models answer.

        state: the memory that the last call returned, None at first; most controllers have none.
        episode_start: (n,), where an episode begins and the memory with it. deterministic: plays
        no part, as there is no noise. Raises ValueError for an observation of another shape.
        """
        if isinstance(observation, dict):
            observation = relative(observation)
        seen = real("observation", observation)
        if seen.ndim not in (1, 2) or not self.fits(seen.shape[-1]):
            columns = f"at least {self.least}" if self.least else self.usual
            raise ValueError(f"observation must have {columns} columns, got shape {seen.shape}")
        if not np.isfinite(seen).all():
            raise ValueError(f"observation must be finite, got {observation!r}")
        commands, state = self.act(np.atleast_2d(seen), state, episode_start)
        actions = commands.astype(np.float32)
        return (actions if seen.ndim == 2 else actions[0]), state


class Idle(Controller):
    """No torque, from as many commands as an env has."""

    def __init__(self, channels: int = 3) -> None:
        self.channels = count("channels", channels)

    def commands(self, rows: Array) -> Array:
        return np.zeros((len(rows), self.channels))


class Law(Controller):
    """A feedback law u(attitude, rates, the target's rates).

    torque_limit: (3,) [N m], body axes; what exceeds it is shortened, not turned. rate_limit: rate
    [rad/s] that observations show as 1. dt: control period [s], 0 for none. width: columns of an
    observation that are attitude, rates and perhaps the target's rates, all of them by default.
    envelope: (k, 3) [1/(N m)], the torques u that the actuator can give, as |envelope u| <= 1.
    """

    usual = "7 or 10"
    slews = ""  # what errors call a law for a target attitude, and none but that
    still = False  # whether that has to be at rest
    every_axis = False  # whether the law needs torque about each axis
    width: int | None = None

    def __init__(self, torque_limit: ArrayLike, *, rate_limit: float, dt: float) -> None:
        self.limits = finite("torque_limit", torque_limit, (3,))
        self.torque_limit: ArrayLike = self.limits
        if (self.limits < 0).any():
            raise ValueError(f"torque_limit must not be negative, got {torque_limit!r}")
        if self.every_axis and not self.limits.all():
            raise ValueError(f"torque_limit must be positive, got {self.limits}")
        if not 0 <= number(dt) < np.inf:
            raise ValueError(f"dt must be finite and not negative, got {dt!r}")
        self.rate_limit, self.dt = positive("rate_limit", rate_limit), float(dt)
        has = self.limits > 0
        self.envelope: Array = np.diag(1.0 / self.limits[has]) @ np.eye(3)[has]

    @classmethod
    def arguments(cls, plant: Plant) -> dict[str, Any]:
        if cls.slews and (not plant.target or plant.has_forces):
            raise ValueError(
                f"env must have a target attitude, and none but that, for {cls.slews}; "
                f"its goal is {plant.goal!r}, its actuator {plant.actuator!r}"
            )
        if cls.still and plant.moves:
            raise ValueError(f"env must have a target at rest for {cls.slews}, its target moves")
        return super().arguments(plant)

    def torque(self, q: Array, omega: Array, wanted: Array) -> Array:
        """Torque (n, 3) [N m, body] within the limits.

        q: attitudes (n, 4), relative to the target where there is one. omega and wanted: rates of
        the body and of the target (n, 3) [rad/s], body axes.
        """
        raise NotImplementedError

    def feedback(self, seen: Seen, state: Any, episode_start: Any) -> tuple[Array, Any]:
        """Torque (n, 3) [N m, body] for what `torque` takes, and the memory afterwards."""
        return self.torque(*seen), None

    def answer(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        """The same for observations (n, columns): quaternion (w, x, y, z), then rates as a part of
        rate_limit."""
        rates = rows[:, 4 : self.width] * self.rate_limit
        wanted = rates[:, 3:6] if rates.shape[1] == 6 else np.zeros_like(rates[:, :3])
        return self.feedback((rows[:, :4], rates[:, :3], wanted), state, episode_start)

    def act(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        u, state = self.answer(rows, state, episode_start)
        return self.in_limits(u), state

    def fits(self, columns: int) -> bool:
        wanted = self.width or columns
        return super().fits(columns) if self.least else min(columns, wanted) in (7, 10)

    def target_turning(self, seen: Seen, last: Any, begins: Flags) -> tuple[Array, Array]:
        """The target's angular acceleration (n, 3) [rad/s^2], body axes, and its rate in its own
        axes (n, 3) [rad/s], of which `last` was a period ago; zero in lanes that begin, (n,).

        The change is taken in the target's axes, so that the turning of the body is not in it. It
        is the mean of the last period: of a motion of frequency w it comes a period late, by a
        part w dt of its size.
        """
        q, _, wanted = seen
        rate = rotate(q, wanted)
        if last is None or not self.dt:
            return np.zeros_like(rate), rate
        change = np.where(begins[:, None], 0.0, (rate - last) / self.dt)
        return rotate_inverse(q, change), rate

    def in_limits(self, u: Array) -> Array:
        """The torque in parts of its limits; none about an axis that has no torque."""
        return np.asarray(u / np.where(self.limits > 0, self.limits, np.inf))

    def limited(self, u: Array) -> Array:
        """The torque within the limits, shortened but not turned."""
        return np.asarray(shortened(self.in_limits(u)) * self.limits)

    def limited_beside(self, u: Array, whole: Array) -> Array:
        """whole + s u (n, 3), with the largest s in [0, 1] that is within the limits.

        For u there is always half of them: what `whole` has beyond that is cut off by shortening.
        """
        taken = 2.0 * np.max(np.abs(whole @ self.envelope.T), axis=-1, keepdims=True)
        whole = whole / np.maximum(taken, 1.0)
        p, g = u @ self.envelope.T, whole @ self.envelope.T
        room = (1.0 - np.sign(p) * g) / np.maximum(np.abs(p), 1e-300)
        return whole + np.minimum(np.min(room, axis=-1, keepdims=True), 1.0) * u


@dataclass(eq=False)
class BodyLaw(Law):
    """A law that knows the body; a subclass declares torque_limit, and its gains, as fields."""

    body: RigidBody
    _: KW_ONLY
    rate_limit: float
    dt: float

    def __post_init__(self) -> None:
        super().__init__(self.torque_limit, rate_limit=self.rate_limit, dt=self.dt)
        self.inertia = np.asarray(checked_body(self.body).inertia)

    def gyroscopic_torque(self, omega: Array) -> Array:
        """omega x J omega (n, 3) [N m], which the body needs to turn steadily."""
        return np.cross(omega, omega @ self.inertia)

    def acceleration(self, axis: Array) -> Array:
        """Largest angular acceleration (n,) [rad/s^2] about unit axes (n, 3) that do not turn."""
        excess: Array = np.max(np.abs(axis @ self.inertia @ self.envelope.T), axis=-1)
        return np.divide(1.0, excess, out=np.full_like(excess, np.inf), where=excess > 0)

    def agility(self) -> float:
        """sqrt(a) [rad/s], a the least angular acceleration that the limits allow about a body axis
        that has torque: frequencies of a law that is neither slow nor overshoots go as this."""
        has = self.limits > 0
        if not has.any():
            return 1.0  # without torque no law is faster than another
        slowness = np.abs(self.inertia[has]) / self.limits[has, None]
        return float(slowness[:, has].max() ** -0.5)

    def sampled(self, frequency: float, most: float = 0.45) -> float:
        """The frequency [rad/s], but at most `most` in a control period."""
        return min(frequency, most / self.dt) if self.dt else frequency

    def gyroscopic_load(self, axis: Array) -> Array:
        """Part of the limits (n,) that the gyroscopic torque of 1 rad/s about unit axes (n, 3)
        takes; at another rate w that times w^2."""
        torque = self.gyroscopic_torque(axis)
        return np.asarray(np.max(np.abs(torque @ self.envelope.T), axis=-1))


def weight_torque(potential: Any, up: Array) -> Array:
    """Torque (n, 3) [N m, body] of weight or soft wall, 0 of others; up (n, 3): vertical, body."""
    if not isinstance(potential, HeavyTop | SoftWall):
        return np.zeros_like(up)
    axis = np.asarray(potential.axis)
    if isinstance(potential, SoftWall):
        slope = potential.slope(up @ axis)[:, None]
    else:
        slope = np.asarray(potential.mgl)
    return np.asarray(-slope * np.cross(axis, up))


def shortened(commands: Array) -> Array:
    """Commands (n, channels) within [-1, 1], shortened but not turned."""
    excess = np.max(np.abs(commands), axis=-1, keepdims=True)
    return np.asarray(commands / np.maximum(excess, 1.0))


def nearer(quaternion: Array) -> Array:
    """The vector part (..., 3) of that of q and -q whose scalar part is not negative."""
    return np.where(quaternion[..., :1] < 0, -1.0, 1.0) * quaternion[..., 1:]


def fresh(lanes: int, state: Any, episode_start: Any) -> Flags:
    """Which lanes begin, (lanes,): all of them without a memory."""
    if state is None:
        return np.ones(lanes, dtype=np.bool_)
    if episode_start is None:
        return np.zeros(lanes, dtype=np.bool_)
    begins = np.asarray(episode_start)
    if begins.dtype.kind != "b" or begins.shape not in ((), (1,), (lanes,)):
        raise ValueError(f"episode_start must be bools ({lanes},), got {episode_start!r}")
    return np.broadcast_to(begins, (lanes,))


def relative(goals: dict[str, Any]) -> Array:
    """The plain observation that goal-conditioned ones stand for."""
    if missing := {"observation", "desired_goal"} - set(goals):
        raise ValueError(f"observation must have {sorted(missing)}, got {sorted(map(str, goals))}")
    state = real("observation['observation']", goals["observation"])
    target = real("observation['desired_goal']", goals["desired_goal"])
    turned = multiply(conjugate(target), state[..., :4])
    return np.concatenate([turned, state[..., 4:]], axis=-1)


def read_by_laws(env: Any) -> dict[str, Column]:
    """The columns of an observation by name; of goals, those that `relative` makes of it."""
    columns: dict[str, Column] = env.columns
    if not env.task.split:
        return columns
    turned = replace(columns["quaternion"], frame="body to target", words="")
    rest = (one for name, one in columns.items() if name not in ("quaternion", "target_quaternion"))
    return placed((turned, *rest))
