"""Independent cases on the machines of a Ray cluster: the same results, in the same order."""

import os
import socket
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

# Bytes that processes of one machine share, where it is this process that starts Ray.
_OBJECT_STORE = 256 * 2**20
# Cases that are under way for each CPU of the cluster: one that runs, and one that is at hand.
_UNDER_WAY = 2


def spread(
    function: Callable[[T], R], cases: Sequence[T], *, address: str | None = None, retries: int = 3
) -> Iterator[R]:
    """function(case) for each case, in the order of the cases, each as soon as it is there.

    Cases run as Ray tasks, one on each CPU of the cluster. One whose machine dies is run again
    elsewhere, up to `retries` times; as the function depends on its case only, the results are
    those of a single machine, bit for bit between processors of one kind. Few cases are under way
    at a time; once one has raised, or the caller wants no more, no other is started.

    function: importable on every machine, like the cases and results it can be pickled. address:
    see `connected`. Raises what the function raises, ConnectionError if there is no such cluster or
    a case has lost too many machines, ModuleNotFoundError without Ray, ValueError for retries
    that are no integer from 0 on.
    """
    if not isinstance(retries, int) or retries < 0:
        raise ValueError(f"retries must be an integer from 0 on, got {retries!r}")
    with connected(address) as ray:
        # Ray takes no other callables than functions.
        task = ray.remote(num_cpus=1, max_retries=retries)(lambda case: function(case))
        to_do, in_order, running, done = iter(cases), deque[Any](), list[Any](), set[Any]()
        while True:
            room = _UNDER_WAY * int(ray.cluster_resources().get("CPU", 1)) - len(running)
            started = [task.remote(case) for case in islice(to_do, max(room, 0))]
            in_order += started
            running += started
            if not in_order:
                return
            # Nothing is cancelled: Ray ends this process when a task is done while it cancels it.
            ready, running = ray.wait(running)
            done.update(ready)
            while in_order and in_order[0] in done:
                done.remove(in_order[0])
                try:
                    result = ray.get(in_order.popleft())
                except ray.exceptions.RayTaskError as error:
                    raise error.cause from None
                except ray.exceptions.RayError as error:
                    raise ConnectionError(f"a case was lost with its machines: {error}") from None
                yield result


@contextmanager
def connected(address: str | None = None) -> Iterator[Any]:
    """The module `ray`, connected for the time of the block; an existing connection is used.

    address: "host:port" of a running cluster or "auto" to find it, as Ray takes them; None or
    "local" starts Ray for this process, listening to this machine only. Raises
    ModuleNotFoundError without Ray, ConnectionError if no cluster answers.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    if ray.is_initialized():
        yield ray
        return
    local = address in (None, "local")
    try:
        if local:
            _start(ray)
        else:
            _knock(str(address))
            ray.init(address=address, logging_level="ERROR", log_to_driver=False)
    except (OSError, RuntimeError, ValueError) as error:
        where = "on this machine" if local else f"at {address!r}"
        raise ConnectionError(f"no Ray {where}: {error}") from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _start(ray: Any) -> None:
    """Start Ray for this process, with no door to the network."""
    from ray._private import ray_constants

    could = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False  # else Ray takes the machine's address on the network
    try:
        ray.init(
            address="local",
            include_dashboard=False,
            object_store_memory=_OBJECT_STORE,
            logging_level="ERROR",
            log_to_driver=False,
            _node_ip_address="127.0.0.1",
        )
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = could


def _knock(address: str) -> None:
    """Raise OSError if nothing listens at "host:port": Ray itself takes minutes to say so."""
    host, _, port = address.rpartition(":")
    if port.isdigit() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
