"""How many threads step a batch. The result does not depend on it: bodies are independent."""

import itertools
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from threading import Lock
from typing import TypeVar

from rbgym.arguments import count

T = TypeVar("T")

_MOST = 1024
# Blocks that are worth handing to a thread: some fifty microseconds.
FEWEST_BLOCKS = 64
_threads = 1
_pool: ThreadPoolExecutor | None = None
_choosing = Lock()  # guards the two above


def set_num_threads(threads: int) -> None:
    """Use this many threads for large batches, from now on and for every batch of the process.
    Raises ValueError unless 1 <= threads <= 1024."""
    global _threads, _pool
    wanted = count("threads", threads)
    if wanted > _MOST:
        raise ValueError(f"threads must be an integer from 1 to {_MOST}, got {threads!r}")
    with _choosing:
        old, _threads, _pool = _pool, wanted, None
    if old is not None:
        old.shutdown(wait=False)  # what is under way goes on to its end


def get_num_threads() -> int:
    """Number of threads that step a large batch; 1 unless set otherwise."""
    return _threads


def over_ranges(
    blocks: int,
    work: Callable[[int, int], T],
    *,
    largest: int | None = None,
    fewest: int = FEWEST_BLOCKS,
) -> list[T]:
    """What work(first, last) returns of each range, in order; the ranges cover all blocks. largest:
    blocks of a range; by default there is one range for each thread. fewest: blocks that are worth
    a thread. When it returns or raises, no range is under way any more."""
    if _threads == 1 and largest is None:
        return [work(0, blocks)]
    number = -(-blocks // largest) if largest else min(_threads, blocks // fewest)
    ends = [blocks * part // max(number, 1) for part in range(max(number, 1) + 1)]
    ranges = list(itertools.pairwise(ends))
    if _threads == 1 or number < 2:
        return [work(*one) for one in ranges]
    under_way: list[Future[T]] = []
    try:
        with suppress(RuntimeError):  # Python is ending, and starts no thread any more
            for one in ranges[1:]:
                under_way.append(_submit(work, *one))
        found = {0: work(*ranges[0])}
        for k in range(number - 1, 0, -1):
            if k > len(under_way) or under_way[k - 1].cancel():
                found[k] = work(*ranges[k])
    finally:
        for future in under_way:
            future.cancel()
        try:
            wait(under_way)
        except KeyboardInterrupt:  # is raised once they have ended; a second one is not held up
            wait(under_way)
            raise
    return [found[k] if k in found else under_way[k - 1].result() for k in range(number)]


def _submit(work: Callable[[int, int], T], first: int, last: int) -> "Future[T]":
    global _pool
    with _choosing:  # so that nobody shuts the pool down in between
        if _pool is None:
            _pool = ThreadPoolExecutor(_threads - 1 or 1, "rbgym")
        return _pool.submit(work, first, last)


def _forget_pool() -> None:
    # A forked child inherits the pool without its threads, and perhaps a lock that is held.
    global _pool, _choosing
    _pool, _choosing = None, Lock()


if hasattr(os, "register_at_fork"):  # not where processes cannot fork
    os.register_at_fork(after_in_child=_forget_pool)
