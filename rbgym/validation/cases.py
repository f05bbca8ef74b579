"""The motions on which integrators are measured, and claims on an integrator in one of them.
Bodies and starts of CASES are generic: a symmetric top, or a spin about a principal axis, would
conserve by luck."""

import math
from typing import Any, NamedTuple, Self

from rbgym.body import RigidBody
from rbgym.integrators import Integrator
from rbgym.potentials import GravityGradient, HeavyTop, SoftWall
from rbgym.quaternion import Quaternion, Vector
from rbgym.trajectory import Trajectory, simulate

NO_TORQUE = (0.0, 0.0, 0.0)
IDENTITY = (1.0, 0.0, 0.0, 0.0)


class Claim(NamedTuple):
    """The declared and the measured value of a quantity of an integrator in a case. bound: an upper
    limit if the quantity is conserved, else a lower one; for an order, the allowed distance."""

    integrator: str
    case: str
    quantity: str
    declared: str
    measured: float
    bound: float
    passed: bool


def below(
    integrator: str, case: str, quantity: str, declared: str, measured: float, bound: float
) -> Claim:
    """A claim that holds if the measured value is at or below the bound."""
    return Claim(integrator, case, quantity, declared, measured, bound, measured <= bound)


def above(
    integrator: str, case: str, quantity: str, declared: str, measured: float, bound: float
) -> Claim:
    """A claim that holds if the measured value is finite and above the bound."""
    passed = bound < measured < math.inf
    return Claim(integrator, case, quantity, declared, measured, bound, passed)


def near(
    integrator: str, case: str, quantity: str, declared: float, measured: float, bound: float
) -> Claim:
    """A claim that holds if the measured value is within the bound of the declared one."""
    passed = abs(measured - declared) <= bound
    return Claim(integrator, case, quantity, f"{declared:g}", measured, bound, passed)


