"""NutationDamping-v0: damp the wobble of a spinning satellite."""

from functools import partial

from rbgym.body import RigidBody
from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.goals import Axis
from rbgym.envs.parts.rewards import Closeness
from rbgym.envs.parts.starts import Tilted
from rbgym.envs.task import Task

SPIN = 5.0  # rad/s


class NutationDampingEnv(AttitudeEnv):
    """Damp the nutation of a spin-stabilised satellite with a small torque that costs reward.

    ## Physics
    A free body: moments 1, 1.2 and 1.6 kg m^2 about x, y and z. It spins at 5 rad/s (48 rpm) about
    z, the major axis, and nutates: without torque the rates across the axis stay for ever. A
    control period of dt = 0.1 s is one step of the integrator, half a radian of spin; in it full
    torque changes the angular momentum by 0.1 %. The errors of an integrator can be as large: with
    a dissipative one, as backward Euler, the nutation decays by itself, and a policy trained there
    learns to wait, see docs/records/learning_study.md.
    """

    task = Task(
        body=partial(RigidBody, (1.0, 1.2, 1.6)),
        torque=0.1,
        start=Tilted(tilt=0.1, mean_spin=SPIN, spin=0.1, transverse=1.2),
        goal=Axis.at(0.0, 0.0, SPIN),
        dt=0.1,
        substeps_of_others=1,
        angle=0.6,
        rate=0.3,
        rate_limit=10.0,
        lowest=0.0,
        shape=Closeness(scale=2.0, rate_weight=1.0, effort_weight=1.0),
        difficulty={
            "easy": {"initial": {"transverse": 0.6}},
            "hard": {"initial": {"tilt": 0.2, "transverse": 2.0}},
        },
        categories={
            "upright": {"tilt": 0.0},
            "tilted": {"least_tilt": 0.1, "tilt": 0.2},
            "other spin": {"mean_spin": 5.15, "spin": 0.05},
            "any": {},
        },
    )


NutationDampingVectorEnv = vectorised(NutationDampingEnv)
