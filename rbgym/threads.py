"""How many threads step a batch. The result does not depend on it: bodies are independent."""

import atexit
import itertools
import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np

from rbgym.arguments import count
from rbgym.compiled import posts
from rbgym.compiled.jit import Entry, address_of, entry_point

T = TypeVar("T")
Result = Sequence[float]  # of four numbers

_MOST = 1024
_threads = 1
_pool: "_Pool | None" = None
_choosing = threading.Lock()  # guards the two above

# What is worth handing to a thread: some ten microseconds and more.
FEWEST_BLOCKS = 32
# A range that goes through several kernels, one after the other: what they touch of so many blocks
# fits in the cache of a core.
BLOCKS_PER_RANGE = 128
# Up to so many blocks are stepped at once, by one thread; more with a `Spread`.
at_once = BLOCKS_PER_RANGE
# So often a thread looks whether there is something to do, for about a millisecond, before it
# sleeps: waking it takes longer than many a step.
_LOOKS = 4_000_000


def set_num_threads(threads: int) -> None:
    """Use this many threads for large batches, from now on and for every batch of the process.

    A thread that has done its part waits for the next one for a millisecond and uses its core
    meanwhile, unless there are fewer cores than threads. This waits for steps that are under way,
    so that none may call it. Raises ValueError unless 1 <= threads <= 1024.
    """
    global _threads, _pool, at_once
    wanted = count("threads", threads)
    if wanted > _MOST:
        raise ValueError(f"threads must be an integer from 1 to {_MOST}, got {threads!r}")
    with _choosing:
        old, _threads, _pool = _pool, wanted, None
        at_once = BLOCKS_PER_RANGE if wanted == 1 else 2 * FEWEST_BLOCKS - 1
    if old is not None:
        old.dismiss()


def get_num_threads() -> int:
    """Number of threads that step a large batch; 1 unless set otherwise."""
    return _threads


class Spread:
    """A kernel that takes ranges of blocks, see `rbgym.compiled.posts`, in as many threads as there
    are; it is always called with arguments of the same types."""

    __slots__ = ("_address", "_entry", "_fewest", "_keep", "_kernel", "_size")

    def __init__(self, kernel: Any, fewest: int | None = None) -> None:
        """fewest: blocks that are worth handing to a thread, default FEWEST_BLOCKS."""
        self._kernel, self._fewest = kernel, fewest
        self._keep, self._entry = Entry(posts.keep_task), Entry(posts.spread)
        self._address, self._size = None, 0

    def task(self, *args: Any) -> posts.Task:
        """What `over` takes, again and again: all arguments but the range."""
        if not _COMPILED:
            return posts.Task(0, 0, args)
        if self._address is None:
            address = address_of(self._kernel, *args, 0, 0, 0)
            self._size = self._keep.call(np.empty(0, np.uint8), (address, args))[2]
            self._address = address
        memory = np.empty(self._size, np.uint8)
        address, place, _ = self._keep.call(memory, (self._address, args))
        return posts.Task(address, place, (memory, args))

    def over(self, task: posts.Task, blocks: int, most: int | None = None) -> list[Result]:
        """What the kernel returns of all blocks, range by range, in order. most: ranges, default as
        many as there are threads."""
        if _threads == 1:
            return [self.over_one(task, 0, blocks)]
        number = blocks // (self._fewest or FEWEST_BLOCKS)
        number, mine = number if most is None else min(number, most), False
        pool = _pool_for(number)
        try:  # not by a context manager, which takes as long as many a range
            mine = pool is not None and pool.claim(number)
            if pool is None or not mine:
                return [self.over_one(task, 0, blocks)]
            first = self._entry.call(pool.posts, task.address, task.data, 0, blocks)
            return [first, *pool.found()]
        finally:
            if pool is not None and mine:
                pool.release()

    def over_one(self, task: posts.Task, first: int, last: int) -> Result:
        """The same of one range, in this thread."""
        if not _COMPILED:
            return self._kernel(*task.held, first, last, 0)  # type: ignore[no-any-return]
        found: Result = self._entry.call(_NO_POSTS, task.address, task.data, first, last)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return _spread, (Entry(self._kernel), self._fewest)


def _spread(entry: Entry, fewest: int | None) -> Spread:
    return Spread(entry.kernel, fewest)


