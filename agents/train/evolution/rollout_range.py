"""A range of bodies, run until their first episodes are over."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbgym.agents.policies.forward import Stack
from rbgym.agents.policies.network import joined
from rbgym.envs import layout
from rbgym.layout import LANES

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Blocks of a range: their state, some 9 kB each, is to stay in a core's cache between steps.
BLOCKS = 64
# A range closes up when so much of it is left: copying blocks costs less than stepping them.
_CLOSE_UP = 0.75


class Course:
    """An environment that has been reset, its networks, and what comes out of each lane.

    owner: network of each lane. real: lanes that count, (lanes,).
    """

    def __init__(self, env: Any, stack: Stack, owner: NDArray[np.int64], real: Flags) -> None:
        self.env, self.episodes, self.stack = env, env.episodes, stack
        self.owner, self.real = owner[::LANES].astype(np.int64), real
        lanes = len(real)
        self.split, self.start = env.task.split, self.episodes.observations()
        self.returns, self.lengths = np.zeros(lanes), np.zeros(lanes, np.int64)
        self.success = np.zeros(lanes, np.bool_)
        self.errors = np.zeros((lanes, 2))

    def results(self) -> dict[str, NDArray[Any]]:
        """Entries of a Rollout, each (lanes,)."""
        chord, rate = np.sqrt(self.errors).T
        return {
            "returns": self.returns,
            "lengths": self.lengths,
            "success": self.success,
            "attitude_error": 2.0 * np.arcsin(np.minimum(0.5 * chord, 1.0)),
            "rate_error": rate,
        }


class _Range:
    """Blocks of a course that still have an episode to end, and where their lanes belong."""

    def __init__(self, course: Course, first: int, last: int) -> None:
        batch = course.episodes.batch
        self.course, self.view = course, batch.block_view()[first:last]
        self.lanes = np.arange(first * LANES, last * LANES)
        self.owner, self.running = course.owner[first:last], course.real[self.lanes]
        self.returns = np.zeros(len(self.lanes))
        self._allocate()
        self.observations[...] = course.start[self.lanes]

    def _allocate(self) -> None:
        n, setup = len(self.lanes), self.course.episodes.setup
        self.buffer = self.view.reshape(-1)
        self.observations = np.empty((n, setup.width), np.float32)
        self.actions = np.empty((n, self.course.episodes.batch.channels))
        self.rewards = np.empty(n)
        self.over, self.late = np.empty(n, np.bool_), np.empty(n, np.bool_)
        # What `info` would need is asked of the kernel in its smallest form, and left there.
        kept = np.empty((len(self.view), 3 * LANES))
        self.outputs = self.observations, self.rewards, self.over, self.late, kept

    def step(self) -> float:
        """One control period of all lanes; returns how many are at an end."""
        course, seen = self.course, self.observations
        if course.split:
            seen = joined(course.split(seen))
        course.stack.act(self.owner, seen, self.actions)
        bad = course.episodes.advance(self.buffer, self.actions)
        if bad >= 0:
            raise ValueError(
                f"networks must give finite actions, got {self.actions[bad].tolist()} from that "
                f"at {self.owner[bad // LANES]}"
            )
        ended, _ = course.episodes.judge(self.buffer, self.outputs)
        if course.split:
            goals = course.split(self.observations)
            self.rewards = course.env.compute_reward(
                goals["achieved_goal"], goals["desired_goal"], {}
            )
        np.add(self.returns, self.rewards, out=self.returns, where=self.running)
        return float(ended)

    def book(self, steps: int) -> None:
        """Note the outcome of lanes whose first episode has just ended."""
        done = self.running & (self.over | self.late)
        if not done.any():
            return
        course, where = self.course, self.lanes[done]
        course.lengths[where], course.returns[where] = steps, self.returns[done]
        streak = self._row(layout.STREAK)[done]
        course.success[where] = streak >= course.episodes.setup.settled_steps
        for n, row in enumerate((layout.ERROR, layout.RATE_ERROR)):
            course.errors[where, n] = self._row(row)[done]
        self.running &= ~done
        self._close_up()

    def _row(self, row: int) -> Array:
        values: Array = self.view[:, row].reshape(-1)
        return values

    def _close_up(self) -> None:
        """Move the blocks that still have a running lane together, if they are few enough."""
        alive: Flags = np.logical_or.reduce(self.running.reshape(-1, LANES), axis=1)
        if alive.sum() > _CLOSE_UP * len(alive):
            return
        lanes, seen = np.repeat(alive, LANES), self.observations
        moved = self.view[alive]
        self.view = self.view[: len(moved)]
        self.view[...] = moved
        self.owner, self.lanes = self.owner[alive], self.lanes[lanes]
        self.running, self.returns = self.running[lanes], self.returns[lanes]
        self._allocate()
        self.observations[...] = seen[lanes]


def run(course: Course, first: int, last: int) -> None:
    """Run the blocks from `first` to before `last`; what comes out is in the course."""
    part, steps = _Range(course, first, last), 0
    while len(part.lanes) and part.running.any():
        ended, steps = part.step(), steps + 1
        if ended > 0:
            part.book(steps)
