"""Classical controllers, with the interface of learned policies."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
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
        GeometricTracking,
        Hysteretic,
        QuaternionFeedback,
    )
    from rbgym.agents.controllers.base import Controller, Idle, Law
    from rbgym.agents.controllers.detour import Detour
    from rbgym.agents.controllers.filtering import Estimating
    from rbgym.agents.controllers.fitting import for_env, make
    from rbgym.agents.controllers.lqr import (
        AttitudeLQR,
        PrecessionLQR,
        SpinLQR,
        SwingUp,
        UprightLQR,
    )
    from rbgym.agents.controllers.pd import AttitudePD, AxisPD, PosePD, RateDamping
    from rbgym.agents.controllers.predictive import ModelPredictive, PlannedSlew

__all__ = [
    "CONTROLLERS",
    "Allocated",
    "AttitudeLQR",
    "AttitudePD",
    "AttitudePID",
    "AxisPD",
    "BDot",
    "BangBang",
    "Controller",
    "Detour",
    "Estimating",
    "GeometricTracking",
    "Hysteretic",
    "Idle",
    "Law",
    "MagneticAllocation",
    "MagneticRate",
    "ModelPredictive",
    "PlannedSlew",
    "Policy",
    "PosePD",
    "PrecessionLQR",
    "QuaternionFeedback",
    "RateDamping",
    "SpinByScale",
    "SpinLQR",
    "SwingUp",
    "Unloading",
    "UprightLQR",
    "for_env",
    "make",
    "names",
]

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
