"""Tasks of InnoCube, a 3U CubeSat with wheels and coils, on its orbit."""

import math
from dataclasses import replace

from rbgym.envs.actuators import Combined
from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.goals import Rest, Target, nadir
from rbgym.envs.parts.observations import TargetRate
from rbgym.envs.parts.rewards import Miss
from rbgym.envs.parts.starts import TurnedAway
from rbgym.envs.satellites import SATELLITES
from rbgym.envs.task import Task
from rbgym.envs.tasks.cubesat import LARGE

THREE = SATELLITES["innocube-3u"]()
SMOOTH = replace(THREE.wheels, coulomb=0.0)
_BY_WHEELS = THREE.rate_limit(wheels=True)  # of turns by wheels [rad/s]
UNSURE = {"inertia": 0.2, "actuator_scale": 0.1, "misalignment": 0.05}  # of hard episodes


class InertialPointingEnv(AttitudeEnv):
    """Point InnoCube, a 3U CubeSat, with three wheels that stick, at one command a second.

    ## Physics
    The satellite `innocube-3u`: 4.2 kg, modelled as a homogeneous box with moments 0.0441 and
    0.007 kg m^2, with three wheels about its axes: 2 mN m, 30 mN m s. The friction of its wheels is
    not published; here it is 0.05 mN m, typical of a wheel of this size, and a wheel at rest does
    not move under a smaller command. A control period of dt = 1 s is 6 steps of the integrator,
    `quat_em:4`. In this second full torque turns the body by up to 8 degrees about its z axis, so a
    policy has to choose each command for the whole second ahead.
    """

    task = Task(
        body=THREE.own_body,
        torque=THREE.torque_limit(),
        actuator=THREE.wheels,
        integrator="quat_em:4",
        start=TurnedAway(target_angle=math.pi),
        goal=Target(),
        dt=THREE.dt,
        substeps=6,
        angle=THREE.angle,
        rate=THREE.rate,
        settled_steps=10,
        rate_limit=_BY_WHEELS,
        shape=Miss(),
        difficulty={
            "easy": {"initial": {"angle": 1.0}, "actuator": SMOOTH},
            "hard": {"actuator": replace(THREE.wheels, coulomb=1e-4), "randomization": UNSURE},
        },
        categories={"small angle": {"angle": 0.5}, **LARGE, "any": {}},
    )


class MomentumDumpingEnv(AttitudeEnv):
    """Unload the wheels of InnoCube with its coils within an orbit, while it points.

    ## Physics
    The satellite of InertialPointing-v0, its wheels without friction, on its orbit at 520 km,
    inclined by 97.5 degrees, with a period of 5693 s. Its wheels begin with up to 0.4 of their
    momentum, 12 mN m s each. Its coils have 0.35 A m^2 about each axis: at most 17 uN m each, and
    none along the field, which rotates twice in an orbit. The total angular momentum changes by the
    impulse of the coils alone. A control period of dt = 2 s is 9 steps of the integrator,
    `quat_em:4`.
    """

    task = replace(
        InertialPointingEnv.task,
        actuator=Combined(replace(SMOOTH, start=0.4), THREE.coils),
        start=TurnedAway(angle=0.1, target_angle=math.pi),
        dt=2.0,
        substeps=9,
        momentum=1e-3,
        settled_steps=30,
        difficulty={
            "easy": {"actuator": Combined(replace(SMOOTH, start=0.2), THREE.coils)},
            "hard": {
                "actuator": Combined(replace(SMOOTH, start=0.6), THREE.coils),
                "randomization": UNSURE,
            },
        },
        categories={
            "pointed": {"angle": 0.01},
            "near": {"angle": 0.1},
            "turned away": {"least_angle": 1.0, "angle": 2.0},
            "any": {},
        },
    )


class MagneticDetumbleEnv(AttitudeEnv):
    """Bring InnoCube from a tumble to rest with its coils, within an orbit.

    ## Physics
    The satellite `innocube-3u`: 4.2 kg, moments 0.0441 and 0.007 kg m^2, on its orbit at 520 km,
    inclined by 97.5 degrees, with a period of 5693 s. Its coils have 0.35 A m^2 about each axis;
    their torque is m x B, at most 17 uN m each and never along the field B, which rotates twice in
    an orbit. It tumbles with up to 0.17 rad/s, 10 degrees/s, as a satellite may after leaving its
    dispenser. A control period of dt = 1 s is 2 steps of the integrator; the field is held over
    each of them.
    """

    task = Task(
        body=THREE.own_body,
        torque=THREE.torque_limit(),
        actuator=THREE.coils,
        start=TurnedAway(least_rate=0.03, rate=0.17),
        goal=Rest(),
        dt=1.0,
        substeps=2,
        rate=0.005,
        settled_steps=60,
        rate_limit=0.4,
        shape=Miss(),
        difficulty={
            "easy": {"initial": {"least_rate": 0.01, "rate": 0.05}},
            "hard": {
                "initial": {"least_rate": 0.15, "rate": 0.25},
                "randomization": {"inertia": 0.2, "actuator_scale": 0.2, "misalignment": 0.1},
            },
        },
        categories={
            "slow": {"least_rate": 0.01, "rate": 0.05},
            "medium": {"least_rate": 0.05, "rate": 0.1},
            "fast": {"least_rate": 0.1, "rate": 0.17},
            "any": {},
        },
    )


_PULLED = {"disturbance": {"gravity_gradient": True}}


class MagneticPointingEnv(AttitudeEnv):
    """Point a 3U CubeSat at the Earth with three coils and the gravity gradient alone.

    ## Physics
    The satellite and the orbit of MagneticDetumble-v1. The target's z axis points to the Earth, its
    x axis along the orbital motion. The gravity gradient, at most 0.07 uN m, holds the long axis
    vertical, but either end may point down, and it gives no torque about that axis. The coils give
    at most 17 uN m each, never along the field, so the three axes are never all controlled at once;
    the axis along the field lies across it a quarter of an orbit later. A control period of
    dt = 10 s is 12 steps of the integrator, `exact`.
    """

    task = replace(
        MagneticDetumbleEnv.task,
        start=TurnedAway(angle=0.5, rate=0.002, target_angle=math.pi),
        goal=Target(),
        reference=nadir,
        more=TargetRate(0.1, 0.02),
        integrator="exact",
        dt=10.0,
        substeps=12,
        rate=math.radians(0.1),
        settled_steps=30,
        rate_limit=0.1,
        difficulty={
            "easy": {**_PULLED, "initial": {"angle": 0.1, "rate": 0.001}},
            "medium": _PULLED,
            "hard": {
                **_PULLED,
                "initial": {"angle": math.pi, "rate": 0.005},
                "randomization": UNSURE,
            },
        },
        categories={
            "small angle": {"angle": 0.1, "rate": 0.001},
            "large angle": {"least_angle": 0.4, "rate": 0.001},
            "high rate": {"least_rate": 0.0015},
            "any": {},
        },
    )


InertialPointingVectorEnv = vectorised(InertialPointingEnv)
MomentumDumpingVectorEnv = vectorised(MomentumDumpingEnv)
MagneticDetumbleVectorEnv = vectorised(MagneticDetumbleEnv)
MagneticPointingVectorEnv = vectorised(MagneticPointingEnv)
