"""Which laws fit an env, and how a law of torque is had from the actuator of an env."""

from typing import Any

import numpy as np

from rbgym.agents.controllers.base import Controller
from rbgym.agents.controllers.law import Law
from rbgym.agents.controllers.magnetic import MagneticAllocation
from rbgym.agents.controllers.wheels import Allocated
from rbgym.envs.actuators import Forces, MagneticCoils, ReactionWheels, Scaling
from rbgym.envs.parts.goals import Target
from rbgym.envs.parts.observations import TargetRate

_PREVIEW = 4  # columns that a preview of the target adds


def fitted(policy: Controller, env: Any) -> Controller:
    """A law of torque for the actuator of an env; whatever else, as it is.

    Raises ValueError where it could not read the observation, or where no torque can be had.
    """
    base = env.unwrapped
    if policy.least or isinstance(policy, Law):
        _refuse_other_forms(base)
    if not isinstance(policy, Law):
        return policy
    if isinstance(base.actuator, Scaling):
        raise ValueError(f"env must have torque for this controller, got {base.actuator!r}")
    policy.width = 10 if isinstance(base.task.more, TargetRate) else 7
    # Of goals and a state apart, the law makes an observation of its own.
    first = 7 if base.task.split else base.width
    if isinstance(base.actuator, ReactionWheels):
        shared = Allocated(policy, base.actuator, base.torque_scale, first=first)
        policy.envelope = np.asarray(shared.share / shared.motor, dtype=np.float64)
        return shared
    if isinstance(base.actuator, MagneticCoils):
        return MagneticAllocation.of(policy, base.actuator, base.torque_scale, first=first)
    return policy


def aimed(env: Any, law: str, *, still: bool = False) -> Any:
    """The env itself, if it has a target attitude; still: one that does not move.

    Raises ValueError for any other env, and for one that has to be brought to a place too.
    """
    base = env.unwrapped
    if not isinstance(base.goal, Target) or isinstance(base.actuator, Forces):
        raise ValueError(
            f"env must have a target attitude, and none but that, for {law}; "
            f"its goal is {base.goal!r}, its actuator {base.actuator!r}"
        )
    if still and moves(base):
        raise ValueError(f"env must have a target at rest for {law}, its target moves")
    return base


def moves(base: Any) -> bool:
    """Whether the target of an env moves."""
    return bool(base.task.reference(base.dt).moves())


def _refuse_other_forms(base: Any) -> None:
    columns = 7 + base.task.more.width()
    previewed = columns + _PREVIEW if isinstance(base.task.more, TargetRate) else columns
    if base.width not in (columns, previewed):
        raise ValueError(
            "env must show the attitude as a quaternion for this controller, "
            f'observation="quaternion", got {base.width} columns instead of {columns}'
        )
