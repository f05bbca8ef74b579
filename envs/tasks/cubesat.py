"""Tasks of a 6U CubeSat, with the numbers of its wheels' data sheet and tolerances of missions."""

import math
from dataclasses import replace
from functools import partial

from rbgym.body import RigidBody
from rbgym.envs.actuators import FlexibleModes
from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.goals import Rest, Target, Wandering
from rbgym.envs.parts.observations import TargetRate
from rbgym.envs.parts.rewards import Miss
from rbgym.envs.parts.starts import TurnedAway
from rbgym.envs.satellites import SATELLITES
from rbgym.envs.task import Task

_SIX = SATELLITES["cubesat-6u"]()
# Rate limits [rad/s] of episodes: of turns by torque, and by wheels.
_BY_TORQUE, _BY_WHEELS = _SIX.rate_limit(), _SIX.rate_limit(wheels=True)
# Test-set categories that all turns share.
LARGE = {"large angle": {"least_angle": 1.5, "angle": 2.6}, "near half turn": {"least_angle": 3.05}}


class AttitudeSlewEnv(AttitudeEnv):
    """Turn a 6U CubeSat from rest to rest at another attitude, and hold it within half a degree.

    ## Physics
    The satellite `cubesat-6u`: a homogeneous box of 12 kg, moments 0.185, 0.144 and 0.0612 kg m^2,
    turned by the torque that its wheels have about each body axis alone: 6.5, 6.5 and 9.2 mN m.
    Half a turn straight about the x axis takes 19 s. A control period of dt = 0.5 s is one step of
    the integrator.
    """

    task = Task(
        body=_SIX.own_body,
        torque=_SIX.torque_limit(),
        start=TurnedAway(target_angle=math.pi),
        goal=Target(),
        dt=_SIX.dt,
        substeps_of_others=2,
        angle=_SIX.angle,
        rate=_SIX.rate,
        settled_steps=20,
        rate_limit=_BY_TORQUE,
        shape=Miss(),
        difficulty={
            "easy": {"initial": {"angle": 1.0}},
            "hard": {
                "initial": {"rate": 0.1 * _BY_TORQUE},
                "randomization": {"inertia": 0.2, "torque": 0.2},
            },
        },
        categories={
            "small angle": {"angle": 0.5},
            **LARGE,
            "high rate": {"least_rate": 0.05 * _BY_TORQUE, "rate": 0.1 * _BY_TORQUE},
        },
    )


class ReactionWheelSlewEnv(AttitudeEnv):
    """Turn a 6U CubeSat from rest to rest with its four wheels, and hold it within half a degree.

    ## Physics
    The satellite `cubesat-6u`: a homogeneous box of 12 kg, moments 0.185, 0.144 and 0.0612 kg m^2,
    with four RWP015 wheels in a pyramid: 4 mN m each, 15 mN m s, reached at 6000 rpm and within
    4 s, friction 0.05 mN m. Half a turn straight about the x axis takes 27.5 s, most of it with
    full wheels. The wheels are integrated with the body: the total angular momentum is conserved
    to the last bit. A control period of dt = 0.5 s is one step of the integrator, `quat_em:4`. At
    the start each wheel's momentum is uniform in +-0.1 of its largest.
    """

    task = replace(
        AttitudeSlewEnv.task,
        actuator=_SIX.wheels,
        integrator="quat_em:4",
        rate_limit=_BY_WHEELS,
        difficulty={
            "easy": {"initial": {"angle": 1.0}},
            "hard": {
                "randomization": {"actuator_scale": 0.1, "misalignment": 0.05, "failure": 0.5},
            },
        },
        categories={"small angle": {"angle": 0.5}, **LARGE, "any": {}},
    )


