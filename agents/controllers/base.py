"""Base of classical controllers: an env as a plant, the interface of policies, torque limits."""

from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from inspect import signature
from typing import Any, ClassVar, Protocol, Self

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorActionWrapper, VectorObservationWrapper
from numpy.typing import ArrayLike, NDArray

from rbgym.arguments import count, finite, number, positive, real
from rbgym.body import RigidBody
from rbgym.envs.parts.columns import Column, placed, width
from rbgym.envs.parts.goals import Axis, Rest, Target
from rbgym.envs.planning import episodes_of
from rbgym.potentials import HeavyTop, SoftWall
from rbgym.quaternion import Array, conjugate, multiply, rotate, rotate_inverse
from rbgym.trajectory import checked_body

Flags = NDArray[np.bool_]
Seen = tuple[Array, Array, Array]  # quaternion, angular velocity, that of the target
_LARGEST = 1e100
_ATTITUDES = "quaternion", "quaternion_continuous"
_CHANGES = (  # wrappers that may change what a law reads or commands
    gym.ObservationWrapper, gym.ActionWrapper, VectorObservationWrapper, VectorActionWrapper,
    *(getattr(gym.wrappers, n) for n in ("MaxAndSkipObservation", "RepeatAction")
      if hasattr(gym.wrappers, n)),
)  # fmt: skip


class Plant:
    """An env, single or vector, as the plant of a controller; ValueError unless it is rbgym's.

    given: constructor arguments of controllers that the env determines, by name. columns: of an
    observation as laws read it, by name; commands: of an action. strength: factor of all torques.
    wheels, coils, scaling: the actuator, if it has that; unloads: the effector that unloads its
    wheels, and unloads_by: its full command. target, rest: whether the goal is of that kind; axis:
    the goal, if it is an `Axis`. moves: whether the target moves. measured: whether sensors add
    noise. reads: number of columns of attitude, rates and perhaps the target's rates, 0 if the
    attitude is not a quaternion. first: the first column of the actuator. delay, lag [s],
    pulse: the shortest of thrusters, as a fraction of dt; waiting: how many past commands of each
    channel are shown. vibrates: frequency of the fastest flexible mode [rad/s], 0 without.
    mixing: (3, channels), the torque of full commands, body axes [N m], zero for coils.
    out: number of a failed wheel, from 0 on; None if all work.
    """

    def __init__(self, env: Any, out: int | None = None) -> None:
        base, episodes = episodes_of(env)
        refuse_wrappers(env)
        actuator: Any = base.actuator
        parts, assembly = episodes.setup.parts, episodes.setup.actuator
        self.env, self.actuator, self.strength = base, actuator, base.torque_scale
        self.body, self.potential, self.goal = base.body, base.potential, base.goal
        self.columns, self.commands = read_by_laws(base), base.commands
        self.first = width(self.columns.values()) - width(assembly.columns)
        numbers = {key: value for stage in assembly.stages for key, value in vars(stage).items()}
        self.delay, self.lag = numbers.get("seconds", 0.0), numbers.get("time_constant", 0.0)
        record: Any = assembly.record
        self.waiting = record.line.delay.slots() if "seconds" in numbers else 0
        self.pulse = numbers.get("minimum_pulse", 0.0) / base.dt
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
            "integrator": episodes.batch.integrator,
            "substeps": episodes.setup.substeps,
            "swing": 0.0,
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
            "normals": getattr(sensor, "normals", ()),
            "dock": base.goal.dock(),
        }
        self.vibrates = 0.0
        if "coupling" in numbers:
            d, J = np.array(numbers["coupling"]), base.body.inertia
            added = d @ np.linalg.solve(J, d.T)
            free = np.array(numbers["frequency"]) * np.sqrt(1.0 + np.diag(added))
            self.vibrates = float(free.max())
            if self.target:  # slow torques move the modes with the body
                with suppress(ValueError):  # of an inertia that no rigid body has
                    self.given["body"] = replace(base.body, inertia=J + d.T @ d)
                    self.given["swing"] = float(np.linalg.eigvalsh(added)[-1])
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
        # Scales that laws take, from the columns of commands and observations.
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
        self.mixing = np.hstack([self._torque_of(one) for one in self.commands.values()])

    def _torque_of(self, command: Column) -> Array:
        if command.name == "wheel_torque":
            return command.factor * np.asarray(self.wheels.matrix)
        if command.name == "torque":
            return np.diag(command.scale)
        return np.zeros((3, command.size))

    def shows(self, *names: str) -> bool:
        """Whether observations begin with the goal's quaternion and then these quantities, in this
        order, with every rate scaled by `rate_limit`."""
        attitude, *rest = self.columns.values()
        found = rest[: len(names)]
        rates = (one.scale for one in found if one.name.endswith("angular_velocity"))
        of_limit = all(np.all(np.asarray(scale) == self.env.rate_limit) for scale in rates)
        of_goal = attitude.name in _ATTITUDES and attitude.frame == self.goal.attitude_shown
        return of_goal and of_limit and tuple(one.name for one in found) == names


