"""AttitudeSlew-v0: turn a satellite from rest to rest."""

import math

from rbgym.body import RigidBody
from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.goals import Target
from rbgym.envs.parts.rewards import Closeness
from rbgym.envs.parts.starts import Turned
from rbgym.envs.task import Task


def satellite() -> RigidBody:
    """A 6U satellite of 12 kg: a homogeneous box of 0.1 m by 0.2263 m by 0.366 m."""
    return RigidBody.box(12.0, (0.1, 0.2263, 0.366))


class AttitudeSlewEnv(AttitudeEnv):
    """Turn a satellite from rest to rest at another attitude, by the shorter way, and hold it.

    ## Physics
    A free body, a homogeneous box of 12 kg: principal moments 0.185, 0.144 and 0.0612 kg m^2. A
    control period of dt = 0.1 s is 2 steps of the integrator. Torque-free, angular momentum is
    conserved to the last bit, and energy to round-off.
    """

    task = Task(
        body=satellite,
        torque=0.02,
        start=Turned(target_angle=math.pi),
        goal=Target(),
        dt=0.1,
        substeps=2,
        angle=math.radians(2.0),
        rate=0.02,
        settled_steps=30,
        rate_limit=2.0,
        shape=Closeness(scale=0.2, rate_weight=2.0, effort_weight=0.02),
        difficulty={
            "easy": {"initial": {"angle": 1.0}},
            "hard": {"initial": {"rate": 0.2}, "randomization": {"inertia": 0.2, "torque": 0.2}},
        },
        categories={
            "small angle": {"angle": 0.5},
            "large angle": {"least_angle": 1.5, "angle": 2.6},
            "near half turn": {"least_angle": 3.05},
            "high rate": {"least_rate": 0.1, "rate": 0.2},
        },
    )


AttitudeSlewVectorEnv = vectorised(AttitudeSlewEnv)