class FlexibleSlewEnv(AttitudeEnv):
    """Turn a 6U CubeSat with two long flexible wings from rest to rest, and end without ringing.

    ## Physics
    The satellite and the wheels of ReactionWheelSlew-v1 with two solar wings along its y axis, each
    a uniform cantilever of 0.9 m and 0.2 kg from 0.05 m off the centre: with them the moments are
    0.312, 0.145 and 0.188 kg m^2. Their first bending out of plane, in opposite directions, is a
    flexible mode: 0.25 Hz with the body held, 0.32 Hz with the body free, damping 0.005, coupling
    0.35 kg^0.5 m about the x axis, 39 % of that moment. These wings are not of a flown satellite.
    Full torque about x, switched, makes the body swing at 7 mrad/s, eight times what success
    allows, and by itself that takes minutes to decay. A control period of dt = 0.5 s is three
    steps of the integrator, `quat_em:4`.
    """

    task = replace(
        ReactionWheelSlewEnv.task,
        body=partial(RigidBody, (0.19, 0.145, 0.188), mass=12.4),
        actuator=(_SIX.wheels, FlexibleModes((0.35, 0.0, 0.0), 2.0 * math.pi * 0.25)),
        substeps=3,
    )


def _keeping_out(half_angle: float, ends: bool = True) -> dict[str, object]:
    """Keep the body z axis out of a cone of this half angle [rad] on the path of the turn."""
    cone = {"axis": (0.0, 0.0, 1.0), "direction": "between", "half_angle": half_angle}
    return {"constraints": {"keep_out": [cone], "ends": ends}}


class KeepOutSlewEnv(AttitudeEnv):
    """Turn a 6U CubeSat from rest to rest without pointing its camera at the Sun on the way.

    ## Physics
    The satellite and the torques of AttitudeSlew-v1. The camera looks along the body z axis. In
    every episode a bright direction, fixed in the world, lies half-way along the straight turn of
    that axis to its target; within 0.3 rad of it the episode ends. A straight turn always fails.
    """

    task = replace(
        AttitudeSlewEnv.task,
        start=TurnedAway(least_angle=1.0, target_angle=math.pi),
        difficulty={
            "easy": _keeping_out(0.3, ends=False),
            "medium": _keeping_out(0.3),
            "hard": _keeping_out(0.5),
        },
        categories={"medium angle": {"least_angle": 1.0, "angle": 1.5}, **LARGE, "any": {}},
    )


_ROAMING = partial(Wandering, amplitude=0.8, slow=0.03, fast=0.1)


class AttitudeTrackingEnv(AttitudeEnv):
    """Follow a smooth random motion of the target with a 6U CubeSat, within half a degree.

    ## Physics
    The satellite and the torques of AttitudeSlew-v1. From a Haar-uniform attitude the target turns
    by R_z(a) R_y(b) R_x(c); each angle swings as 0.8 rad (sin(w t + p) - sin p) with its own
    frequency w, uniform in [0.03, 0.1] rad/s, and its own uniform phase p. Following it takes at
    most about half the torque.
    """

    task = replace(
        AttitudeSlewEnv.task,
        start=TurnedAway(angle=0.5, rate=0.03, target_angle=math.pi),
        reference=_ROAMING,
        more=TargetRate(_BY_TORQUE, _ROAMING(_SIX.dt).largest_rate() / _BY_TORQUE),
        settled_steps=40,
        difficulty={
            "easy": {"initial": {"angle": 0.1}},
            "hard": {"initial": {"angle": math.pi, "rate": 0.1}},
        },
        categories={
            "small angle": {"angle": 0.1},
            "large angle": {"least_angle": 0.4},
            "high rate": {"least_rate": 0.025},
            "any": {},
        },
    )


class DetumbleEnv(AttitudeEnv):
    """Bring a 6U CubeSat to rest with its wheels, which can just absorb its angular momentum.

    ## Physics
    The satellite of ReactionWheelSlew-v1. It tumbles with up to 0.1 rad/s, 5.7 degrees/s. About its
    x axis that is three quarters of the momentum that the wheels can absorb, so a law that fills
    one wheel before the others fails.
    """

    task = replace(
        ReactionWheelSlewEnv.task,
        start=TurnedAway(least_rate=0.03, rate=0.1),
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


AttitudeSlewVectorEnv = vectorised(AttitudeSlewEnv)
ReactionWheelSlewVectorEnv = vectorised(ReactionWheelSlewEnv)
FlexibleSlewVectorEnv = vectorised(FlexibleSlewEnv)
KeepOutSlewVectorEnv = vectorised(KeepOutSlewEnv)
AttitudeTrackingVectorEnv = vectorised(AttitudeTrackingEnv)
DetumbleVectorEnv = vectorised(DetumbleEnv)
