"""The declaration of a task."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import ArrayLike

from rbgym import integrators
from rbgym.arguments import number, positive
from rbgym.body import RigidBody
from rbgym.envs import satellites
from rbgym.envs.actuators import NAMES, merge, split_combined
from rbgym.envs.actuators.effector import Effector
from rbgym.envs.arguments import Arguments, copied, keys, named
from rbgym.envs.layers import ARGUMENT, DIFFICULTY, SATELLITE, TASK, Layers
from rbgym.envs.parts import endings
from rbgym.envs.parts.goals import Goal, Reference, Target, nadir, sunward
from rbgym.envs.parts.observations import Form, More, TargetRate
from rbgym.envs.parts.rewards import Shape
from rbgym.envs.parts.starts import Start
from rbgym.envs.parts.uncertainty import Sensor
from rbgym.envs.rows import checked_part
from rbgym.potentials import Potential

GRAVITY = 9.81  # m/s^2
_FASTEST = 2e-3  # rad/s; a little over the rate of any orbit about the Earth
# Arguments that change the task itself.
_OF_TASK = {"difficulty", "satellite", "rate_limit", "success", "reference"}


def at_rest(dt: float) -> Reference:
    """The reference of a target at rest."""
    return Reference()


@dataclass(frozen=True, kw_only=True)
class Task:
    """The definition of a task. Arguments of the env override most of it.

    body: makes the rigid body. torque: of a full command about each body axis [N m], () or (3,), or
    a function of body and weight moment. actuator: see rbgym.envs.actuators. integrator: by name;
    substeps: its steps in a control period `dt` [s]; substeps_of_others: steps of any other
    integrator. potential: if it is not gravity. start: see rbgym.envs.parts.starts; ranges: of its
    fields, if they differ from the start's own. goal: a `Goal`, or a function of body and weight
    moment that returns one. Success needs the attitude within `angle` [rad] and the rates within
    `rate` [rad/s] of the goal for `settled_steps` steps; with a dock, also the distance [m] and
    speed [m/s] in `docked`; to unload wheels, also their momentum below `momentum` [kg m^2/s].
    gravity: whether the body hangs from or stands on its reference point and has weight. An episode
    ends beyond rate_limit [rad/s], below `lowest` (cosine of the tilt), or by `ends`. tally: counts
    events. shape: of the dense reward. sensor: measures the state. reference: makes the target's
    motion from dt. more: extra columns of the observation. form: of the attitude, if it is fixed.
    split: makes a dict from the rows of observations. orbit: arguments of `rbgym.envs.orbit.Orbit`,
    if the actuator has no orbit. difficulty: arguments of "easy", "medium" and "hard". categories:
    starts of the test set by name, values of `initial`.
    """

    body: Callable[[], RigidBody]
    torque: ArrayLike | Callable[[RigidBody, float], ArrayLike]
    actuator: Any = field(default_factory=NAMES["torque"])
    integrator: str = integrators.DEFAULT
    potential: Potential | None = None
    start: Start
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    goal: Goal | Callable[[RigidBody, float], Goal]
    gravity: bool = False
    dt: float = 0.02
    substeps: int = 1
    substeps_of_others: int = 4
    angle: float = math.radians(5.0)
    rate: float = 0.5
    settled_steps: int = 50
    rate_limit: float
    lowest: float = endings.NO_LIMIT
    shape: Shape
    ends: endings.Ending = field(default_factory=endings.Never)
    docked: tuple[float, float] | None = None
    momentum: float = math.inf
    tally: endings.Tally = field(default_factory=endings.Tally)
    sensor: Mapping[str, Any] | Sensor | None = None
    reference: Callable[[float], Reference] = at_rest
    more: More = field(default_factory=More)
    form: Form | None = None
    split: Callable[[Any], dict[str, Any]] | None = None
    orbit: Mapping[str, Any] | None = None
    difficulty: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    categories: Mapping[str, Mapping[str, float]]

    def resolve(self, given: Mapping[str, Any]) -> tuple["Task", Arguments, Layers]:
        """The task of an env with these arguments, all its arguments, and the layer of each."""
        Arguments.check_names(given)
        said = {name: copied(name, value) for name, value in given.items() if value is not None}
        task, wanted, region, layers = self, Arguments(**said), dict[str, float](), Layers()
        mine: satellites.Satellite | None = None
        form = None if self.form is None else self.form.label
        of_task = {"actuator": self.actuator, "orbit": self.orbit, "observation": form}
        is_object = isinstance(self.sensor, Sensor)  # which an argument replaces as a whole
        layers.add(TASK, {**of_task, "sensor": None if is_object else self.sensor})
        if isinstance(wanted.body, Mapping):
            layers.add(TASK, {"body": self.body()})
        if wanted.satellite is not None:
            mine = satellites.resolve(wanted.satellite)
            task, own, region = mine.suit(self)
            if "sensor" in own:  # its instruments, not those of the task's satellite
                layers.arguments.pop("sensor", None)
                layers.note(SATELLITE, [("sensor",)])
            layers.add(SATELLITE, own)
            suited = ("rate_limit", "initial", "success") if region else ()
            layers.note(SATELLITE, [("torque_limit",), *((name,) for name in suited)])
        if wanted.rate_limit is not None:
            task = task.with_rate_limit(positive("rate_limit", wanted.rate_limit))
        if wanted.reference is not None:
            task = task.with_reference(wanted.reference)
        presets: dict[str, Any] = {"easy": {}, "medium": {}, "hard": {}, **task.difficulty}
        named("difficulty", wanted.difficulty, presets)
        preset = presets[wanted.difficulty]
        if names := sorted(_OF_TASK & preset.keys()):
            raise ValueError(f"difficulty of a task must not say {names}, got {preset!r}")
        if mine and mine.sensor is not None:
            preset = {name: one for name, one in preset.items() if name != "sensor"}
        layers.add(DIFFICULTY, preset)
        if mine and "actuator" in said:
            fitted = split_combined(merge(None, layers.arguments["actuator"]))
            said["actuator"] = mine.parts_named(said["actuator"], fitted)
        if isinstance(wanted.initial, str):
            named("initial", wanted.initial, task.categories, " or a dict")
            said["initial"] = task.categories[wanted.initial]
        drawn, asked = layers.arguments.get("randomization", {}), said.get("randomization")
        if "torque" in drawn and not (isinstance(asked, Mapping) and "torque" in asked):
            parts = merge(layers.arguments.get("actuator"), said.get("actuator", ()))
            given_one = any(isinstance(one, Effector) for one in parts)
            if given_one and not any(one.uses_limits for one in parts):
                scaled = {"actuator_scale": drawn["torque"], **drawn, "torque": None}
                layers.add(DIFFICULTY, {"randomization": scaled})
        layers.add(ARGUMENT, said)
        brought = (mine.wheels, mine.coils) if mine else ()
        for one in split_combined(layers.arguments.get("actuator", ())):
            if any(one is part for part in brought):
                layers.note(SATELLITE, [("actuator", type(one).__name__)])
        made = Arguments(**layers.arguments)
        if wanted.success is not None:
            region |= keys("success", wanted.success, task.success_keys())
            region = {name: value for name, value in region.items() if value is not None}
        if mine and region.get("rate") is mine.rate and mine.rate > task.rate_limit:
            raise ValueError(
                f"Satellite.rate must be at most {task.rate_limit:.4g} rad/s, the rate limit of "
                f"the satellite, got {mine.rate!r}"
            )
        return task.with_success(region, made.dt) if region else task, made, layers

    def with_rate_limit(self, rate: float) -> "Task":
        """The task with another rate limit [rad/s]."""
        starts = (self.start._asdict(), *self.categories.values())
        rates = [abs(one[name]) for one in starts for name in satellites.RATES if name in one]
        begins = max(rates, default=0.0)
        if rate < begins:
            raise ValueError(
                f"rate_limit must be at least {begins:g} rad/s, with which episodes of this task "
                f"or of its test set begin, got {rate!r}"
            )
        within = rate if self.split else self.rate  # a goal-conditioned task judges the angle alone
        return replace(self, rate_limit=rate, rate=within, more=self.more.with_rate_limit(rate))

    def with_reference(self, reference: Any) -> "Task":
        """The task with another motion of its target, whose rates the observation shows."""
        named("reference", reference, ("nadir", "sun"))
        more, sun = self.more, reference == "sun"
        if type(more) is More:
            more = TargetRate(self.rate_limit, _FASTEST / self.rate_limit)
        if not (isinstance(self.goal, Target) and isinstance(more, TargetRate)):
            raise ValueError(
                "reference must be left out in a task without a target, or whose observation has "
                f"more extra columns than its rates, got {reference!r}"
            )
        return replace(self, reference=sunward if sun else nadir, more=self.more if sun else more)

    def success_keys(self) -> tuple[str, ...]:
        """The keys of the argument `success`."""
        if self.split:  # a goal-conditioned task judges the angle alone
            return ("angle",)
        angular = ("angle",) if getattr(self.goal, "angle_off", True) else ()
        return (*angular, "rate", "seconds")

    def with_success(self, region: Mapping[str, float], dt: float | None) -> "Task":
        """The task with another success region; dt: control period [s]."""
        most = {"angle": math.pi, "rate": self.rate_limit, "seconds": 2.0**53}
        given: dict[str, Any] = {name: number(value) for name, value in region.items()}
        for name, value in given.items():
            if not 0 < value <= most[name]:
                raise ValueError(
                    f"success[{name!r}] must be in (0, {most[name]:g}], got {region[name]!r}"
                )
        if "seconds" in given:
            period = self.dt if dt is None else positive("dt", dt)
            periods = min(given.pop("seconds") / period, 2.0**53)
            given["settled_steps"] = max(1, math.ceil(periods - 1e-9))
        return replace(self, **given)

    def weight_of(self, body: RigidBody, mgl: float | None = None) -> float:
        """Weight moment [N m], 0.0 for a free body."""
        if not self.gravity:
            if mgl is not None:
                raise ValueError(f"mgl must be left out for a free body, got {mgl!r}")
            return 0.0
        if mgl is not None:
            return positive("mgl", mgl)
        x, y, z = body.center_of_mass
        if x != 0 or y != 0 or not z > 0:
            raise ValueError(
                "body must have its center_of_mass at (0, 0, z > 0), or mgl must be given, "
                f"got {body.center_of_mass.tolist()}"
            )
        return body.gravity_moment(GRAVITY)

    def goal_of(self, body: RigidBody, weight: float) -> Goal:
        """The goal for a body with this weight moment."""
        return self.goal(body, weight) if callable(self.goal) else self.goal

    def dense(self) -> Shape:
        """The shape of the dense reward for the task's tolerances."""
        shape: Shape = checked_part("shape", self.shape, Shape)
        return shape.with_tolerances(self.angle, self.rate, self.momentum)

    def success(self) -> endings.Success:
        """The success region."""
        settled = endings.Settled(4.0 * math.sin(self.angle / 2.0) ** 2, self.rate)
        if self.momentum < math.inf:
            return endings.Unloaded(settled, self.momentum)
        return endings.Docked(settled, *self.docked) if self.docked else settled

    def effector(self) -> Effector:
        """The task's effector; a plain torque if `actuator` has none."""
        usual: Any = NAMES["torque"]()
        parts = [] if self.actuator is None else merge(None, self.actuator)
        return next((one for one in parts if isinstance(one, Effector)), usual)
