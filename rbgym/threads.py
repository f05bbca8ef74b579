"""How many threads step a batch. The result does not depend on it: bodies are independent."""

import itertools
import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")

_threads = 1
_pool: ThreadPoolExecutor | None = None

# A large batch is stepped range by range, each through all kernels of a step: what these touch of
# so many blocks fits in the cache of a core. It also takes long enough, some forty microseconds and
# more, to be worth handing to a thread.
BLOCKS_PER_RANGE = 128


def set_num_threads(threads: int) -> None:
    """Use this many threads for large batches, from now on and for every batch of the process.

    Raises ValueError unless 1 <= threads <= 1024.
    """
    global _threads, _pool
    if not isinstance(threads, int) or isinstance(threads, bool) or not 1 <= threads <= 1024:
        raise ValueError(f"threads must be an integer from 1 to 1024, got {threads!r}")
    if _pool is not None:
        _pool.shutdown()
    _threads, _pool = threads, None


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
    count = math.ceil(blocks / (largest or BLOCKS_PER_RANGE))
    threads = min(_threads, count)
    count = threads * math.ceil(count / threads)  # as many for each thread
    edges = [blocks * part // count for part in range(count + 1)]
    ranges = list(itertools.pairwise(edges))
    shares = [ranges[count * t // threads : count * (t + 1) // threads] for t in range(threads)]

    def each(share: list[tuple[int, int]]) -> list[T]:
        return [work(first, last) for first, last in share]

    if threads == 1:
        return each(ranges)
    others = [_workers().submit(each, share) for share in shares[1:]]
    try:
        done = each(shares[0])
    finally:
        wait(others)
    return done + [one for other in others for one in other.result()]


def _workers() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(_threads, thread_name_prefix="rbgym")
    return _pool


def _forget_pool() -> None:
    # A forked child inherits the pool without its threads.
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):  # not where processes cannot fork
    os.register_at_fork(after_in_child=_forget_pool)
