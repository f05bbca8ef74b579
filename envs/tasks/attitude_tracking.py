"""AttitudeTracking-v0: follow an attitude that wanders."""

import math
from dataclasses import replace

from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.goals import Wandering
from rbgym.envs.parts.observations import TargetRate
from rbgym.envs.parts.starts import Turned
from rbgym.envs.tasks.attitude_slew import AttitudeSlewEnv


def wandering(dt: float) -> Wandering:
    """The motion of the target."""
    return Wandering(amplitude=0.8, slow=0.05, fast=0.2, dt=dt)


class AttitudeTrackingEnv(AttitudeEnv):
    """Follow a smooth random motion of the target with a satellite.

    ## Physics
    The satellite of AttitudeSlew-v0. From a Haar-uniform attitude the target turns by
    R_z(a) R_y(b) R_x(c); each angle swings as 0.8 rad (sin(w t + p) - sin p) with a frequency w
    uniform in [0.05, 0.2] rad/s and a uniform phase p of its own. To follow it takes about half
    the torque at most.
    """

    task = replace(
        AttitudeSlewEnv.task,
        start=Turned(angle=0.5, rate=0.05, target_angle=math.pi),
        reference=wandering,
        more=TargetRate(2.0, wandering(0.1).largest_rate() / 2.0),
        settled_steps=100,
        difficulty={
            "easy": {"initial": {"angle": 0.1}},
            "hard": {"initial": {"angle": math.pi, "rate": 0.2}},
        },
        categories={
            "small angle": {"angle": 0.1},
            "large angle": {"least_angle": 0.4},
            "high rate": {"least_rate": 0.04},
            "any": {},
        },
    )


AttitudeTrackingVectorEnv = vectorised(AttitudeTrackingEnv)
