"""Arguments that every task takes, checked: a ValueError names the argument and what is allowed."""

import difflib
import inspect
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike

from rbgym.arguments import count, is_number, real
from rbgym.body import RigidBody
from rbgym.engine.batch import Batch
from rbgym.quaternion import Array

T = TypeVar("T")


def named(argument: str, value: Any, names: Iterable[str]) -> None:
    """Refuse what is neither callable nor one of the names."""
    known = list(names)
    if callable(value) or (isinstance(value, str) and value in known):
        return
    raise ValueError(
        f"{argument} must be one of {known} or a callable, got {value!r}{hint(value, known)}"
    )


def hint(value: Any, known: Iterable[str]) -> str:
    """A name that may have been meant."""
    near = difflib.get_close_matches(str(value), list(known), n=1, cutoff=0.4)
    return f"; did you mean {near[0]!r}?" if near else ""


def keys(argument: str, value: Any, known: Collection[str]) -> dict[str, Any]:
    """The mapping, or ValueError if it is none or has a key that is not known."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{argument} must be a dict with keys out of {list(known)}, got {value!r}")
    for key in value:
        if key not in known:
            raise ValueError(
                f"{argument} must have keys out of {list(known)}, got {key!r}{hint(key, known)}"
            )
    return dict(value)


def made(argument: str, kind: Callable[..., T], value: Any) -> T:
    """What `kind` makes of a mapping of its arguments, or ValueError for one that is unknown or
    missing."""
    known = inspect.signature(kind).parameters
    given = keys(argument, value, known)
    missing = [n for n, one in known.items() if one.default is one.empty and n not in given]
    if missing:
        raise ValueError(f"{argument} must have {' and '.join(missing)}, got {value!r}")
    return kind(**given)


def body_or(value: RigidBody | Mapping[str, Any] | None, default: RigidBody) -> RigidBody:
    """The body, or that with the arguments in a mapping, or the default for None."""
    if value is None:
        return default
    if isinstance(value, Mapping):
        return made("body", RigidBody, value)
    if not isinstance(value, RigidBody):
        raise ValueError(f"body must be a rbgym.RigidBody or a dict that makes one, got {value!r}")
    return value


def upright_moment(body: RigidBody, gravity: float) -> float:
    """Moment of the weight [N m] of a body that lies down, its centre of mass on the z axis."""
    x, y, z = body.center_of_mass
    if x != 0 or y != 0 or not z > 0:
        raise ValueError(
            "body must have its center_of_mass at (0, 0, z > 0), or mgl must be given, "
            f"got {body.center_of_mass.tolist()}"
        )
    return body.gravity_moment(gravity)


def floats(argument: str, value: Any) -> Array:
    """The value as an array of floats, or a ValueError that names the argument."""
    return real(argument, value, "numbers")


def horizon(max_episode_steps: int | None) -> float:
    """Number of steps after which an episode is truncated; None and -1 stand for no limit."""
    if max_episode_steps is None or (is_number(max_episode_steps) and max_episode_steps == -1):
        return math.inf
    return float(count("max_episode_steps", max_episode_steps))


def torque_limits(value: ArrayLike | None, default: Array) -> Array:
    """Torque [N m] of a full command about each body axis, (3,), or the default for None."""
    if value is None:
        return default
    limits = floats("torque_limit", value)
    if limits.shape not in ((), (3,)) or not np.all(np.isfinite(limits) & (limits >= 0)):
        raise ValueError(f"torque_limit must be non-negative, () or (3,), got {value!r}")
    return np.broadcast_to(limits, (3,)).copy()


def sample_state(batch: Batch) -> dict[str, Array]:
    """A state to try hooks on: that of the bodies before their first episode."""
    n = batch.size
    return {
        **batch.measure(),
        "time": np.zeros(n),
        "target_quaternion": np.tile([1.0, 0.0, 0.0, 0.0], (n, 1)),
        "target_angular_velocity": np.zeros((n, 3)),
    }


def unbounded(observation: Any, state: dict[str, Array]) -> spaces.Box:
    """The space of a Python observation hook, tried on the state as it stands."""
    n = len(state["time"])
    sample = real("observation", observation(state), f"a function that returns numbers ({n}, k)")
    if sample.ndim != 2 or len(sample) != n:
        raise ValueError(f"observation must return shape ({n}, k), got {sample.shape}")
    if not np.isfinite(sample).all():
        raise ValueError(f"observation must return finite values, got {sample!r}")
    return spaces.Box(-math.inf, math.inf, sample.shape[1:], np.float32)
