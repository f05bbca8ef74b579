"""Classical controllers, with the interface of learned policies."""

import itertools
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rbgym.agents.controllers.actuators import Allocated as Allocated
    from rbgym.agents.controllers.actuators import BDot as BDot
    from rbgym.agents.controllers.actuators import MagneticAllocation as MagneticAllocation
    from rbgym.agents.controllers.actuators import MagneticRate as MagneticRate
    from rbgym.agents.controllers.actuators import SpinByScale as SpinByScale
    from rbgym.agents.controllers.actuators import Unloading as Unloading
    from rbgym.agents.controllers.attitude import AttitudePID as AttitudePID
    from rbgym.agents.controllers.attitude import BangBang as BangBang
    from rbgym.agents.controllers.attitude import GeometricTracking as GeometricTracking
    from rbgym.agents.controllers.attitude import Hysteretic as Hysteretic
    from rbgym.agents.controllers.attitude import QuaternionFeedback as QuaternionFeedback
    from rbgym.agents.controllers.base import Controller as Controller
    from rbgym.agents.controllers.base import Idle as Idle
    from rbgym.agents.controllers.base import Law as Law
    from rbgym.agents.controllers.detour import Detour as Detour
    from rbgym.agents.controllers.filtering import Estimating as Estimating
    from rbgym.agents.controllers.fitting import for_env as for_env
    from rbgym.agents.controllers.fitting import make as make
    from rbgym.agents.controllers.lqr import AttitudeLQR as AttitudeLQR
    from rbgym.agents.controllers.lqr import PrecessionLQR as PrecessionLQR
    from rbgym.agents.controllers.lqr import SpinLQR as SpinLQR
    from rbgym.agents.controllers.lqr import SwingUp as SwingUp
    from rbgym.agents.controllers.lqr import UprightLQR as UprightLQR
    from rbgym.agents.controllers.pd import AttitudePD as AttitudePD
    from rbgym.agents.controllers.pd import AxisPD as AxisPD
    from rbgym.agents.controllers.pd import PosePD as PosePD
    from rbgym.agents.controllers.pd import RateDamping as RateDamping
    from rbgym.agents.controllers.predictive import ModelPredictive as ModelPredictive
    from rbgym.agents.controllers.predictive import PlannedSlew as PlannedSlew

# Each is imported when it is first used, so that the names below are known at once.
_MODULES = {
    "actuators": (
        "Allocated", "BDot", "MagneticAllocation", "MagneticRate", "SpinByScale", "Unloading",
    ),
    "attitude": (
        "AttitudePID", "BangBang", "GeometricTracking", "Hysteretic", "QuaternionFeedback",
    ),
    "base": ("Controller", "Idle", "Law"),
    "detour": ("Detour",),
    "filtering": ("Estimating",),
    "fitting": ("for_env", "make"),
    "lqr": ("AttitudeLQR", "PrecessionLQR", "SpinLQR", "SwingUp", "UprightLQR"),
    "pd": ("AttitudePD", "AxisPD", "PosePD", "RateDamping"),
    "predictive": ("ModelPredictive", "PlannedSlew"),
}  # fmt: skip
__all__ = ["CONTROLLERS", "Policy", "names", *itertools.chain.from_iterable(_MODULES.values())]

# Name -> the law's class, or the module that chooses among its own. `for_env` of either, of an env,
# single or vector, raises ValueError, which says for which envs the law is, where it does not fit.
CONTROLLERS = {
    "pd": "pd",
    "pid": "AttitudePID",
    "quaternion_feedback": "QuaternionFeedback",
    "hysteretic": "Hysteretic",
    "geometric": "GeometricTracking",
    "lqr": "lqr",
    "bang_bang": "BangBang",
    "mpc": "ModelPredictive",
    "ilqr": "PlannedSlew",
    "detour": "Detour",
    "swing_up": "SwingUp",
    "magnetic_rate": "MagneticRate",
    "b_dot": "BDot",
    "scale": "SpinByScale",
    "idle": "Idle",
}
# They plan for milliseconds in each period, or seconds at the start, so nobody gets them unasked.
PLANNERS = {"mpc", "ilqr"}


def __getattr__(name: str) -> Any:
    for module, names_there in _MODULES.items():
        if name == module or name in names_there:
            found = import_module(f"{__name__}.{module}")
            return found if name == module else getattr(found, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Policy(Protocol):
    """What a classical controller and a Stable-Baselines3 model have in common."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, Any]:
        """Actions for a batch of observations, and the policy's own state."""
        ...


def names() -> list[str]:
    """Names of all controllers."""
    return list(CONTROLLERS)
