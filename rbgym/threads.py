"""How many threads step a batch. The result does not depend on it: bodies are independent."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

_threads = 1
_pool: ThreadPoolExecutor | None = None

# Handing work to a thread costs some ten microseconds: fewer blocks than this are not worth it.
_BLOCKS_PER_THREAD = 32


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


def worthwhile(blocks: int) -> bool:
    """Whether this many blocks are worth more than one thread."""
    return _threads > 1 and blocks >= 2 * _BLOCKS_PER_THREAD


def over_blocks(blocks: int, work: Callable[[int, int], None]) -> None:
    """Call work(first, last) on ranges that cover all blocks, in parallel."""
    global _pool
    parts = max(1, min(_threads, blocks // _BLOCKS_PER_THREAD))
    if _pool is None:
        _pool = ThreadPoolExecutor(_threads, thread_name_prefix="rbgym")
    edges = [blocks * part // parts for part in range(parts + 1)]
    list(_pool.map(work, edges[:-1], edges[1:]))


def _forget_pool() -> None:
    # A forked child inherits the pool without its threads.
    global _pool
    _pool = None


os.register_at_fork(after_in_child=_forget_pool)
