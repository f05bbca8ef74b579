"""Builds an environment from a task and the arguments of `gym.make`."""

import inspect
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from rbgym import integrators
from rbgym.arguments import count, finite, is_number, positive, quietly, real
from rbgym.body import RigidBody
from rbgym.eigenaxis import eigenaxis_time, slowness
from rbgym.engine.actuation import Actuator
from rbgym.engine.batch import Batch
from rbgym.envs.actuators import Setting, assemble
from rbgym.envs.actuators.faults import resolve_faults
from rbgym.envs.arguments import Arguments, in_range, made_or_given, named, triple
from rbgym.envs.episodes import Setup, checked_hook, state_of
from rbgym.envs.orbit import resolve_orbit
from rbgym.envs.parts import constraints, disturbances, endings, parameters, rewards, uncertainty
from rbgym.envs.parts.columns import bounds, placed, width
from rbgym.envs.parts.goals import Goal, Reference, Rest
from rbgym.envs.parts.observations import FORMS, Both, Hidden, More, Observation, WithoutRates
from rbgym.envs.parts.sensors import resolve_sensor
from rbgym.envs.parts.starts import Start
from rbgym.envs.rows import Part, Parts, TaskRows, checked_part, says
from rbgym.potentials import CircularOrbit, HeavyTop, NoPotential, Potential, SoftWall
from rbgym.quaternion import Array

if TYPE_CHECKING:
    from rbgym.envs.task import Task

_SHORTEST = 1e-100  # s; shortest step whose reciprocal, squared, is a finite float
_PULL = 1.5  # N m, a little over the largest torque towards a soft wall, which repels bodies
_HOOKS = "reward", "termination", "disturbance", "observation"
# Entries of `state` that every env has.
_OF_STATE = {"quaternion", "angular_velocity", "angular_momentum", "energy", "time",
             "target_quaternion", "target_angular_velocity"}  # fmt: skip
_SLACK = 1.05  # factor of the bounds of rates, for the error of the schemes


