"""A Ray cluster of two nodes on this machine, of which one may be killed."""

import os
import secrets
from collections.abc import Iterator
from typing import Any

import pytest

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_AUTH_MODE"] = "token"
os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
os.environ["RAY_enable_metrics_collection"] = "0"  # noqa: SIM112  (a name of Ray's)
# Addresses stay those of this machine alone, which Ray would else translate for a real cluster.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"

# One CPU each; no dashboard; open to this machine only.
NODE = {
    "num_cpus": 1,
    "object_store_memory": 80 * 2**20,
    "node_ip_address": "127.0.0.1",
    "include_dashboard": False,
}
# A node that was killed refuses to answer and is noticed within a second. One that is only slow, on
# a machine that is busy, gets 20 s: a head taken for dead would end this process without a word.
PATIENCE = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 200,
    "health_check_timeout_ms": 20_000,
    "health_check_failure_threshold": 5,
}


class TwoNodes:
    """The head, to which this process is connected, and a worker node to be lost."""

    def __init__(self) -> None:
        import ray
        from ray.cluster_utils import Cluster

        head = NODE | {"_system_config": PATIENCE}
        self.cluster = Cluster(initialize_head=True, head_node_args=head)
        ray.init(address=self.cluster.address, log_to_driver=False, logging_level="ERROR")
        self.worker: Any = None

    def add_worker(self) -> str:
        """Have a worker node; returns its id."""
        if self.worker is None:
            self.worker = self.cluster.add_node(**NODE)
        return str(self.worker.node_id)

    def kill_worker(self) -> None:
        """Kill the worker node with all its processes, at once."""
        self.cluster.remove_node(self.worker, allow_graceful=False)
        self.worker = None

    def close(self) -> None:
        import ray

        ray.shutdown()
        self.cluster.shutdown()


@pytest.fixture(scope="session")
def nodes() -> Iterator[TwoNodes]:
    two = TwoNodes()
    yield two
    two.close()
