"""What makes policies: Stable-Baselines3 and analytic gradients, each into a folder.

Public is what is listed here; each is imported when it is first used, as it may need an extra.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rbgym.agents.run_folder import Training
from rbgym.envs.arguments import named

if TYPE_CHECKING:
    from rbgym.agents.train.gradients import DifferentiableEnv as DifferentiableEnv
    from rbgym.agents.train.rollouts import Rollout as Rollout
    from rbgym.agents.train.rollouts import rollout as rollout
    from rbgym.agents.train.rollouts import rollout_test_set as rollout_test_set
    from rbgym.agents.train.run import load_policy as load_policy
    from rbgym.agents.train.sb3.adapter import VectorEnvAdapter as VectorEnvAdapter
    from rbgym.agents.train.sb3.adapter import make_sb3_env as make_sb3_env

_MODULES = {
    "gradients": ("DifferentiableEnv",),
    "rollouts": ("Rollout", "rollout", "rollout_test_set"),
    "run": ("load_policy",),
    "sb3.adapter": ("VectorEnvAdapter", "make_sb3_env"),
}
# What only the algorithms of Stable-Baselines3 take.
_OF_SB3 = ("checkpoint_every", "evaluate_every", "threads", "timesteps")
_OTHERS = {"auto": "auto", "apg": "analytic"}  # and their modules


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def train(env_id: str, algo: str = "auto", **arguments: Any) -> Training:
    """Train a policy into a folder, `out`, with the arguments of the algorithm's own `train`.

    algo: auto, which imitates a law and climbs from there; ppo, sac, tqc, recurrent_ppo; apg for
    gradients through the physics. An argument that is None stands for its default. See
    `rbgym.agents.train.sb3.training.train`, `.auto.learn` and `.analytic.learn`.
    Raises ValueError for an unknown algorithm, and for an argument that it does not take.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    if isinstance(algo, str) and algo in _OTHERS:
        for name in _OF_SB3:
            if name in given:
                raise ValueError(f"{name} plays no part with {algo}, got {given[name]!r}")
        learn: Any = import_module(f"{__name__}.{_OTHERS[algo]}").learn
        return learn(env_id, **given)
    from rbgym.agents.policies.sb3 import ALGORITHMS
    from rbgym.agents.train.sb3 import training as sb3

    named("algo", algo, (*ALGORITHMS, *_OTHERS))
    return sb3.train(env_id, algo, **given)
