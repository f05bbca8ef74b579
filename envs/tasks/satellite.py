"""Tasks of a satellite: turn, follow, come to rest; by torques, wheels or coils."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from rbgym.arguments import real
from rbgym.body import RigidBody
from rbgym.envs.actuators import MagneticCoils, ReactionWheels
from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.goals import Rest, Target, Wandering
from rbgym.envs.parts.observations import TargetQuaternion, TargetRate, World
from rbgym.envs.parts.rewards import Closeness
from rbgym.envs.parts.starts import Turned
from rbgym.envs.task import Task
from rbgym.quaternion import Array


def satellite() -> RigidBody:
    """A 6U satellite of 12 kg: a homogeneous box of 0.1 m by 0.2263 m by 0.366 m."""
    return RigidBody.box(12.0, (0.1, 0.2263, 0.366))


class AttitudeSlewEnv(AttitudeEnv):
    """Turn a satellite from rest to rest at another attitude, by the shorter way, and hold it.

    ## Physics
    A free body, a homogeneous box of 12 kg: principal moments 0.185, 0.144 and 0.0612 kg m^2. A
    control period of dt = 0.1 s is one step of the integrator. Torque-free, angular momentum is
    conserved to the last bit, and energy to round-off.
    """

    task = Task(
        body=satellite,
        torque=0.02,
        start=Turned(target_angle=math.pi),
        goal=Target(),
        dt=0.1,
        substeps_of_others=2,
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


_STATE, _ATTITUDE = 7, 4  # columns of the rows that the kernel writes


def as_goals(rows: Any) -> dict[str, Any]:
    """The rows (..., 11) of state and target as observation, achieved and desired goal.

    What an actuator shows comes after the target, and is put behind the state.
    """
    goal = _STATE + _ATTITUDE
    return {
        "observation": np.concatenate([rows[..., :_STATE], rows[..., goal:]], axis=-1),
        "achieved_goal": rows[..., :_ATTITUDE].copy(),
        "desired_goal": rows[..., _STATE:goal].copy(),
    }


class AttitudeReachEnv(AttitudeEnv):
    """Bring a satellite to a goal attitude that the observation names.

    ## Physics
    The satellite of AttitudeSlew-v0.

    ## Observation: Dict of Box, float32
    | key | what | bounds |
    |---|---|---|
    | observation (7,) | canonical quaternion; body rates / (2 rad/s) | [-1, 1]; a little over |
    | achieved_goal (4,) | that quaternion | [-1, 1], the first in [0, 1] |
    | desired_goal (4,) | canonical quaternion of the target | [-1, 1], the first in [0, 1] |

    ## Reward
    reward="dense": 1 / (1 + (2 sin(a/2) / 0.2)^2), a the angle to the goal. reward="sparse": 1
    where a is within 5 degrees, else 0. Both are `compute_reward(achieved_goal, desired_goal,
    info)`, of one pair or of many, and never negative, so that ending early never pays.

    ## Success, termination and truncation
    Success: within 5 degrees in the last step (`info["is_success"]`). Terminates when |omega|
    exceeds 2 rad/s; truncated at the time limit, or if a step cannot be solved
    (`info["integration_failed"]`).
    """

    task = replace(
        AttitudeSlewEnv.task,
        start=Turned(angle=1.0, target_angle=1.0),
        form=World(),
        more=TargetQuaternion(),
        split=as_goals,
        angle=math.radians(5.0),
        rate=2.0,
        settled_steps=1,
        difficulty={
            "easy": {"initial": {"angle": 0.3, "target_angle": 0.3}},
            "hard": {"initial": {"angle": math.pi, "target_angle": math.pi}},
        },
        categories={
            "small angle": {"angle": 0.3},
            "large angle": {"least_angle": 0.7},
            "far target": {"target_angle": 1.5},
            "any": {},
        },
    )

    def compute_reward(self, achieved_goal: Array, desired_goal: Array, info: Any) -> Any:
        """The reward for goals (4,) or (..., 4) reached and asked for."""
        a, b = real("achieved_goal", achieved_goal), real("desired_goal", desired_goal)
        if a.shape != b.shape or a.shape[-1:] != (4,):
            raise ValueError(
                "achieved_goal and desired_goal must have one shape (..., 4), "
                f"got {a.shape} and {b.shape}"
            )
        shape: Any = self.task.shape
        cosine = np.minimum(np.abs(np.sum(a * b, axis=-1)), 1.0)
        if self.is_sparse:
            value = (cosine > math.cos(self.task.angle / 2)).astype(float)
        else:
            value = 1.0 / (1.0 + 4.0 * (1.0 - cosine * cosine) / shape.scale**2)
        return value if value.ndim else float(value)


AttitudeReachVectorEnv = vectorised(AttitudeReachEnv)


class DetumbleEnv(AttitudeEnv):
    """Bring a satellite from a violent tumble to rest, at whatever attitude.

    ## Physics
    The satellite of AttitudeSlew-v0. The fastest tumble holds the angular momentum that
    full torque about one axis takes away in fourteen seconds.
    """

    task = replace(
        AttitudeSlewEnv.task,
        start=Turned(least_rate=0.5, rate=1.5),
        goal=Rest(),
        angle=math.radians(5.0),
        rate_limit=5.0,
        shape=Closeness(scale=1.0, rate_weight=10.0, effort_weight=0.02),
        difficulty={
            "easy": {"initial": {"least_rate": 0.1, "rate": 0.5}},
            "hard": {"initial": {"least_rate": 1.5, "rate": 2.5}},
        },
        categories={
            "slow": {"least_rate": 0.1, "rate": 0.5},
            "medium": {"least_rate": 0.5, "rate": 1.0},
            "fast": {"least_rate": 1.0, "rate": 1.5},
            "any": {},
        },
    )


DetumbleVectorEnv = vectorised(DetumbleEnv)


class ReactionWheelSlewEnv(AttitudeEnv):
    """Turn a satellite from rest to rest with four reaction wheels, and hold it.

    ## Physics
    The satellite of AttitudeSlew-v0 with a pyramid of wheels, axes (c, 0, s), (0, c, s), (-c, 0, s)
    and (0, -c, s), s^2 = 1/3. A wheel has 1e-4 kg m^2 about its axis, a motor of 5e-3 N m, at most
    0.03 kg m^2/s, reached at 2900 rpm, and friction of its bearing, 1e-4 N m and 1e-6 N m s. The
    wheels are integrated with the body: the total angular momentum is conserved to the last bit
    whatever the action, and energy changes by the work of motors and friction, to round-off. A
    control period of dt = 0.1 s is 2 steps of the integrator, `quat_em`: friction is held over a
    step, and limits the accuracy whatever the integrator. At the start each wheel's momentum is
    uniform in +-0.3 of its largest.

    ## Action: Box(-1, 1, (4,)), float32
    Torque of each motor as a fraction of 5e-3 N m, held over the period; positive: on the body,
    along the wheel's axis. Beyond +-1 is clipped. A wheel at its largest momentum takes no more.
    """

    task = replace(
        AttitudeSlewEnv.task,
        actuator=ReactionWheels.pyramid(),
        integrator="quat_em",
        substeps=2,
        difficulty={
            "easy": {"initial": {"angle": 1.0}, "actuator": {"pyramid": {"start": 0.1}}},
            "hard": {
                "actuator": {"pyramid": {"start": 0.6}, "delay": {"seconds": 0.1}},
                "randomization": {"actuator_scale": 0.1, "misalignment": 0.05, "failure": 0.5},
            },
        },
        categories={
            "small angle": {"angle": 0.5},
            "large angle": {"least_angle": 1.5, "angle": 2.6},
            "near half turn": {"least_angle": 3.05},
            "any": {},
        },
    )


ReactionWheelSlewVectorEnv = vectorised(ReactionWheelSlewEnv)


class MagneticDetumbleEnv(AttitudeEnv):
    """Bring a satellite from a slow tumble to rest with magnetorquers, in little over an orbit.

    ## Physics
    The satellite of AttitudeSlew-v0 on a circular orbit at 500 km, inclined by 97.4 degrees: once
    around in 5668 s. Its coils have up to 1 A m^2 about each axis; their torque is m x B, B the
    field of a dipole tilted by 9.6 degrees against the axis of the Earth, which turns with it: 24
    to 48 microtesla. No torque along B can be had, but B turns, seen from the orbit, twice around.
    The start is anywhere on the orbit, at any hour of the day. The rate of the orbit is 1.1e-3
    rad/s: what follows the field turns with twice that. A control period of dt = 1 s is 2 steps of
    the integrator, over each of which the field is held.

    ## Action: Box(-1, 1, (3,)), float32
    Magnetic moment about the body axes as a fraction of 1 A m^2, held over the period. Beyond +-1
    is clipped.
    """

    task = replace(
        DetumbleEnv.task,
        actuator=MagneticCoils(),
        start=Turned(least_rate=0.02, rate=0.1),
        dt=1.0,
        substeps=2,
        substeps_of_others=4,
        rate=0.005,
        settled_steps=60,
        rate_limit=0.3,
        shape=Closeness(scale=1.0, rate_weight=2500.0, effort_weight=0.02),
        difficulty={
            "easy": {"initial": {"least_rate": 0.01, "rate": 0.03}},
            "hard": {
                "initial": {"least_rate": 0.1, "rate": 0.15},
                "randomization": {"inertia": 0.2, "actuator_scale": 0.2, "misalignment": 0.1},
            },
        },
        categories={
            "slow": {"least_rate": 0.01, "rate": 0.03},
            "medium": {"least_rate": 0.03, "rate": 0.07},
            "fast": {"least_rate": 0.07, "rate": 0.1},
            "any": {},
        },
    )


MagneticDetumbleVectorEnv = vectorised(MagneticDetumbleEnv)
