"""Tasks of CubeSats, with the numbers of their data sheets and the tolerances of their missions."""

import math
from dataclasses import replace

from rbgym.envs.actuators import Beside
from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.goals import Rest
from rbgym.envs.parts.rewards import Miss
from rbgym.envs.parts.starts import Turned
from rbgym.envs.satellites import SATELLITES
from rbgym.envs.tasks.satellite import AttitudeSlewEnv, ReactionWheelSlewEnv

_SIX, _THREE = SATELLITES["cubesat-6u"](), SATELLITES["innocube-3u"]()
_SMOOTH = replace(_THREE.wheels, coulomb=0.0)


class CubeSatSlewEnv(AttitudeEnv):
    """Turn a 6U CubeSat from rest to rest at another attitude, and hold it within half a degree.

    ## Physics
    The satellite `cubesat-6u`: a homogeneous box of 12 kg, moments 0.185, 0.144 and 0.0612 kg m^2,
    turned by the torque that its wheels have about each body axis alone: 6.5, 6.5 and 9.2 mN m.
    Half a turn about the x axis takes 19 s at least. A control period of dt = 0.5 s is one step of
    the integrator.

    ## Action: Box(-1, 1, (3,)), float32
    Torque about the body axes as a fraction of what there is, held over the period. Beyond +-1 is
    clipped.
    """

    task = replace(_SIX.flying(AttitudeSlewEnv.task), shape=Miss())


CubeSatSlewVectorEnv = vectorised(CubeSatSlewEnv)


class CubeSatWheelSlewEnv(AttitudeEnv):
    """Turn a 6U CubeSat from rest to rest with its four wheels, and hold it within half a degree.

    ## Physics
    The satellite `cubesat-6u`: a homogeneous box of 12 kg, moments 0.185, 0.144 and 0.0612 kg m^2,
    with four RWP015 wheels in a pyramid: 4 mN m each, 15 mN m s, reached at 6000 rpm and within
    4 s, friction 0.05 mN m. Half a turn about the x axis takes 28 s at least, most of it with full
    wheels. The wheels are integrated with the body: the total angular momentum is conserved to the
    last bit. A control period of dt = 0.5 s is 2 steps of the integrator, `quat_em`. At the start
    each wheel's momentum is uniform in +-0.1 of its largest.

    ## Action: Box(-1, 1, (4,)), float32
    Torque of each motor as a fraction of 4 mN m, held over the period; positive: on the body, along
    the wheel's axis. Beyond +-1 is clipped. A wheel at its largest momentum takes no more.
    """

    task = replace(_SIX.flying(ReactionWheelSlewEnv.task), shape=Miss())


CubeSatWheelSlewVectorEnv = vectorised(CubeSatWheelSlewEnv)


def _keeping_out(half_angle: float, ends: bool = True) -> dict[str, object]:
    """The body z axis kept out of a cone of this half angle [rad] in the way of the turn."""
    cone = {"axis": (0.0, 0.0, 1.0), "direction": "between", "half_angle": half_angle}
    return {"constraints": {"keep_out": [cone], "ends": ends}}


class KeepOutSlewEnv(AttitudeEnv):
    """Turn a 6U CubeSat from rest to rest without pointing its camera at the Sun on the way.

    ## Physics
    The satellite and the torques of AttitudeSlew-v1. The camera looks along the body z axis. In
    every episode there is a bright direction, fixed in the world, half-way on the straight turn of
    that axis to where it is to look; within 0.3 rad of it the episode ends. Who turns straight is
    sure to fail.

    ## Observation: Box, float32
    | index | what | bounds |
    |---|---|---|
    | 0 | w of the quaternion, body to target; of q and -q the one with w >= 0 | [0, 1] |
    | 1-3 | x, y, z of it | [-1, 1] |
    | 4-6 | angular velocity in body axes / (1.132 rad/s) | a little over the rate limit |
    | 7-9 | the bright direction in body axes | [-1, 1] |

    ## Action: Box(-1, 1, (3,)), float32
    Torque about the body axes as a fraction of what there is, held over the period. Beyond +-1 is
    clipped.
    """

    task = replace(
        CubeSatSlewEnv.task,
        start=Turned(least_angle=1.0, target_angle=math.pi),
        difficulty={
            "easy": _keeping_out(0.3, ends=False),
            "medium": _keeping_out(0.3),
            "hard": _keeping_out(0.5),
        },
        categories={
            "medium angle": {"least_angle": 1.0, "angle": 1.5},
            "large angle": {"least_angle": 1.5, "angle": 2.6},
            "near half turn": {"least_angle": 3.05},
            "any": {},
        },
    )