def plant_of(env: Any) -> Plant:
    """The plant of an env; a plant is returned unchanged."""
    return env if isinstance(env, Plant) else Plant(env)


def without(wheels: Any, out: int | None) -> Any:
    """The wheels without number `out`; all of them if it is None."""
    if out is None:
        return wheels
    axes = list(np.asarray(wheels.axes))
    whole = isinstance(out, int | np.integer) and not isinstance(out, bool)
    if len(axes) < 4 or not whole or out not in range(len(axes)):
        raise ValueError(f"out must be None, or one of 0 to 3 of four wheels, got {out!r}")
    del axes[int(out)]
    return replace(wheels, axes=axes)


def refuse_wrappers(env: Any) -> None:
    """ValueError if a wrapper changes observations or actions, which laws need as they are."""
    space, layer = env.unwrapped.observation_space, env
    while layer is not env.unwrapped:
        if isinstance(layer, _CHANGES) or layer.observation_space != space:
            raise ValueError(
                "env must have no wrapper that changes observations or actions, "
                f"got {type(layer).__name__}; env.unwrapped has none"
            )
        layer = layer.env


class Policy(Protocol):
    """The common interface of classical controllers and Stable-Baselines3 models."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, Any]:
        """Actions for a batch of observations, and the policy's own state."""


