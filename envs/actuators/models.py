"""Effectors as a user names them: each checks its numbers, and makes the kernel's part."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from rbgym.arguments import number, real
from rbgym.envs.actuators.magnetorquers import Magnetorquers
from rbgym.envs.actuators.scaling import ScalingForce
from rbgym.envs.actuators.setting import Effector, Key, Setting, numbers
from rbgym.envs.actuators.thrusters import BodyForces
from rbgym.envs.actuators.torques import Torques
from rbgym.envs.actuators.wheels import Wheels
from rbgym.quaternion import Array

EARTH_RADIUS = 6371.2e3  # m, of the reference sphere of the field
EARTH_GRAVITY = 3.986004418e14  # m^3/s^2
EARTH_RATE = 7.2921159e-5  # rad/s, sidereal
EQUATOR_FIELD = 3.0e-5  # T, of the dipole at the magnetic equator
DIPOLE_TILT = math.radians(9.6)


@dataclass(frozen=True)
class Torque(Effector):
    """A torque about each body axis; beyond the limit it is cut."""

    uses_limits: ClassVar[bool] = True

    def part(self, setting: Setting) -> Torques:
        return Torques()

    def largest(self, setting: Setting) -> Array:
        return setting.limits


@dataclass(frozen=True)
class ReactionWheels(Effector):
    """Reaction wheels; a command of 1 is the motor's full torque on the body about the axis.

    axes: (3, 3) or (4, 3), unit vectors in body axes, one row for each wheel. inertia: of a wheel
    about its axis [kg m^2]; the RigidBody is everything else. torque: of a motor at most [N m].
    momentum: of a wheel at most, about its axis [kg m^2/s]; at that limit the motor gives no more.
    viscous [N m s], coulomb [N m]: friction of the bearings. start: an episode begins with momenta
    uniform in +-start times `momentum`. Shown: momenta, as a part of `momentum`.

    Raises ValueError for axes that leave a direction without torque, and numbers out of range.
    """

    axes: ArrayLike = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    inertia: float = 1e-4
    torque: float = 5e-3
    momentum: float = 0.03
    viscous: float = 1e-6
    coulomb: float = 1e-4
    start: float = 0.3
    needs: ClassVar[str] = "rotors"

    def __post_init__(self) -> None:
        numbers(self, "inertia", "torque", "momentum")
        numbers(self, "viscous", "coulomb", "start", zero=True)
        if self.start > 1:
            raise ValueError(f"ReactionWheels.start must be in [0, 1], got {self.start!r}")
        axes = real("ReactionWheels.axes", self.axes, "numbers")
        unit = axes.ndim == 2 and axes.shape[1] == 3 and np.isfinite(axes).all()
        unit = unit and len(axes) in (3, 4) and np.abs(axes).max() < 2
        if not unit or np.abs(np.linalg.norm(axes, axis=1) - 1).max() > 1e-6:
            raise ValueError(
                "ReactionWheels.axes must be three or four unit vectors, (3, 3) or (4, 3), "
                f"got {self.axes!r}"
            )
        if np.linalg.matrix_rank(axes, tol=1e-3) < 3:
            raise ValueError(
                "ReactionWheels.axes must span all three directions, but there is one about which "
                f"no wheel has torque: got {self.axes!r}"
            )
        axes = axes / np.linalg.norm(axes, axis=1, keepdims=True)
        object.__setattr__(self, "axes", tuple(tuple(row) for row in axes.tolist()))

    @classmethod
    def pyramid(
        cls,
        cant: float = math.asin(3.0**-0.5),
        *,
        inertia: float = inertia,
        torque: float = torque,
        momentum: float = momentum,
        viscous: float = viscous,
        coulomb: float = coulomb,
        start: float = start,
    ) -> Self:
        """Four wheels about the z axis, their axes raised from the xy plane by `cant` [rad].

        At the default, 35.26 degrees, all directions have the same torque.
        """
        if not 0 < number(cant) < math.pi / 2:
            raise ValueError(f"ReactionWheels.pyramid: cant must be in (0, pi/2), got {cant!r}")
        c, s = math.cos(cant), math.sin(cant)
        axes = (c, 0.0, s), (0.0, c, s), (-c, 0.0, s), (0.0, -c, s)
        return cls(axes, inertia, torque, momentum, viscous, coulomb, start)

    @property
    def matrix(self) -> Array:
        """The axes as columns, (3, wheels)."""
        return np.array(self.axes, dtype=float).T

    def part(self, setting: Setting) -> Wheels:
        axes = [tuple(row) for row in np.array(self.axes).tolist()]
        empty = [(0.0, 0.0, 0.0)] * (4 - len(axes))
        return Wheels(
            (0.0,) * len(axes),
            (*axes, *empty),  # type: ignore[arg-type]
            float(self.inertia),
            float(setting.scale * self.torque),
            float(self.momentum),
            float(self.viscous),
            float(self.coulomb),
            float(self.start),
        )

    def shown(self, setting: Setting) -> Array:
        ones = np.ones(self.matrix.shape[1])
        return np.array([-ones, ones])

    def largest(self, setting: Setting) -> Array:
        speed = self.momentum / self.inertia + setting.rate
        each = setting.scale * self.torque + self.coulomb + self.viscous * speed
        return np.asarray(each * np.abs(self.matrix).sum(axis=1))

    def limits(self, setting: Setting) -> Array:
        shares = np.abs(np.linalg.pinv(self.matrix)).max(axis=0)
        return np.asarray(setting.scale * self.torque / shares)

    def state_keys(self) -> dict[str, Key]:
        return {"wheel_momentum": Key(0, self.matrix.shape[1], 0.0, -self.momentum, self.momentum)}


@dataclass(frozen=True)
class MagneticCoils(Effector):
    """Magnetorquers about the body axes: the torque m x B in the Earth's field, never along B.

    dipole: moment of a full command about each axis [A m^2]. altitude [m] and inclination [rad] of
    the circular orbit. Shown: B in body axes as a part of the largest there is on the orbit. An
    episode begins anywhere on the orbit, at any hour of the day.
    """

    dipole: float = 1.0
    altitude: float = 500e3
    inclination: float = math.radians(97.4)
    keys: ClassVar[dict[str, Key]] = {
        "orbit_phase": Key(0, 1, 0.0, -1.0, 1.0),
        "earth_phase": Key(1, 1, 0.0, -1.0, 1.0),
    }

    def __post_init__(self) -> None:
        numbers(self, "dipole", "altitude")
        numbers(self, "inclination", zero=True)
        for name, most in (("altitude", 1e9), ("inclination", math.pi)):
            if getattr(self, name) > most:
                raise ValueError(
                    f"MagneticCoils.{name} must be at most {most:g}, got {getattr(self, name)!r}"
                )

    @property
    def radius(self) -> float:
        """Of the orbit [m]."""
        return EARTH_RADIUS + self.altitude

    @property
    def orbital_rate(self) -> float:
        """[rad/s]."""
        return math.sqrt(EARTH_GRAVITY / self.radius**3)

    @property
    def field(self) -> float:
        """Field of the dipole at its equator, at this altitude [T]; at its poles it is twice."""
        return EQUATOR_FIELD * (EARTH_RADIUS / self.radius) ** 3

    def part(self, setting: Setting) -> Magnetorquers:
        return Magnetorquers(
            setting.scale * self.dipole,
            self.field,
            self.orbital_rate / math.tau,
            EARTH_RATE / math.tau,
            math.cos(self.inclination),
            math.sin(self.inclination),
            math.cos(DIPOLE_TILT),
            math.sin(DIPOLE_TILT),
        )

    def shown(self, setting: Setting) -> Array:
        return np.array([[-1.0] * 3, [1.0] * 3])

    def largest(self, setting: Setting) -> Array:
        return np.full(3, 2.0 * math.sqrt(2.0) * setting.scale * self.dipole * self.field)

    def limits(self, setting: Setting) -> Array:
        return np.full(3, setting.scale * self.dipole * self.field)


@dataclass(frozen=True)
class Forces(Effector):
    """A force along and a torque about each body axis; commands: forces, then torques.

    force: of a full command [N]. The torque is `torque_limit`.
    """

    force: float = 1.0
    uses_limits: ClassVar[bool] = True
    needs: ClassVar[str] = "translation"
    keys: ClassVar[dict[str, Key]] = {
        "position": Key(0, 3, 0.0, -1e6, 1e6),
        "velocity": Key(3, 3, 0.0, -1e4, 1e4),
    }

    def __post_init__(self) -> None:
        numbers(self, "force")

    def part(self, setting: Setting) -> BodyForces:
        return BodyForces(setting.scale * self.force, setting.body.mass)

    def largest(self, setting: Setting) -> Array:
        return setting.limits


@dataclass(frozen=True)
class Scaling(Effector):
    """The scaling force of Moller & Glocker's body, which changes its size.

    force: of a full command [N m], see `rbgym.simulate_scalable`. smallest, largest_scale: bounds
    of the scale as it is shown; rate: scale rate that is shown as 1 [1/s].
    """

    force: float
    smallest: float = 0.4
    largest_scale: float = 2.1
    rate: float = 2.0
    needs: ClassVar[str] = "scale"
    keys: ClassVar[dict[str, Key]] = {
        "scale": Key(0, 1, 1.0, 0.1, 10.0),
        "scale_rate": Key(1, 1, 0.0, -100.0, 100.0),
        "target_spin": Key(3, 1, 0.0, -1e4, 1e4),
    }

    def __post_init__(self) -> None:
        numbers(self, "force", "smallest", "largest_scale", "rate")
        if not self.smallest < self.largest_scale:
            raise ValueError(
                f"Scaling.smallest must be less than largest_scale = {self.largest_scale!r}, "
                f"got {self.smallest!r}"
            )

    def part(self, setting: Setting) -> ScalingForce:
        return ScalingForce(
            float(setting.scale * self.force),
            float(self.smallest),
            float(self.largest_scale),
            float(self.rate),
        )

    def shown(self, setting: Setting) -> Array:
        return np.array([[self.smallest, -1.0], [self.largest_scale, 1.0]])

    def largest(self, setting: Setting) -> Array:
        return np.zeros(3)

    def state(self, rows: Array, reference: Array) -> dict[str, Array]:
        product = rows[:, 0] * 0.5 * reference.sum(axis=1)
        # Before the first episode there is no size yet.
        rate = np.divide(rows[:, 1], product, out=np.zeros(len(rows)), where=product > 0)
        return {**super().state(rows, reference), "scale_rate": rate}

    def completed(self, state: dict[str, Any]) -> dict[str, Any]:
        # Unless another is asked for, the spin that it has.
        omega = np.asarray(state["angular_velocity"], dtype=float)
        if omega.shape[-1:] != (3,) or not np.isfinite(omega).all():
            return state  # and refused for that
        return {"target_spin": omega[..., 2], **state}
