"""One to three runs that advance together from the same start, and what is remembered of them."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from rbgym.agents.view.history import History
from rbgym.agents.view.runs import FreeRun, Look, Run
from rbgym.potentials import HeavyTop
from rbgym.quaternion import Array

MOST = 3  # runs side by side
CAPACITY = 6000  # records of each run
INTERVAL = 0.02  # least time between two records [s]


class World:
    """Runs of equal dt, each with the history of its last CAPACITY records."""

    def __init__(self, runs: Sequence[Run]) -> None:
        steps = {run.dt for run in runs}
        if not 1 <= len(runs) <= MOST or len(steps) != 1:
            raise ValueError(f"runs must be 1 to {MOST} of one dt, got {len(runs)} of {steps}")
        self.runs, self.dt, self.steps = list(runs), steps.pop(), 0
        self.every = max(1, round(INTERVAL / self.dt))
        self.histories = [History(CAPACITY) for _ in runs]
        self.ended_at: list[float | None] = [None] * len(runs)
        self._torque = np.zeros(3)
        self._rest = [run.look() for run in runs]
        self._record(range(len(runs)))

    @property
    def time(self) -> float:
        """Time since the start [s]."""
        return self.steps * self.dt

    @property
    def over(self) -> bool:
        """Whether no run goes any further."""
        return all(run.ended for run in self.runs)

    @property
    def is_free(self) -> bool:
        """Whether the runs are bodies by themselves."""
        return all(isinstance(run, FreeRun) for run in self.runs)

    @property
    def strength(self) -> float:
        """A torque [N m] that is felt."""
        return self.runs[0].strength

    def push(self, torque: ArrayLike) -> None:
        """Let a torque (3,) [N m, body axes] act on every body from now on.

        Changes of energy and momentum count from the moment at which the last push ended.
        """
        u = np.asarray(torque, dtype=np.float64)
        if u.shape != (3,) or not np.isfinite(u).all():
            raise ValueError(f"torque must be 3 finite numbers, got {torque!r}")
        if np.array_equal(u, self._torque):
            return
        self._torque = u
        for run in self.runs:
            run.push(u)
        self._rest = [run.look() for run in self.runs]

    def advance(self, steps: int) -> None:
        """Advance all runs by so many steps; a run that ends stands still from then on."""
        while steps > 0:
            part = min(steps, self.every - self.steps % self.every)
            going = [k for k, run in enumerate(self.runs) if not run.ended]
            for k in going:
                made = self.runs[k].advance(part)
                if self.runs[k].ended:
                    self.ended_at[k] = (self.steps + made) * self.dt
            self.steps += part
            steps -= part
            if np.any(self._torque):
                self._rest = [run.look() for run in self.runs]
            if self.steps % self.every == 0:
                self._record(k for k in going if not self.runs[k].failed)

    def curves(self, name: str, window: float, most: int) -> tuple[Array, list[Array]]:
        """Times [s] (n,) in the last `window` seconds, about `most` of them, and a column of the
        history there, (n,) for each run; nan where a run had ended.

        The same instants are kept while time goes on, so that a curve does not flicker.
        """
        last = max(history.numbers.stop for history in self.histories) - 1
        first = max(0, last - int(window / (self.every * self.dt)))
        stride = 1 << max(0, (last - first) // most).bit_length()
        numbers = np.append(np.arange(-(-first // stride) * stride, last, stride), last)
        times = numbers * (self.every * self.dt)
        return times, [history.values(name, numbers) for history in self.histories]

    def _record(self, which: Iterable[int]) -> None:
        for k in which:
            run, rest = self.runs[k], self._rest[k]
            look, vertical = run.look(), isinstance(run.potential, HeavyTop)
            self.histories[k].append(
                time=self.time,
                quaternion=look.quaternion,
                angular_velocity=look.angular_velocity,
                angular_momentum=look.angular_momentum,
                energy=look.energy,
                torque=look.torque,
                energy_change=energy_change(rest, look),
                momentum=momentum(look, vertical),
                momentum_change=momentum_change(rest, look, vertical),
                goal_angle=look.goal_angle,
                position=look.position,
            )


def energy_change(before: Look, now: Look) -> float:
    """|E - E_0| / |E_0|, absolute [J] where E_0 = 0."""
    return abs(now.energy - before.energy) / (abs(before.energy) or 1.0)


def momentum(look: Look, vertical: bool) -> float:
    """|L|, or L_3 [kg m^2/s]."""
    L = look.angular_momentum
    return float(L[2] if vertical else np.linalg.norm(L))


def momentum_change(before: Look, now: Look, vertical: bool) -> float:
    """|L - L_0| / |L_0| of the vector or of its vertical component; absolute from rest."""
    lack: Array = now.angular_momentum - before.angular_momentum
    size = abs(lack[2]) if vertical else np.linalg.norm(lack)
    return float(size / (np.linalg.norm(before.angular_momentum) or 1.0))
