"""Makes a controller by name for an env: checks that the law fits, and fits it to the actuator."""

import math
import warnings
from collections.abc import Callable
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Space

from rbgym.agents.catalogue import CONTROLLERS, PLANNERS, names
from rbgym.agents.controllers.actuators import Allocated, MagneticAllocation, Unloading
from rbgym.agents.controllers.base import Controller, Idle, Law, Plant, plant_of
from rbgym.agents.controllers.foresight import PREDICTED, Foreseeing, Learned
from rbgym.agents.controllers.pd import PosePD
from rbgym.envs.arguments import keys, named
from rbgym.envs.planning import episodes_of


def maker(name: str) -> Callable[..., Controller]:
    """The function that makes this law from an env and its gains."""
    home, _, law = CONTROLLERS[name].partition(".")
    module = import_module(f"rbgym.agents.controllers.{home}")
    made: Callable[..., Controller] = (getattr(module, law) if law else module).for_env
    return made


def make(name: str, env: Any, **gains: Any) -> Controller:
    """The controller of that name for an env, single or vector, with its actuator.

    gains: arguments of the law's class, else its defaults; with wheels also `out`, the number of a
    failed wheel, which the others replace. Raises ValueError if there is no such controller or
    gain, or if it does not fit the env; warns if the env is outside the law's `validity`.
    """
    try:
        plant, gains = _plant(name, env, gains)
        made = _made(name, plant, gains)
    except ValueError as error:
        fits = for_env(env, planners=True)
        if isinstance(name, str) and name in fits:  # a gain is wrong
            raise
        raise ValueError(f"{error}; these laws fit: {', '.join(fits)}") from None
    for words, most, value in _validity(made, plant):
        if value >= most:
            warnings.warn(
                f"{name!r} holds for a {words} below {most:.3g}, in this env it is {value:.3g}: "
                "set a shorter dt or delay or, with coils, a lower rate_limit",
                stacklevel=2,
            )
    return made


def at_work(policy: Any, env: Any, **gains: Any) -> Any:
    """A policy as it runs in an env, single or vector.

    policy: a controller's name, which `make` makes with these gains; or any object with `predict`,
    which takes no gains. An object is returned unchanged, with one exception: a trained policy that
    reads all observations of the env but its pending commands and its response, as its training had
    no delay and no lag, is returned in a `Foreseeing`; a model of Stable-Baselines3 only as
    `TrainedPolicy.of(model)`, which has its normaliser. ValueError for anything else, and for a
    policy whose `action_space` or `observation_space` is that of another env, or of a wrapper that
    scales it; the dtype, and how fast the body can turn, may differ.
    """
    if isinstance(policy, str):
        return make(policy, env, **gains)
    if not callable(getattr(policy, "predict", None)):
        raise ValueError(f"policy must be a controller's name or have predict, got {policy!r}")
    if gains:
        raise ValueError(f"gains must be left out for a policy, {policy!r}, got {gains}")
    seen = readable(env)
    commands = getattr(env, "single_action_space", env.action_space)
    for name, able in (("action_space", [commands]), ("observation_space", seen)):
        space = getattr(policy, name, None)
        if isinstance(space, Space) and _marks(space) not in map(_marks, able):
            given = " or ".join(map(str, able))
            raise ValueError(f"policy must have the {name} {given}, got {space}")
    is_model = hasattr(policy, "get_vec_normalize_env")
    for early in seen[1:]:
        if isinstance(space, Box) and space.shape == early.shape and not is_model:
            return Foreseeing(Learned(policy, early.shape[0]), Plant(env))
    return policy


def _marks(space: Any) -> Any:
    """What the spaces of any two bodies share, and a wrapper that scales one changes: the shape,
    and which bounds are 0, 1, another number (here 2), or infinite."""
    if isinstance(space, Dict):
        return {key: _marks(part) for key, part in space.items()}
    if not isinstance(space, Box):
        return space
    bounds = np.array([space.low, space.high])
    sizes = np.select([abs(bounds) == 1.0, np.isfinite(bounds)], [1.0, 2.0], np.inf)
    return (np.sign(bounds) * sizes).tolist()


def readable(env: Any) -> list[Any]:
    """The observation spaces of the policies that can run in an env, single or vector: its own and,
    if it has a delay or a lag, that without the pending commands and the response, where all other
    columns are `PREDICTED`, attitude and rates among them. ValueError unless it is rbgym's."""
    base, _ = episodes_of(env)
    space = getattr(env, "single_observation_space", env.observation_space)
    late = base.columns.get("actuator")
    known = {"quaternion", "angular_velocity"} <= base.columns.keys() <= PREDICTED
    if late is None or not isinstance(space, Box) or not known:
        return [space]
    return [space, Box(space.low[: late.first], space.high[: late.first], dtype=space.dtype.type)]


