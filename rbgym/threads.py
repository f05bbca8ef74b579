"""Threads that step a batch. Their number does not change the result: bodies are independent."""

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
# A thread pays from this many blocks on, some fifty microseconds of work.
FEWEST_BLOCKS = 64
_threads = 1
_pool: ThreadPoolExecutor | None = None
_lock = Lock()  # guards the two above


def set_num_threads(threads: int) -> None:
    """Use this many threads for large batches, from now on, in the whole process.

    Raises ValueError unless 1 <= threads <= 1024.
    """
    global _threads, _pool
    wanted = count("threads", threads)
    if wanted > _MOST:
        raise ValueError(f"threads must be an integer from 1 to {_MOST}, got {threads!r}")
    with _lock:
        old, _threads, _pool = _pool, wanted, None
    if old is not None:
        old.shutdown(wait=False)  # running work continues to its end


def get_num_threads() -> int:
    """Number of threads that step a large batch; 1 by default."""
    return _threads


def over_ranges(
    blocks: int,
    work: Callable[[int, int], T],
    *,
    largest: int | None = None,
    fewest: int = FEWEST_BLOCKS,
) -> list[T]:
    """The results of work(first, last) for ranges that cover all blocks, in order.

    largest: blocks in a range; by default each thread gets one range. fewest: blocks from which on
    a thread pays. The calling thread takes the first range, then, from the last range backwards,
    those that no other thread has started. When it returns or raises, no work is running any more.
    """
    global _pool
    number = max(1, -(-blocks // largest) if largest else min(_threads, blocks // fewest))
    if number == 1:
        return [work(0, blocks)]
    ranges = list(itertools.pairwise(blocks * part // number for part in range(number + 1)))
    if _threads == 1:
        return [work(*one) for one in ranges]
    # Not the pool's own: its thread may take a range whose submission failed.
    futures = [Future[T]() for _ in ranges]

    def run(k: int) -> None:
        if futures[k].set_running_or_notify_cancel():  # False once it is cancelled
            try:
                futures[k].set_result(work(*ranges[k]))
            except BaseException as error:
                futures[k].set_exception(error)

    try:
        with suppress(RuntimeError):  # Python is shutting down, or can start no more threads
            for k in range(1, number):
                with _lock:  # no other thread may shut the pool down in between
                    _pool = _pool or ThreadPoolExecutor(_threads - 1 or 1, "rbgym")
                    _pool.submit(run, k)
        found = {}
        for k in (0, *range(number - 1, 0, -1)):
            if futures[k].cancel():
                found[k] = work(*ranges[k])
    finally:
        running = [one for one in futures if not one.cancel()]
        try:
            wait(running)
        except KeyboardInterrupt:  # waits for the threads, then raises; a second one raises at once
            wait(running)
            raise
    return [found[k] if k in found else futures[k].result() for k in range(number)]


def _forget_pool() -> None:
    # A forked child inherits the pool without its threads, and perhaps a locked lock.
    global _pool, _lock
    _pool, _lock = None, Lock()


if hasattr(os, "register_at_fork"):  # absent where processes cannot fork
    os.register_at_fork(after_in_child=_forget_pool)