def over_ranges(blocks: int, work: Callable[[int, int], T], largest: int | None = None) -> list[T]:
    """What work(first, last) returns of each range; the ranges cover all blocks, in order.

    largest: blocks of a range, default BLOCKS_PER_RANGE. In as many threads as there are, this one
    among them; for work in Python, of which each thread does a part at a time.
    """
    number = math.ceil(blocks / (largest or BLOCKS_PER_RANGE))
    with _claimed(number) as pool:
        threads = min(pool.size, number) if pool else 1
        each_has = math.ceil(number / threads)
        number = threads * each_has
        ranges = list(itertools.pairwise(blocks * part // number for part in range(number + 1)))
        shares = [ranges[k : k + each_has] for k in range(0, number, each_has)]

        def each(share: list[tuple[int, int]]) -> list[T]:
            return [work(first, last) for first, last in share]

        if pool is None:
            return each(ranges)
        return list(itertools.chain(*pool.all_of([partial(each, share) for share in shares])))


class _Worker(threading.Thread):
    """A thread at a post. `calls` are for it to do in Python, and None to look at its post."""

    def __init__(self, post: Any, serve: Callable[[Any, int], None], looks: int) -> None:
        super().__init__(name="rbgym", daemon=True)
        self.post, self.serve, self.looks, self.dismissed = post, serve, looks, False
        self.calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self.asleep = False
        self.start()

    def run(self) -> None:
        while not self.dismissed:
            self.serve(self.post, self.looks)
            self.asleep = True
            call = self.calls.get()
            self.asleep = False
            if call is not None:
                self.post[0] = posts.IDLE
                call()
            del call  # and what it holds, while this thread waits

    def tell(self, call: Callable[[], None] | None) -> None:
        """Give it a call, or wake it."""
        self.asleep = False
        if call is not None:
            self.post[0] = posts.CALLED
        self.calls.put(call)


class _Pool:
    """Threads beside the one that asks; one at a time may claim them. size: with that one."""

    def __init__(self, threads: int) -> None:
        self.size, whole = threads, np.zeros((threads + 1, posts.WIDTH), np.int64)
        since = -whole.ctypes.data // 8 % posts.WIDTH  # each post begins a cache line
        self._posts = whole.reshape(-1)[since:][: threads * posts.WIDTH].reshape(threads, -1)
        self.posts = self._posts
        self._found = self._posts.view(np.float64)[:, posts.FOUND]
        # More of them than there are cores would hinder each other.
        looks = _LOOKS if threads <= cores() else 1
        # Compiled here: a thread that compiles while this one forks would leave the child a lock.
        serve = entry_point(posts.serve, self._posts[0], looks)
        self._workers = [_Worker(post, serve, looks) for post in self._posts[1:]]
        self._claimed, self._dismissed = threading.Lock(), False

    def claim(self, most: int) -> bool:
        """Whether these threads are free, and now belong to the caller until he releases them; he
        uses the first so many."""
        if not self._claimed.acquire(blocking=False):
            return False
        try:
            self.posts = self._posts[:most]
            for worker in self._workers[: most - 1]:
                if worker.asleep and not self._dismissed:
                    worker.tell(None)
        except BaseException:
            self._claimed.release()
            raise
        if self._dismissed:
            self._claimed.release()
        return not self._dismissed

    def release(self) -> None:
        self._claimed.release()

    def dismiss(self, patience: float = -1.0) -> None:
        """End the threads, after what is under way; patience: seconds to wait for that, or -1."""
        if not self._claimed.acquire(timeout=patience):
            return
        self._dismissed = True
        for worker in self._workers:
            worker.dismissed = True
            worker.tell(None)
        self._claimed.release()

    def found(self) -> list[Result]:
        """What the other threads found, in order."""
        return self._found[1 : len(self.posts)].tolist()  # type: ignore[no-any-return]

    def all_of(self, calls: list[Callable[[], T]]) -> list[T]:
        """What all return; this thread takes the first. When it returns or raises, all have
        ended."""
        answers: SimpleQueue[int] = SimpleQueue()
        found: list[Any] = [None] * len(calls)

        def answer(k: int) -> None:
            try:
                found[k] = calls[k](), None
            except BaseException as error:
                found[k] = None, error
            answers.put(k)

        told = 0
        try:
            for worker, k in zip(self._workers, range(1, len(calls)), strict=False):
                worker.tell(partial(answer, k))
                told += 1
            done = [calls[0]()]
        finally:
            for _ in range(told):
                answers.get()
        for value, error in found[1:]:
            if error is not None:
                raise error
            done.append(value)
        return done


_NO_POSTS = np.zeros((0, posts.WIDTH), np.int64)
_COMPILED = hasattr(posts.spread, "compile")  # not with NUMBA_DISABLE_JIT


@contextmanager
def _claimed(most: int) -> Iterator[_Pool | None]:
    """The pool, so many of its threads at most; None where there is none, or it is in use."""
    pool, mine = _pool_for(most), False
    try:
        mine = pool is not None and pool.claim(most)
        yield pool if mine else None
    finally:
        if pool is not None and mine:
            pool.release()


def _pool_for(number: int) -> _Pool | None:
    """The pool, if there is one, for so many ranges."""
    global _pool
    if _threads == 1 or number < 2 or not _COMPILED:
        return None
    with _choosing:
        if _pool is None and _threads > 1:
            _pool = _Pool(_threads)
        return _pool


def cores() -> int:
    """That this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _end() -> None:
    # Later the threads could not run any more.
    global _threads, _pool
    old, _threads, _pool = _pool, 1, None
    if old is not None:
        old.dismiss(patience=1.0)


def _forget_pool() -> None:
    # A forked child inherits the pool without its threads, and perhaps a lock that nobody holds.
    global _pool, _choosing
    _pool, _choosing = None, threading.Lock()


atexit.register(_end)
if hasattr(os, "register_at_fork"):  # not where processes cannot fork
    os.register_at_fork(after_in_child=_forget_pool)