def validity(name: str, env: Any) -> list[tuple[str, float, float]]:
    """Conditions under which the controller of that name works: for each the number in words, its
    bound, and its value in the env, single or vector, which must be below the bound."""
    plant, _ = _plant(name, env, {})
    return _validity(_made(name, plant, {}), plant)


def _validity(law: Controller, plant: Plant) -> list[tuple[str, float, float]]:
    """`validity` of a law. Until the moment m of its coils acts, the field B rotates in body axes,
    at most at the rate limit; beyond a quarter turn m x B speeds up the body. Torque against the
    rates drives a flexible mode that is a quarter period further when it acts."""
    found, dt = [], plant.env.dt
    if law.late is not None:
        turn = plant.env.rate_limit * (law.late * dt + plant.delay + plant.lag)
        found.append(("turn at the rate limit until a command acts [rad]", 0.5 * math.pi, turn))
    if plant.vibrates and not isinstance(law, Idle):
        means = plant.env.episodes.setup.parts.sensor.shows_means()
        phase = plant.vibrates * ((1.0 if means else 0.5) * dt + plant.delay)
        found.append(("phase of a flexible mode until a command acts [rad]", 0.5 * math.pi, phase))
    return found


def _plant(name: str, env: Any, gains: dict[str, Any]) -> tuple[Plant, dict[str, Any]]:
    """The plant, and the law's own gains; ValueError for an unknown name or gain."""
    named("controller", name, CONTROLLERS)
    plant = Plant(env)
    if gains:
        of_wheels = [] if plant.wheels is None else ["out"]
        keys(f"gains of {name!r}", gains, [*_gains(name, plant), *of_wheels])
    own = {gain: value for gain, value in gains.items() if gain != "out"}
    return (plant if "out" not in gains else Plant(env, gains["out"])), own


def _made(name: str, plant: Plant, gains: dict[str, Any]) -> Controller:
    law = maker(name)(plant, **gains)
    fitted = _fitted(law, plant)
    late = plant.delay + plant.lag > 0 and not (law.by_name or isinstance(law, Idle))
    return Foreseeing(fitted, plant) if late and (plant.mixing.any() or plant.coils) else fitted


def _gains(name: str, env: Any) -> list[str]:
    """The gains of a law: its arguments with a default that the env does not determine."""
    plant = plant_of(env)
    law = maker(name)(plant)
    said = law.arguments(plant)
    takes = signature(type(law)).parameters.values()
    return [p.name for p in takes if p.default is not p.empty and p.name not in said]


def for_env(env: Any, planners: bool = False) -> list[str]:
    """Names of the controllers that fit an env, single or vector; "idle" fits every env.

    planners: include `PLANNERS`. Raises ValueError for an env that is not rbgym's. Warns of laws
    that are left out because they need a package that is not installed.
    """
    plant, found = Plant(env), []
    for name in names():
        if planners or name not in PLANNERS:
            try:
                _made(name, plant, {})
                found.append(name)
            except ValueError:
                pass  # it does not fit
            except ModuleNotFoundError as missing:
                warnings.warn(f"the law {name} is left out: {missing}", stacklevel=2)
    return found


def _fitted(policy: Controller, plant: Plant) -> Controller:
    """Fit a law of torque to the actuator of an env; other controllers are returned unchanged."""
    reads = (policy.least or isinstance(policy, Law)) and not policy.by_name
    if reads and not plant.reads:
        raise ValueError(
            "env must show the attitude as a quaternion for this controller, "
            f'observation="quaternion", got {next(iter(plant.columns))!r}'
        )
    if not isinstance(policy, Law):
        return policy
    if plant.moves and not (plant.reads == 10 or isinstance(policy, PosePD)):
        raise ValueError(
            "env must show the rates of its moving target after those of the body, scaled by "
            f"rate_limit, for this controller, got {[*plant.columns]}"
        )
    if plant.scaling is not None:
        raise ValueError(f"env must have torque for this controller, got {plant.actuator!r}")
    if plant.wheels is not None:
        rates = plant.columns["angular_velocity"].first
        shared = Allocated(
            policy, plant.wheels, plant.strength, first=plant.first, rates=rates, out=plant.out
        )
        if plant.unloads is None:
            return shared
        return Unloading(shared, plant.unloads, plant.unloads_by, pulse=plant.pulse)
    if plant.coils is not None:
        dipole, field = plant.given["dipole"], plant.given["field"]
        return MagneticAllocation(policy, dipole=dipole, field=field, first=plant.first)
    commands, channels = 6 if isinstance(policy, PosePD) else 3, plant.given["channels"]
    if channels != commands or "torque" not in plant.commands:
        raise ValueError(
            f"env must take {commands} commands, named torque, for this controller, got "
            f"{plant.actuator!r}, which takes {channels}, named {', '.join(plant.commands)}"
        )
    return policy
