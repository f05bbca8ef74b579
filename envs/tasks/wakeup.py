"""Tasks of a satellite that has left its dispenser, or is in safe mode: it knows no attitude."""

import math
from dataclasses import replace

from rbgym.envs.actuators import Combined
from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.goals import TowardsSun
from rbgym.envs.parts.observations import Hidden, TargetQuaternion
from rbgym.envs.parts.starts import TurnedAway
from rbgym.envs.tasks import innocube

_CELLS = {"noise": 0.01, "bias": 0.01}  # errors of coarse Sun cells, of full light
# Gyros with 0.15 degrees/sqrt(h) and a bias of 1 degree/h.
_SEEING = {"gyro": {"angle_walk": 4.4e-5, "bias": 4.8e-6}, "coarse_sun": _CELLS}
_FIELD_ALONE = {"magnetometer": {"noise": 1e-7, "bias": 1e-7}}  # 100 nT
# Gyros with 0.3 degrees/sqrt(h) and a bias of 3 degrees/min, and sensors that give an attitude.
_DRIFTING = {
    "gyro": {"angle_walk": 1e-4, "rate_walk": 1e-6, "bias": 1e-3},
    "coarse_sun": _CELLS,
    **_FIELD_ALONE,
    "ephemeris": {},
}
_RATE = math.radians(5.0)  # largest rate after separation [rad/s]
# Disturbances of a 3U: air and light on its long sides, and its residual dipole.
_PANELS = {
    "surfaces": [
        {"area": 0.03, "normal": normal, "centre": (0.0, 0.0, 0.01)}
        for normal in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0))
    ]
}
_PUSHED = {
    "gravity_gradient": True,
    "residual_dipole": (0.002, -0.001, 0.002),
    "drag": _PANELS,
    "solar_pressure": _PANELS,
}


class SunAcquisitionEnv(AttitudeEnv):
    """Turn the panels of InnoCube from a tumble to the Sun, with gyros and six Sun cells alone.

    ## Physics
    The satellite of InertialPointing-v0, its wheels without friction, on an orbit at 520 km,
    inclined by 97.5 degrees, with a period of 5693 s. It tumbles with up to 5 degrees/s. Its panels
    face along the body's z axis. A coarse cell on each side measures the cosine of the angle to the
    Sun, with errors of 1 % of full light. In the Earth's shadow, up to 36 minutes of an orbit, they
    measure nothing and only the gyros work: 0.15 degrees/sqrt(h), with a bias of 1 degree/h. An
    episode lasts half an orbit: if it begins in the shadow, the Sun appears before its end; if it
    ends there, the body has to hold still in the dark. A control period of dt = 1 s is 6 steps of
    the integrator, `quat_em:4`.
    """

    task = replace(
        innocube.InertialPointingEnv.task,
        actuator=innocube.SMOOTH,
        start=TurnedAway(rate=math.radians(5.0)),
        goal=TowardsSun(),
        orbit={"altitude": 520e3, "inclination": math.radians(97.5)},
        form=Hidden(),
        sensor=_SEEING,
        angle=math.radians(5.0),
        rate=0.005,
        settled_steps=30,
        rate_limit=0.4,
        difficulty={
            "easy": {"initial": {"rate": math.radians(1.0)}},
            "hard": {
                "sensor": {"gyro": {"bias": 1e-5}, "coarse_sun": {"noise": 0.02, "bias": 0.02}},
                "randomization": innocube.UNSURE,
            },
        },
        categories={
            "slow": {"rate": math.radians(1.0)},
            "medium": {"least_rate": math.radians(1.0), "rate": math.radians(3.0)},
            "fast": {"least_rate": math.radians(3.0), "rate": math.radians(5.0)},
            "any": {},
        },
    )


class SafeModeEnv(AttitudeEnv):
    """Bring InnoCube from a tumble to rest with its coils, with a magnetometer alone.

    ## Physics
    The satellite, the orbit and the starts of MagneticDetumble-v1. Neither attitude nor rates are
    measured, only the field in body axes, up to 47 uT, with a noise of 100 nT in each measurement
    and a bias of 100 nT in each episode. A control period of dt = 1 s is 2 steps of the integrator;
    the field is held over each of them.
    """

    task = replace(
        innocube.MagneticDetumbleEnv.task,
        form=Hidden(),
        sensor=_FIELD_ALONE,
        difficulty={
            **innocube.MagneticDetumbleEnv.task.difficulty,
            "hard": {
                **innocube.MagneticDetumbleEnv.task.difficulty["hard"],
                "sensor": {"magnetometer": {"noise": 3e-7, "bias": 3e-7}},
            },
        },
    )


class DetumbleToPointEnv(AttitudeEnv):
    """Bring a 3U CubeSat that does not know its attitude from a tumble to its target.

    ## Physics
    The satellite `innocube-3u` on its orbit at 520 km, inclined by 97.5 degrees, with three wheels,
    2 mN m and 30 mN m s, without friction, and coils of 0.35 A m^2 about each axis. It has left its
    dispenser with 1 to 5 degrees/s at an unknown attitude. Its gyros drift, six coarse cells see
    the Sun until the Earth hides it, and a magnetometer measures the field; a clock and models on
    board give the directions of Sun and field in the world. The attitude can be estimated from
    these, see `rbgym.agents.controllers.Acquiring`. Except in "easy" episodes, gravity gradient,
    air drag, sunlight and a residual dipole disturb it. A control period of dt = 1 s is 6 steps of
    the integrator, `quat_em:4`.
    """

    task = replace(
        innocube.InertialPointingEnv.task,
        actuator=Combined(innocube.SMOOTH, innocube.THREE.coils),
        start=TurnedAway(angle=math.pi, least_rate=0.2 * _RATE, rate=_RATE, target_angle=math.pi),
        sensor=_DRIFTING,
        form=Hidden(),
        more=TargetQuaternion(),
        angle=math.radians(5.0),
        rate=math.radians(0.2),
        settled_steps=60,
        rate_limit=0.5,  # about the slim axis the momentum of a tumble gives 2.5 times the rate
        difficulty={
            "easy": {"initial": {"least_rate": 0.0, "rate": 0.1 * _RATE}},
            "medium": {"disturbance": _PUSHED},
            "hard": {
                "disturbance": _PUSHED,
                "initial": {"least_rate": _RATE, "rate": 2.0 * _RATE},
                "randomization": innocube.UNSURE,
            },
        },
        categories={
            "slow": {"least_rate": 0.2 * _RATE, "rate": 0.5 * _RATE},
            "fast": {"least_rate": 0.8 * _RATE, "rate": _RATE},
            "any": {},
        },
    )


SunAcquisitionVectorEnv = vectorised(SunAcquisitionEnv)
SafeModeVectorEnv = vectorised(SafeModeEnv)
DetumbleToPointVectorEnv = vectorised(DetumbleToPointEnv)
