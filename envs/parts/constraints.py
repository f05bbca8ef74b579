"""Constraints on attitude, rates, commands and wheels: costs separate from the reward."""

import math
from typing import Any

from rbgym.arguments import flag, unit
from rbgym.compiled.jit import inlined
from rbgym.envs.actuators import Effector
from rbgym.envs.arguments import in_range, keys, triple
from rbgym.envs.parts.columns import BODY, Column
from rbgym.envs.parts.endings import Constraints, below, less, outside
from rbgym.envs.parts.goals import Goal
from rbgym.envs.parts.observations import More
from rbgym.envs.parts.starts import Start
from rbgym.quaternion import Quaternion, Vector, canonical, dot, qconj, qmul, to_body, to_world
from rbgym.rows import LANES, put_vector, vector, vector_if

_MOST_CONES = 8
_LIMITS = ("rate", "command", "momentum")
_BETWEEN = (0.0, 0.0, 0.0)  # stands for a direction half-way between start and target


@inlined
def _half_way(p: Quaternion, q: Quaternion) -> Quaternion:
    """The attitude half-way along the shortest rotation between two."""
    w, x, y, z = canonical(qmul(qconj(p), q))
    size = 1.0 / math.sqrt(2.0 + 2.0 * w)
    return qmul(p, (size * (1.0 + w), size * x, size * y, size * z))


class Limited(Constraints, More):
    """Charges a cost of 1 for each constraint that state or command violate at the end of a step.

    cones: of each its boresight, body axes; the direction that the boresight must avoid, world
    axes, or _BETWEEN, half-way along the straight rotation from start to target; and the cosine of
    its half angle. The last is a placeholder, since compiled code cannot hold an empty tuple. rate:
    largest |omega| [rad/s]; command: smallest command size that costs; momentum: smallest wheel
    momentum that costs [kg m^2/s]. ends: whether a violation ends the episode. The observation
    shows the directions in the measured body axes.

    Rows: the total cost; a cost for each cone and each of `_LIMITS`; the directions, world axes.
    """

    cones: tuple[tuple[Vector, Vector, float], ...]
    rate: float
    command: float
    momentum: float
    ends: bool

    def cone_count(self):
        """Number of cones; known while compiling."""
        return len(self.cones) - 1

    def rows_needed(self, physics):
        return 4 + 4 * self.cone_count()

    def direction_row(self, rows, n):
        """First row of the direction of cone n, world axes."""
        return rows.constraint_row() + 4 + self.cone_count() + 3 * n

    def width(self):
        return 3 * self.cone_count()

    def write_more(self, rows, buffer, i, k, q, wanted):
        for n in range(self.cone_count()):
            direction = vector(buffer, i, self.direction_row(rows, n))
            put_vector(buffer, k, 3 * n, to_body(q, direction))

    def columns(self) -> tuple[Column, ...]:
        size, words = self.width(), "The direction of each cone"
        return (Column("keep_out", size, frame=BODY, words=words),) if size else ()

    def obstructs(self, rows, buffer, i, q, omega):
        goal, bad = rows.parts.goal, self.ends & (dot(omega, omega) > self.rate**2)
        target = rows.parts.reference.start_attitude(rows, buffer, i, goal.target(rows, buffer, i))
        middle = _half_way(target, q)
        for n in range(self.cone_count()):
            axis, wanted, cosine = self.cones[n]
            fixed = dot(wanted, wanted) > 0.0
            direction = vector_if(fixed, wanted, to_world(middle, axis))
            put_vector(buffer, i, self.direction_row(rows, n), direction)
            bad |= dot(to_world(q, axis), direction) > cosine
            bad |= goal.has_target() & (dot(to_world(target, axis), direction) > cosine)
        return bad

    def margin(self, rows, buffer, i, q, omega):
        actuator, square = rows.physics.actuator, self.rate * self.rate
        margin = below(dot(omega, omega), square) if square < math.inf else 1.0
        for n in range(self.cone_count()):
            axis, _, cosine = self.cones[n]
            off = dot(to_world(q, axis), vector(buffer, i, self.direction_row(rows, n)))
            margin = less(margin, outside(off, cosine))
        if self.momentum < math.inf:
            for n in range(4):
                h = buffer[i + (actuator.state_row(rows.physics) + n) * LANES]
                margin = less(margin, below(h * h, self.momentum * self.momentum))
        if self.command < math.inf:
            for n in range(actuator.channels()):
                c = buffer[i + (actuator.command_row(rows.physics) + n) * LANES]
                margin = less(margin, below(c * c, self.command * self.command))
        return margin

    def charge(self, rows, buffer, i, q, omega, begins):
        actuator, cones = rows.physics.actuator, self.cone_count()
        k, total, largest, fullest = i + rows.constraint_row() * LANES, 0.0, 0.0, 0.0
        for n in range(cones):
            axis, _, cosine = self.cones[n]
            off = dot(to_world(q, axis), vector(buffer, i, self.direction_row(rows, n)))
            buffer[k + (1 + n) * LANES] = 1.0 if off > cosine else 0.0
        for n in range(actuator.channels()):
            c = buffer[i + (actuator.command_row(rows.physics) + n) * LANES]
            largest = max(largest, abs(c))
        for n in range(4):  # wheels; without wheels these rows are finite, below the infinite limit
            h = buffer[i + (actuator.state_row(rows.physics) + n) * LANES]
            fullest = max(fullest, abs(h))
        buffer[k + (1 + cones) * LANES] = 1.0 if dot(omega, omega) > self.rate**2 else 0.0
        buffer[k + (2 + cones) * LANES] = 1.0 if largest >= self.command else 0.0
        buffer[k + (3 + cones) * LANES] = 1.0 if fullest >= self.momentum else 0.0
        for n in range(1, 4 + cones):
            cost = 0.0 if begins else buffer[k + n * LANES]
            buffer[k + n * LANES] = cost
            total += cost
        buffer[k] = total
        return self.ends & (total > 0.0)

    def angles(self) -> list[tuple[Vector, float]]:
        return [(axis, math.acos(cosine)) for axis, _, cosine in self.cones[:-1]]

    def entries(self, row: int) -> dict[str, tuple[int, int]]:
        cones, limits = self.cone_count(), (self.rate, self.command, self.momentum)
        names = [f"keep_out_{n}" for n in range(cones)]
        costs = [*names, *(n for n, most in zip(_LIMITS, limits, strict=True) if most < math.inf)]
        rows = {name: row + 1 + n for n, name in enumerate([*names, *_LIMITS])}
        return {
            "cost": (row, 1),
            **{f"cost_{name}": (rows[name], 1) for name in costs},
            **{name: (row + 4 + cones + 3 * n, 3) for n, name in enumerate(names)},
        }

    def sketch(self, instant):
        for n, (axis, _, cosine) in enumerate(self.cones[:-1]):
            yield from instant.keep_out(axis, instant.info[f"keep_out_{n}"], math.acos(cosine))


