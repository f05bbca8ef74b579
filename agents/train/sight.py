"""What a network is shown of an observation: every column within +-1, and finely near the goal."""

import itertools
import math
from dataclasses import replace
from typing import Any, cast

import numpy as np

from rbgym.agents.policies.network import Network, Normalizer, read_by_networks
from rbgym.envs.parts.columns import Column
from rbgym.envs.parts.goals import Rest, Target
from rbgym.envs.parts.observations import FORMS

# What an error at the edge of success is on the finest scale: a slope is seen on both sides.
_EDGE = 0.35
_LEAST = 3.0  # a scale so little finer shows nothing new
_BETWEEN = 30.0  # from there on there is one between the two
_UNDER_WAY = "actuator"  # the columns of a delay and a lag
# What an angle of 1 rad near a target is in the columns of a form of the attitude.
_SLOPES = {"quaternion": 0.5, "quaternion_continuous": 0.5, "mrp": 0.25}


def normalizer_for(env: Any) -> Normalizer:
    """The normaliser for an env of rbgym, single or vector.

    Each column over its bound; and where the task's tolerances are a small part of the bounds, all
    columns once more at one or two finer scales, clipped: a network of a few layers does not see a
    thousandth of its range. Also those without a tolerance, as what wheels do at rest decides on
    the last hundredths of a degree; not commands under way, which at the finest scale would be
    signs, fed back.
    """
    columns = read_by_networks(env)
    bounds = np.concatenate([np.asarray(one.high, dtype=float) for one in columns.values()])
    factors = np.array([1.0 / bound if 0 < bound < math.inf else 1.0 for bound in bounds])
    edges = _edges(env.unwrapped, columns)
    finest = _EDGE / float(np.exp(np.mean(np.log(edges)))) if edges else 1.0
    steps = [finest] if finest > _LEAST else []
    if finest > _BETWEEN:
        steps.insert(0, math.sqrt(finest))
    fine = [
        one.first + k
        for name, one in columns.items()
        for k in range(one.size)
        if name != _UNDER_WAY
    ]
    scales = np.concatenate([factors, *(step * factors[fine] for step in steps)])
    return Normalizer(np.zeros(len(scales)), scales**-2.0, 1.0, 1e-12, tuple(fine) * len(steps))


def seeing_differences(network: Network, env: Any) -> Network:
    """The network, whose first units begin as differences of the rates to those of a target that
    moves: at the finer scales both are beyond the bounds, and their difference is not."""
    columns, normalizer = read_by_networks(env), cast(Normalizer, network.normalizer)
    edges = _edges(env.unwrapped, columns)
    if "target_angular_velocity" not in columns or not edges:
        return network
    own, wanted = columns["angular_velocity"], columns["target_angular_velocity"]
    weight, bias = network.layers[0][0].copy(), network.layers[0][1]
    finest = _EDGE / env.unwrapped.task.rate  # of a difference in rad/s
    steps = [finest * np.exp(np.mean(np.log(edges))) ** share for share in (0.0, 0.5, 1.0)]
    for row, (step, axis) in enumerate(itertools.product(steps, range(own.size))):
        weight[row] = 0.0
        for sign, one in ((1.0, own), (-1.0, wanted)):
            column = one.first + axis
            weight[row, column] = sign * step * one.factor / normalizer.scale[column]
    return replace(network, layers=((weight, bias), *network.layers[1:]))


def _edges(env: Any, columns: dict[str, Column]) -> list[float]:
    """What the edge of success is in the columns that are zero at the goal, as parts of bounds."""
    task, goal, found = env.task, env.goal, list[float]()
    if isinstance(goal, Target) and not task.split:
        form = next((name for name in columns if name in FORMS), None)
        if form is None:  # the attitude is hidden
            return found
        found.append(task.angle * _SLOPES.get(form, 1.0) / float(np.max(columns[form].high)))
    if isinstance(goal, Target | Rest) and "angular_velocity" in columns:
        rates = columns["angular_velocity"]
        found.append(task.rate / rates.factor / float(np.max(rates.high)))
    return found
