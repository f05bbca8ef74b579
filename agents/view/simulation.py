"""One to three runs that advance together from the same start, and the records of their motion."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from rbgym.agents.view.runs import Run, Snapshot
from rbgym.potentials import HeavyTop
from rbgym.quaternion import Array

CAPACITY = 2400  # instants that are recorded: 30 s and more
_INTERVAL = 0.02  # least time between two of them [s]


class Record(NamedTuple):
    """A run at a recorded instant.

    momentum: |L| [kg m^2/s], or the vertical component where only that is conserved. Changes since
    the start, or since the end of the last push, relative where there is something to relate to.
    """

    snapshot: Snapshot
    momentum: float
    energy_change: float
    momentum_change: float


class Simulation:
    """Runs of equal dt. `recorded`: the last instants, by the number of the interval, and the
    record of each run at each; None where a run had ended."""

    def __init__(self, runs: Sequence[Run]) -> None:
        steps = {run.dt for run in runs}
        if len(steps) != 1:
            raise ValueError(f"runs must share one dt, got {sorted(steps)}")
        self.runs, self.dt, self.steps = list(runs), steps.pop(), 0
        self.vertical = isinstance(runs[0].potential, HeavyTop)
        self._stride = max(1, round(_INTERVAL / self.dt))
        self.interval = self._stride * self.dt
        self.recorded = deque[tuple[int, list[Record | None]]](maxlen=CAPACITY)
        self._torque = np.zeros(3)
        self._references = [run.snapshot() for run in runs]
        self._record(self.runs)

    @property
    def time(self) -> float:
        """Time since the start [s]."""
        return self.steps * self.dt

    @property
    def over(self) -> bool:
        """Whether every run has ended."""
        return all(run.ended for run in self.runs)

    def push(self, torque: Array) -> None:
        """Apply a torque (3,) [N m, body axes] to every body from now on."""
        if np.array_equal(torque, self._torque):
            return
        self._torque = torque
        for run in self.runs:
            run.push(torque)
        self._references = [run.snapshot() for run in self.runs]

    def advance(self, steps: int) -> None:
        """Advance all runs by so many steps; a run that ends stands still from then on."""
        last = self.steps + steps
        while self.steps < last:
            part = min(last - self.steps, self._stride - self.steps % self._stride)
            going = [run for run in self.runs if not run.ended]
            for run in going:
                run.advance(part)
            self.steps += part
            if self._torque.any():
                self._references = [run.snapshot() for run in self.runs]
            if self.steps % self._stride == 0:
                self._record([run for run in going if not run.failed])

    def _record(self, going: Sequence[Run]) -> None:
        records = [
            self._record_of(run.snapshot(), reference) if run in going else None
            for run, reference in zip(self.runs, self._references, strict=True)
        ]
        self.recorded.append((self.steps // self._stride, records))

    def _record_of(self, now: Snapshot, before: Snapshot) -> Record:
        conserved = slice(2, 3) if self.vertical else slice(0, 3)
        L, L_0 = now.angular_momentum[conserved], before.angular_momentum[conserved]
        scale = np.linalg.norm(before.angular_momentum) or 1.0
        return Record(
            now,
            momentum=float(L[0] if self.vertical else np.linalg.norm(L)),
            energy_change=abs(now.energy - before.energy) / (abs(before.energy) or 1.0),
            momentum_change=float(np.linalg.norm(L - L_0) / scale),
        )

    def records(self, k: int) -> list[Record]:
        """The records of one run."""
        return [found for _, records in self.recorded if (found := records[k]) is not None]

    def curves(
        self, value: Callable[[Record], float], window: float, points: int
    ) -> tuple[Array, list[Array]]:
        """Times [s] (n,) in the last `window` seconds, about `points` of them, and the value there,
        (n,) for each run; nan where a run had ended.

        The same instants are shown while time goes on, so that a curve does not flicker.
        """
        last = self.recorded[-1][0]
        first = max(self.recorded[0][0], last - int(window / self.interval))
        stride = 1 << ((last - first) // points).bit_length()
        shown = [
            (number, records)
            for number, records in self.recorded
            if number >= first and (number % stride == 0 or number == last)
        ]
        times = np.array([number * self.interval for number, _ in shown])
        lines = [
            np.array([np.nan if one is None else value(one) for one in column])
            for column in zip(*(records for _, records in shown), strict=True)
        ]
        return times, lines
