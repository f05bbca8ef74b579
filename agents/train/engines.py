"""Who does the work: Stable-Baselines3, evolution or RLlib."""

from typing import Any

from rbgym.agents.run_folder import Training
from rbgym.envs.arguments import named

ENGINES = ("sb3", "rllib")
# What only some of them take.
_TAKEN = {
    "the engine sb3": {"timesteps", "checkpoint_every", "evaluate_every", "threads", "progress"},
    "the engine rllib": {"timesteps", "checkpoint_every", "progress", "address", "runners"},
    "cma_es": {"progress"},
}


def train(env_id: str, algo: str = "ppo", engine: str = "sb3", **arguments: Any) -> Training:
    """Train a policy into a folder, `out`, with the arguments of the engine's own `train`.

    engine: "sb3", or "rllib" for many machines. algo: with sb3 ppo, sac, td3, tqc, recurrent_ppo,
    or cma_es for evolution; with rllib ppo. An argument that is None stands for its default. See
    `rbgym.agents.train.sb3.training.train`, `.evolution.evolving.evolve`, `.rllib.training.train`.
    Raises ValueError for an unknown engine, and for an argument that it does not take.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    named("engine", engine, ENGINES)
    who = algo if engine == "sb3" and algo in _TAKEN else f"the engine {engine}"
    for name in sorted(set().union(*_TAKEN.values()) - _TAKEN[who]):
        if name in given:
            raise ValueError(f"{name} plays no part with {who}, got {given[name]!r}")
    if engine == "rllib":
        from rbgym.agents.train.rllib import training as rllib

        return rllib.train(env_id, algo, **given)
    if who == algo:
        from rbgym.agents.train.evolution.evolving import evolve

        return evolve(env_id, **given)
    from rbgym.agents.policies.sb3 import ALGORITHMS
    from rbgym.agents.train.sb3 import training as sb3

    named("algo", algo, (*ALGORITHMS, "cma_es"))
    return sb3.train(env_id, algo, **given)
