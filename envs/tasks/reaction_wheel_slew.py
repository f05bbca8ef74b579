"""ReactionWheelSlew-v0: turn a satellite from rest to rest with wheels that saturate."""

from dataclasses import replace

from rbgym.envs.actuators import ReactionWheels
from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.tasks.attitude_slew import AttitudeSlewEnv


class ReactionWheelSlewEnv(AttitudeEnv):
    """Turn a satellite from rest to rest with four reaction wheels, and hold it.

    ## Physics
    The satellite of AttitudeSlew-v0 with a pyramid of wheels, axes (c, 0, s), (0, c, s), (-c, 0, s)
    and (0, -c, s), s^2 = 1/3. A wheel has 1e-4 kg m^2 about its axis, a motor of 5e-3 N m, at most
    0.03 kg m^2/s, reached at 2900 rpm, and friction of its bearing, 1e-4 N m and 1e-6 N m s. The
    wheels are integrated with the body: the total angular momentum is conserved to the last bit
    whatever the action, and energy changes by the work of motors and friction, to round-off. A
    control period of dt = 0.1 s is 2 steps of the integrator. At the start each wheel's momentum is
    uniform in +-0.3 of its largest.

    ## Action: Box(-1, 1, (4,)), float32
    Torque of each motor as a fraction of 5e-3 N m, held over the period; positive: on the body,
    along the wheel's axis. Beyond +-1 is clipped. A wheel at its largest momentum takes no more.
    """

    task = replace(
        AttitudeSlewEnv.task,
        actuator=ReactionWheels.pyramid(),
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
