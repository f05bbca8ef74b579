"""Playing an environment and cutting what was seen into one motion for each lane and episode."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import ArrayLike, NDArray

from rbgym.potentials import GravityGradient, NoPotential
from rbgym.quaternion import Array
from rbgym.testing.motion import Motion

Env: TypeAlias = gym.Env[Any, Any] | VectorEnv[Any, Any, Any]
Row: TypeAlias = dict[str, Array]
Flags: TypeAlias = NDArray[np.bool_]


def row_of(q: ArrayLike, omega: ArrayLike, energy: ArrayLike, momentum: ArrayLike) -> Row:
    """What is seen at one instant, each with a leading lane axis, copied."""
    return {
        "quaternion": np.array(q, dtype=np.float64).reshape(-1, 4),
        "angular_velocity": np.array(omega, dtype=np.float64).reshape(-1, 3),
        "energy": np.array(energy, dtype=np.float64).reshape(-1),
        "angular_momentum": np.array(momentum, dtype=np.float64).reshape(-1, 3),
    }


def see_own(env: Env) -> Row:
    """A row of an environment in rbgym's manner, or of Gymnasium's vector of such."""
    state, invariants = _own(env, "state"), _own(env, "invariants")
    seen = [[part[k] for part in state] for k in ("quaternion", "angular_velocity")]
    seen += [[part[k] for part in invariants] for k in ("energy", "angular_momentum")]
    return row_of(*seen)


def _own(env: Env, name: str) -> Sequence[Any]:
    """An attribute, or what a method returns, of the environment or of each one in it."""
    base = env.unwrapped
    if hasattr(base, name):
        value = getattr(base, name)
        return [value() if callable(value) else value]
    try:
        assert isinstance(base, VectorEnv)
        return list(base.call(name))  # type: ignore[attr-defined]  # of Sync- and AsyncVectorEnv
    except (AssertionError, AttributeError) as error:
        raise ValueError(
            "read and inertia must be given for an environment that has no env.unwrapped.state "
            f"and env.unwrapped.invariants(), got {base}"
        ) from error


def conserved_axis(env: Env) -> Array | None:
    """World axis of the momentum that the potential of the (first) environment leaves alone."""
    try:
        potential = _own(env, "potential")[0]
    except ValueError:
        return None
    match potential:
        case None | NoPotential():
            return None
        case GravityGradient(_, direction):
            return np.asarray(direction, dtype=np.float64)
    return np.array([0.0, 0.0, 1.0])


def play(
    env: Env,
    action: Any,
    steps: int,
    see: Callable[[Any], Row],
    options: dict[str, Any] | None,
    *,
    stop: bool,
) -> tuple[list[Row], list[Flags]]:
    """Rows (the first is of now), and which lanes begin an episode in each.

    stop: at the first end of an episode in any lane, after its last row where that is seen.
    """
    rows = [see(env)]
    nobody = np.zeros(len(rows[0]["energy"]), dtype=bool)
    fresh, mode = [~nobody], env.metadata.get("autoreset_mode")
    vector = isinstance(env, VectorEnv)
    begins = nobody
    for _ in range(steps):
        _, _, terminated, truncated, _ = env.step(action)
        done = np.asarray(terminated | truncated).reshape(-1)
        replaced = done if vector and mode is AutoresetMode.SAME_STEP else nobody
        if stop and replaced.any():
            break
        rows.append(see(env))
        fresh.append(begins | replaced)
        begins = nobody
        if stop and done.any():
            break
        if vector and mode is AutoresetMode.NEXT_STEP:
            begins = done
        elif done.any() and not replaced.any():
            mask = {"reset_mask": done.copy()} if vector else {}
            env.reset(options={**(options or {}), **mask} or None)
            rows.append(see(env))
            fresh.append(done)
    return rows, fresh


def episodes(rows: list[Row], fresh: list[Flags], axis: Array | None) -> list[Motion]:
    """One motion for each lane and episode of at least one step."""
    table = {key: np.stack([row[key] for row in rows]) for key in rows[0]}
    begun, motions = np.stack(fresh), []
    lanes = begun.shape[1]
    for lane in range(lanes):
        bounds = [*np.flatnonzero(begun[:, lane]).tolist(), len(rows)]
        for number, (first, last) in enumerate(pairwise(bounds), 1):
            part = {key: values[first:last, lane] for key, values in table.items()}
            where = f"episode {number}" + (f", lane {lane}" if lanes > 1 else "")
            if last - first > 1:
                motions.append(Motion(**part, axis=axis, where=where))
    return motions
