"""A video of the last seconds of all runs, side by side."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rbgym.agents.view.history import COLUMNS
from rbgym.agents.view.world import World
from rbgym.body import RigidBody
from rbgym.quaternion import Array

RATE = 30  # frames a second
_EDGE = 320  # px, of each run's picture
_TRACE = 1.5  # s


@dataclass(frozen=True)
class Reel:
    """What a film is made of: of each run its name, body, potential, and records (n, WIDTH)."""

    title: str
    names: tuple[str, ...]
    bodies: tuple[RigidBody, ...]
    potentials: tuple[Any, ...]
    rows: tuple[Array, ...]
    seconds: float
    speed: float
    is_free: bool

    @classmethod
    def of(cls, world: World, title: str, seconds: float, speed: float) -> "Reel":
        """Of the last `seconds` of a film at `speed`; a copy, which the world's thread makes."""
        return cls(
            title,
            tuple(run.name for run in world.runs),
            tuple(run.body for run in world.runs),
            tuple(run.potential for run in world.runs),
            tuple(history.rows() for history in world.histories),
            seconds,
            speed,
            world.is_free,
        )


def as_mp4(reel: Reel) -> bytes:
    """The film. Raises ValueError where there is nothing to be seen yet."""
    from rbgym.agents.judge import video_files

    last = max(rows[-1, 0] for rows in reel.rows)
    first = max(last - reel.seconds * reel.speed, min(rows[0, 0] for rows in reel.rows))
    length = (last - first) / reel.speed
    if length < 2 / RATE:
        raise ValueError("there is nothing to be seen yet: let the bodies move first")
    painted = _Painted(reel)
    frames = (painted.at(first + k / RATE * reel.speed) for k in range(int(length * RATE)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rbgym.mp4"
        video_files.write(path, frames, RATE)
        return path.read_bytes()


class _Painted:
    """The pictures of a reel."""

    def __init__(self, reel: Reel) -> None:
        from rbgym.envs.rendering.painter import Painter

        self._reel, self._painter = reel, Painter((_EDGE, _EDGE))
        rates = [np.linalg.norm(rows[:, COLUMNS["angular_velocity"]], axis=1) for rows in reel.rows]
        self._limits = [float(np.percentile(rate, 90)) or 1.0 for rate in rates]

    def at(self, time: float) -> Any:
        """All runs at one time [s], (height, width, 3) uint8."""
        return np.concatenate([self._one(k, time) for k in range(len(self._reel.names))], axis=1)

    def _one(self, k: int, time: float) -> Any:
        from rbgym.envs.rendering import Caption, scene_of_motion

        reel, rows = self._reel, self._reel.rows[k]
        at = min(int(np.searchsorted(rows[:, 0], time)), len(rows) - 1)
        since = int(np.searchsorted(rows[:, 0], time - _TRACE * reel.speed))
        now = rows[at]
        caption = Caption(
            reel.title,
            reel.names[k],
            float(now[0]),
            float(now[COLUMNS["energy"]][0]),
            energy_error=float(now[COLUMNS["energy_change"]][0]) if reel.is_free else None,
        )
        scene = scene_of_motion(
            reel.bodies[k],
            now[COLUMNS["quaternion"]],
            now[COLUMNS["angular_velocity"]],
            potential=reel.potentials[k],
            rate_limit=self._limits[k],
            caption=caption,
            trace=rows[since : at + 1, COLUMNS["quaternion"]],
        )
        return self._painter.paint(scene).copy()
