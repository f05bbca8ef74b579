"""PPO of RLlib on a Ray cluster, with rbgym's native batch in every env runner.

    python examples/train_on_a_cluster.py                 # on two nodes, both of this machine
    python examples/train_on_a_cluster.py --address auto  # on the cluster that this machine is in
    python examples/train_on_a_cluster.py --resume        # goes on from the last checkpoint

`rbgym evaluate`, `card` and `export` read the folder that it writes. See docs/libraries.md.
"""

import argparse
import math
import shutil
import statistics
import time
from contextlib import ExitStack
from pathlib import Path

import ray
import torch
from ray.cluster_utils import Cluster
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from rbgym.agents.commands.measuring import first_steps
from rbgym.agents.policies.rllib import write_policy


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--env", default="rbgym:RigidTop-v0", help="module to import, and id")
    add("--address", help="of a Ray cluster; without one, two nodes start on this machine")
    add("--out", type=Path, default=Path("runs/cluster"), help="folder of policy and checkpoints")
    add("--resume", action="store_true", help="go on from the last checkpoint in --out")
    add("--iterations", type=int, default=100, help="in all, with those before a --resume")
    add("--checkpoint-every", type=int, default=20, help="so many iterations")
    add("--runners", type=int, default=2, help="processes that step a native batch")
    add("--lanes", type=int, default=64, help="of the native batch of each runner")
    add("--batch", type=int, default=4096, help="env steps of an iteration, of all lanes together")
    add("--threads", type=int, default=1, help="of torch, in each process")
    arguments = parser.parse_args()
    if arguments.resume != any(arguments.out.glob("checkpoint-*")):
        parser.error("--out must have checkpoints with --resume, and none without")
    return arguments


def warm(env_id):
    """Compile the env on each node, before its runners read the machine code from the disk. One
    node after the other: where the disk is shared, the second finds what the first compiled."""
    step = ray.remote(num_cpus=0)(first_steps)
    for node in (one for one in ray.nodes() if one["Alive"]):
        here = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        seconds = ray.get(step.options(scheduling_strategy=here).remote(env_id, {}))
        print(f"{node['NodeID'][:8]}: compiled, or read, in {seconds:.1f} s")


def configured(arguments):
    """RLlib's PPO. Its seed stays None, or lanes of two runners would have the same episodes."""
    model = DefaultModelConfig(fcnet_hiddens=[32, 32], vf_share_layers=False)
    decreasing = [[0, 5e-3], [arguments.iterations * arguments.batch, 0.0]]
    return (
        PPOConfig()
        .environment(arguments.env)
        .env_runners(
            num_env_runners=arguments.runners,
            num_envs_per_env_runner=arguments.lanes,
            gym_env_vectorize_mode="vector_entry_point",  # the native batch
            num_cpus_per_env_runner=arguments.threads,  # Ray lets torch have as many threads
        )
        .rl_module(model_config=model)
        .training(
            train_batch_size_per_learner=arguments.batch,
            minibatch_size=arguments.batch // 4,
            num_epochs=4,
            lr=decreasing,
            gamma=0.98,
            lambda_=0.95,
            vf_clip_param=math.inf,
        )
    )


def train(algorithm, arguments):
    """Train up to the last iteration, and say how many env steps a second that was."""
    rates, unfinished = [], arguments.out.resolve() / "unfinished"
    while algorithm.iteration < arguments.iterations:
        begun = time.perf_counter()
        found = algorithm.train()["env_runners"]
        rates.append(found["num_env_steps_sampled"] / (time.perf_counter() - begun))
        print(f"{algorithm.iteration}: mean return {found.get('episode_return_mean', 0.0):.1f}")
        if algorithm.iteration % arguments.checkpoint_every == 0:
            shutil.rmtree(unfinished, ignore_errors=True)
            algorithm.save_to_path(unfinished)  # then renamed: a checkpoint is whole or absent
            unfinished.rename(arguments.out / f"checkpoint-{algorithm.iteration:06d}")
    if rates:
        print(f"{statistics.median(rates):.0f} env steps a second, {max(rates):.0f} at best")


def main():
    arguments = read_arguments()
    torch.set_num_threads(arguments.threads)  # of the learner, which is this process
    with ExitStack() as at_end:  # after an error too
        address = arguments.address
        if not address:  # Ray's own test cluster, each node with half of the runners
            node = {"num_cpus": arguments.threads * math.ceil(arguments.runners / 2)}
            head = node | {"include_dashboard": False}
            cluster = Cluster(initialize_head=True, head_node_args=head)
            at_end.callback(cluster.shutdown)
            cluster.add_node(**node)
            address = cluster.address
        ray.init(address)
        at_end.callback(ray.shutdown)
        warm(arguments.env)
        algorithm = configured(arguments).build_algo()
        at_end.callback(algorithm.stop)
        if arguments.resume:
            algorithm.restore_from_path(max(arguments.out.glob("checkpoint-*")).resolve())
        train(algorithm, arguments)
        write_policy(arguments.out, algorithm, arguments.env)


if __name__ == "__main__":
    main()
