"""Tasks of a 3U CubeSat that has left its dispenser and knows no attitude."""

import math
from dataclasses import replace

from rbgym.envs.actuators import Beside, ReactionWheels
from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.observations import Hidden, TargetQuaternion
from rbgym.envs.parts.sensors import chosen_sensor
from rbgym.envs.parts.starts import Turned
from rbgym.envs.parts.uncertainty import Sensor
from rbgym.envs.satellites import SATELLITES
from rbgym.envs.tasks.innocube import MomentumDumpingEnv

_THREE = SATELLITES["innocube-3u"]()
_TIPPED = math.radians(5.0)  # rad/s
_FASTEST = 0.5  # rad/s; momentum about a long axis turns the body up to 2.5 times as fast about the slim one
_GYRO = {"angle_walk": 1e-4, "rate_walk": 1e-6, "bias": 1e-3}
_CELLS = {"noise": 0.01, "bias": 0.01}
_MAGNETOMETER = {"noise": 1e-7, "bias": 1e-7}
# What pushes a 3U: air and light on its long side, the dipole of what is magnetic in it.
_SIDES = {
    "surfaces": [
        {"area": 0.03, "normal": normal, "centre": (0.0, 0.0, 0.01)}
        for normal in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0))
    ]
}
_PUSHED = {
    "gravity_gradient": True,
    "residual_dipole": (0.002, -0.001, 0.002),
    "drag": _SIDES,
    "solar_pressure": _SIDES,
}


class DetumbleToPointEnv(AttitudeEnv):
    """Bring a 3U CubeSat that knows no attitude from its tumble to where it is to point.

    ## Physics
    The satellite `innocube-3u` on its orbit at 520 km, inclined by 97.5 degrees, with three wheels,
    2 mN m and 30 mN m s, without friction, and coils of 0.35 A m^2 about each axis. It has left its
    dispenser with 1 to 5 degrees/s at an attitude that nothing tells: gyros drift, six coarse cells
    see the Sun until the Earth hides it, and a magnetometer the field; where Sun and field are in
    the world a clock and models on board know. From these the attitude follows, see
    `rbgym.agents.controllers.Acquiring`. Gravity gradient, air, light and a dipole that the
    satellite has of its own push it. A control period of dt = 1 s is 6 steps of the integrator,
    `quat_em:4`.
    """

    task = replace(
        MomentumDumpingEnv.task,
        actuator=Beside(replace(_THREE.wheels, coulomb=0.0), _THREE.coils),
        start=Turned(angle=math.pi, least_rate=0.2 * _TIPPED, rate=_TIPPED, target_angle=math.pi),
        sensor=chosen_sensor(
            {
                "gyro": _GYRO,
                "coarse_sun": _CELLS,
                "magnetometer": _MAGNETOMETER,
                "ephemeris": {},
            },
            Sensor(),
            1.0,
            _FASTEST,
        ),
        form=Hidden(),
        more=TargetQuaternion(),
        dt=1.0,
        substeps=6,
        angle=math.radians(5.0),
        rate=math.radians(0.2),
        momentum=math.inf,
        settled_steps=60,
        rate_limit=_FASTEST,
        difficulty={
            "easy": {"initial": {"least_rate": 0.0, "rate": 0.1 * _TIPPED}},
            "medium": {"disturbance": _PUSHED},
            "hard": {
                "disturbance": _PUSHED,
                "initial": {"least_rate": _TIPPED, "rate": 2.0 * _TIPPED},
                "randomization": {"inertia": 0.2, "actuator_scale": 0.1, "misalignment": 0.05},
            },
        },
        categories={
            "slow": {"least_rate": 0.2 * _TIPPED, "rate": 0.5 * _TIPPED},
            "fast": {"least_rate": 0.8 * _TIPPED, "rate": _TIPPED},
            "any": {},
        },
    )


DetumbleToPointVectorEnv = vectorised(DetumbleToPointEnv)
