"""Classical controllers, with the interface of learned policies."""

from collections.abc import Callable
from contextlib import suppress
from inspect import signature
from typing import Any, Protocol

import numpy as np

from rbgym.agents.controllers import lqr, pd
from rbgym.agents.controllers.actuators import Allocated, BDot, MagneticAllocation, SpinByScale
from rbgym.agents.controllers.attitude import (
    BangBang,
    GeometricTracking,
    Hysteretic,
    QuaternionFeedback,
    eigenaxis_time,
)
from rbgym.agents.controllers.base import Controller, Idle, Law, Plant
from rbgym.agents.controllers.lqr import AttitudeLQR, PrecessionLQR, SwingUp, UprightLQR
from rbgym.agents.controllers.pd import AttitudePD, AxisPD, PosePD, RateDamping
from rbgym.envs.arguments import hint, named

__all__ = [
    "CONTROLLERS",
    "Allocated",
    "AttitudeLQR",
    "AttitudePD",
    "AxisPD",
    "BDot",
    "BangBang",
    "Controller",
    "GeometricTracking",
    "Hysteretic",
    "Idle",
    "Law",
    "MagneticAllocation",
    "Policy",
    "PosePD",
    "PrecessionLQR",
    "QuaternionFeedback",
    "RateDamping",
    "SpinByScale",
    "SwingUp",
    "UprightLQR",
    "eigenaxis_time",
    "for_env",
    "make",
    "names",
]

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
    named("controller", name, CONTROLLERS)
    plant = Plant(env)
    known = _gains(name, env) if gains else []
    for gain in gains:
        if gain not in known:
            raise ValueError(
                f"gains must be among {known} for {name!r} and this env, got {gain!r}"
                f"{hint(gain, known)}"
            )
    return _fitted(CONTROLLERS[name](env, **gains), plant)


def _gains(name: str, env: Any) -> list[str]:
    """What may be given of a law: whatever has a default and is not the env's to say."""
    law = CONTROLLERS[name](env)
    said = law.arguments(Plant(env))
    takes = signature(type(law)).parameters.values()
    return [p.name for p in takes if p.default is not p.empty and p.name not in said]


def for_env(env: Any) -> list[str]:
    """Names of the controllers that fit an env, single or vector; "idle" fits each.

    Raises ValueError for what is no env of rbgym.
    """
    Plant(env)
    found = []
    for name in names():
        with suppress(ValueError):
            make(name, env)
            found.append(name)
    return found


def _fitted(policy: Controller, plant: Plant) -> Controller:
    """A law of torque for the actuator of an env; whatever else, as it is."""
    reads = policy.least or isinstance(policy, Law)
    if reads and plant.width not in plant.readable:
        raise ValueError(
            "env must show the attitude as a quaternion for this controller, "
            f'observation="quaternion", got {plant.width} columns instead of {plant.readable[0]}'
        )
    if not isinstance(policy, Law):
        return policy
    if plant.scaling is not None:
        raise ValueError(f"env must have torque for this controller, got {plant.actuator!r}")
    policy.width = plant.columns
    if plant.wheels is not None:
        shared = Allocated(policy, plant.wheels, plant.strength, first=plant.first)
        policy.envelope = np.asarray(shared.share / shared.motor, dtype=np.float64)
        return shared
    if plant.coils is not None:
        dipole, field = plant.given["dipole"], plant.given["field"]
        return MagneticAllocation(policy, dipole=dipole, field=field, first=plant.first)
    commands, channels = 6 if isinstance(policy, PosePD) else 3, plant.given["channels"]
    if channels != commands:
        raise ValueError(
            f"env must take {commands} commands for this controller, got {plant.actuator!r}, "
            f"which takes {channels}"
        )
    return policy
