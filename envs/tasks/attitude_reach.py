"""AttitudeReach-v0: a slew whose goal is part of the observation, for hindsight replay."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from rbgym.arguments import real
from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.observations import TargetQuaternion, World
from rbgym.envs.parts.starts import Turned
from rbgym.envs.tasks.attitude_slew import AttitudeSlewEnv
from rbgym.quaternion import Array

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
