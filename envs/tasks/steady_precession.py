"""SteadyPrecession-v0: reach and hold the steady precession of a fast top."""

import math

from rbgym.body import RigidBody
from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.goals import Axis
from rbgym.envs.parts.rewards import Closeness
from rbgym.envs.parts.starts import Tilted
from rbgym.envs.task import GRAVITY, Task
from rbgym.envs.tasks.rigid_top import cone, half_weight

NUTATION = math.pi / 3  # rad
PRECESSION = 10.0  # rad/s


def steady_spin(body: RigidBody, mgl: float) -> float:
    """Spin [rad/s] with which the weight makes the axis precess steadily.

    mgl = p (J_3 (s + p cos) - J_1 p cos) for the precession p and the spin s, cos that of the
    nutation: Betsch & Siebert (2009), section 5.2.
    """
    across, _, along = (float(moment) for moment in body.moments)
    return (mgl / PRECESSION + (across - along) * PRECESSION * math.cos(NUTATION)) / along


def steady(body: RigidBody, mgl: float) -> Axis:
    """The motion to be reached."""
    return Axis.at(NUTATION, PRECESSION, steady_spin(body, mgl))


# Of the cone, with which the start is near the motion that is asked for.
CONE_SPIN = steady_spin(cone(), cone().gravity_moment(GRAVITY))


class SteadyPrecessionEnv(AttitudeEnv):
    """Bring a fast top into steady precession without nutation, and hold it there.

    ## Physics
    Betsch and Siebert's gyro top (2009, section 5.2): the cone of RigidTop-v0 spins at 135.7 rad/s
    about its axis, 60 degrees from the vertical, and precesses at 10 rad/s. Off this motion the top
    nutates for ever, since nothing damps it: doing nothing loses. A control period of dt = 0.004 s,
    half a radian of spin, is 4 steps of the integrator.

    ## Action: Box(-1, 1, (3,)), float32
    Torque about the body axes as a fraction of 0.5, 0.5 and 0.01 times mgl = 0.520 N m, held over
    the period while the body turns under it. Beyond +-1 is clipped.
    """

    task = Task(
        body=cone,
        torque=half_weight,
        gravity=True,
        dt=0.004,
        start=Tilted(0.8, 1.3, PRECESSION, CONE_SPIN, spin=5.0, transverse=3.0),
        goal=steady,
        angle=math.radians(2.0),
        rate=1.0,
        rate_limit=200.0,
        lowest=0.0,
        shape=Closeness(scale=0.2, rate_weight=0.05, effort_weight=0.02),
        difficulty={
            "easy": {"initial": {"least_tilt": 1.0, "tilt": 1.1, "spin": 1.0, "transverse": 1.0}},
            "hard": {"initial": {"least_tilt": 0.5, "tilt": 1.5, "spin": 8.0}},
        },
        categories={
            "near": {"least_tilt": 0.96, "tilt": 1.0, "spin": 1.0, "transverse": 0.5},
            "high": {"least_tilt": 0.8, "tilt": 0.9},
            "low": {"least_tilt": 1.2, "tilt": 1.3},
            "any": {},
        },
    )


SteadyPrecessionVectorEnv = vectorised(SteadyPrecessionEnv)
