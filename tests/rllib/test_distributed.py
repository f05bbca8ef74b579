"""Cases on a cluster: the results of one machine, whatever happens to the others."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray")

from rbgym import validation
from rbgym.agents.train import spread


def until(there: Callable[[], bool], what: str) -> None:
    """Wait for an event; fail if it does not come."""
    deadline = time.monotonic() + 60
    while not there():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.01)


def doomed(function: Callable[[Any], Any], node: str, sign: Path) -> Callable[[Any], Any]:
    """The function, as it never ends on that node; elsewhere it waits for one that has begun."""

    def on_a_node(case: Any) -> Any:
        import threading
        import time

        import ray

        if ray.get_runtime_context().get_node_id() == node:
            sign.touch()
            threading.Event().wait()
        while not sign.exists():
            time.sleep(0.01)
        return function(case)

    return on_a_node


@contextmanager
def killed_when_busy(nodes, sign: Path) -> Iterator[None]:
    """Kill the worker node once a case runs on it."""

    def kill() -> None:
        until(sign.exists, "a case on the node")
        nodes.kill_worker()

    killer = threading.Thread(target=kill)
    killer.start()
    yield
    killer.join()


def test_results_come_in_the_order_of_the_cases(nodes):
    nodes.add_worker()

    def late_first(case):
        import time

        time.sleep(0.02 * (3 - case))
        return case * case

    assert list(spread(late_first, range(4))) == [0, 1, 4, 9]


def test_an_error_of_a_case_is_raised_as_it_is(nodes):
    with pytest.raises(ValueError, match=r"^steps must be a positive integer, got 0$"):
        list(spread(lambda steps: validation.validate(["akw"], steps=steps), [0]))


def test_an_error_neither_ends_this_process_nor_begins_more_cases(nodes, tmp_path):
    """Ray 2.60 aborts a process that cancels a task just as it ends: so nothing is cancelled."""
    nodes.add_worker()

    def note(case):
        (tmp_path / str(case)).touch()
        raise KeyError(case)

    for alone in range(100):
        with pytest.raises(KeyError):
            list(spread(note, [alone]))
    with pytest.raises(KeyError):
        list(spread(note, range(100, 1000)))
    assert len(list(tmp_path.iterdir())) < 200


def test_validation_on_a_cluster_that_loses_a_node_equals_that_of_one_machine(nodes, tmp_path):
    def claims_on(name):
        return validation.validate([name], cases=["none"], steps=200)

    names = ["akw", "rrr"]
    alone = [claims_on(name) for name in names]
    node, sign = nodes.add_worker(), tmp_path / "running"
    with killed_when_busy(nodes, sign):
        spread_out = list(spread(doomed(claims_on, node, sign), names))
    assert nodes.worker is None
    assert spread_out == alone