class Case(NamedTuple):
    """One motion. omega: rates at the start, body axes [rad/s]. dt: step of the long runs [s].
    horizon: of the order measurement [s]. In body axes: torque, constant [N m]; rotors, their
    momentum [kg m^2/s]."""

    kind: str
    body: RigidBody
    omega: Vector
    dt: float
    horizon: float
    potential: Any = None
    quaternion: Quaternion = IDENTITY
    torque: Vector = NO_TORQUE
    rotors: Vector = NO_TORQUE

    @property
    def invariants(self) -> tuple[str, ...]:
        """The quantities that the exact motion conserves."""
        return ("energy", "angular_momentum" if self.potential is None else "vertical_momentum")

    @property
    def symmetric(self) -> Self:
        """The same start for a body with two equal moments, whose spin is constant in a potential.
        The third moment is divided by four, so that the drift of a scheme of order four shows."""
        J_1, J_2, J_3 = self.body.moments
        return self._replace(body=RigidBody([(J_1 + J_2) / 2, (J_1 + J_2) / 2, J_3 / 4]))

    def torque_on(self, record: Integrator) -> Vector:
        """The torque; zero for a scheme that supports none."""
        return self.torque if "torque" in record.supports else NO_TORQUE

    def run(self, integrator: str | Integrator, dt: float, steps: int, **more: Any) -> Trajectory:
        """The motion without the torque, recorded at about a thousand instants."""
        start: Any = {"quaternion": self.quaternion, "angular_velocity": self.omega}
        start |= {"rotor_momentum": self.rotors, "potential": self.potential}
        more = {"record_every": max(1, steps // 1000), **more}
        return simulate(self.body, integrator=integrator, dt=dt, steps=steps, **start, **more)


def _tilted(angle: float) -> Quaternion:
    return (math.cos(angle / 2), math.sin(angle / 2), 0.0, 0.0)


def _case(kind: str, J: Vector, *rest: Any, tilt: float = 0.0, **more: Any) -> Case:
    """A body with these principal moments, tilted by an angle [rad] about x; see `Case`."""
    return Case(kind, RigidBody(J), *rest, **more)._replace(quaternion=_tilted(tilt))


_WALL = (2.0, 3.0, 4.5), (1.0, 2.0 / 3.0, 2.0 / 4.5)
_TOP = RigidBody([0.5, 0.7, 0.3], mass=2.0, center_of_mass=(0.0, 0.0, 0.3))  # asymmetric
_WEIGHT = HeavyTop(mgl=2.0 * 9.81 * 0.3)
# Much faster than its orbit would be, so that the runs see many turns.
_ORBITING = (2.0, 1.4, 0.9), (0.9, -0.7, 1.3), 0.05, 1.2, GravityGradient(1.5)

CASES = (
    # Betsch & Siebert (2009), section 5.1; the torque is ours.
    _case("none", (6.0, 8.0, 3.0), (10.0, 20.0, 20.0), 0.01, 0.25, torque=(40.0, -60.0, 30.0)),
    Case("heavy_top", _TOP, (1.0, 2.0, 10.0), 0.01, 0.4, _WEIGHT, _tilted(0.5), (1.0, -2.0, 0.5)),
    # Krysl (2007), section 5.4, started nearer to the wall; the torque is ours.
    _case("soft_wall", *_WALL, 0.05, 1.5, SoftWall("repulsive"), tilt=1.2, torque=(0.4, -0.5, 0.3)),
    _case("gravity_gradient", *_ORBITING, tilt=0.8, torque=(0.5, -0.3, 0.4)),
)

_CONE = RigidBody.cone_top(radius=0.05, height=0.1, density=2700.0)
CONE_ARM = 0.075  # from the tip to the centre of mass [m]
NUTATION, PRECESSION = math.pi / 3.0, 10.0  # [rad], [rad/s]


def _steady_top() -> Case:
    """Precession without nutation: Betsch & Siebert (2009), 5.2; Krenk & Nielsen (2013), 5.2."""
    J_1, J_3, mgl = _CONE.moments[0], _CONE.moments[2], _CONE.mass * 9.81 * CONE_ARM
    spin = mgl / (J_3 * PRECESSION) + (J_1 - J_3) / J_3 * PRECESSION * math.cos(NUTATION)
    across, along = PRECESSION * math.sin(NUTATION), PRECESSION * math.cos(NUTATION)
    omega = (0.0, across, along + spin)
    return Case("betsch_top", _CONE, omega, 0.01, 1.0, HeavyTop(mgl), _tilted(NUTATION))


_KRYSL = HeavyTop(20.0)
PAPERS = {
    case.kind: case
    for case in (
        # Betsch & Siebert (2009), section 5.1.
        _case("betsch_free", (6.0, 8.0, 3.0), (10.0, 20.0, 20.0), 0.05, 1.0),
        _steady_top(),
        # Krysl (2007), sections 5.1 to 5.4; the time of comparison in 5.3 is not printed.
        _case("krysl_free", (0.9144, 1.098, 1.66), (0.45549, 0.82623, 0.03476), 0.2, 100.0),
        _case("krysl_slow_top", (5.0, 5.0, 1.0), (0.0, 0.0, 5.0), 0.01, 20.0, _KRYSL, tilt=0.05),
        _case("krysl_fast_top", (5.0, 5.0, 1.0), (0.0, 0.0, 50.0), 0.01, 10.0, _KRYSL, tilt=0.3),
        _case("krysl_wall", *_WALL, 0.5, 20_000.0, SoftWall("printed")),
        # Krenk & Nielsen (2013), section 5.1.
        _case("krenk_brick", (13.0, 5.0, 10.0), (0.0, 0.05, 10.0), 0.01, 10.0),
    )
}


def applicable(record: Integrator, kinds: tuple[str, ...] | None = None) -> list[Case]:
    """The cases of these kinds that the integrator supports; ValueError for an unknown kind."""
    known = [case.kind for case in CASES]
    wanted = known if kinds is None else list(kinds)
    if not set(wanted) <= set(known):
        raise ValueError(f"cases must be among {known}, got {wanted}")
    in_all = "potential" in record.supports
    return [case for case in CASES if case.kind in wanted and (in_all or case.potential is None)]
