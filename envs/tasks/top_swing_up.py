"""TopSwingUp-v0: swing a hanging top upright with less torque than its weight has."""

import math

import numpy as np

from rbgym.body import RigidBody
from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.goals import Axis
from rbgym.envs.parts.rewards import Closeness
from rbgym.envs.parts.starts import Tilted
from rbgym.envs.task import Task
from rbgym.envs.tasks.rigid_top import cone
from rbgym.quaternion import Array


def weak(body: RigidBody, mgl: float) -> Array:
    """A third of the weight moment across the axis."""
    return mgl * np.array([0.35, 0.35, 0.01])


class TopSwingUpEnv(AttitudeEnv):
    """Swing a top from hanging to upright, bring it to rest there, and hold it.

    ## Physics
    The cone of RigidTop-v0, hanging below its tip: it swings with sqrt(mgl / J) = 10.7 rad/s. The
    torque across the axis is at most 0.35 mgl, so that it cannot simply be lifted: energy has to be
    pumped in, over several swings. A control period of dt = 0.02 s is 4 steps of the integrator.

    ## Action: Box(-1, 1, (3,)), float32
    Torque about the body axes as a fraction of 0.35, 0.35 and 0.01 times mgl = 0.520 N m, held over
    the period. Beyond +-1 is clipped.
    """

    task = Task(
        body=cone,
        torque=weak,
        gravity=True,
        start=Tilted(least_tilt=2.9, tilt=math.pi, spin=0.5, transverse=0.1),
        goal=Axis(),
        rate_limit=40.0,
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


TopSwingUpVectorEnv = vectorised(TopSwingUpEnv)