def _cone(label: str, value: Any, goal: Goal, start: Start) -> tuple[Vector, Vector, float]:
    """Axis, direction and cosine of the half angle of a dict; ValueError if it covers the goal."""
    entries = ("axis", "direction", "half_angle")
    given, numbers = keys(label, value, entries), start._asdict()
    if len(given) < len(entries):
        raise ValueError(f"{label} must have axis, direction and half_angle, got {value!r}")
    axis, wanted = unit(f"{label}['axis']", given["axis"], 3), given["direction"]
    half = in_range(f"{label}['half_angle']", given["half_angle"], 0.0, math.pi)
    if isinstance(wanted, str) and wanted == "between":
        if not goal.has_target() or 2.0 * half >= numbers.get("angle", 0.0):
            raise ValueError(
                f"{label}['direction'] must be a unit vector unless starts are more than twice the "
                f"half_angle of {half:.4g} rad away from a target, got 'between'"
            )
        return triple("axis", axis), _BETWEEN, math.cos(half)
    direction = unit(f"{label}['direction']", wanted, 3)
    if not numbers.get("target_angle") and goal.reaches(axis, direction, half):
        raise ValueError(
            f"{label} must leave the goal free, but its cone of {half:.4g} rad covers it"
        )
    return triple("axis", axis), triple("direction", direction), math.cos(half)


def resolve(
    value: Any, goal: Goal, start: Start, rate_limit: float, effector: Effector
) -> Limited | None:
    """The constraints that the argument `constraints` describes."""
    if value is None:
        return None
    given = keys("constraints", value, ("keep_out", *_LIMITS, "ends"))
    if not given.keys() - {"ends"}:
        raise ValueError(f"constraints must have any of {['keep_out', *_LIMITS]}, got {value!r}")
    cones = given.get("keep_out", [])
    if not isinstance(cones, list | tuple) or len(cones) > _MOST_CONES:
        raise ValueError(
            f"constraints['keep_out'] must be a list of at most {_MOST_CONES} dicts, got {cones!r}"
        )
    label = "constraints['keep_out'][{}]".format
    found = [_cone(label(n), one, goal, start) for n, one in enumerate(cones)]
    limits = dict.fromkeys(_LIMITS, math.inf)
    for name, most in zip(_LIMITS, (rate_limit, 1.0, 1.0), strict=True):
        if name in given:
            limits[name] = in_range(f"constraints[{name!r}]", given[name], 1e-9, most)
    if effector.rotors is not None:
        limits["momentum"] *= effector.rotors.momentum
    elif "momentum" in given:
        raise ValueError(f"constraints must have no momentum without wheels, got {value!r}")
    ends = flag("constraints['ends']", given.get("ends", False))
    least = max(start.least_speed(), goal.least_speed())
    if ends and limits["rate"] <= least:
        raise ValueError(
            f"constraints['rate'], which ends episodes, must be above the {least:.4g} rad/s of "
            f"starts or goal, got {given['rate']!r}"
        )
    begins = getattr(effector.rotors, "start", 0.0)
    if ends and given.get("momentum", math.inf) < begins:
        raise ValueError(
            "constraints['momentum'], which ends episodes, must be at least the "
            f"{begins:.4g} with which wheels begin, got {given['momentum']!r}"
        )
    return Limited((*found, (_BETWEEN, _BETWEEN, 2.0)), **limits, ends=ends)
