"""Satellites: the numbers that a task takes from one, and satellites with published numbers."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rbgym.arguments import finite, positive
from rbgym.body import RigidBody
from rbgym.eigenaxis import slowness
from rbgym.envs.actuators import MagneticCoils, ReactionWheels
from rbgym.envs.actuators.effector import Usual
from rbgym.envs.arguments import made, made_or_given, named
from rbgym.envs.orbit import Orbit
from rbgym.envs.parts.goals import Rest, Target, Wandering
from rbgym.envs.parts.rewards import Approach, Closeness
from rbgym.quaternion import Array

if TYPE_CHECKING:
    from rbgym.envs.task import Task

_ROOM = 2.0  # rate limit over the rate of the fastest turn
_LEAST_ROOM = 1.2  # the same, at least, over the fastest turn by torque without full wheels
# Fields of starts that are angular velocities.
RATES = "rate", "least_rate", "spin", "least_spin", "mean_spin", "transverse", "precession"


@dataclass(frozen=True)
class Satellite:
    """A satellite, a value of the argument `satellite` of tasks.

    body: RigidBody, or a dict of its arguments. wheels: ReactionWheels; coils: MagneticCoils; or
    dicts of their arguments, or None; {"pyramid": arguments} stands for ReactionWheels.pyramid.
    torque: of a full command about the body axes [N m], () or (3,), in tasks that command torque;
    by default the torque of the wheels. force: of thrusters along each body axis [N], for a free
    flyer. sensor: its instruments, a value of the argument `sensor`. dt: control period [s]. It
    points successfully when it stays within `angle` [rad] and `rate` [rad/s] for `seconds`.

    Raises ValueError for numbers out of range, and without wheels, coils and torque.
    """

    body: Any
    _: KW_ONLY
    wheels: Any = None
    coils: Any = None
    torque: ArrayLike | None = None
    force: float | None = None
    sensor: Any = None
    dt: float = 0.5
    angle: float = math.radians(0.5)
    rate: float = math.radians(0.05)
    seconds: float = 10.0

    def __post_init__(self) -> None:
        if isinstance(self.wheels, Mapping) and [*self.wheels] == ["pyramid"]:
            given = self.wheels["pyramid"]
            four = made("Satellite.wheels['pyramid']", ReactionWheels.pyramid, given)
            object.__setattr__(self, "wheels", four)
        kinds = {"body": RigidBody, "wheels": ReactionWheels, "coils": MagneticCoils}
        for name, kind in kinds.items():
            value = getattr(self, name)
            if value is not None or name == "body":
                object.__setattr__(self, name, made_or_given(f"Satellite.{name}", kind, value))
        for name in ("dt", "angle", "rate", "seconds"):
            object.__setattr__(self, name, positive(f"Satellite.{name}", getattr(self, name)))
        if self.angle > math.pi + 1e-6:  # that of float32
            raise ValueError(f"Satellite.angle must be at most pi, got {self.angle!r}")
        object.__setattr__(self, "angle", min(self.angle, math.pi))
        if self.force is not None:
            positive("Satellite.force", self.force)
        if self.torque is not None:
            if np.any(finite("Satellite.torque", self.torque, (), (3,)) <= 0):
                raise ValueError(f"Satellite.torque must be positive, got {self.torque!r}")
        elif self.wheels is None and self.coils is None:
            raise ValueError("Satellite must have wheels, coils or torque, got none of them")

    def torque_limit(self, wheels: bool = False) -> Array:
        """Torque [N m] about each body axis alone, (3,): that of the wheels if `wheels`, or if it
        has no other. ValueError if it has only coils."""
        if self.torque is not None and not wheels:
            return np.broadcast_to(np.asarray(self.torque, dtype=float), (3,)).copy()
        if self.wheels is None:
            raise ValueError("satellite must have wheels or torque in this task, got none of them")
        return np.asarray(self.wheels.torque * self.wheels.shares)

    def fastest(self, wheels: bool = False) -> Array:
        """Largest rate [rad/s] of half a turn about each body axis from rest to rest, under
        `torque_limit` and, with wheels, up to the rate at which they are full, (3,)."""
        slow = self._slowness(wheels)
        rates = np.sqrt(math.pi / slow)
        if wheels or self.torque is None:
            rates = np.minimum(rates, self.wheels.filling_time / slow)
        return np.asarray(rates)

    def _slowness(self, wheels: bool) -> Array:
        """One over the largest angular acceleration about each body axis [s^2/rad], (3,)."""
        return slowness(np.eye(3), self._inertia, self.torque_limit(wheels))

    @property
    def _inertia(self) -> Array:
        """The inertia about the centre of mass, about which a free body turns."""
        centre = self.body.center_of_mass
        return np.asarray((self.body.about(centre) if centre.any() else self.body).inertia)

    def parts_named(self, actuator: Any, fitted: Iterable[Any]) -> Any:
        """An `actuator` with this satellite's parts for bare names, as "wheels" or {"wheels": {}}.
        fitted: the elements of its env, which have the momenta of the task's starts."""
        own = {"wheels": self.wheels, "magnetorquers": self.coils}
        for name, kind in ("wheels", ReactionWheels), ("magnetorquers", MagneticCoils):
            own[name] = next((one for one in fitted if isinstance(one, kind)), own[name])
        if self.wheels is not None and len(self.wheels.axes) == 4:
            own["pyramid"] = own["wheels"]
        if isinstance(actuator, list | tuple):
            return [self.parts_named(one, fitted) for one in actuator]
        if isinstance(actuator, Mapping):
            bare = {n: own[n] for n, one in actuator.items() if one == {} and own.get(n)}
            return {**actuator, **bare}
        return (own.get(actuator) or actuator) if isinstance(actuator, str) else actuator

    def own_body(self) -> RigidBody:
        """Its body; as a method, it serves as `Task.body`."""
        body: RigidBody = self.body
        return body

    def absorbed_rate(self) -> float:
        """The rate [rad/s] that its wheels can absorb about every body axis."""
        momentum = self.wheels.momentum * self.wheels.shares
        return float(1.0 / (np.abs(self._inertia) / momentum[:, None]).max())

    def rate_limit(self, wheels: bool = False) -> float:
        """Rate limit [rad/s] of a slew: twice the rate of the fastest turn. Without wheels, at
        least a fifth over the fastest turn by torque."""
        limit = _ROOM * float(self.fastest(wheels).max())
        if not wheels:
            free = np.sqrt(math.pi / self._slowness(wheels)).max()
            limit = max(limit, _LEAST_ROOM * float(free))
        return limit

    def suit(self, task: "Task") -> tuple["Task", dict[str, Any], dict[str, float]]:
        """Adapt a task to this satellite: returns the task, arguments of its env, and the
        satellite's success region.

        The rate limit becomes `rate_limit`, and every rate that the task declares, of starts, of
        the reward and of a swinging target, scales with it. A task of coils changes only the body
        and the coils, since the field sets the torque. Raises ValueError for a task that is not
        about turning, or that needs an actuator which this satellite lacks.
        """
        own, reference = task.effector(), task.reference(task.dt)
        actuator, wheels = own.fitted(self), own.rotors
        seen = {} if self.sensor is None else {"sensor": self.sensor}
        if actuator and actuator.around and not wheels:
            has_torque = self.torque is not None or self.wheels is not None
            task = replace(task, torque=self.torque_limit()) if has_torque else task
            return task, {"body": self.body, "actuator": actuator, **seen}, {}
        turns = isinstance(task.goal, Target | Rest)
        turns &= isinstance(reference, Wandering) or not reference.moves()
        if not turns or actuator is None:
            raise ValueError(
                "satellite must be left out in a task without a turn or a stop, and must have the "
                f"actuator of the task, {type(own).__name__}; got {self!r}"
            )
        limit = self.rate_limit(wheels is not None)
        tumbles = isinstance(task.goal, Rest) or getattr(task.start, "least_rate", 0.0) > 0.0
        if wheels is not None and tumbles:
            # A tumble scales with the momentum that the wheels can absorb.
            of_task = Satellite(task.body(), wheels=wheels)
            limit = task.rate_limit * self.absorbed_rate() / of_task.absorbed_rate()
        if not 1e-100 < limit < 1e100:
            raise ValueError(
                f"satellite must turn at 1e-100 to 1e100 rad/s, got {limit:g}: {self!r}"
            )
        k, changes = limit / task.rate_limit, dict[str, Any]()
        if isinstance(task.shape, Approach | Closeness):
            changes["shape"] = task.shape._replace(rate_weight=task.shape.rate_weight / k**2)
        if isinstance(reference, Wandering):
            slow, fast = k * reference.slow, k * reference.fast
            moving = partial(Wandering, amplitude=reference.amplitude, slow=slow, fast=fast)
            changes |= {"reference": moving, "more": task.more._replace(scale=limit)}
        if task.split:  # it judges the angle alone
            changes["rate"] = limit
        changes["torque"] = self.torque_limit()  # of wheels too, for other actuators in their place
        if wheels is not None:
            changes["momentum"] = self.wheels.momentum / wheels.momentum * task.momentum
        suited = replace(
            task,
            rate_limit=limit,
            start=task.start._replace(**_scale_rates(task.start._asdict(), k)),
            categories={name: _scale_rates(one, k) for name, one in task.categories.items()},
            difficulty={
                name: _scale_preset(preset, k, wheels, actuator.rotors)
                for name, preset in task.difficulty.items()
            },
            **changes,
        )
        success = {name: getattr(self, name) for name in suited.success_keys()}
        return suited, {"body": self.body, "dt": self.dt, "actuator": actuator, **seen}, success