class Building:
    """The steps of building an environment; each uses the results of those before it."""

    def __init__(
        self, task: "Task", size: int, max_episode_steps: int | None, given: Arguments
    ) -> None:
        self.task, self.size, self.given = task, size, given
        unlimited = is_number(max_episode_steps) and max_episode_steps == -1
        self.limit = math.inf  # steps after which an episode is truncated
        if max_episode_steps is not None and not unlimited:
            self.limit = float(count("max_episode_steps", max_episode_steps))

    @quietly
    def build(self) -> tuple[Batch, Setup, spaces.Box]:
        """The bodies, the setup of the episodes and the observation space."""
        self._choose_body()
        self._choose_actuator()
        self._choose_potential()
        self._choose_parts()
        self._make_batch()
        self._check_hooks()
        setup = Setup(
            parts=self.parts,
            terms=() if self.task.split else self.parts.reward.terms(),
            dt=self.dt,
            substeps=self.substeps,
            strength=self.strength,
            actuator=self.actuator,
            limit=self.limit,
            settled_steps=self.task.settled_steps,
            width=self.space.shape[0],
            hooks=self.hooks,
            orbit=self.orbit,
            least_time=self._least_time(),
            varied=tuple(self.given.randomization or ()),
            info=tuple(_listed(_or(self.given.info, "all"))),
        )
        return self.batch, setup, self.space

    def _choose_body(self) -> None:
        """Set body and weight, control period, and torque of a full command."""
        task, given = self.task, self.given
        body = task.body() if given.body is None else given.body
        self.body = made_or_given("body", RigidBody, body)
        self.weight = task.weight_of(self.body, given.mgl)
        if not self.weight and task.potential is None and self.body.center_of_mass.any():
            self.body = self.body.about(self.body.center_of_mass)  # a free body turns about it
        self.dt = positive("dt", _or(given.dt, task.dt))
        name = integrators.get(_or(given.integrator, task.integrator)).name
        of_task = name == integrators.get(task.integrator).name
        usual = task.substeps if of_task else task.substeps_of_others
        self.substeps = count("substeps", _or(given.substeps, usual))
        if self.dt / self.substeps < _SHORTEST:
            raise ValueError(f"dt must be {_SHORTEST:g} s or more a substep, got {self.dt!r}")
        torque = task.torque(self.body, self.weight) if callable(task.torque) else task.torque
        self.strength = in_range("torque_scale", given.torque_scale, 1e-100, 1e100)
        full = finite("torque_limit", _or(given.torque_limit, torque), (), (3,))
        if np.any(full < 0):
            raise ValueError(f"torque_limit must not be negative, got {full.tolist()}")
        self.torque_limit = self.strength * np.broadcast_to(full, (3,))

    def _choose_actuator(self) -> None:
        """Set randomization, disturbance, orbit, actuator and scheme."""
        task, given = self.task, self.given
        self.randomization, spread = uncertainty.resolve_randomization(
            given.randomization, self.body, self.weight, self.torque_limit
        )
        self.tilts = "axes" in (given.randomization or ())  # whether principal axes differ
        self.disturbance, self.pull = disturbances.resolve_disturbance(given.disturbance)
        hooks = {name: getattr(given, name) for name in _HOOKS}
        if isinstance(given.disturbance, Mapping):
            hooks["disturbance"] = given.disturbance.get("torque")
        self.hooks = {name: hook for name, hook in hooks.items() if callable(hook)}
        faults = resolve_faults(given.faults, self.dt)
        self.may_blind = faults is not None and faults.may_blind()
        setting = Setting(
            body=self.body,
            dt=self.dt,
            h=self.dt / self.substeps,
            horizon=self.limit,
            limits=self.torque_limit,
            scale=self.strength,
            rate=task.rate_limit,
            spread=spread,
            faults=faults,
            disturbed="disturbance" in self.hooks or bool(self.disturbance.largest_torque().any()),
            orbit=given.orbit,
        )
        self.actuator = assemble(given.actuator, task.actuator, setting)
        effector = self.actuator.effector
        self.orbit = effector.around
        if self.orbit is None and given.orbit is not None:
            self.orbit = resolve_orbit(given.orbit)
        if self.disturbance.is_on_orbit() and self.orbit is not None:
            self.disturbance = self.disturbance.along(self.orbit)
        self.scheme = self.actuator.scheme(_or(given.integrator, task.integrator))
        effector.refuse_unused(given.torque_limit, given.randomization)

    def _choose_potential(self) -> None:
        """Set sensor, goal, reference and potential; all parts share one orbit."""
        task, effector, pull = self.task, self.actuator.effector, self.pull
        hides = isinstance(task.form, Hidden) or "hidden" in _listed(self.given.observation)
        measures = _or(self.given.sensor, task.sensor)
        self.sensor = resolve_sensor(measures, self.dt, task.rate_limit, hides=hides)
        self.goal = checked_part("goal", task.goal_of(self.body, self.weight), Goal)
        self.reference = checked_part("reference", task.reference(self.dt), Reference)
        alone = self.sensor.sees_field() and effector.around is None
        if self.orbit is not None:
            self.sensor = self.sensor.with_orbit(self.orbit, effector.around is not None)
        if self.sensor.sees_field() and effector.around is None and self.orbit is not None:
            raise ValueError(f"sensor must see no field without coils, got {self.given.sensor!r}")
        own = HeavyTop(self.weight) if self.weight > 0 else task.potential
        shown = task.more, self.sensor.extra()
        others = task.start, task.ends, task.shape, task.tally, self.goal, *shown
        parts = (self.sensor, self.disturbance, self.reference, *others)
        gradient = "disturbance['gravity_gradient']"
        uses = {
            gradient: pull is True,
            "disturbance by the surroundings": self.disturbance.is_on_orbit(),
            "actuator with coils": effector.around is not None,
            "goal that faces the Sun": self.goal.faces_sun(),
            "reference on an orbit": self.reference.is_on_orbit(),
            "sensor['star_tracker']['sun_exclusion']": getattr(self.sensor, "sun_exclusion", 0) > 0,
            "sensor of the Sun or ephemeris": self.sensor.faces_sun(),
            "an earth_exclusion, or another sensor on an orbit": self.sensor.is_on_orbit(),
            "a magnetometer next to an actuator without coils": alone,
            "a part that is on an orbit": any(
                says(one, "is_on_orbit") or says(one, "faces_sun") for one in others
            ),
        }
        needed = [name for name, does in uses.items() if does]
        if (needed or pull) and (own is not None or effector.needs == "scale"):
            raise ValueError(
                f"{(needed or [gradient])[0]} must be left out for a body with weight, for one "
                "that scales, and where there is another potential"
            )
        orbit = self.orbit
        useless = orbit is not None and not (needed or self.hooks)  # callables may use the orbit
        if useless or (needed and orbit is None):
            must = f"given with {needed[0]}" if needed else f"left out without any of {[*uses]}"
            raise ValueError(f"orbit must be {must}, got {orbit!r}")
        potential = pull if isinstance(pull, CircularOrbit) else own
        if orbit:
            if isinstance(pull, CircularOrbit):
                raise ValueError(f"{gradient} must be True on an orbit, got {pull.rate!r}")
            potential = orbit.record(pull is True, any(says(one, "faces_sun") for one in parts))
        if not self.weight and "gravity" in (self.given.randomization or ()):
            raise ValueError("randomization['gravity'] must be left out for a body without weight")
        if "noise" in (self.given.randomization or ()) and not self.sensor.is_noisy():
            raise ValueError("randomization['noise'] must be left out without a noisy sensor")
        if own is not None and self.tilts:
            raise ValueError("randomization['axes'] must be left out where there is a potential")
        self.potential: Potential = potential or NoPotential()

    def _choose_parts(self) -> None:
        """Set goal, start, endings, constraints, observation and reward."""
        task, given = self.task, self.given
        goal, sensor, effector = self.goal, self.sensor, self.actuator.effector
        sensor.warn_of_noise(task.angle if goal.angle_off else math.inf, task.rate)
        limits = endings.Limits(task.rate_limit, task.lowest)
        own = checked_part("ends", task.ends, endings.Ending)
        ends = endings.resolve(given.termination, limits, own)
        if (speed := goal.least_speed()) - task.rate >= ends.limits.rate:
            name = "termination['rate_limit']" if ends.limits.rate < limits.rate else "rate_limit"
            raise ValueError(
                f"{name} must be above the goal's {speed:.4g} rad/s, got {ends.limits.rate!r}"
            )
        start = checked_part("start", task.start, Start)
        start = start.resolve(given.initial, ends.limits, goal, task.ranges, self.reference)
        limited = constraints.resolve(given.constraints, goal, start, task.rate_limit, effector)
        also: Any = limited or More()
        if sensor.extra().width():
            also = Both(sensor.extra(), also)
        form, *shown = _listed(_or(given.observation, "quaternion")) or [None]
        if shown:
            varied, channels = given.randomization or (), self.actuator.record.channels()
            also = Both(also, parameters.columns_of(shown, varied, sensor, channels, self.body))
        seen = self._observation(form)
        stars = getattr(sensor, "tracker", More()).width()
        if self.may_blind and not (seen.rates_width() or seen.form.width() or stars):
            raise ValueError(
                "faults['kinds'] must not have 'sensor' where observations show neither attitude "
                f"nor rates, got {given.faults!r}"
            )
        if task.split and not (isinstance(given.reward, str) and given.reward in rewards.NAMED):
            raise ValueError(f"reward must be 'dense' or 'sparse' here, got {given.reward!r}")
        self.parts = Parts(
            observation=seen._replace(also=also),
            sensor=sensor,
            outage=uncertainty.Failing() if self.may_blind else uncertainty.Outage(),
            goal=goal.simplest(),
            reference=self.reference,
            reward=rewards.resolve(given.reward, task.dense(), task.rate_limit),
            success=task.success(),
            ends=ends,
            start=start,
            randomization=self.randomization,
            disturbance=self.disturbance,
            tally=checked_part("tally", task.tally, endings.Tally),
            constraints=limited or endings.Constraints(),
        )

    def _observation(self, name: Any) -> Observation:
        """The observation, whose bounds hold all rates that a body can reach."""
        task, given = self.task, self.given
        if task.form is not None and not (isinstance(name, str) and name == task.form.label):
            raise ValueError(f"observation must be {task.form.label!r} in this task, got {name!r}")
        if callable(name) and self.hooks.get("observation") is name:
            own = given.sensor not in (None, task.sensor)
            if own or given.preview is not None or self.may_blind:
                raise ValueError(
                    "observation must be named with sensor, its faults, or preview, got a callable"
                )
            name = "quaternion"  # a placeholder: the callable replaces its columns
        named("observation", name, FORMS, " or a callable")
        rates = self._rate_bounds(self.actuator.largest + self.disturbance.largest_torque())
        with np.errstate(over="ignore"):
            most = rates / task.rate_limit
        if not np.all(np.maximum(rates, most) < np.finfo(np.float32).max):
            raise ValueError(
                "body, mgl, torque_limit, torque_scale, rate_limit, disturbance and dt must give "
                f"rates that a float32 can hold, got up to {rates.max():g} rad/s, and "
                f"{most.max():g} times rate_limit"
            )
        more = task.more if given.preview is None else task.more.with_preview(given.preview)
        if name == "hidden" and "target_angular_velocity" in [one.name for one in more.columns()]:
            raise ValueError(
                "observation must show the attitude where the target turns, whose rates in body "
                f"axes tell it, got {name!r}"
            )
        form = _or(task.form, FORMS[name])
        shown = WithoutRates if isinstance(form, Hidden) and not self.sensor.gyro else Observation
        return shown(form, task.rate_limit, triple("rates", most), more)

    def _rate_bounds(self, torque: Array) -> Array:
        """Bounds (3,) [rad/s] of the rates one control period after |omega| was within the limit,
        under a torque (3,) [N m] and the potential's. The spin of a body with two equal moments is
        decoupled, unless rotors couple it. Any other body can move all energy to its smallest axis:
        sqrt(J omega . omega) grows by at most |torque| dt / sqrt(J_min)."""
        body, dt, limit = self.body, self.dt, self.task.rate_limit
        if isinstance(self.potential, HeavyTop | SoftWall):
            torque = torque + abs(getattr(self.potential, "mgl", _PULL))
        J, weak = body.moments, float(np.linalg.norm(torque))
        energy = (np.sqrt(J.max()) * limit + weak * dt / np.sqrt(J.min())) / np.sqrt(J)
        bounds, principal = energy, np.array_equal(body.principal_rotation, np.eye(3))
        if not principal or self.tilts:
            bounds = np.full(3, np.linalg.norm(energy))
        elif J[0] == J[1] and not self.actuator.record.turns_rotors():
            across = limit + np.hypot(torque[0], torque[1]) * dt / J[0]
            bounds = np.minimum(energy, [across, across, limit + torque[2] * dt / J[2]])
        return np.asarray(_SLACK * bounds)

    def _least_time(self) -> float:
        """Least time [s] of the task at full torque about the slowest axis: to empty the wheels, to
        stop the fastest tumble, or for the largest turn from rest to rest; 0 if unknown."""
        start, effector = self.parts.start._asdict(), self.actuator.effector
        angle, limits = start.get("angle", 0.0), self.actuator.limits
        coils: Any = effector.sheds
        if math.isfinite(self.task.momentum) and coils and coils.around:
            wheels, above_poles = effector.rotors, 2.0 * coils.field
            momentum = wheels.start * wheels.momentum * wheels.shares
            return float(momentum.max() / (self.strength * coils.dipole * above_poles))
        if isinstance(self.parts.goal, Rest) and limits.all():
            strongest = limits if effector.main.is_steady else 2.0 * limits
            slower = max(start.get("rate", 0.0) - self.task.rate, 0.0)
            return float(slower * slowness(np.eye(3), self.body.inertia, strongest).max())
        turns = self.parts.goal.has_target() and not self.parts.reference.moves()
        if not (turns and angle and effector.main.is_steady and limits.all()):
            return 0.0
        turned, rate = (np.eye(3), self.body.inertia, limits), np.asarray(self.task.rate_limit)
        if wheels := effector.main.rotors:
            # No wheel may saturate, and the torque must turn the largest momentum of a start.
            rate = np.minimum(rate, wheels.filling_time / self.strength / slowness(*turned))
            held = wheels.start * float(np.max(wheels.momentum * wheels.shares))
            rate = np.minimum(rate, limits.min() / held) if held > 0.0 else rate
        return float(eigenaxis_time(angle, *turned, rate).max())

    def _make_batch(self) -> None:
        """Make the bodies, in their state before the first episode, and the observation space."""
        record: Any = self.actuator.record
        own = type(self.randomization).vary, type(record).rebuild
        self.batch = batch = Batch(
            self.body,
            self.scheme,
            self.potential,
            size=self.size,
            projection=self.given.projection,
            actuator=record,
            task_rows=lambda physics: TaskRows(physics, self.parts).row_count(),
            varies=own != (uncertainty.Randomization.vary, Actuator.rebuild),
            turns=self.tilts,
        )
        batch.warn_of_spin(self.dt / self.substeps)
        self.actuator.effector.rest(batch)
        self.rows = TaskRows(batch.physics, self.parts)
        for part in (self.sensor, self.disturbance):
            methods = [one for one in vars(type(part)).values() if inspect.isfunction(one)]
            draws = any("noise_key" in one.__code__.co_names for one in methods)
            if draws and type(part).is_noisy is Part.is_noisy:
                raise ValueError(f"is_noisy must be constant(True) in {type(part).__name__}")
        if says(self.parts, "is_noisy") and not self.rows.is_noisy():
            raise ValueError("is_noisy must be True of the sensor or disturbance of a noisy part")
        keys = [*self.actuator.state_keys(), *self.parts.goal.state_keys()]
        if taken := {name for name in keys if name in _OF_STATE or keys.count(name) > 1}:
            raise ValueError(f"state_keys must be other names than {sorted(taken)}")
        if record.has_limits():
            row = record.own_row(batch.physics)
            batch.put_rows(row, np.tile(self.torque_limit, (batch.size, 1)))
        if self.parts.goal.has_target():
            batch.put_rows(self.rows.goal_row(), np.tile([1.0, 0.0, 0.0, 0.0], (batch.size, 1)))
        shown = self.parts.observation
        own = shown.table(self.parts.goal.attitude_shown)
        if width(own) != shown.width():
            raise ValueError(f"columns must be as many as width says, {shown.width()}, got {own!r}")
        columns = placed((*own, *self.actuator.columns)).values()
        if not columns:
            raise ValueError(
                "observation must have a column: 'hidden' needs a gyro or another instrument "
                f"that is shown, got sensor={self.given.sensor!r}"
            )
        self.space = spaces.Box(*bounds(columns).astype(np.float32))

    def _check_hooks(self) -> None:
        """Call each callable argument once, to check its result; an observation sets the space."""
        if not self.hooks:
            return
        n, state = self.batch.size, state_of(self.batch, self.rows, self.actuator, self.dt)
        for name, hook in self.hooks.items():
            action = [np.zeros((n, self.batch.channels))] if name == "reward" else []
            try:
                inspect.signature(hook).bind(state, *action)
            except TypeError as error:
                taken = "(state, action)" if action else "(state)"
                message = f"{name} must be a function of {taken}, got {hook!r}: {error}"
                raise ValueError(message) from None
            except ValueError:  # a builtin tells no signature
                pass
            if name == "observation":
                sample = real(name, hook(state), f"a function that returns numbers ({n}, k)")
                if sample.ndim != 2 or len(sample) != n:
                    raise ValueError(f"observation must return shape ({n}, k), got {sample.shape}")
                checked_hook(name, hook, sample.shape, state)
                self.space = spaces.Box(-math.inf, math.inf, sample.shape[1:], np.float32)
            else:
                checked_hook(name, hook, (n, 3) if name == "disturbance" else (n,), state, *action)


def _listed(value: Any) -> list[Any]:
    """The names in a list or array; a single name as a list."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    return list(value) if isinstance(value, list | tuple) else [value]


def _or(given: Any, default: Any) -> Any:
    return default if given is None else given
