"""RigidTop-v0: bring a heavy top upright and to rest."""

import numpy as np

from rbgym.body import RigidBody
from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.goals import Axis
from rbgym.envs.parts.rewards import Closeness
from rbgym.envs.parts.starts import Tilted
from rbgym.envs.task import Task
from rbgym.quaternion import Array


def cone() -> RigidBody:
    """Betsch and Siebert's aluminium cone on its tip (2009, section 5.2)."""
    return RigidBody.cone_top(radius=0.05, height=0.1, density=2700.0)


def half_weight(body: RigidBody, mgl: float) -> Array:
    """Half the weight moment across the axis; a fiftieth of that about it, as for its inertia."""
    return mgl * np.array([0.5, 0.5, 0.01])


class RigidTopEnv(AttitudeEnv):
    """Bring the axis of a heavy top upright and the body to rest, spin included, and hold it.

    ## Physics
    Betsch and Siebert's cone (2009, section 5.2): aluminium, 2700 kg/m^3, height 0.1 m, radius
    0.05 m, turning about its tip under g = 9.81 m/s^2. Principal moments 4.51e-3, 4.51e-3 and
    5.30e-4 kg m^2, weight moment mgl = 0.520 N m. A control period of dt = 0.02 s is 4 steps of
    the integrator, quat_em by default; every integrator of the catalogue can be named. Upright is
    unstable: without torque the top falls.

    ## Action: Box(-1, 1, (3,)), float32
    Torque about the body axes as a fraction of 0.5, 0.5 and 0.01 times mgl, held over the period.
    The spin axis has a tenth of the inertia, and a fiftieth of the torque. Beyond +-1 is clipped.
    """

    task = Task(
        body=cone,
        torque=half_weight,
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


RigidTopVectorEnv = vectorised(RigidTopEnv)