KeepOutSlewVectorEnv = vectorised(KeepOutSlewEnv)


class CubeSatDetumbleEnv(AttitudeEnv):
    """Bring a 6U CubeSat to rest with its wheels, which can just take up what it holds.

    ## Physics
    The satellite of ReactionWheelSlew-v1. It tumbles with up to 0.1 rad/s, 5.7 degrees/s: about
    its x axis that is three quarters of the momentum for which there is room in the wheels, so
    that a law which fills one before the others stops short.
    """

    task = replace(
        CubeSatWheelSlewEnv.task,
        start=Turned(least_rate=0.03, rate=0.1),
        goal=Rest(),
        rate_limit=0.3,
        difficulty={
            "easy": {"initial": {"least_rate": 0.01, "rate": 0.03}},
            "hard": {
                "initial": {"least_rate": 0.08, "rate": 0.12},
                "randomization": {"actuator_scale": 0.1, "misalignment": 0.05},
            },
        },
        categories={
            "slow": {"least_rate": 0.01, "rate": 0.03},
            "medium": {"least_rate": 0.03, "rate": 0.07},
            "fast": {"least_rate": 0.07, "rate": 0.1},
            "any": {},
        },
    )


CubeSatDetumbleVectorEnv = vectorised(CubeSatDetumbleEnv)


class InertialPointingEnv(AttitudeEnv):
    """Point InnoCube, a 3U CubeSat, by three wheels that stick, at one command a second.

    ## Physics
    The satellite `innocube-3u`: 4.2 kg, taken to be a homogeneous box with moments 0.0441 and
    0.007 kg m^2, with three wheels about its axes: 2 mN m, 30 mN m s. The friction of its wheels is
    not published; here it is that of a wheel of this size, 0.05 mN m, which holds a wheel that
    stands still against all smaller commands. A control period of dt = 1 s is 4 steps of the
    integrator, `quat_em`: in it full torque turns the body by up to 8 degrees about its z axis, so
    that the command is to be chosen for the whole second ahead.

    ## Action: Box(-1, 1, (3,)), float32
    Torque of each motor as a fraction of 2 mN m, held over the period; positive: on the body, along
    the wheel's axis. Beyond +-1 is clipped. A wheel at its largest momentum takes no more.
    """

    task = replace(
        _THREE.flying(ReactionWheelSlewEnv.task),
        shape=Miss(),
        substeps=4,
        substeps_of_others=4,
        difficulty={
            "easy": {"initial": {"angle": 1.0}, "actuator": _SMOOTH},
            "hard": {
                "actuator": replace(_THREE.wheels, coulomb=1e-4),
                "randomization": {"inertia": 0.2, "actuator_scale": 0.1, "misalignment": 0.05},
            },
        },
    )


InertialPointingVectorEnv = vectorised(InertialPointingEnv)


class MomentumDumpingEnv(AttitudeEnv):
    """Empty the wheels of InnoCube by its coils within an orbit, while it points.

    ## Physics
    The satellite of InertialPointing-v0, its wheels without friction, on its orbit at 520 km,
    inclined by 97.5 degrees: once around in 5693 s. Its wheels begin with up to 0.4 of their
    momentum, 12 mN m s each; its coils have 0.35 A m^2 about each axis: 17 uN m at most, never
    along the field, which turns twice around in an orbit. The total angular momentum changes by the
    impulse of the coils alone. A control period of dt = 2 s is 4 steps of the integrator,
    `quat_em`.

    ## Action: Box(-1, 1, (6,)), float32
    Torque of each motor as a fraction of 2 mN m, then magnetic moment about the body axes as a
    fraction of 0.35 A m^2, held over the period. Beyond +-1 is clipped.
    """

    task = replace(
        InertialPointingEnv.task,
        actuator=Beside(replace(_SMOOTH, start=0.4), _THREE.coils),
        dt=2.0,
        start=Turned(angle=0.1, target_angle=math.pi),
        momentum=1e-3,
        settled_steps=30,
        difficulty={
            "easy": {"actuator": Beside(replace(_SMOOTH, start=0.2), _THREE.coils)},
            "hard": {
                "actuator": Beside(replace(_SMOOTH, start=0.6), _THREE.coils),
                "randomization": {"inertia": 0.2, "actuator_scale": 0.1, "misalignment": 0.05},
            },
        },
        categories={
            "pointed": {"angle": 0.01},
            "near": {"angle": 0.1},
            "turned away": {"least_angle": 1.0, "angle": 2.0},
            "any": {},
        },
    )


MomentumDumpingVectorEnv = vectorised(MomentumDumpingEnv)
