"""The engines that train: Stable-Baselines3, evolution and RLlib."""

from typing import Any

from rbgym.agents.run_folder import Training
from rbgym.envs.arguments import hint

ENGINES = ("sb3", "rllib")
# Arguments that only some of them take.
_SB3 = ("timesteps", "checkpoint_every", "evaluate_every", "threads", "progress")
_RLLIB = ("timesteps", "checkpoint_every", "progress", "address", "runners")


def train(env_id: str, algo: str, engine: str = "sb3", **arguments: Any) -> Training:
    """Train with the engine, and the arguments of its `train`; None stands for its default.

    Raises ValueError for an unknown engine, and for an argument that it does not take.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    if not isinstance(engine, str) or engine not in ENGINES:
        raise ValueError(f"engine must be one of {list(ENGINES)}, got {engine!r}")
    if engine == "rllib":
        from rbgym.agents.train.rllib import training as rllib

        _refuse_others(given, _RLLIB, "the engine rllib")
        return rllib.train(env_id, algo, **given)
    from rbgym.agents.policies.algorithms import ALGORITHMS
    from rbgym.agents.train import training
    from rbgym.agents.train.evolution import evolving

    if isinstance(algo, str) and algo == evolving.ALGORITHM:
        _refuse_others(given, ("progress",), algo)
        return evolving.evolve(env_id, **given)
    known = (*ALGORITHMS, evolving.ALGORITHM)
    if not isinstance(algo, str) or algo not in known:
        raise ValueError(f"algo must be one of {list(known)}, got {algo!r}{hint(algo, known)}")
    _refuse_others(given, _SB3, "the engine sb3")
    return training.train(env_id, algo, **given)


def _refuse_others(given: dict[str, Any], taken: tuple[str, ...], what: str) -> None:
    for name in {*_SB3, *_RLLIB} - set(taken):
        if name in given:
            raise ValueError(f"{name} plays no part with {what}, got {given[name]!r}")
