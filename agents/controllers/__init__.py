"""Classical controllers, with the interface of learned policies."""

import difflib
from typing import Any, Protocol

from rbgym.agents.controllers.pd import QuaternionPD

CONTROLLERS = {"pd": QuaternionPD}


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
        near = difflib.get_close_matches(name, names(), n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"controller must be one of {names()}, got {name!r}{hint}")
    return CONTROLLERS[name].for_env(env)
