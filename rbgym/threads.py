"""How many threads step a batch. The result does not depend on it: bodies are independent."""

import atexit
import itertools
import math
import os
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np

from rbgym.arguments import count
from rbgym.compiled.waiting import watch

T = TypeVar("T")

_MOST = 1024
_threads = 1
_pool: "_Pool | None" = None
_choosing = threading.Lock()  # guards the two above

# A large batch is stepped range by range, each through all kernels of a step: what these touch of
# so many blocks fits in the cache of a core. It also takes long enough, some twenty microseconds and
# more, to be worth handing to a thread.
BLOCKS_PER_RANGE = 128
# So often a thread looks whether there is something to do, some tenths of a millisecond, before it
# sleeps: waking it takes longer than many a step.
_LOOKS = 500_000


def set_num_threads(threads: int) -> None:
    """Use this many threads for large batches, from now on and for every batch of the process.

    Raises ValueError unless 1 <= threads <= 1024.
    """
    global _threads, _pool
    wanted = count("threads", threads)
    if wanted > _MOST:
        raise ValueError(f"threads must be an integer from 1 to {_MOST}, got {threads!r}")
    with _choosing:
        old, _threads, _pool = _pool, wanted, None
    if old is not None:
        old.dismiss()


def get_num_threads() -> int:
    """Number of threads that step a large batch; 1 unless set otherwise."""
    return _threads


def is_large(blocks: int) -> bool:
    """Whether a batch of this many blocks is to be stepped with `over_ranges`."""
    return blocks > BLOCKS_PER_RANGE


def over_ranges(blocks: int, work: Callable[[int, int], T], largest: int | None = None) -> list[T]:
    """What work(first, last) returns of each range; the ranges cover all blocks, in order.

    largest: blocks of a range, default BLOCKS_PER_RANGE. In as many threads as there are, this one
    among them.
    """
    threads, pool = _workers()
    number = math.ceil(blocks / (largest or BLOCKS_PER_RANGE))
    threads = min(threads, number)
    each_has = math.ceil(number / threads)
    number = threads * each_has
    ranges = list(itertools.pairwise(blocks * part // number for part in range(number + 1)))
    shares = [ranges[k : k + each_has] for k in range(0, number, each_has)]

    def each(share: list[tuple[int, int]]) -> list[T]:
        return [work(first, last) for first, last in share]

    if pool is None or threads == 1 or not pool.claim():
        return each(ranges)
    try:
        return list(itertools.chain(*pool.all_of([partial(each, share) for share in shares])))
    finally:
        pool.release()


class _Box:
    """A queue with one reader, who looks for a while before he sleeps, and one writer."""

    def __init__(self, looks: int) -> None:
        self._items: SimpleQueue[Any] = SimpleQueue()
        self._looks, self._written, self._read = looks, np.zeros(1, np.int64), 0

    def put(self, item: Any) -> None:
        self._items.put(item)
        self._written[0] += 1

    def get(self) -> Any:
        watch(self._written, self._read, self._looks)
        item = self._items.get()
        self._read += 1
        return item


class _Worker(threading.Thread):
    """A thread that takes pairs out of `tasks`, of what to do and of the box for what came of it: a
    value and an error, of which one is None. It ends when it is given None."""

    def __init__(self, looks: int) -> None:
        super().__init__(name="rbgym", daemon=True)
        self.tasks = _Box(looks)
        self.start()

    def run(self) -> None:
        while (given := self.tasks.get()) is not None:
            task, answer = given
            try:
                result = task(), None
            except BaseException as error:
                result = None, error
            answer.put(result)
            del given, task, answer, result  # and what they hold, while this thread waits


class _Pool:
    """Threads beside the one that asks; one at a time may claim them."""

    def __init__(self, threads: int) -> None:
        self._looks = _LOOKS if threads <= (os.cpu_count() or 1) else 0  # else they hinder each other
        self._workers = [_Worker(self._looks) for _ in range(threads - 1)]
        self._claimed, self._dismissed = threading.Lock(), False

    def claim(self) -> bool:
        """Whether these threads are free, and now belong to the caller until he releases them."""
        if not self._claimed.acquire(blocking=False):
            return False
        if self._dismissed:
            self._claimed.release()
        return not self._dismissed

    def release(self) -> None:
        self._claimed.release()

    def dismiss(self) -> None:
        """End the threads, after what is under way."""
        with self._claimed:
            self._dismissed = True
            for worker in self._workers:
                worker.tasks.put(None)

    def all_of(self, tasks: list[Callable[[], T]]) -> list[T]:
        """What all tasks return; this thread takes the first. When it returns or raises, all have
        ended."""
        answers = []
        try:
            for worker, task in zip(self._workers, tasks[1:], strict=False):
                answers.append(_Box(self._looks))
                worker.tasks.put((task, answers[-1]))
            done = [tasks[0]()]
        finally:
            found = [answer.get() for answer in answers]
        for value, error in found:
            if error is not None:
                raise error
            done.append(value)
        return done


def _workers() -> tuple[int, _Pool | None]:
    global _pool
    with _choosing:
        if _pool is None and _threads > 1:
            _pool = _Pool(_threads)
        return _threads, _pool


def _forget_pool() -> None:
    # A forked child inherits the pool without its threads, and perhaps a lock that nobody holds.
    global _pool, _choosing
    _pool, _choosing = None, threading.Lock()


atexit.register(set_num_threads, 1)  # later the threads could not run any more
if hasattr(os, "register_at_fork"):  # not where processes cannot fork
    os.register_at_fork(after_in_child=_forget_pool)
