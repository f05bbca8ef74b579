"""What a policy reads and commands, by name, unit, frame and scale: what a flight computer has to
hand to it, and to make of its answer."""

import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rbgym import __version__
from rbgym.agents.controllers.base import relative
from rbgym.agents.policies import Network
from rbgym.agents.policies.network import joined
from rbgym.envs.actuators import Beside, Forces, MagneticCoils, ReactionWheels, Scaling
from rbgym.envs.base import AttitudeEnv
from rbgym.envs.parts.constraints import Limited
from rbgym.envs.parts.observations import (
    FORMS,
    Both,
    Offset,
    Preview,
    TargetQuaternion,
    TargetRate,
    WantedSpin,
    World,
)

CONVENTIONS = (
    "Quaternions are scalar first (w, x, y, z), of unit length, and map body to world; relative to "
    "a target, body to target. observation = quantity / scale, cut at low and high; commanded "
    "quantity = scale * action, the action cut at +-1 and held for one control period."
)
_BODY, _WORLD = "body axes", "body to world"
Entry = dict[str, Any]


def checked_env(env: Any) -> AttitudeEnv:
    """The bare single env; ValueError for any other."""
    base = getattr(env, "unwrapped", None)
    if not isinstance(base, AttitudeEnv):
        raise ValueError(f"env must be a single environment of rbgym, got {env!r}")
    return base


def row(env: AttitudeEnv, policy: Any, observation: Any) -> Any:
    """An observation as the numbers (width,) float32 that the exported policy reads: of goals,
    a network reads all parts in the order of their names, a law the attitude relative to that
    wanted."""
    if not env.task.split:
        return observation
    flat = joined if isinstance(policy, Network) else relative
    return np.asarray(flat(observation), np.float32)


def contract(
    env: AttitudeEnv, policy: Any, bounds: Any, about: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The contract as data for JSON. bounds: lowest and highest of what it reads, two rows.
    about: what else is to be told, the policy's name and such; ValueError for what JSON has not."""
    try:
        more = json.loads(json.dumps(dict(about or {}), allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise ValueError(f"about must be a dict of plain data, got {about!r}") from None
    return {
        "rbgym": __version__,
        **more,
        "control_period_s": env.dt,
        "conventions": CONVENTIONS,
        "observation": _placed(_observed(env, policy), bounds),
        "action": _placed(_commanded(env, env.actuator), np.array([[-1.0], [1.0]]) * np.ones(1000)),
    }


def _entry(name: str, size: int, unit: str, frame: str, scale: Any = 1.0, what: str = "") -> Entry:
    scales = np.broadcast_to(np.asarray(scale, dtype=np.float64), (size,)).tolist()
    told = {"what": what} if what else {}
    return {"name": name, "size": size, "unit": unit, "frame": frame, "scale": scales, **told}


def _placed(entries: Sequence[Entry], bounds: Any) -> list[Entry]:
    """The entries, each with its first column and its bounds."""
    placed, first = [], 0
    for entry in entries:
        last = first + entry["size"]
        low, high = (np.asarray(side[first:last], np.float64).tolist() for side in bounds)
        placed.append({"first": first, **entry, "low": low, "high": high})
        first = last
    return placed


def _observed(env: AttitudeEnv, policy: Any) -> list[Entry]:
    setup = env.episodes.setup
    shown, has_target = setup.parts.observation, setup.parts.goal.has_target()
    rates = _entry("angular_velocity", 3, "rad/s", _BODY, shown.scale)
    beside = [*_beside(shown.also), *_of_actuator(env)]
    if env.task.split:
        if isinstance(policy, Network):  # in the order of the names
            goals = (_entry(f"{name}_goal", 4, "1", _WORLD) for name in ("achieved", "desired"))
            return [*goals, _entry("quaternion", 4, "1", _WORLD), rates, *beside]
        return [_entry("quaternion", 4, "1", "body to target"), rates, *beside]
    form, to = shown.form, "body to target" if has_target else _WORLD
    name = next((n for n, one in FORMS.items() if type(one) is type(form)), "quaternion")
    frame = _WORLD if isinstance(form, World) else to
    what = " ".join((inspect.getdoc(type(form)) or "").split())
    unit = "rad" if name == "log_error" else "1"
    attitude = _entry(name, form.width(), unit, frame, what=what)
    return [attitude, rates, *_beside(shown.more), *beside]


def _beside(more: Any) -> list[Entry]:
    """What is shown beside attitude and rates."""
    match more:
        case TargetRate():
            return [_entry("target_angular_velocity", 3, "rad/s", _BODY, more.scale)]
        case Preview():
            what = f"where the target is {more.seconds:g} s from now"
            ahead = _entry("quaternion_ahead", 4, "1", "body to target", what=what)
            return [*_beside(more.rate), ahead]
        case Both():
            return [*_beside(more.one), *_beside(more.other)]
        case TargetQuaternion():
            return [_entry("target_quaternion", 4, "1", "target to world")]
        case Offset():
            position = _entry("position", 3, "m", _BODY, more.distance, "from the dock")
            return [position, _entry("velocity", 3, "m/s", _BODY, more.speed)]
        case Limited():
            what = "direction of each cone to be kept out of"
            return [_entry("keep_out", more.width(), "1", _BODY, what=what)] * bool(more.width())
        case WantedSpin():
            return [_entry("wanted_spin", 1, "rad/s", "body z axis", more.scale)]
    # A part that others wrote tells of itself on its page.
    return [_entry(type(more).__name__, more.width(), "", "", what=more.columns(7))] * bool(
        more.width()
    )


def _of_actuator(env: AttitudeEnv) -> list[Entry]:
    assembly, found = env.episodes.setup.actuator, _shown_by(env.actuator)
    rest = assembly.shown.shape[1] - sum(one["size"] for one in found)
    what = "responses of a lag and commands that have yet to act, see docs/actuators.md"
    return found + [_entry("actuator", rest, "1", "", what=what)] * bool(rest)


def _shown_by(effector: Any) -> list[Entry]:
    match effector:
        case Beside():
            return _shown_by(effector.wheels) + _shown_by(effector.other)
        case ReactionWheels():
            n = effector.matrix.shape[1]
            return [_entry("wheel_momentum", n, "N m s", _axes(effector), effector.momentum)]
        case MagneticCoils():
            return [_entry("magnetic_field", 3, "T", _BODY, 2.0 * effector.field)]
        case Scaling():
            rate = _entry("scale_rate", 1, "1/s", "", effector.rate)
            return [_entry("scale", 1, "1", ""), rate]
    return []


def _axes(wheels: ReactionWheels) -> str:
    return f"wheel axes {wheels.matrix.T.round(6).tolist()} in body axes"


def _commanded(env: AttitudeEnv, effector: Any) -> list[Entry]:
    strength, limits = env.torque_scale, env.torque_limit
    match effector:
        case Beside():
            return _commanded(env, effector.wheels) + _commanded(env, effector.other)
        case ReactionWheels():
            n, full = effector.matrix.shape[1], strength * effector.torque
            return [_entry("wheel_torque", n, "N m", f"{_axes(effector)}, on the body", full)]
        case MagneticCoils():
            return [_entry("magnetic_moment", 3, "A m^2", _BODY, strength * effector.dipole)]
        case Scaling():
            return [_entry("scaling_force", 1, "N m", "outwards", strength * effector.force)]
        case Forces():
            force = _entry("force", 3, "N", _BODY, strength * effector.force)
            return [force, _entry("torque", 3, "N m", _BODY, limits)]
    return [_entry("torque", 3, "N m", _BODY, limits)]
