"""The hooks of every task: arguments turned into parts. ValueErrors name what is allowed."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbgym.arguments import is_number, number, positive
from rbgym.body import RigidBody
from rbgym.envs.actuators.mounting import Differing
from rbgym.envs.arguments import floats, hint, keys
from rbgym.envs.parts.disturbances import Calm, Pushed
from rbgym.envs.parts.endings import Ends, KeepOut
from rbgym.envs.parts.goals import Axis, Rest, Spin, Target
from rbgym.envs.parts.observations import Preview, TargetRate
from rbgym.envs.parts.rewards import TERM_NAMES, Weighted
from rbgym.envs.parts.sensors import Noisy, Perfect
from rbgym.envs.parts.spreads import Nominal, Spread
from rbgym.envs.random import LARGEST_NORMAL
from rbgym.potentials import CircularOrbit
from rbgym.quaternion import Array, Vector

REWARDS: dict[str, dict[str, float]] = {"dense": {"closeness": 1.0}, "sparse": {"success": 1.0}}
DISCOUNT = 0.99  # of the progress term


def triple(values: ArrayLike) -> Vector:
    """Three floats."""
    x, y, z = (float(v) for v in np.asarray(values, dtype=float))
    return (x, y, z)


def _number(argument: str, value: Any, low: float, high: float) -> float:
    found = number(value)
    if not low <= found <= high:
        raise ValueError(f"{argument} must be in [{low:g}, {high:g}], got {value!r}")
    return found


def _vector(argument: str, value: Any, *, unit: bool = False) -> Vector:
    array = floats(argument, value)
    good = array.shape == (3,) and np.isfinite(array).all()
    if not good or (unit and (abs(array).max() > 2 or abs(np.linalg.norm(array) - 1) > 1e-9)):
        raise ValueError(
            f"{argument} must be a {'unit' if unit else 'finite'} vector (3,), got {value!r}"
        )
    return triple(array)


# --- start ----------------------------------------------------------------------------------


def start(
    default: Any,
    initial: Mapping[str, float] | None,
    ends: Ends,
    goal: Any,
    ranges: Mapping[str, tuple[float, float]],
) -> Any:
    """The start, some of its fields replaced; ValueError if every one would be over at once.

    ranges: what fields may be, where they are neither angles nor rates.
    """
    rate_limit = ends.rate
    given = keys("initial", {} if initial is None else initial, default._fields)
    for name, value in given.items():
        label = f"initial[{name!r}]"
        if name in ranges:
            given[name] = _number(label, value, *ranges[name])
        elif "tilt" in name or "angle" in name:
            given[name] = _number(label, value, 0.0, math.pi)
        else:
            signed = name in ("precession", "mean_spin")
            given[name] = _number(label, value, -rate_limit if signed else 0.0, rate_limit)
    record = default._replace(**given)
    for low in (name for name in record._fields if name.startswith("least_")):
        high = low.removeprefix("least_")
        if getattr(record, low) > getattr(record, high):
            raise ValueError(
                f"initial[{low!r}] must be at most {high} = {getattr(record, high)}, "
                f"got {getattr(record, low)}"
            )
    if getattr(record, "target_angle", 0.0) and not isinstance(goal, Target):
        raise ValueError(
            f"initial['target_angle'] must be 0 without a target, got {record.target_angle}"
        )
    if getattr(record, "least_rate", 0.0) > ends.rate:
        raise ValueError(
            f"initial['least_rate'] must be below the rate limit of {ends.rate:g} rad/s, "
            f"got {record.least_rate}"
        )
    if math.cos(getattr(record, "least_tilt", 0.0)) < ends.cos_tilt:
        raise ValueError(
            f"initial['least_tilt'] must be below {math.acos(ends.cos_tilt):.4g}, beyond which "
            f"the episode is over, got {record.least_tilt}"
        )
    return record


# --- reward ---------------------------------------------------------------------------------


def reward(
    value: str | Mapping[str, float] | Callable[..., Any], shape: Any, rate_limit: float
) -> tuple[Any, tuple[str, ...]]:
    """What a name or a dict of weights stands for, and the names of its terms. A callable, which
    takes its place, has none."""
    if callable(value):
        weights: Mapping[str, float] = {}
    elif isinstance(value, str):
        if value not in REWARDS:
            raise ValueError(
                f"reward must be one of {list(REWARDS)}, a dict of weights or a callable, "
                f"got {value!r}{hint(value, REWARDS)}"
            )
        weights = REWARDS[value]
    else:
        weights = keys("reward", value, TERM_NAMES)
    numbers = [_number(f"reward[{n!r}]", weights.get(n, 0.0), -1e9, 1e9) for n in TERM_NAMES]
    used = [n for n, weight in enumerate(numbers) if weight]
    terms = TERM_NAMES[: used[-1] + 1] if used else ()
    if weights == REWARDS["dense"]:
        return shape, terms  # nothing but it: the quickest
    return Weighted(shape, rate_limit, DISCOUNT, tuple(numbers)), terms  # type: ignore[arg-type]


# --- sensor ---------------------------------------------------------------------------------


def sensor(value: Mapping[str, float] | None) -> Noisy | Perfect:
    """Standard deviations of the measurement."""
    if value is None:
        return Perfect()
    given = keys("sensor", value, Noisy._fields)
    return Noisy(*(_number(f"sensor[{n!r}]", given.get(n, 0.0), 0.0, 1.0) for n in Noisy._fields))


def refuse_noise_beyond_success(noise: Any, angle: float, rate: float, goal: Any) -> None:
    """ValueError where the success region is smaller than the noise of the sensors."""
    angle = math.inf if isinstance(goal, Rest | Spin) else angle
    for field, limit, unit in (("attitude", angle, "rad"), ("rate", rate, "rad/s")):
        value = getattr(noise, field, 0.0)
        if value >= limit:
            raise ValueError(
                f"sensor[{field!r}] must be below the success threshold of {limit:.4g} {unit}, "
                f"got {value!r}"
            )


def preview(seconds: float | None, more: Any) -> Any:
    """What is shown beside attitude and rates, with the target some time ahead if asked for."""
    if seconds is None:
        return more
    if not isinstance(more, TargetRate):
        raise ValueError(f"preview must be left out where the target stays, got {seconds!r}")
    return Preview(more, positive("preview", seconds))


# --- termination ----------------------------------------------------------------------------


def termination(value: Any, ends: Ends, goal: Any) -> Ends | KeepOut:
    """The task's own ends, with a rate limit or a keep-out cone of the user's; "none": the rate
    limit alone, without which the state would have no bound."""
    if value is None or callable(value):
        return ends
    if isinstance(value, str):
        if value == "none":
            return Ends(ends.rate)
        raise ValueError(
            f"termination must be 'none', a dict or a callable, got {value!r}"
            f"{hint(value, ['none'])}"
        )
    given = keys("termination", value, ("rate_limit", "keep_out"))
    if "rate_limit" in given:
        rate = _number("termination['rate_limit']", given["rate_limit"], 1e-9, ends.rate)
        ends = ends._replace(rate=rate)
    if "keep_out" not in given:
        return ends
    cone = keys("termination['keep_out']", given["keep_out"], ("axis", "direction", "half_angle"))
    label = "termination['keep_out']"
    missing = {"axis", "direction", "half_angle"} - set(cone)
    if missing:
        raise ValueError(f"{label} must have axis, direction and half_angle, got {value!r}")
    axis = _vector(f"{label}['axis']", cone["axis"], unit=True)
    direction = _vector(f"{label}['direction']", cone["direction"], unit=True)
    half = _number(f"{label}['half_angle']", cone["half_angle"], 0.0, math.pi)
    if _reaches_into(goal, np.array(axis), np.array(direction), half):
        raise ValueError(
            f"{label} must leave the goal free, but the cone of {half:.4g} rad lies over it"
        )
    return KeepOut(ends, axis, direction, math.cos(half))


def plain(ends: Ends | KeepOut) -> Ends:
    """The ends without the cone."""
    return ends.ends if isinstance(ends, KeepOut) else ends


def _reaches_into(goal: Any, axis: Array, direction: Array, half: float) -> bool:
    """Whether the body axis lies in the cone at the goal; of a goal that leaves it free, no."""
    if isinstance(goal, Target):
        return float(axis @ direction) >= math.cos(half)
    if isinstance(goal, Axis) and abs(axis[2]) == 1.0:
        nutation = math.atan2(goal.sin_nutation, goal.cos_nutation)
        nutation = nutation if axis[2] > 0 else math.pi - nutation
        # Precession leads the axis all around the vertical.
        return abs(math.acos(np.clip(direction[2], -1, 1)) - nutation) <= half
    return False


# --- disturbance ----------------------------------------------------------------------------


def disturbance(value: Any, has_weight: bool) -> tuple[Calm | Pushed, CircularOrbit | None, Array]:
    """The torque beside the commanded one, the orbit, and the largest torque of both [N m]."""
    if value is None or callable(value):
        return Calm(), None, np.zeros(3)
    given = keys("disturbance", value, ("constant", "white_noise", "gravity_gradient"))
    orbit = None
    if "gravity_gradient" in given:
        if has_weight:
            raise ValueError(
                "disturbance['gravity_gradient'] must be left out for a body with weight, "
                f"got {given['gravity_gradient']!r}"
            )
        rate = _number("disturbance['gravity_gradient']", given["gravity_gradient"], 0.0, 1.0)
        orbit = CircularOrbit(rate)
    constant = _vector("disturbance['constant']", given.get("constant", (0, 0, 0)))
    noise = given.get("white_noise", 0.0)
    noise = [noise] * 3 if is_number(noise) else noise
    noise = np.array(_vector("disturbance['white_noise']", noise))
    if (noise < 0).any():
        raise ValueError(f"disturbance['white_noise'] must not be negative, got {noise.tolist()}")
    largest = np.abs(constant) + LARGEST_NORMAL * noise
    pushed = Pushed(constant, triple(noise)) if largest.any() else Calm()
    return pushed, orbit, largest


# --- randomization --------------------------------------------------------------------------


_OF_BODY = ("inertia", "mass", "gravity", "torque")
# Of the actuator: what they are called, and the largest there may be.
_OF_ACTUATOR = {"actuator_scale": 0.9, "misalignment": 1.0, "delay": 0.9, "failure": 1.0}


def randomization(
    value: Mapping[str, float] | None, body: RigidBody, mgl: float, limits: Array
) -> tuple[Spread | Nominal, Differing | None]:
    """Half-widths of the factors drawn for each episode: of the body, and of the actuator."""
    given = keys("randomization", {} if value is None else value, (*_OF_BODY, *_OF_ACTUATOR))
    inertia, mass, gravity, torque = (
        _number(f"randomization[{n!r}]", given.get(n, 0.0), 0.0, 0.9) for n in _OF_BODY
    )
    differing = Differing(
        *(
            _number(f"randomization[{n!r}]", given.get(n, 0.0), 0.0, most)
            for n, most in _OF_ACTUATOR.items()
        )
    )
    spread: Spread | Nominal = Nominal()
    if set(given) & set(_OF_BODY):
        moments = triple(body.moments)
        spread = Spread(inertia, mass, gravity, torque, moments, mgl, triple(limits))
    return spread, differing if any(differing) else None
