"""A task of one's own: bring a disc to spin about its z axis, upright.

rbgym list --module hold_a_spin
rbgym train hold_a_spin:HoldASpin-v0
"""

from typing import ClassVar

from rbgym import RigidBody
from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.goals import Axis
from rbgym.envs.parts.rewards import Closeness
from rbgym.envs.parts.starts import Tilted
from rbgym.envs.task import Task
from rbgym.registration import register

SPIN = 1.0  # rad/s


def disc() -> RigidBody:
    """A disc of 10 kg."""
    return RigidBody.cylinder(10.0, 0.3, 0.1)


class HoldASpinEnv(AttitudeEnv):
    """Bring a disc from rest to a spin of 1 rad/s about its axis, upright."""

    task: ClassVar = Task(
        body=disc,
        torque=0.1,  # N m
        start=Tilted(tilt=0.5),
        goal=Axis.at(0.0, 0.0, SPIN),
        dt=0.1,
        rate=0.05,
        rate_limit=3.0,
        shape=Closeness(scale=0.2, rate_weight=1.0, effort_weight=0.02),
        categories={"any": {}},
    )


HoldASpinVectorEnv = vectorised(HoldASpinEnv)
register("HoldASpin-v0", __name__, "HoldASpin", max_episode_steps=300)
