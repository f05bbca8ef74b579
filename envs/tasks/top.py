"""Tasks of a heavy top: bring it upright, swing it up, let it precess."""

import math
from dataclasses import replace
from functools import partial

import numpy as np

from rbgym.body import RigidBody
from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.endings import NO_LIMIT
from rbgym.envs.parts.goals import Axis
from rbgym.envs.parts.rewards import Closeness
from rbgym.envs.parts.starts import Tilted
from rbgym.envs.task import GRAVITY, Task
from rbgym.quaternion import Array


def cone() -> RigidBody:
    """Betsch and Siebert's aluminium cone on its tip (2009, section 5.2)."""
    return RigidBody.cone_top(radius=0.05, height=0.1, density=2700.0)


def share_of_weight(across: float, body: RigidBody, mgl: float) -> Array:
    """Torque limit: `across` times the weight moment across the axis, less about it, where the
    inertia is small."""
    return mgl * np.array([across, across, 0.01])


def precession(body: RigidBody, mgl: float) -> Axis:
    """The goal of SteadyPrecession-v0."""
    return Axis.at(NUTATION, PRECESSION, steady_spin(body, mgl))


class RigidTopEnv(AttitudeEnv):
    """Bring the axis of a heavy top upright and the body to rest, spin included, and hold it.

    ## Physics
    Betsch and Siebert's cone (2009, section 5.2): aluminium, 2700 kg/m^3, height 0.1 m, radius
    0.05 m, turning about its tip under g = 9.81 m/s^2. Principal moments 4.51e-3, 4.51e-3 and
    5.30e-4 kg m^2, weight moment mgl = 0.520 N m. A control period of dt = 0.02 s is one step of
    the integrator, `exact:4` by default; every integrator of the catalogue works. Upright is
    unstable: without torque the top falls. The torque is at most 0.5 mgl across the axis and 0.01
    mgl about it, where the inertia is a tenth.
    """

    task = Task(
        body=cone,
        torque=partial(share_of_weight, 0.5),
        gravity=True,
        start=Tilted(tilt=0.5, spin=5.0, transverse=0.1),
        goal=Axis(),
        rate_limit=40.0,
        lowest=0.0,
        shape=Closeness(scale=0.2, rate_weight=0.02, effort_weight=0.02),
        difficulty={
            "easy": {"initial": {"tilt": 0.2, "spin": 1.0}},
            "hard": {"initial": {"tilt": 1.0, "spin": 10.0, "transverse": 1.0}},
        },
        categories={
            "small tilt": {"tilt": 0.1},
            "large tilt": {"least_tilt": 0.4, "tilt": 0.5},
            "fast spin": {"mean_spin": 4.5, "spin": 0.5},
            "any": {},
        },
    )


class TopSwingUpEnv(AttitudeEnv):
    """Swing a top from hanging to upright, bring it to rest there, and hold it.

    ## Physics
    The cone of RigidTop-v0, hanging below its tip: it swings at sqrt(mgl / J) = 10.7 rad/s. The
    torque across the axis is at most 0.35 mgl, too little to lift it: a policy has to pump energy
    in over several swings. A control period of dt = 0.02 s is one step of the integrator.
    """

    task = replace(
        RigidTopEnv.task,
        torque=partial(share_of_weight, 0.35),
        start=Tilted(least_tilt=2.9, tilt=math.pi, spin=0.5, transverse=0.1),
        lowest=NO_LIMIT,
        shape=Closeness(scale=1.0, rate_weight=0.002, effort_weight=0.02),
        difficulty={
            "easy": {"torque_scale": 2.0},
            "hard": {"torque_scale": 0.6, "initial": {"spin": 5.0}},
        },
        categories={
            "still": {"spin": 0.0, "transverse": 0.0},
            "straight down": {"least_tilt": 3.13},
            "fast spin": {"mean_spin": 0.5, "spin": 0.0},
            "any": {},
        },
    )


NUTATION = math.pi / 3  # rad
PRECESSION = 10.0  # rad/s


def steady_spin(body: RigidBody, mgl: float) -> float:
    """Spin [rad/s] with which the weight makes the axis precess steadily.

    mgl = p (J_3 (s + p cos) - J_1 p cos) for the precession p and the spin s, cos that of the
    nutation: Betsch & Siebert (2009), section 5.2.
    """
    across, _, along = (float(moment) for moment in body.moments)
    return (mgl / PRECESSION + (across - along) * PRECESSION * math.cos(NUTATION)) / along


# Of the cone: starts with this spin are near the goal's motion.
CONE_SPIN = steady_spin(cone(), cone().gravity_moment(GRAVITY))


class SteadyPrecessionEnv(AttitudeEnv):
    """Bring a fast top into steady precession without nutation, and hold it there.

    ## Physics
    Betsch and Siebert's gyro top (2009, section 5.2): the cone of RigidTop-v0 spins at 135.6 rad/s
    about its axis, 60 degrees from the vertical, and precesses at 10 rad/s. Off this motion the top
    nutates for ever, since nothing damps it: doing nothing loses. A control period of dt = 0.004 s
    is one step of the integrator; the body spins by half a radian under the held torque.
    """

    task = replace(
        RigidTopEnv.task,
        dt=0.004,
        start=Tilted(0.8, 1.3, PRECESSION, CONE_SPIN, spin=5.0, transverse=3.0),
        goal=precession,
        angle=math.radians(2.0),
        rate=1.0,
        rate_limit=200.0,
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


RigidTopVectorEnv = vectorised(RigidTopEnv)
TopSwingUpVectorEnv = vectorised(TopSwingUpEnv)
SteadyPrecessionVectorEnv = vectorised(SteadyPrecessionEnv)
