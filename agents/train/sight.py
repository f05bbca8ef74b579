"""What a network is shown of an observation: every column within +-1, and finely near the goal."""

import math
from typing import Any

import numpy as np

from rbgym.agents.policies.network import Normalizer, read_by_networks
from rbgym.envs.parts.columns import Column
from rbgym.envs.parts.goals import Rest, Target

# Where an error at the edge of success stands on the finest scale: a slope is seen on both sides.
_EDGE = 0.35
_LEAST = 3.0  # a scale so little finer shows nothing new
_MOST_APART = 30.0  # from there on there is a scale between two
# Columns of the forms of the attitude that are zero at a target, and their slope there: what of
# them an angle of 1 rad is.
_FORMS = {
    "quaternion": ((1, 2, 3), 0.5),
    "quaternion_continuous": ((1, 2, 3), 0.5),
    "mrp": ((0, 1, 2), 0.25),
    "log_error": ((0, 1, 2), 1.0),
    "rotation_matrix": ((1, 2, 3, 5, 6, 7), 1.0),
    "rotation_6d": ((1, 2, 3, 5), 1.0),
}
_VECTOR = (0, 1, 2)


def normalizer_for(env: Any) -> Normalizer:
    """The normaliser for an env of rbgym, single or vector.

    Each column over its bound; and those in which the task's tolerances are a small part of the
    bound once more at one or two finer scales, clipped: a network of a few layers does not see a
    thousandth of its range.
    """
    columns = read_by_networks(env)
    bounds = np.concatenate([np.asarray(one.high, dtype=float) for one in columns.values()])
    factors = [1.0 / bound if 0 < bound < math.inf else 1.0 for bound in bounds]
    repeats: list[int] = []
    for k, tolerance in _tolerances(env.unwrapped, columns):
        finer = _EDGE / tolerance / factors[k]
        between = [math.sqrt(finer)] if finer > _MOST_APART else []
        for step in (*between, finer) if finer > _LEAST else ():
            repeats.append(k)
            factors.append(step * factors[k])
    variance = np.array(factors) ** -2.0
    return Normalizer(np.zeros(len(factors)), variance, 1.0, 1e-12, tuple(repeats))


def _tolerances(env: Any, columns: dict[str, Column]) -> list[tuple[int, float]]:
    """Columns that are zero at the goal, and what in them the edge of success is."""
    task, goal, parts = env.task, env.goal, list[tuple[str, tuple[int, ...], float]]()
    if isinstance(goal, Target) and not task.split:
        parts += [(n, zeros, task.angle * slope) for n, (zeros, slope) in _FORMS.items()]
    if isinstance(goal, Target | Rest):
        parts.append(("angular_velocity", _VECTOR, task.rate))
    if task.docked is not None:
        parts += [
            (n, _VECTOR, x) for n, x in zip(("position", "velocity"), task.docked, strict=True)
        ]
    if math.isfinite(task.momentum) and "wheel_momentum" in columns:
        parts.append(
            ("wheel_momentum", tuple(range(columns["wheel_momentum"].size)), task.momentum)
        )
    return [
        (columns[name].first + k, tolerance / columns[name].factor)
        for name, zeros, tolerance in parts
        if name in columns
        for k in zeros
    ]