def _scale_rates(given: Mapping[str, float], k: float) -> dict[str, float]:
    """Ranges of a start with its rates times k."""
    return {name: k * value if name in RATES else value for name, value in given.items()}


def _scale_preset(preset: Mapping[str, Any], k: float, wheels: Any, own: Any) -> dict[str, Any]:
    """A preset of difficulty with its rates times k. Of its actuator only the start of the wheels
    is taken over, if it differs from the task's."""
    found = {key: _scale_rates(value, k) if key == "initial" else value
             for key, value in preset.items() if key != "actuator"}  # fmt: skip
    turning = getattr(preset.get("actuator"), "rotors", None)
    if turning is not None and wheels is not None and turning.start != wheels.start:
        found["actuator"] = replace(own, start=turning.start)
    return found


def _wheel(torque: float, momentum: float, coulomb: float = 0.0) -> dict[str, float]:
    """A wheel with the numbers of a data sheet: full at 6000 rpm, no viscous friction given."""
    return {"torque": torque, "momentum": momentum, "coulomb": coulomb, "start": Usual(0.1)}


def _astrobee() -> Satellite:
    body = RigidBody([0.153427995, 0.14271405, 0.162302759], mass=9.583788668)
    return Satellite(body, torque=0.1745 * body.moments, force=0.0175 * body.mass, dt=0.2)


