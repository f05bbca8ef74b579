"""How many threads step a batch. The result does not depend on it: bodies are independent."""

import contextlib
import itertools
import math
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from rbgym.arguments import count

T = TypeVar("T")

_MOST = 1024
_threads = 1
_pool: ThreadPoolExecutor | None = None
_choosing = threading.Lock()  # guards the two above

# A large batch is stepped range by range, each through all kernels of a step: what these touch of
# so many blocks fits in the cache of a core. It also takes long enough, some forty microseconds and
# more, to be worth handing to a thread.
BLOCKS_PER_RANGE = 128


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
    number = math.ceil(blocks / (largest or BLOCKS_PER_RANGE))
    threads = min(threads, number)
    each_has = math.ceil(number / threads)
    number = threads * each_has
    ranges = list(itertools.pairwise(blocks * part // number for part in range(number + 1)))
    shares = [ranges[k : k + each_has] for k in range(0, number, each_has)]

    def each(share: list[tuple[int, int]]) -> list[T]:
        return [work(first, last) for first, last in share]

    if pool is None or threads == 1:
        return each(ranges)
    others: list[Future[list[T]]] = []
    try:
        # It takes none once the number of threads is another, or at the end of the process.
        with contextlib.suppress(RuntimeError):
            for share in shares[1:]:
                others.append(pool.submit(each, share))
        done = each(shares[0])
        left = [each(share) for share in shares[1 + len(others) :]]
    finally:
        wait(others)  # whatever happens, nobody steps the batch when this returns
    return list(itertools.chain(done, *(other.result() for other in others), *left))


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
