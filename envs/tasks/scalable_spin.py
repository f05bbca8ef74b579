"""ScalableSpin-v0: reach a spin by changing size, as a skater does."""

from functools import partial

from rbgym.body import RigidBody
from rbgym.envs.actuators import Scaling
from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.endings import OutOfSize
from rbgym.envs.parts.goals import Spin
from rbgym.envs.parts.observations import WantedSpin
from rbgym.envs.parts.rewards import Closeness
from rbgym.envs.parts.starts import Spun
from rbgym.envs.task import Task

SMALLEST, LARGEST = 0.5, 2.0
_SIZES, _SPINS = (1.1 * SMALLEST, 0.9 * LARGEST), (0.0, 5.0)  # of starts; [rad/s]
FORCE = 400.0  # N m


class ScalableSpinEnv(AttitudeEnv):
    """Reach a spin by changing size, as a skater does, and hold it: no torque acts at all.

    ## Physics
    The scalable body of Moller and Glocker (2012): its points are at s R rho, s the scale. It has
    the mass of a skater, 60 kg, and at s = 1 the moments 15.05, 15.05 and 1.2 kg m^2. The angular
    momentum is conserved to round-off, so the spin goes as 1/s^2; the scaling force S does the work
    S ds, to round-off. s obeys T s'' = s omega.J omega + S, with T = 15.65 kg m^2 and J the moments
    at s = 1: holding a spin of 4 rad/s at half the size takes at most S = -158 N m, 0.4 of the
    largest force. A control period of dt = 0.05 s is 4 steps of the integrator.

    ## Action: Box(-1, 1, (1,)), float32
    The scaling force as a fraction of 400 N m, held over the period; positive: outwards. Values
    beyond +-1 are clipped.
    """

    task = Task(
        body=partial(RigidBody.cylinder, 60.0, radius=0.2, height=1.7),
        torque=0.0,
        actuator=Scaling(FORCE),
        integrator="scalable_em",
        substeps=4,
        start=Spun(least_spin=1.0, spin=4.0, transverse=0.2, least_scale=0.6, scale=1.6),
        ranges={"least_scale": _SIZES, "scale": _SIZES, "least_spin": _SPINS, "spin": _SPINS},
        goal=Spin(),
        more=WantedSpin(scale=20.0),
        dt=0.05,
        rate=0.1,
        settled_steps=20,
        rate_limit=20.0,
        ends=OutOfSize(SMALLEST, LARGEST),
        shape=Closeness(scale=1.0, rate_weight=1.0, effort_weight=0.02),
        difficulty={
            "easy": {"initial": {"least_scale": 0.8, "scale": 1.25, "transverse": 0.0}},
            "hard": {"initial": {"least_spin": 3.0, "transverse": 0.5}},
        },
        categories={
            "faster": {"scale": 0.8},
            "slower": {"least_scale": 1.25},
            "nutating": {"transverse": 0.5},
            "any": {},
        },
    )


ScalableSpinVectorEnv = vectorised(ScalableSpinEnv)
