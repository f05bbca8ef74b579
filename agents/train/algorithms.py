"""The algorithms by name: those of Stable-Baselines3, analytic gradients, and evolution."""

from typing import Any

from rbgym.agents.run_folder import Training
from rbgym.envs.arguments import named

# What only those of Stable-Baselines3 take.
_OF_SB3 = ("checkpoint_every", "evaluate_every", "threads", "timesteps")
_OTHERS = ("apg", "cma_es")


def train(env_id: str, algo: str = "ppo", **arguments: Any) -> Training:
    """Train a policy into a folder, `out`, with the arguments of the algorithm's own `train`.

    algo: ppo, sac, tqc, recurrent_ppo; apg for gradients through the physics, cma_es for
    evolution. An argument that is None stands for its default. See
    `rbgym.agents.train.sb3.training.train`, `.analytic.learn` and `.evolution.evolving.evolve`.
    Raises ValueError for an unknown algorithm, and for an argument that it does not take.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    if isinstance(algo, str) and algo in _OTHERS:
        for name in _OF_SB3:
            if name in given:
                raise ValueError(f"{name} plays no part with {algo}, got {given[name]!r}")
        if algo == "apg":
            from rbgym.agents.train.analytic import learn

            return learn(env_id, **given)
        from rbgym.agents.train.evolution.evolving import evolve

        return evolve(env_id, **given)
    from rbgym.agents.policies.sb3 import ALGORITHMS
    from rbgym.agents.train.sb3 import training as sb3

    named("algo", algo, (*ALGORITHMS, *_OTHERS))
    return sb3.train(env_id, algo, **given)
