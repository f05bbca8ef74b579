"""How many threads step a batch. The result does not depend on it: bodies are independent."""

import itertools
import math
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from rbgym.arguments import count as counted

S = TypeVar("S")
T = TypeVar("T")

_MOST = 1024
_threads = 1
_pool: ThreadPoolExecutor | None = None
_choosing = threading.Lock()  # of the two

# A large batch is stepped range by range, each through all kernels of a step: what these touch of
# so many blocks fits in the cache of a core. It also takes long enough, some forty microseconds and
# more, to be worth handing to a thread.
BLOCKS_PER_RANGE = 128


def set_num_threads(threads: int) -> None:
    """Use this many threads for large batches, from now on and for every batch of the process.

    Raises ValueError unless 1 <= threads <= 1024.
    """
    global _threads, _pool
    wanted = counted("threads", threads)
    if wanted > _MOST:
        raise ValueError(f"threads must be an integer from 1 to {_MOST}, got {threads!r}")
    with _choosing:
        old, _threads, _pool = _pool, wanted, None
    if old is not None:
        old.shutdown(wait=False)  # after what is under way


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
    count = math.ceil(blocks / (largest or BLOCKS_PER_RANGE))
    threads = min(threads, count)
    count = threads * math.ceil(count / threads)  # as many for each thread
    edges = [blocks * part // count for part in range(count + 1)]
    ranges = list(itertools.pairwise(edges))
    shares = [ranges[count * t // threads : count * (t + 1) // threads] for t in range(threads)]

    def each(share: list[tuple[int, int]]) -> list[T]:
        return [work(first, last) for first, last in share]

    if pool is None or threads == 1:
        return each(ranges)
    others: list[Future[list[T]]] = []
    try:
        others += _submitted(pool, each, shares[1:])
        done, left = each(shares[0]), [each(share) for share in shares[1 + len(others) :]]
    finally:
        wait(others)  # whatever happens, nobody steps the batch when this returns
    return list(itertools.chain(done, *(other.result() for other in others), *left))


def _submitted(
    pool: ThreadPoolExecutor, each: Callable[[S], T], shares: list[S]
) -> Iterator[Future[T]]:
    """The shares that the pool takes: none once the number of threads is another, or at the end of
    the process."""
    for share in shares:
        try:
            yield pool.submit(each, share)
        except RuntimeError:
            return


def _workers() -> tuple[int, ThreadPoolExecutor | None]:
    global _pool
    with _choosing:
        if _pool is None and _threads > 1:
            _pool = ThreadPoolExecutor(_threads, thread_name_prefix="rbgym")
        return _threads, _pool


def _forget_pool() -> None:
    # A forked child inherits the pool without its threads, and perhaps a lock that nobody holds.
    global _pool, _choosing
    _pool, _choosing = None, threading.Lock()


if hasattr(os, "register_at_fork"):  # not where processes cannot fork
    os.register_at_fork(after_in_child=_forget_pool)
