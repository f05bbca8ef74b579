"""AttitudeReach: bring a satellite to the attitude in the observation, a goal-conditioned task."""

import math
from typing import Any

import numpy as np

from rbgym.arguments import real
from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.goals import Target
from rbgym.envs.parts.observations import TargetQuaternion, World
from rbgym.envs.parts.rewards import Closeness, Weighted
from rbgym.envs.parts.starts import TurnedAway
from rbgym.envs.satellites import SATELLITES
from rbgym.envs.task import Task
from rbgym.quaternion import Array

_STATE, _ATTITUDE = 7, 4  # numbers of columns that the kernel writes


def as_goals(rows: Any) -> dict[str, Any]:
    """Split rows (..., 11 or more) of state and target into observation, achieved and desired goal.

    The columns of an actuator, which follow the target, are appended to the observation.
    """
    goal = _STATE + _ATTITUDE
    return {
        "observation": np.concatenate([rows[..., :_STATE], rows[..., goal:]], axis=-1),
        "achieved_goal": rows[..., :_ATTITUDE].copy(),
        "desired_goal": rows[..., _STATE:goal].copy(),
    }


class AttitudeReachEnv(AttitudeEnv):
    """Bring a satellite to the goal attitude given in the observation.

    ## Physics
    The body of the satellite `cubesat-6u`: a homogeneous box of 12 kg, moments 0.185, 0.144 and
    0.0612 kg m^2, turned by a torque of up to 0.02 N m about each body axis. A control period of
    dt = 0.1 s is one step of the integrator. Torque-free, angular momentum is conserved to the last
    bit, and energy to round-off.

    ## Observation: Dict of Box, float32
    | key | what | bounds |
    |---|---|---|
    | observation (7,) | canonical quaternion; body rates / (2 rad/s) | +-1, +-(1.07, 1.21, 1.86) |
    | achieved_goal (4,) | that quaternion | [-1, 1], the first in [0, 1] |
    | desired_goal (4,) | canonical quaternion of the target | [-1, 1], the first in [0, 1] |

    ## Reward
    reward="dense": 1 / (1 + (2 sin(a/2) / 0.2)^2), a the angle to the goal. reward="sparse": 1
    if a is within 5 degrees, else 0. `compute_reward(achieved_goal, desired_goal, info)` returns
    the same for one pair or many. Rewards are never negative, so ending early never pays.

    ## Success, termination and truncation
    Success: within 5 degrees in the last step (`info["is_success"]`). Terminates when |omega|
    exceeds 2 rad/s; truncated at the time limit, or if a step cannot be solved
    (`info["integration_failed"]`).
    """

    task = Task(
        body=SATELLITES["cubesat-6u"]().own_body,
        torque=0.02,
        start=TurnedAway(angle=1.0, target_angle=1.0),
        goal=Target(),
        dt=0.1,
        substeps_of_others=2,
        rate=2.0,
        settled_steps=1,
        rate_limit=2.0,
        shape=Closeness(scale=0.2, rate_weight=2.0, effort_weight=0.02),
        form=World(),
        more=TargetQuaternion(),
        split=as_goals,
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
        """The reward for achieved and desired goals, each (4,) or (..., 4)."""
        a, b = real("achieved_goal", achieved_goal), real("desired_goal", desired_goal)
        if a.shape != b.shape or a.shape[-1:] != (4,):
            raise ValueError(
                "achieved_goal and desired_goal must have one shape (..., 4), "
                f"got {a.shape} and {b.shape}"
            )
        shape: Any = self.task.shape
        cosine = np.minimum(np.abs(np.sum(a * b, axis=-1)), 1.0)
        if isinstance(self.episodes.setup.parts.reward, Weighted):  # sparse
            value = (cosine > math.cos(self.task.angle / 2)).astype(float)
        else:
            value = 1.0 / (1.0 + 4.0 * (1.0 - cosine * cosine) / shape.scale**2)
        return value if value.ndim else float(value)


AttitudeReachVectorEnv = vectorised(AttitudeReachEnv)
