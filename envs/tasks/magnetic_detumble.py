"""MagneticDetumble-v0: bring a satellite to rest with magnetorquers alone."""

from dataclasses import replace

from rbgym.envs.actuators import MagneticCoils
from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.rewards import Closeness
from rbgym.envs.parts.starts import Turned
from rbgym.envs.tasks.detumble import DetumbleEnv


class MagneticDetumbleEnv(AttitudeEnv):
    """Bring a satellite from a slow tumble to rest with magnetorquers, in little over an orbit.

    ## Physics
    The satellite of AttitudeSlew-v0 on a circular orbit at 500 km, inclined by 97.4 degrees: once
    around in 5668 s. Its coils have up to 1 A m^2 about each axis; their torque is m x B, B the
    field of a dipole tilted by 9.6 degrees against the axis of the Earth, which turns with it: 24
    to 48 microtesla. No torque along B can be had, but B turns, seen from the orbit, twice around.
    The start is anywhere on the orbit, at any hour of the day. The rate of the orbit is 1.1e-3
    rad/s: what follows the field turns with twice that. A control period of dt = 1 s is 4 steps of
    the integrator.

    ## Action: Box(-1, 1, (3,)), float32
    Magnetic moment about the body axes as a fraction of 1 A m^2, held over the period. Beyond +-1
    is clipped.
    """

    task = replace(
        DetumbleEnv.task,
        actuator=MagneticCoils(),
        start=Turned(least_rate=0.02, rate=0.1),
        dt=1.0,
        substeps=4,
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
