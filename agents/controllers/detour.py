"""Turning past directions that an axis of the body is to keep away from."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rbgym.agents.controllers.base import Plant, nearer
from rbgym.agents.controllers.pd import AttitudePD
from rbgym.arguments import count, unit
from rbgym.envs.arguments import in_range
from rbgym.quaternion import Array, from_rotation_vector, rotate

_PLACES = np.arange(1, 17) / 16.0  # of a turn, at which it is looked at


@dataclass(eq=False, kw_only=True)
class Detour(AttitudePD):
    """Turns straight to the target, or past the cones that lie in the way.

    A cone is in the way where its axis, the boresight, would come within `margin` [rad] of it on
    the straight turn. Then the boresight is sent along the tangent to the cone, on the side on
    which the turn passes its middle: with gamma the angle from the boresight to the middle and beta
    the half angle and the margin together, in a direction that is off that of the middle by
    arcsin(sin beta / sin gamma), as far as the middle is. Both are found anew in each control
    period, so that the way closes around the cone, until the straight turn is free. The law is that
    of `AttitudePD`, whose gains it takes.

    cones: of each the boresight, body axes, and the half angle [rad]. column: from which
    observations show the middles, body axes.

    Source: ours; a tangent around an obstacle, as Kamon, Rimon & Rivlin (1998), TangentBug,
    Int. J. Robotics Research 17(9).
    """

    cones: list[tuple[tuple[float, ...], float]]
    column: int
    margin: float = 0.1
    slews = "turns past cones"
    still = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_gains("margin")
        if not isinstance(self.cones, list | tuple) or not all(
            isinstance(one, list | tuple) and len(one) == 2 for one in self.cones
        ):
            raise ValueError(f"cones must be pairs of an axis and an angle, got {self.cones!r}")
        for n, (axis, half) in enumerate(self.cones):
            unit(f"cones[{n}][0]", axis, 3, 1e-6)
            in_range(f"cones[{n}][1]", half, 0.0, np.pi)
        self.least = count("column", self.column) + 3 * len(self.cones)

    @classmethod
    def arguments(cls, plant: Plant) -> dict[str, Any]:
        if not plant.given["cones"]:
            raise ValueError("env must have constraints with 'keep_out' for this controller")
        return super().arguments(plant)

    def answer(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        q, omega = rows[:, :4], rows[:, 4:7] * self.rate_limit
        wanted, soonest = q.copy(), np.full(len(rows), np.inf)
        for n, (axis, half) in enumerate(self.cones):
            middle = rows[:, self.column + 3 * n :][:, :3]
            reached, turn = self.past(q, middle, np.array(axis), half)
            first = reached < soonest
            soonest = np.where(first, reached, soonest)
            wanted = np.where(first[:, None], turn, wanted)
        return self.torque(wanted, omega, np.zeros_like(omega)), None

    def past(self, q: Array, middle: Array, a: Array, half: float) -> tuple[Array, Array]:
        """Where on the straight turn the boresight a comes too near to the middle (n, 3) of a cone,
        as a part of the turn, inf where it does not (n,); and the attitude (n, 4) relative to where
        it is then to turn. q (n, 4): relative to the target; half: the half angle [rad]."""
        v = nearer(q)
        size = np.linalg.norm(v, axis=-1, keepdims=True)
        angle = 2.0 * np.arctan2(size, np.abs(q[:, :1]))
        # The boresight on the way, in the axes of the body now.
        rotation = -v / np.maximum(size, 1e-12) * angle
        way = rotate(from_rotation_vector(_PLACES[:, None, None] * rotation), a)
        near = np.sum(way * middle, axis=-1)  # (places, n)
        beta = np.minimum(
            half + self.margin, 0.5 * (half + np.arccos(np.clip(near[-1], -1.0, 1.0)))
        )
        inside, closest = near > np.cos(beta), way[np.argmax(near, axis=0), np.arange(len(q))]
        cosine = np.clip(middle @ a, -1.0, 1.0)
        # Who only moves away from it is not held up.
        blocked = inside.any(axis=0) & (near.max(axis=0) > cosine)
        gamma = np.arccos(cosine)
        towards = middle - cosine[:, None] * a
        towards /= np.maximum(np.linalg.norm(towards, axis=-1, keepdims=True), 1e-9)
        across = np.cross(a, towards)
        side = np.where(np.sum(closest * across, axis=-1) < 0.0, -1.0, 1.0)
        off = np.arcsin(np.minimum(np.sin(beta) / np.maximum(np.sin(gamma), 1e-9), 1.0))
        off = np.where(gamma < beta, np.pi / 2 + (beta - gamma), off)
        bearing = np.cos(off)[:, None] * towards + (side * np.sin(off))[:, None] * across
        turn = from_rotation_vector(-np.maximum(gamma, 0.3)[:, None] * np.cross(a, bearing))
        return np.where(blocked, _PLACES[np.argmax(inside, axis=0)], np.inf), turn
