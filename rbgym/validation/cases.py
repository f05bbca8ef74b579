"""The motions on which integrators are measured, one for each kind of potential.

Bodies and starts are generic: a symmetric top, or a principal axis, would conserve things by luck.
"""

import math
from typing import NamedTuple

from rbgym.body import RigidBody
from rbgym.integrators import Integrator
from rbgym.potentials import HeavyTop, Potential
from rbgym.quaternion import Quaternion, Vector
from rbgym.simulate import Trajectory, simulate


class Case(NamedTuple):
    """One motion. dt: step of the long runs [s]; omega: start rates, body axes [rad/s]."""

    kind: str
    body: RigidBody
    potential: Potential | None
    quaternion: Quaternion
    omega: Vector
    torque: Vector
    dt: float
    horizon: float  # of the order measurement [s]

    def run(
        self,
        integrator: str,
        dt: float,
        steps: int,
        torque: Vector = (0.0, 0.0, 0.0),
        projection: bool = True,
    ) -> Trajectory:
        """The motion over `steps` steps, recorded at about a thousand instants or fewer."""
        return simulate(
            self.body,
            integrator=integrator,
            dt=dt,
            steps=steps,
            quaternion=self.quaternion,
            angular_velocity=self.omega,
            potential=self.potential,
            torque=torque,
            record_every=max(1, steps // 1000),
            projection=projection,
        )


CASES = (
    # Betsch & Siebert (2009), section 5.1; the torque is ours.
    Case(
        kind="none",
        body=RigidBody([6.0, 8.0, 3.0]),
        potential=None,
        quaternion=(1.0, 0.0, 0.0, 0.0),
        omega=(10.0, 20.0, 20.0),
        torque=(40.0, -60.0, 30.0),
        dt=0.01,
        horizon=0.15,
    ),
    # An asymmetric top, tilted by half a radian.
    Case(
        kind="heavy_top",
        body=RigidBody([0.5, 0.7, 0.3], mass=2.0, center_of_mass=(0.0, 0.0, 0.3)),
        potential=HeavyTop(mgl=2.0 * 9.81 * 0.3),
        quaternion=(math.cos(0.25), math.sin(0.25), 0.0, 0.0),
        omega=(1.0, 2.0, 10.0),
        torque=(1.0, -2.0, 0.5),
        dt=0.01,
        horizon=0.4,
    ),
)


def applicable(record: Integrator) -> list[Case]:
    """The cases that the integrator supports.

    Raises ValueError where it declares something about a potential for which there is no case.
    """
    missing = set(record.conserves) - {case.kind for case in CASES}
    if missing:
        raise ValueError(f"{record.name}: no validation case for potentials {sorted(missing)}")
    return [case for case in CASES if case.potential is None or "potential" in record.supports]
