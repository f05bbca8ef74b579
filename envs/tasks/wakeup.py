"""Tasks of a satellite that has left its dispenser, or has lost itself: it knows no attitude."""

import math
from dataclasses import replace

from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.goals import TowardsSun
from rbgym.envs.parts.observations import Hidden
from rbgym.envs.parts.rewards import Miss
from rbgym.envs.parts.sensors import Instruments
from rbgym.envs.parts.starts import Turned
from rbgym.envs.satellites import SATELLITES
from rbgym.envs.task import Task
from rbgym.envs.tasks.innocube import MagneticDetumbleEnv

_THREE = SATELLITES["innocube-3u"]()
_SIDES = (
    (1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0),
    (0.0, -1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, -1.0),
)  # fmt: skip
# Gyros of 0.15 degrees/sqrt(h) whose bias is known to 1 degree/h, cells to 1 % of full light.
_SEEING = Instruments(
    angle_walk=4.4e-5, bias=4.8e-6, cell_noise=0.01, cell_bias=0.01, normals=_SIDES
)
_FIELD_ALONE = Instruments(field_noise=1e-7, field_bias=1e-7, gyro=False)  # 100 nT


class SunAcquisitionEnv(AttitudeEnv):
    """Turn the panels of InnoCube to the Sun out of a tumble, knowing gyros and six cells alone.

    ## Physics
    The satellite of InertialPointing-v0, its wheels without friction, on an orbit at 520 km,
    inclined by 97.5 degrees: once around in 5693 s. It tumbles with up to 5 degrees/s. Its panels
    face along the body's z axis. A coarse cell on each side shows the cosine of the angle to the
    Sun, with errors of 1 % of full light; in the shadow of the Earth, up to 36 minutes of an orbit,
    they show nothing, and the gyros alone say how it turns: 0.15 degrees/sqrt(h), with a bias of
    1 degree/h. An episode lasts half an orbit: one that begins in the shadow sees the Sun before
    its end, and one that ends there has to hold still in the dark. A control period of dt = 1 s is
    6 steps of the integrator, `quat_em:4`.
    """

    task = Task(
        body=_THREE.own_body,
        torque=0.02,
        actuator=replace(_THREE.wheels, coulomb=0.0),
        integrator="quat_em:4",
        start=Turned(rate=math.radians(5.0)),
        goal=TowardsSun(),
        orbit={"altitude": 520e3, "inclination": math.radians(97.5)},
        form=Hidden(),
        sensor=_SEEING,
        dt=_THREE.dt,
        substeps=6,
        angle=math.radians(5.0),
        rate=0.005,
        settled_steps=30,
        rate_limit=0.4,
        shape=Miss(),
        difficulty={
            "easy": {"initial": {"rate": math.radians(1.0)}},
            "hard": {
                "sensor": _SEEING._replace(bias=1e-5, cell_noise=0.02, cell_bias=0.02),
                "randomization": {"inertia": 0.2, "actuator_scale": 0.1, "misalignment": 0.05},
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
    """Bring InnoCube from a tumble to rest with its coils, knowing a magnetometer alone.

    ## Physics
    The satellite, the orbit and the starts of MagneticDetumble-v1. Neither attitude nor rates are
    measured: there is the field in body axes, with a noise of 100 nT in each measurement and a bias
    of 100 nT in each episode; it is up to 47 uT. A control period of dt = 1 s is 2 steps of the
    integrator, over each of which the field is held.
    """

    task = replace(
        MagneticDetumbleEnv.task,
        form=Hidden(),
        sensor=_FIELD_ALONE,
        difficulty={
            **MagneticDetumbleEnv.task.difficulty,
            "hard": {
                **MagneticDetumbleEnv.task.difficulty["hard"],
                "sensor": _FIELD_ALONE._replace(field_noise=3e-7, field_bias=3e-7),
            },
        },
    )


SunAcquisitionVectorEnv = vectorised(SunAcquisitionEnv)
SafeModeVectorEnv = vectorised(SafeModeEnv)
