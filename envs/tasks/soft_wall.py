"""SoftWall-v0: hold an axis tilted above a wall that attracts, and then repels."""

import math
from functools import partial

from rbgym.body import RigidBody
from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.endings import Contacts
from rbgym.envs.parts.goals import Axis
from rbgym.envs.parts.rewards import Closeness
from rbgym.envs.parts.starts import Tilted
from rbgym.envs.task import Task
from rbgym.potentials.soft_wall import BALANCE, SoftWall

NUTATION = math.radians(100.0)


class SoftWallEnv(AttitudeEnv):
    """Bring the axis of a body to a tilt above a soft wall, between bounces off it, and hold it.

    ## Physics
    Krysl's soft wall (2007, section 5.4) with its repulsive sign: V = -a + 0.001 a^10 in J, with
    a = 1/(1.1 + z), z the height of the body z axis. The wall pulls the axis down with a torque of
    1.12 N m at the goal, at most 1.45 N m, and repels it ever harder below z = -0.50. Moments 2, 3
    and 4.5 kg m^2. Without torque the integrator conserves the total energy to round-off through
    every bounce. A control period of dt = 0.05 s is one step of it. The goal is a tilt of 100
    degrees, at any rotation about the vertical.
    """

    task = Task(
        body=partial(RigidBody, [2.0, 3.0, 4.5]),  # Krysl's
        torque=1.3,  # enough to hold the goal, too little to lift the axis to it from anywhere
        potential=SoftWall("repulsive"),
        start=Tilted(least_tilt=1.0, tilt=1.6, spin=0.2, transverse=0.5),  # most hit the wall
        ranges={"least_tilt": (0.0, 2.1), "tilt": (0.0, 2.1)},
        goal=Axis.at(NUTATION, 0.0, 0.0),
        dt=0.05,
        angle=math.radians(3.0),
        rate=0.05,
        settled_steps=40,
        rate_limit=5.0,
        tally=Contacts(BALANCE),
        shape=Closeness(scale=0.3, rate_weight=2.0, effort_weight=0.02),
        difficulty={
            "easy": {"initial": {"transverse": 0.0, "spin": 0.0}},
            "hard": {"initial": {"transverse": 1.0, "spin": 0.5}},
        },
        categories={
            "slow": {"transverse": 0.1, "spin": 0.05},
            "fast": {"transverse": 0.8},
            "near the wall": {"least_tilt": 1.9, "tilt": 2.0},
            "any": {},
        },
    )


SoftWallVectorEnv = vectorised(SoftWallEnv)