class Controller:
    """Maps observations to commands; a subclass has `commands`, or `act` if it has a memory.
    least: least number of columns of an observation; usual: allowed numbers in words, for errors if
    least is 0. by_name: whether it finds its columns by name, and needs no attitude in front.
    late: how many control periods old the moment of its coils is on average; None without coils."""

    least = 0
    usual = "one row or n rows of"
    by_name: ClassVar[bool] = False
    late: float | None = None

    @classmethod
    def for_env(cls, env: Any, **gains: Any) -> Self:
        """The controller for an env, single or vector. Raises ValueError if it does not fit."""
        plant = plant_of(env)
        return cls(**cls.arguments(plant), **{**cls.usual_gains(plant), **gains})

    @classmethod
    def arguments(cls, plant: Plant) -> dict[str, Any]:
        """Constructor arguments that the env determines; ValueError if the class does not fit."""
        takes = signature(cls).parameters
        return {name: value for name, value in plant.given.items() if name in takes}

    @classmethod
    def usual_gains(cls, plant: Plant) -> dict[str, Any]:
        """Gains that suit an env better than the defaults of the class."""
        return {}

    def refuse_gains(self, *names: str, **values: float) -> None:
        """Raise ValueError for gains, by name or value, that are not positive numbers, or so large
        that their powers overflow; those by name become floats."""
        for name, value in ({name: getattr(self, name) for name in names} | values).items():
            if (found := positive(name, value)) > _LARGEST:
                raise ValueError(f"{name} must be at most {_LARGEST:g}, got {value!r}")
            if name in names:
                setattr(self, name, found)

    def commands(self, rows: Array) -> Array:
        """Commands (n, channels) for observations (n, columns)."""
        raise NotImplementedError

    def act(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        """Commands (n, channels) for observations (n, columns), and the new memory."""
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
        memory for the next call, as models of Stable-Baselines3 do.

        state: the memory that the last call returned, None at first; most controllers have none.
        episode_start: (n,), whether an episode begins, which clears the memory. deterministic:
        ignored, as there is no noise. Raises ValueError for an observation of a wrong shape.
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
    """Zero commands, as many as the env has channels."""

    def __init__(self, channels: int = 3) -> None:
        self.channels = count("channels", channels)

    def commands(self, rows: Array) -> Array:
        return np.zeros((len(rows), self.channels))


class Law(Controller):
    """A feedback law u(attitude, rates, the target's rates).

    torque_limit: (3,) [N m], body axes; a larger torque is scaled down and keeps its direction.
    rate_limit: rate [rad/s] that observations show as 1. dt: control period [s], 0 for none. width:
    number of columns of attitude, rates and perhaps the target's rates, by default all. swing: the
    part that flexible modes add, at most, to the inertia that answers at once.
    envelope: (k, 3) [1/(N m)]; the actuator can give the torques u with |envelope u| <= 1.
    """

    usual = "7 or 10"
    slews = ""  # for a law of slews: its name in error messages
    still = False  # whether its target has to be at rest
    every_axis = False  # whether the law needs torque about each axis
    width: int | None = None
    swing: float = 0.0

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
        self.envelope: Array = np.diag(1.0 / np.where(self.limits > 0, self.limits, np.inf))

    @classmethod
    def for_env(cls, env: Any, **gains: Any) -> Self:
        made = super().for_env(plant := plant_of(env), **gains)
        made.width = plant.reads or None
        return made

    @classmethod
    def arguments(cls, plant: Plant) -> dict[str, Any]:
        if cls.slews and (not plant.target or plant.has_forces):
            raise ValueError(
                f"env must have a target attitude, and no position to reach, for {cls.slews}; "
                f"its goal is {plant.goal!r}, its actuator {plant.actuator!r}"
            )
        if cls.still and plant.moves:
            raise ValueError(f"env must have a target at rest for {cls.slews}, its target moves")
        return super().arguments(plant)

    def sampled(self, frequency: float, most: float = 0.45) -> float:
        """The frequency [rad/s], limited to `most` radians in a control period."""
        return min(frequency, most / (1.0 + self.swing) / self.dt) if self.dt else frequency

    def torque(self, q: Array, omega: Array, wanted: Array) -> Array:
        """Torque (n, 3) [N m, body] within the limits.

        q: attitudes (n, 4), relative to the target where there is one. omega and wanted: rates of
        the body and of the target (n, 3) [rad/s], body axes.
        """
        raise NotImplementedError

    def feedback(self, seen: Seen, state: Any, episode_start: Any) -> tuple[Array, Any]:
        """Torque (n, 3) [N m, body] for the arguments of `torque`, and the new memory."""
        return self.torque(*seen), None

    def answer(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        """`feedback` for observations (n, columns): quaternion (w, x, y, z), then rates over
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

    def in_limits(self, u: Array) -> Array:
        """The torque over its limits; 0 about an axis without torque."""
        return np.asarray(u / np.where(self.limits > 0, self.limits, np.inf))

    def limited(self, u: Array) -> Array:
        """The torque, scaled down to the limits in its direction."""
        return np.asarray(shortened(self.in_limits(u)) * self.limits)

    def limited_sum(self, u: Array, whole: Array) -> Array:
        """whole + s u (n, 3), with the largest s in [0, 1] that is within the limits. First `whole`
        is scaled down to half of the limits, which leaves half of them for u."""
        taken = 2.0 * np.max(np.abs(whole @ self.envelope.T), axis=-1, keepdims=True)
        whole = whole / np.maximum(taken, 1.0)
        p, g = u @ self.envelope.T, whole @ self.envelope.T
        room = (1.0 - np.sign(p) * g) / np.maximum(np.abs(p), 1e-300)
        return whole + np.minimum(np.min(room, axis=-1, keepdims=True), 1.0) * u


@dataclass(eq=False)
class BodyLaw(Law):
    """A law that knows the body. A subclass declares torque_limit and its gains as fields."""

    body: RigidBody
    _: KW_ONLY
    rate_limit: float
    dt: float
    swing: float = 0.0

    def __post_init__(self) -> None:
        super().__init__(self.torque_limit, rate_limit=self.rate_limit, dt=self.dt)
        self.inertia = np.asarray(checked_body(self.body).inertia)

    def gyroscopic_torque(self, omega: Array) -> Array:
        """omega x J omega (n, 3) [N m], the torque of a steady rotation."""
        return np.cross(omega, omega @ self.inertia)

    def acceleration(self, axis: Array) -> Array:
        """Largest angular acceleration (n,) [rad/s^2] from rest about unit axes (n, 3)."""
        excess: Array = np.max(np.abs(axis @ self.inertia @ self.envelope.T), axis=-1)
        return np.divide(1.0, excess, out=np.full_like(excess, np.inf), where=excess > 0)

    def agility(self) -> float:
        """sqrt(a) [rad/s], with a the smallest of the largest angular accelerations about the body
        axes that have torque: the frequency of a fast law without overshoot is a multiple of it."""
        has = self.limits > 0
        if not has.any():
            return 1.0  # without torque no law is faster than another
        slowness = np.abs(self.inertia[has]) / self.limits[has, None]
        return float(slowness[:, has].max() ** -0.5)

    def gyroscopic_load(self, axis: Array) -> Array:
        """Fraction of the limits (n,) that the gyroscopic torque of 1 rad/s about unit axes (n, 3)
        takes; it goes as the square of the rate."""
        return np.asarray(np.max(np.abs(self.gyroscopic_torque(axis) @ self.envelope.T), axis=-1))


def weight_torque(potential: Any, up: Array) -> Array:
    """The torque (n, 3) [N m, body] of gravity on a heavy top, or of a soft wall; else 0. up
    (n, 3): the vertical, body axes."""
    if not isinstance(potential, HeavyTop | SoftWall):
        return np.zeros_like(up)
    axis = np.asarray(potential.axis)
    if isinstance(potential, SoftWall):
        slope = potential.slope(up @ axis)[:, None]
    else:
        slope = np.asarray(potential.mgl)
    return np.asarray(-slope * np.cross(axis, up))


def shortened(commands: Array) -> Array:
    """Commands (n, channels), scaled down to [-1, 1] in their direction."""
    excess = np.max(np.abs(commands), axis=-1, keepdims=True)
    return np.asarray(commands / np.maximum(excess, 1.0))


def nearer(quaternion: Array) -> Array:
    """The vector part (..., 3) of q or -q, whichever has a scalar part >= 0."""
    return np.where(quaternion[..., :1] < 0, -1.0, 1.0) * quaternion[..., 1:]


def fresh(lanes: int, state: Any, episode_start: Any) -> Flags:
    """Which lanes begin an episode, (lanes,); all of them without a memory. ValueError for the
    memory of another number of lanes."""
    if state is None:
        return np.ones(lanes, dtype=np.bool_)
    first = state
    while isinstance(first, tuple) and first:
        first = first[0]
    shape = np.shape(first)
    shape = shape[1:] if len(shape) == 3 else shape  # of a plan the steps come first
    if shape[:1] != (lanes,):
        raise ValueError(
            f"state must be what the last call returned for {lanes} lanes, or None, got {state!r}"
        )
    if episode_start is None:
        return np.zeros(lanes, dtype=np.bool_)
    begins = np.asarray(episode_start)
    if begins.dtype.kind != "b" or begins.shape not in ((), (1,), (lanes,)):
        raise ValueError(f"episode_start must be bools ({lanes},), got {episode_start!r}")
    return np.broadcast_to(begins, (lanes,))


def target_turning(
    q: Array, wanted: Array, last: Any, begins: Flags, dt: float
) -> tuple[Array, Array]:
    """The target's angular acceleration (n, 3) [rad/s^2], body axes, zero in lanes that begin (n,);
    and its rate in its own axes (n, 3) [rad/s]. q (n, 4): attitude relative to the target; wanted:
    the target's rate, body axes. last: what this returned as the rate a period ago.

    The difference is taken in the target's axes, so that the body's rotation does not enter. It is
    the mean over the last period; its delay is an error of w dt, relative, for a motion of
    frequency w.
    """
    rate = rotate(q, wanted)
    if last is None or not dt:
        return np.zeros_like(rate), rate
    change = np.where(begins[:, None], 0.0, (rate - last) / dt)
    return rotate_inverse(q, change), rate


def relative(goals: dict[str, Any]) -> Array:
    """The plain observation of a goal-conditioned one: the attitude relative to the goal, rates."""
    if missing := {"observation", "desired_goal"} - set(goals):
        raise ValueError(f"observation must have {sorted(missing)}, got {sorted(map(str, goals))}")
    state = real("observation['observation']", goals["observation"])
    target = real("observation['desired_goal']", goals["desired_goal"])
    turned = multiply(conjugate(target), state[..., :4])
    return np.concatenate([turned, state[..., 4:]], axis=-1)


def read_by_laws(env: Any) -> dict[str, Column]:
    """The columns of an observation by name; if goal-conditioned, those after `relative`."""
    columns: dict[str, Column] = env.columns
    if not env.task.split:
        return columns
    turned = replace(columns["quaternion"], frame="body to target", words="", low=-1.0)
    rest = (one for name, one in columns.items() if name not in ("quaternion", "target_quaternion"))
    return placed((turned, *rest))
