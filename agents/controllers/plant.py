"""What a controller has to know of an env: the one place that asks what its parts are."""

from typing import Any

from rbgym.envs.actuators import Forces, MagneticCoils, ReactionWheels, Scaling
from rbgym.envs.base import AttitudeEnv, AttitudeVectorEnv
from rbgym.envs.parts.goals import Axis, Rest, Target
from rbgym.envs.parts.observations import TargetRate


class Plant:
    """An env, single or vector, as what is controlled. ValueError for any that is not rbgym's.

    given: what the classes take of an env, by the names of their arguments. strength: factor of
    all torques. wheels, coils, scaling: the actuator, where it is one of these. target, rest, axis:
    whether the goal is one of these kinds. moves: whether there is a target that moves. Columns of
    an observation: columns, of attitude, rates and perhaps the target's rates; width, of all but
    the actuator; shown, those that it has where the attitude is a quaternion. first: the column
    from which an actuator shows itself to a law.
    """

    def __init__(self, env: Any) -> None:
        base = getattr(env, "unwrapped", None)
        if not isinstance(base, AttitudeEnv | AttitudeVectorEnv):
            raise ValueError(f"env must be an environment of rbgym, got {env!r}")
        actuator: Any = base.actuator
        more: Any = base.task.more  # what is observed beside attitude and rates
        self.body, self.potential, self.goal = base.body, base.potential, base.goal
        self.actuator, self.strength, self.width = actuator, base.torque_scale, base.width
        self.wheels = actuator if isinstance(actuator, ReactionWheels) else None
        self.coils = actuator if isinstance(actuator, MagneticCoils) else None
        self.scaling = actuator if isinstance(actuator, Scaling) else None
        self.has_forces = isinstance(actuator, Forces)
        self.target, self.rest = isinstance(base.goal, Target), isinstance(base.goal, Rest)
        self.axis = base.goal if isinstance(base.goal, Axis) else None
        self.moves = self.target and bool(base.task.reference(base.dt).moves())
        self.shown = 7 + more.width()
        self.columns = 10 if isinstance(more, TargetRate) else 7
        # Of goals and a state apart, the law makes an observation of its own.
        self.first = 7 if base.task.split else base.width
        actions: Any = getattr(base, "single_action_space", base.action_space)
        self.given: dict[str, Any] = {
            "body": base.body,
            "torque_limit": base.torque_limit,
            "rate_limit": base.rate_limit,
            "dt": base.dt,
            "potential": base.potential,
            "goal": self.axis,
            "channels": actions.shape[0],
            "width": base.width,
        }
        if self.has_forces:
            force = self.strength * actuator.force
            self.given |= {"force_limit": force, "distance": more.distance, "speed": more.speed}
        if self.coils is not None:
            dipole = self.strength * self.coils.dipole
            self.given |= {"dipole": dipole, "field": 2.0 * self.coils.field}
        if self.scaling is not None:
            self.given |= {"scaling": actuator, "strength": self.strength, "spin_scale": more.scale}
