"""Classical controllers, with the interface of learned policies."""

from collections.abc import Callable
from typing import Any, Protocol

from rbgym.agents.controllers import pd
from rbgym.agents.controllers.b_dot import BDot
from rbgym.agents.controllers.idle import Idle
from rbgym.agents.controllers.lqr import PrecessionLQR
from rbgym.agents.controllers.skater import SpinByScale
from rbgym.agents.controllers.swing_up import SwingUp
from rbgym.agents.controllers.wheels import fitted
from rbgym.envs.arguments import hint

CONTROLLERS: dict[str, Callable[[Any], "Policy"]] = {
    "pd": pd.for_env,
    "swing_up": SwingUp.for_env,
    "lqr": PrecessionLQR.for_env,
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


def make(name: str, env: Any) -> Policy:
    """The controller of that name for an env, single or vector; ValueError if there is none."""
    if name not in CONTROLLERS:
        raise ValueError(f"controller must be one of {names()}, got {name!r}{hint(name, names())}")
    policy: Policy = fitted(CONTROLLERS[name](env), env)
    return policy
