"""Constraints: what a body is not to do, told as costs beside the reward."""

import math
from typing import Any

import numpy as np

from rbgym.arguments import flag, unit
from rbgym.compiled.record import constant
from rbgym.engine.rows import LANES, put_vector, vector, vector_if
from rbgym.envs.actuators import Beside, Effector, ReactionWheels
from rbgym.envs.arguments import in_range, keys, named, triple
from rbgym.envs.parts.goals import Goal
from rbgym.envs.parts.observations import More
from rbgym.envs.parts.starts import Start
from rbgym.quaternion import Vector, canonical, dot, qconj, qmul, to_body, to_world

_MOST_CONES = 8
_LIMITS = ("rate", "command", "momentum")
_TO_BE_DRAWN = (0.0, 0.0, 0.0)
_NO_CONE = (_TO_BE_DRAWN, _TO_BE_DRAWN, 2.0)


class Constraints(More):
    """What is not to be, and what of it is shown: here nothing."""

    def entries(self, row: int) -> dict[str, tuple[int, int]]:
        """First row and width of what `info` has, by name; row: the first of all."""
        return {}

    def obstructs(self, rows, buffer, i, q):
        """Lay out an episode that begins at q; whether it cannot begin, or end, there."""
        return False

    def charge(self, rows, buffer, i, q, omega, begins):
        """Write the costs of a step, zero at a beginning; whether they end the episode."""
        return False


class Limited(Constraints):
    """A cost of 1 for each constraint that the state, or the command, violates.

    cones: of each the boresight in body axes, the direction in world axes that is to be further
    from it, zero for one half-way on the straight turn from start to target, and the cosine of
    the half angle. rate: of |omega| [rad/s]. command: of a command's size. fullest: of the momentum
    of each wheel [kg m^2/s]. ends: whether a violated one ends the episode. Behind the last of
    `cones` and of `fullest` there is an empty place, as compiled code knows no empty tuples.
    Shown: the directions in body axes, of the attitude as it is measured.

    Rows: the cost; its terms: of each cone, then those of `_LIMITS`; the directions, world axes.
    """

    cones: tuple[tuple[Vector, Vector, float], ...]
    rate: float
    command: float
    fullest: tuple[float, ...]
    ends: bool

    def cone_count(self):
        """Known while compiling."""
        return len(self.cones) - 1

    def rows_needed(self, physics):
        return 4 + 4 * self.cone_count()

    def direction_row(self, rows, n):
        """Of the direction of cone n."""
        return rows.constraint_row() + 4 + self.cone_count() + 3 * n

    def width(self):
        return 3 * self.cone_count()

    def write_more(self, rows, buffer, i, k, q, wanted):
        for n in range(self.cone_count()):
            direction = vector(buffer, i, self.direction_row(rows, n))
            put_vector(buffer, k, 3 * n, to_body(q, direction))

    def obstructs(self, rows, buffer, i, q):
        goal, bad = rows.parts.goal, False
        target = goal.target(rows, buffer, i)
        w, x, y, z = canonical(qmul(qconj(target), q))
        size = 1.0 / math.sqrt(2.0 + 2.0 * w)
        half_way = qmul(target, (size * (1.0 + w), size * x, size * y, size * z))
        for n in range(self.cone_count()):
            axis, direction, cosine = self.cones[n]
            drawn = dot(direction, direction) == 0.0
            direction = vector_if(drawn, to_world(half_way, axis), direction)
            put_vector(buffer, i, self.direction_row(rows, n), direction)
            bad |= dot(to_world(q, axis), direction) > cosine
            bad |= goal.has_target() & (dot(to_world(target, axis), direction) > cosine)
        return bad

    def charge(self, rows, buffer, i, q, omega, begins):
        physics, row, cones = rows.physics, rows.constraint_row(), self.cone_count()
        for n in range(cones):
            axis, _, cosine = self.cones[n]
            seen = to_body(q, vector(buffer, i, self.direction_row(rows, n)))
            buffer[i + (row + 1 + n) * LANES] = 1.0 if dot(axis, seen) > cosine else 0.0
        command, full = 0.0, False
        for n in range(physics.actuator.channels()):
            c = buffer[i + (physics.actuator.command_row(physics) + n) * LANES]
            command = max(command, abs(c))
        for n in range(len(self.fullest) - 1):
            h = buffer[i + (physics.actuator.state_row(physics) + n) * LANES]
            full |= abs(h) >= self.fullest[n]
        k, total = i + (row + 1 + cones) * LANES, 0.0
        buffer[k] = 1.0 if dot(omega, omega) > self.rate * self.rate else 0.0
        buffer[k + LANES] = 1.0 if command >= self.command else 0.0
        buffer[k + 2 * LANES] = 1.0 if full else 0.0
        for n in range(1, 4 + cones):
            cost = 0.0 if begins else buffer[i + (row + n) * LANES]
            buffer[i + (row + n) * LANES] = cost
            total += cost
        buffer[i + row * LANES] = total
        return self.ends & (total > 0.0)

    def entries(self, row: int) -> dict[str, tuple[int, int]]:
        cones = self.cone_count()
        used = math.isfinite(self.rate), math.isfinite(self.command), len(self.fullest) > 1
        limits = [n for n, one in enumerate(used) if one]
        return {
            "cost": (row, 1),
            **{f"cost_keep_out_{n}": (row + 1 + n, 1) for n in range(cones)},
            **{f"cost_{_LIMITS[n]}": (row + 1 + cones + n, 1) for n in limits},
            **{f"keep_out_{n}": (row + 4 + cones + 3 * n, 3) for n in range(cones)},
        }

    def sketch(self, instant):
        for n, (axis, _, cosine) in enumerate(self.cones[:-1]):
            yield from instant.keep_out(axis, instant.info[f"keep_out_{n}"], math.acos(cosine))


