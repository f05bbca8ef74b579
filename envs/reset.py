"""Checks the arguments of a reset: seeds, lanes and states; places bodies in a state."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rbgym.arguments import is_number, quietly, real
from rbgym.envs import rows as at
from rbgym.envs.episodes import Episodes, Lanes, StartGroups
from rbgym.envs.orbit import places_of
from rbgym.envs.parts.starts import Start
from rbgym.quaternion import Array
from rbgym.rows import J

_NEEDED = {"quaternion", "angular_velocity"}


def checked_seed(seed: Any) -> int:
    """A seed as an int; ValueError unless it is an integer from 0 to 2**64 - 1."""
    if not (is_number(seed) and isinstance(seed, int | np.integer) and 0 <= int(seed) < 2**64):
        raise ValueError(f"seed must be an integer from 0 to 2**64 - 1, got {seed!r}")
    return int(seed)


def lane_seeds(seed: Any, size: int) -> list[int | None]:
    """A seed for each lane; None keeps the lane's current one."""
    if seed is None:
        return [None] * size
    many = isinstance(seed, Sequence) and not isinstance(seed, str | bytes | bytearray)
    if many or (isinstance(seed, np.ndarray) and seed.ndim > 0):
        if len(seed) != size:
            raise ValueError(f"seed must have one entry for each of {size} lanes, got {len(seed)}")
        return [None if s is None else checked_seed(s) for s in seed]
    first = checked_seed(seed)
    return [checked_seed(first + i) for i in range(size)]


def masked_lanes(options: dict[str, Any], size: int) -> Lanes:
    """The lanes that options["reset_mask"] selects, by default all."""
    mask = options.get("reset_mask")
    if mask is None:
        return np.arange(size)
    if not isinstance(mask, np.ndarray) or mask.dtype != bool or mask.shape != (size,):
        raise ValueError(f'options["reset_mask"] must be bool of shape ({size},), got {mask!r}')
    if not mask.any():
        raise ValueError('options["reset_mask"] must name at least one lane, got none')
    return np.flatnonzero(mask)


def per_lane(argument: str, value: Any, shape: tuple[int, ...], lanes: Lanes, size: int) -> Array:
    """The value of each of n lanes, (n, *shape). value: one for all, one for each, or one for each
    lane of the env (size, *shape); else ValueError."""
    found, each = real(argument, value, "numbers"), (len(lanes), *shape)
    if found.shape == (size, *shape):
        found = found[lanes]
    if found.shape not in (shape, each) or not np.isfinite(found).all():
        raise ValueError(f"{argument} must be finite, of shape {shape} or {each}, got {found!r}")
    return np.broadcast_to(found, each)


def grouped_by_start(
    options: dict[str, Any], lanes: Lanes, size: int, start_of: Callable[[Any], Start]
) -> StartGroups:
    """The lanes grouped by the start that options["initial"] gives them: one for all, or a list of
    one for each lane. Nothing without it. start_of: makes one."""
    wanted = options.get("initial")
    if wanted is None:
        return []
    if options.get("state") is not None:
        raise ValueError(f'options["initial"] must be left out with a state, got {wanted!r}')
    each = wanted if isinstance(wanted, list | tuple) else [wanted] * len(lanes)
    if len(each) not in (len(lanes), size):
        raise ValueError(
            f'options["initial"] must have one entry for each of {len(lanes)} lanes, got {wanted!r}'
        )
    each = [each[lane] for lane in lanes] if len(each) == size else each
    names, groups = {one for one in each if isinstance(one, str)}, dict[Start, list[int]]()
    known = {name: start_of(name) for name in names}
    for lane, one in zip(lanes.tolist(), each, strict=True):
        start = known[one] if isinstance(one, str) else start_of(one)
        groups.setdefault(start, []).append(lane)
    return [(start, np.array(some)) for start, some in groups.items()]


@quietly
def place(episodes: Episodes, lanes: Lanes, state: Any, moments: Array | None) -> float:
    """Set bodies and targets to options["state"], and what it leaves out to rest, to 0 or where the
    orbit begins; returns `at.PLACED`, or `at.DRAWN` without one.

    moments: principal moments of the lanes (n, 3); None: the original ones of the bodies.
    A ValueError changes nothing; otherwise the current episodes are abandoned.
    """
    if state is None:
        return at.DRAWN
    batch, rows, goal = episodes.batch, episodes.rows, episodes.setup.parts.goal
    actuator = rows.physics.actuator.state_row(rows.physics)
    orbit = rows.physics.potential_row()
    # State other than attitude and rates, and the goal's: first row and `Key`.
    keys = {
        **{n: (actuator, k) for n, k in episodes.setup.actuator.state_keys().items()},
        **{n: (orbit, k) for n, k in places_of(rows.physics.potential).items()},
        **{n: (rows.goal_row(), k) for n, k in goal.state_keys().items()},
    }
    may = {*keys, "target_quaternion"} if goal.has_target() else {*keys}
    if not isinstance(state, dict) or state.keys() - may != _NEEDED:
        raise ValueError(
            f'options["state"] must have the keys {sorted(_NEEDED)}, and may have '
            f"{sorted(may)}, got {state!r}"
        )
    n = len(lanes)

    def checked(name: str, width: int) -> Array:
        """The entry as rows (n, width) of the lanes."""
        label, shape = f'options["state"]["{name}"]', () if width == 1 else (width,)
        return per_lane(label, state[name], shape, lanes, episodes.size).reshape(n, width)

    q, omega = checked("quaternion", 4), checked("angular_velocity", 3)
    state = {"target_quaternion": (1.0, 0.0, 0.0, 0.0), **goal.complete_state(state)}
    target = checked("target_quaternion", 4)
    length = np.linalg.norm(target, axis=1, keepdims=True)
    if not np.all(np.abs(length - 1) < 1e-6):
        raise ValueError(
            f'options["state"]["target_quaternion"] must have unit length, got {target!r}'
        )
    others = {}
    for name, (row, key) in keys.items():
        values = checked(name, key.width) if name in state else np.full((n, key.width), key.rest)
        if ((values < key.low) | (values > key.high)).any():
            raise ValueError(
                f'options["state"]["{name}"] must be in [{key.low:g}, {key.high:g}], got {values!r}'
            )
        others[row + key.first] = values
    # Restore the original bodies, so that round-off of an episode does not enter the next start.
    left, turned = batch.rows(J, 6)[lanes], rows.physics.frame_row()
    axes = batch.rows(turned, rows.physics.frame.row_count())[lanes]
    if moments is None:
        moments = np.array([batch.bodies[lane].moments for lane in lanes])
    was = episodes.started, episodes.ready
    episodes.started = episodes.ready = False
    batch.put_rows(J, np.concatenate([moments, 1.0 / moments], axis=1), lanes)
    batch.straighten(lanes)
    try:
        batch.set_state(q, omega, lanes=lanes)
    except ValueError:
        batch.put_rows(J, left, lanes)
        batch.put_rows(turned, axes, lanes)
        episodes.started, episodes.ready = was
        raise
    batch.put_rows(rows.goal_row(), np.zeros((n, goal.rows_needed(rows.physics))), lanes)
    if goal.has_target():
        batch.put_rows(rows.goal_row(), target / length, lanes)
    for row, values in others.items():
        batch.put_rows(row, values, lanes)
    return at.PLACED
