"""What docs/libraries.md shows runs with the libraries that are here: `make test-clients`, and
RLlib's in the environment with Ray."""

import importlib.util
import json
import os
import shlex
import subprocess
import sys
import warnings

import numpy as np
import pytest

import pages
from rbgym.agents.policies import load
from rbgym.agents.policies.rllib import network_of_module

PAGE = pages.DOCS / "libraries.md"
CLUSTER = str(pages.ROOT / "examples" / "train_on_a_cluster.py")
BLOCKS = [block for block in pages.blocks(PAGE) if block.note.startswith("with: ")]


def run(words, folder):
    own = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "MINARI_DATASETS_PATH": str(folder / "data"),
        "PYTHONDONTWRITEBYTECODE": "",  # Ray waits 30 s for its processes, which import much
    }
    done = subprocess.run(words, cwd=folder, env=os.environ | own, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.note)
def test_the_block_of_a_library_runs(block, tmp_path):
    if importlib.util.find_spec(block.note.removeprefix("with: ")) is None:
        pytest.skip(f"is not installed: {block.note}")
    (tmp_path / "block.py").write_text(block.code)
    run([sys.executable, "block.py"], tmp_path)


def test_the_command_of_rl_zoo_runs(tmp_path):
    pytest.importorskip("rl_zoo3")
    (line,) = (one for one in pages.commands(PAGE) if one.startswith("python -m rl_zoo3"))
    run([sys.executable, *shlex.split(line)[1:]], tmp_path)


FLOWN = """
import sys, joblib, rbgym.agents
folder, backend = sys.argv[1:]
if backend == "ray":
    import ray
    from ray.cluster_utils import Cluster
    from ray.util.joblib import register_ray
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    nodes.add_node(num_cpus=1)
    ray.init(address=nodes.address)
    assert len(ray.nodes()) == 2
    register_ray()
with joblib.parallel_config(backend, n_jobs=2):
    rbgym.agents.campaign("RigidTop-v0", ["pd", "lqr"], 64, folder, group=8,
             spread={"inertia": {"factor": {"uniform": [0.97, 1.03]}}})
if backend == "ray":
    ray.shutdown()
    nodes.shutdown()
"""


def test_a_campaign_on_two_nodes_of_ray_is_that_of_two_processes(tmp_path):
    pytest.importorskip("ray")
    for backend in ("ray", "loky"):
        run([sys.executable, "-c", FLOWN, backend, backend], tmp_path)
    one, other = ((tmp_path / name / "runs.parquet").read_bytes() for name in ("ray", "loky"))
    assert one == other


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A folder where the example trained for an iteration and went on for two, and what it said
    the second time."""
    pytest.importorskip("ray")
    folder = tmp_path_factory.mktemp("cluster")
    small = ["--lanes", "4", "--batch", "128", "--checkpoint-every", "1", "--out", "run"]
    run([sys.executable, CLUSTER, *small, "--iterations", "1"], folder)
    again = run([sys.executable, CLUSTER, *small, "--iterations", "3", "--resume"], folder)
    return folder, again


def test_a_training_on_a_cluster_goes_on_from_its_checkpoint(cluster):
    folder, said = cluster
    begun = [line.partition(":")[0] for line in said.splitlines() if "mean return" in line]
    assert begun == ["2", "3"]
    assert "env steps a second" in said
    config = json.loads((folder / "run" / "policy.json").read_text("utf-8"))
    assert config["training"]["timesteps"] >= 3 * 128


def test_the_policy_of_a_cluster_commands_what_its_module_does(cluster):
    with warnings.catch_warnings(action="ignore"):
        import torch
        from ray.rllib.core.rl_module import RLModule

        last = cluster[0] / "run" / "checkpoint-000003" / "learner_group" / "learner"
        module = RLModule.from_checkpoint(last / "rl_module" / "default_policy")
        policy = load(cluster[0] / "run").network
        seen = np.random.default_rng(5).normal(size=(50, policy.width)).astype(np.float32)
        seen[:, 0] = np.abs(seen[:, 0])  # the canonical sign of the quaternion
        found = module.forward_inference({"obs": torch.from_numpy(seen)})["action_dist_inputs"]
    expected = np.clip(found.detach().numpy()[:, : policy.sizes[-1]], -1.0, 1.0)
    for network in (policy, network_of_module(module)):
        np.testing.assert_allclose(network.predict(seen)[0], expected, rtol=0, atol=2e-6)
    assert np.abs(expected).max() > 0.1


def test_the_policy_of_a_cluster_is_judged_and_exported(cluster):
    rbgym = [sys.executable, "-c", "from rbgym.agents.commands.cli import main; main()"]
    few = ["--policy", "run", "--episodes", "4"]
    run([*rbgym, "evaluate", "RigidTop-v0", *few], cluster[0])
    run([*rbgym, "card", "RigidTop-v0", *few, "--policy", "pd"], cluster[0])
    run([*rbgym, "export", "run", "--c", "flight"], cluster[0])
    assert (cluster[0] / "flight" / "policy.c").is_file()
