"""What a controller has to know of an env: the one place that asks what its parts are."""

from typing import Any

from rbgym.envs.actuators import Forces, MagneticCoils, ReactionWheels, Scaling
from rbgym.envs.base import AttitudeEnv, AttitudeVectorEnv
from rbgym.envs.parts.goals import Axis, Rest, Target
from rbgym.envs.parts.observations import TargetRate
from rbgym.potentials import HeavyTop, SoftWall

_PREVIEW = 4  # columns that a preview of the target adds


class Plant:
    """An env, single or vector, as what is controlled. ValueError for any that is not rbgym's.

    limits: what every law takes: body, torque_limit [N m], rate_limit [rad/s], dt [s]. strength:
    factor of all torques. wheels, coils, scaling: the actuator, where it is one of these. axis: the
    goal, where it is one of an axis. channels: commands. width: columns of an observation before
    those of the actuator. split: whether goals are observed apart. more: what is observed beside
    attitude and rates.
    """

    def __init__(self, env: Any) -> None:
        base = getattr(env, "unwrapped", None)
        if not isinstance(base, AttitudeEnv | AttitudeVectorEnv):
            raise ValueError(f"env must be an environment of rbgym, got {env!r}")
        self.base: Any = base
        self.body, self.potential, self.goal = base.body, base.potential, base.goal
        self.actuator, self.strength = base.actuator, base.torque_scale
        self.limits: dict[str, Any] = {
            "body": base.body,
            "torque_limit": base.torque_limit,
            "rate_limit": base.rate_limit,
            "dt": base.dt,
        }
        actions: Any = getattr(base, "single_action_space", base.action_space)
        self.channels: int = actions.shape[0]
        self.width, self.split = base.width, base.task.split
        self.more: Any = base.task.more
        self.wheels = base.actuator if isinstance(base.actuator, ReactionWheels) else None
        self.coils = base.actuator if isinstance(base.actuator, MagneticCoils) else None
        self.scaling = base.actuator if isinstance(base.actuator, Scaling) else None
        self.has_forces = isinstance(base.actuator, Forces)
        self.target, self.rest = isinstance(base.goal, Target), isinstance(base.goal, Rest)
        self.axis = base.goal if isinstance(base.goal, Axis) else None

    @property
    def moves(self) -> bool:
        """Whether there is a target that moves."""
        return self.target and bool(self.base.task.reference(self.base.dt).moves())

    @property
    def is_heavy_top(self) -> bool:
        """Whether the body is a heavy top."""
        return isinstance(self.potential, HeavyTop)

    @property
    def above_a_wall(self) -> bool:
        """Whether the body stands on a soft wall."""
        return isinstance(self.potential, SoftWall)

    @property
    def columns_of_attitude(self) -> int:
        """Columns of attitude, rates and perhaps the target's rates."""
        return 10 if isinstance(self.more, TargetRate) else 7

    def require_target(self, law: str, *, still: bool = False) -> None:
        """Raise ValueError unless an attitude is all that is wanted; still: one that stays."""
        if not self.target or self.has_forces:
            raise ValueError(
                f"env must have a target attitude, and none but that, for {law}; "
                f"its goal is {self.goal!r}, its actuator {self.actuator!r}"
            )
        if still and self.moves:
            raise ValueError(f"env must have a target at rest for {law}, its target moves")

    def require_upright(self) -> None:
        """Raise ValueError unless a heavy top is to be brought upright."""
        if not (self.is_heavy_top and self.goal == Axis()):
            raise ValueError(f"env must be a top to be brought upright, its goal is {self.goal!r}")

    def require_quaternions(self) -> None:
        """Raise ValueError where an observation has another form than laws can read."""
        columns = 7 + self.more.width()
        previewed = columns + _PREVIEW if isinstance(self.more, TargetRate) else columns
        if self.width not in (columns, previewed):
            raise ValueError(
                "env must show the attitude as a quaternion for this controller, "
                f'observation="quaternion", got {self.width} columns instead of {columns}'
            )