# cubesat-6u: a homogeneous box with four RWP015 wheels of Blue Canyon Technologies in a pyramid,
# with Basilisk's numbers from the maker's data sheet (simIncludeRW, BCT_RWP015). innocube-3u: mass,
# wheels, coils, orbit and control period of InnoCube, Djebko et al. (2025), LeLaR: the first
# in-orbit demonstration of an AI-based satellite attitude controller, arXiv:2512.19576; not
# published are its inertia, here that of a homogeneous box of 3U, and friction and largest speed of
# its wheels, here those of an RWP015. microsat-330: the default satellite of BSK-RL (sim.dyn,
# setup_spacecraft_hub), a homogeneous box, with three Honeywell HR16 wheels about its axes
# (Basilisk, simIncludeRW). servicer-100: table 3 of Coupled position and attitude control of a
# servicer spacecraft in rendezvous with an orbiting target (2023), Scientific Reports 13,
# s41598-023-30687-9, without friction of its wheels. astrobee: NASA's free flyer, mass and moments
# with four batteries, measured in 2019, and the torque and force of the largest accelerations of
# its nominal flight mode (astrobee/config/worlds/iss.config of its flight software): 0.1745 rad/s^2
# about each axis and 0.0175 m/s^2.
SATELLITES: dict[str, Callable[[], Satellite]] = {
    "cubesat-6u": lambda: Satellite(
        RigidBody.box(12.0, (0.1, 0.2263, 0.366)),
        wheels=ReactionWheels.pyramid(**_wheel(4e-3, 0.015, 5e-5)),
        dt=0.5,
    ),
    "astrobee": _astrobee,
    "innocube-3u": lambda: Satellite(
        RigidBody.box(4.2, (0.1, 0.1, 0.3405)),
        wheels=ReactionWheels(**_wheel(2e-3, 0.03, 5e-5)),
        coils=MagneticCoils(
            0.35,
            orbit=Orbit(520e3, math.radians(97.5), equator_field=3.0e-5, tilt=math.radians(9.6)),
        ),
        dt=1.0,
    ),
    "microsat-330": lambda: Satellite(
        RigidBody.box(330.0, (1.58, 1.38, 1.04)),
        wheels=ReactionWheels(**_wheel(0.2, 50.0, 5e-4)),
        dt=1.0,
    ),
    "servicer-100": lambda: Satellite(
        RigidBody([11.5] * 3, mass=100.0),
        wheels=ReactionWheels(**{**_wheel(0.02, 0.41), "inertia": 6.52e-4}),
        force=1.0,
        dt=1.0,
    ),
}


def resolve(value: Any) -> Satellite:
    """The satellite that the argument `satellite` names or describes."""
    if isinstance(value, Satellite | Mapping):
        return made_or_given("satellite", Satellite, value)
    named("satellite", value, SATELLITES, ", a Satellite or a dict of its arguments")
    return SATELLITES[value]()
