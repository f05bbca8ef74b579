"""IntermediateAxis-v0: hold an unstable spin and its direction in space."""

import math
from functools import partial

from rbgym.body import RigidBody
from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.goals import Axis
from rbgym.envs.parts.rewards import Closeness
from rbgym.envs.parts.starts import Tilted
from rbgym.envs.task import Task

SPIN = 10.0  # rad/s
PERTURBATION = 0.2  # rad/s


def three_perturbations(body: RigidBody, mgl: float) -> float:
    """The torque that balances the growth of a rate three times the largest perturbation."""
    x, y, z = (float(moment) for moment in body.moments)
    growth = SPIN * math.sqrt(max((x - z) * (z - y), 0.0) / (x * y))  # e-foldings in a second
    return 3.0 * PERTURBATION * growth * max(x, y, z)


class IntermediateAxisEnv(AttitudeEnv):
    """Hold a body in its unstable spin about the intermediate axis, upright in space.

    ## Physics
    Krenk and Nielsen's brick (2013, section 5.1), a free body: moments 13, 5 and 10 kg m^2 about
    x, y and z. It spins at 10 rad/s about z, the intermediate axis; a perturbation grows by e every
    0.208 s (4.80 1/s), until the body turns over. The torque is at most growth rate times largest
    moment times three times the largest perturbation of the start. A control period of dt = 0.02 s
    is one step of the integrator.
    """

    task = Task(
        body=partial(RigidBody, (13.0, 5.0, 10.0)),  # its intermediate axis along z
        torque=three_perturbations,
        start=Tilted(tilt=0.1, mean_spin=SPIN, spin=0.5, transverse=PERTURBATION),
        goal=Axis.at(0.0, 0.0, SPIN),
        angle=math.radians(3.0),
        rate=0.2,
        rate_limit=20.0,
        lowest=0.0,
        shape=Closeness(scale=0.1, rate_weight=1.0, effort_weight=0.02),
        difficulty={
            "easy": {"initial": {"tilt": 0.02, "transverse": 0.05}},
            "hard": {"initial": {"tilt": 0.5, "spin": 2.0}},
        },
        categories={
            "small tilt": {"tilt": 0.02},
            "large tilt": {"least_tilt": 0.08},
            "other spin": {"mean_spin": 10.4, "spin": 0.1},
            "any": {},
        },
    )


IntermediateAxisVectorEnv = vectorised(IntermediateAxisEnv)
