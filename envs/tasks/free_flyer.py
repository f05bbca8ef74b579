"""Docking in six degrees of freedom: to a fixed pose, and to a target that tumbles."""

import math
from dataclasses import replace
from functools import partial

from rbgym.body import RigidBody
from rbgym.envs.actuators import Forces
from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.endings import Berth
from rbgym.envs.parts.goals import Port, Target, Tumbling
from rbgym.envs.parts.observations import Both, Offset, TargetRate
from rbgym.envs.parts.rewards import Approach
from rbgym.envs.parts.starts import Adrift
from rbgym.envs.task import Task

FAR, FAST = 4.0, 1.0  # m, m/s


class FreeFlyerEnv(AttitudeEnv):
    """Dock a free flyer to a pose: bring it to the dock, at the target's attitude and at rest.

    ## Physics
    A homogeneous cube of 10 kg, edges of 0.3 m, in free flight: moments 0.15 kg m^2. In addition to
    the rotation, its centre of mass obeys p'' = R F / m (Mandre 2008, section 5), with forces and
    torques in body axes; momentum changes by their impulse and energy by their work. The dock is at
    the world's origin; the station behind it is a sphere of 0.5 m radius, its centre at -0.6 m on
    the target's x axis. A control period of dt = 0.2 s is one step of the integrator.
    """

    task = Task(
        body=partial(RigidBody.box, 10.0, (0.3, 0.3, 0.3)),
        torque=0.03,
        actuator=Forces(0.4),
        start=Adrift(rate=0.05, least_distance=1.0, distance=2.0, cone_angle=1.0, speed=0.05),
        ranges={"least_distance": (0.5, 3.5), "distance": (0.5, 3.5), "speed": (0.0, 0.5)},
        goal=Target(),
        more=Offset(FAR, FAST),
        dt=0.2,
        substeps_of_others=2,
        angle=math.radians(3.0),
        rate=0.03,
        docked=(0.05, 0.03),
        settled_steps=15,
        rate_limit=2.0,
        ends=Berth(far=FAR, fast=FAST, behind=0.6, radius=0.5, near=0.3, approach=0.15),
        shape=Approach(
            scale=0.5, rate_weight=1.0, effort_weight=0.02, distance=0.3, speed_weight=2.0
        ),
        difficulty={
            "easy": {"initial": {"angle": 1.0, "distance": 1.2, "cone_angle": 0.3}},
            "hard": {
                "initial": {"rate": 0.1, "speed": 0.1, "distance": 3.0},
                "randomization": {"inertia": 0.2, "mass": 0.2, "actuator_scale": 0.1},
            },
        },
        categories={
            "near": {"distance": 1.1, "angle": 0.5},
            "half turn": {"least_angle": 2.8},
            "from aside": {"cone_angle": 1.2, "speed": 0.1},
            "any": {},
        },
    )


ARM, FASTEST = 0.6, 0.1  # m, rad/s


class TumblingCaptureEnv(AttitudeEnv):
    """Dock a free flyer to a satellite that tumbles: meet its port, and turn with it.

    ## Physics
    The flyer of FreeFlyer-v0. The target is a body of revolution about its z axis, its axial moment
    0.4 of the other; it tumbles freely about the world's origin with 0.03 to 0.1 rad/s, up to 6
    degrees/s, so its axis precesses about its momentum. The dock is 0.6 m from its centre on its x
    axis and moves with it at up to 6 cm/s; staying with it takes up to a seventh of the flyer's
    force. Behind the dock the target is a sphere of 0.5 m radius. A control period of dt = 0.2 s is
    one step of the integrator.
    """

    task = replace(
        FreeFlyerEnv.task,
        goal=Port((ARM, 0.0, 0.0)),
        reference=partial(Tumbling, ratio=0.4, least=0.03, rate=FASTEST),
        more=Both(Offset(FAR, FAST), TargetRate(2.0, FASTEST / 2.0)),
    )


FreeFlyerVectorEnv = vectorised(FreeFlyerEnv)
TumblingCaptureVectorEnv = vectorised(TumblingCaptureEnv)
