"""Classical controllers with the interface of learned policies."""

from rbgym.agents.catalogue import CONTROLLERS, PLANNERS, names
from rbgym.agents.controllers.acquiring import Acquiring
from rbgym.agents.controllers.actuators import (
    Allocated,
    BDot,
    MagneticAllocation,
    MagneticRate,
    SpinByScale,
    Unloading,
)
from rbgym.agents.controllers.attitude import (
    AttitudePID,
    BangBang,
    Detour,
    GeometricTracking,
    Hysteretic,
    QuaternionFeedback,
)
from rbgym.agents.controllers.base import Controller, Idle, Law, Policy
from rbgym.agents.controllers.filtering import Estimating
from rbgym.agents.controllers.fitting import at_work, for_env, make, validity
from rbgym.agents.controllers.foresight import Foreseeing
from rbgym.agents.controllers.lqr import AttitudeLQR, PrecessionLQR, SpinLQR, SwingUp, UprightLQR
from rbgym.agents.controllers.pd import AttitudePD, AxisPD, PosePD, RateDamping
from rbgym.agents.controllers.predictive import ModelPredictive, PlannedSlew
from rbgym.agents.controllers.sun import SunPointing
from rbgym.agents.controllers.supervising import Supervisor

__all__ = [
    "CONTROLLERS", "PLANNERS", "Acquiring", "Allocated", "AttitudeLQR", "AttitudePD",
    "AttitudePID", "AxisPD", "BDot", "BangBang", "Controller", "Detour", "Estimating",
    "Foreseeing", "GeometricTracking", "Hysteretic", "Idle", "Law", "MagneticAllocation",
    "MagneticRate", "ModelPredictive", "PlannedSlew", "Policy", "PosePD", "PrecessionLQR",
    "QuaternionFeedback", "RateDamping", "SpinByScale", "SpinLQR", "SunPointing",
    "Supervisor", "SwingUp", "Unloading", "UprightLQR", "at_work", "for_env", "make", "names",
    "validity",
]  # fmt: skip
