"""Classical controllers, with the interface of learned policies."""

from collections.abc import Callable
from inspect import signature
from typing import Any, Protocol

from rbgym.agents.controllers import lqr, pd
from rbgym.agents.controllers.b_dot import BDot
from rbgym.agents.controllers.bang_bang import BangBang
from rbgym.agents.controllers.base import Controller
from rbgym.agents.controllers.eigenaxis import eigenaxis_time
from rbgym.agents.controllers.fitting import fitted
from rbgym.agents.controllers.geometric import GeometricTracking
from rbgym.agents.controllers.hysteretic import Hysteretic
from rbgym.agents.controllers.idle import Idle
from rbgym.agents.controllers.quaternion_feedback import QuaternionFeedback
from rbgym.agents.controllers.skater import SpinByScale
from rbgym.agents.controllers.swing_up import SwingUp
from rbgym.envs.arguments import hint
from rbgym.envs.base import AttitudeEnv, AttitudeVectorEnv

__all__ = ["CONTROLLERS", "Controller", "Policy", "eigenaxis_time", "for_env", "make", "names"]

# Makers: of an env, single or vector, and gains by name. A maker raises ValueError, which says for
# which envs the law is, where it does not fit.
CONTROLLERS: dict[str, Callable[..., Controller]] = {
    "pd": pd.for_env,
    "quaternion_feedback": QuaternionFeedback.for_env,
    "hysteretic": Hysteretic.for_env,
    "geometric": GeometricTracking.for_env,
    "lqr": lqr.for_env,
    "bang_bang": BangBang.for_env,
    "swing_up": SwingUp.for_env,
    "b_dot": BDot.for_env,
    "scale": SpinByScale.for_env,
    "idle": Idle.for_env,
}


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


def make(name: str, env: Any, **gains: Any) -> Policy:
    """The controller of that name for an env, single or vector, with its actuator.

    gains: what the law's class takes; those left out are its defaults. Raises ValueError if there
    is no such controller or gain, or if it is not for such an env.
    """
    if not isinstance(name, str) or name not in CONTROLLERS:
        raise ValueError(f"controller must be one of {names()}, got {name!r}{hint(name, names())}")
    if not isinstance(getattr(env, "unwrapped", None), AttitudeEnv | AttitudeVectorEnv):
        raise ValueError(f"env must be an environment of rbgym, got {env!r}")
    known = _gains(name, env) if gains else []
    for gain in gains:
        if gain not in known:
            raise ValueError(
                f"gains must be among {known} for {name!r} and this env, got {gain!r}"
                f"{hint(gain, known)}"
            )
    return fitted(CONTROLLERS[name](env, **gains), env)


def _gains(name: str, env: Any) -> list[str]:
    """What may be given of a law: whatever has a default and is not the env's to say."""
    of_maker = signature(CONTROLLERS[name]).parameters
    if "gains" not in of_maker:
        return [key for key in of_maker if key != "env"]
    of_law = signature(type(CONTROLLERS[name](env))).parameters
    return [key for key, p in of_law.items() if p.default is not p.empty and key != "goal"]


def for_env(env: Any) -> list[str]:
    """Names of the controllers that fit an env, single or vector; "idle" fits each.

    Raises ValueError for what is no env of rbgym.
    """
    make("idle", env)
    return [name for name in names() if _fits(name, env)]


def _fits(name: str, env: Any) -> bool:
    try:
        make(name, env)
    except ValueError:
        return False
    return True