def _cone(label: str, value: Any, goal: Goal, start: Start) -> tuple[Vector, Vector, float]:
    entries = ("axis", "direction", "half_angle")
    given = keys(label, value, entries)
    if len(given) < len(entries):
        raise ValueError(f"{label} must have axis, direction and half_angle, got {value!r}")
    axis = unit(f"{label}['axis']", given["axis"], 3, 1e-9)
    half = in_range(f"{label}['half_angle']", given["half_angle"], 0.0, math.pi)
    numbers, direction = start._asdict(), np.zeros(3)
    if isinstance(given["direction"], str):
        named(f"{label}['direction']", given["direction"], ["between"], " or a unit vector")
        if not (goal.has_target() and 2.0 * half < numbers.get("angle", 0.0)):
            raise ValueError(
                f"{label}['direction'] must be a vector where there is no target, or none that "
                f"episodes begin further from than twice the half_angle of {half:.4g} rad"
            )
    else:
        direction = unit(f"{label}['direction']", given["direction"], 3, 1e-9)
        if not numbers.get("target_angle") and goal.reaches(axis, direction, half):
            raise ValueError(
                f"{label} must leave the goal free, but the cone of {half:.4g} rad lies over it"
            )
    return triple("axis", axis), triple("direction", direction), math.cos(half)


def chosen(
    value: Any, goal: Goal, start: Start, rate_limit: float, effector: Effector
) -> Constraints:
    """What the argument stands for."""
    if value is None:
        return Constraints()
    given = keys("constraints", value, ("keep_out", *_LIMITS, "ends"))
    if not given.keys() - {"ends"}:
        raise ValueError(f"constraints must have any of {['keep_out', *_LIMITS]}, got {value!r}")
    cones = given.get("keep_out", [])
    if not isinstance(cones, list | tuple) or len(cones) > _MOST_CONES:
        raise ValueError(
            f"constraints['keep_out'] must be a list of at most {_MOST_CONES} dicts, got {cones!r}"
        )
    found = [
        _cone(f"constraints['keep_out'][{n}]", one, goal, start) for n, one in enumerate(cones)
    ]
    most = {"rate": rate_limit, "command": 1.0, "momentum": 1.0}
    numbers = {
        name: in_range(f"constraints[{name!r}]", given[name], 1e-9, most[name])
        for name in _LIMITS
        if name in given
    }
    fullest: tuple[float, ...] = ()
    if "momentum" in numbers:
        wheels = effector.wheels if isinstance(effector, Beside) else effector
        if not isinstance(wheels, ReactionWheels):
            raise ValueError(
                f"constraints['momentum'] must be left out without wheels, got {given['momentum']!r}"
            )
        fullest = (numbers["momentum"] * wheels.momentum,) * wheels.matrix.shape[1]
    return Limited(
        (*found, _NO_CONE),
        numbers.get("rate", math.inf),
        numbers.get("command", math.inf),
        (*fullest, math.inf),
        flag("constraints['ends']", given.get("ends", False)),
    )
