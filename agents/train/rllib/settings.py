"""RLlib's configuration of a run, from hyperparameters in YAML, and the network that it trains."""

import inspect
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

import numpy as np

from rbgym.agents.policies.forward import ACTIVATIONS
from rbgym.agents.policies.network import Network
from rbgym.agents.train import presets
from rbgym.agents.train.rllib.lanes import make_lanes
from rbgym.envs.arguments import named

# Seconds in which a lost env runner may answer that it is back; asked once in an iteration.
_PROBE = 0.5
# Seconds between two attempts of Ray to start a lost env runner, and for its weights to get there.
_RESTART, _RESTORE = 1.0, 60.0

_ENV = "rbgym"  # the name under which every process of the cluster finds the env creator
_OURS = {"n_timesteps", "num_envs_per_env_runner"}
_MODEL = {"fcnet_hiddens", "fcnet_activation"}


def check_versions() -> None:
    """Raise a clear error where Ray is not installed, or not for the Gymnasium that is.

    ModuleNotFoundError for the first, ValueError for the second.
    """
    from packaging.requirements import Requirement

    try:
        wanted = [Requirement(line) for line in requires("ray") or ()]
    except PackageNotFoundError:
        raise ModuleNotFoundError("No module named 'ray'", name="ray") from None
    installed = version("gymnasium")
    for requirement in wanted:
        is_meant = requirement.marker is None or requirement.marker.evaluate({"extra": "rllib"})
        if requirement.name == "gymnasium" and is_meant and installed not in requirement.specifier:
            raise ValueError(
                f"ray {version('ray')} needs gymnasium{requirement.specifier}, and {installed} is "
                "installed: make an environment of its own with pip install 'rbgym[rllib]'"
            )


def hyperparameters(
    env_id: str, file: str | Path | None = None, changes: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Those of RLlib's PPO for an env, see `presets.read`. ValueError for bad ones."""
    from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
    from ray.rllib.algorithms.ppo import PPOConfig

    known = _OURS | _MODEL
    for method in (AlgorithmConfig.training, PPOConfig.training):
        parameters = inspect.signature(method).parameters.values()
        known |= {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    found = presets.read(
        "rllib_ppo", env_id, file, changes, known=known, needed=sorted(_OURS | _MODEL)
    )
    named("fcnet_activation", found["fcnet_activation"], ACTIVATIONS)
    return found


def algorithm_config(run: dict[str, Any], runners: int, start: int) -> Any:
    """The PPOConfig of a run.

    run: what the run's config.json holds. runners: processes that step lanes; 0 for none but this
    one. start: env steps done before, from which the seeds of what follows are drawn.
    """
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
    from ray.tune import register_env

    register_env(_ENV, make_lanes)
    given = run["hyperparameters"]
    seed = int(np.random.SeedSequence((run["seed"], start)).generate_state(1)[0] >> 1)
    return (
        PPOConfig()
        .api_stack(enable_rl_module_and_learner=True, enable_env_runner_and_connector_v2=True)
        .environment(
            _ENV,
            env_config={"env_id": run["env_id"], "env_kwargs": run["env_kwargs"]},
            normalize_actions=False,  # they are in [-1, 1]: scaling would only round them
            clip_actions=True,
        )
        .env_runners(
            num_env_runners=runners,
            num_envs_per_env_runner=given["num_envs_per_env_runner"],
            gym_env_vectorize_mode="vector_entry_point",
        )
        .rl_module(
            model_config=DefaultModelConfig(
                **{name: given[name] for name in _MODEL & given.keys()}, free_log_std=True
            )
        )
        .training(**{k: v for k, v in given.items() if k not in _OURS | _MODEL})
        .learners(num_learners=0)
        .debugging(seed=seed, log_level="ERROR")
        .fault_tolerance(
            restart_failed_env_runners=True,
            delay_between_env_runner_restarts_s=_RESTART,
            env_runner_health_probe_timeout_s=_PROBE,
            env_runner_restore_timeout_s=_RESTORE,
        )
    )


def network_of(module: Any, activation: str) -> Network:
    """The mean of the actions of an RLModule of RLlib's PPO, clipped as the env is given them."""
    weights = {name: np.asarray(value) for name, value in module.get_state().items()}
    # The one encoder of a module for inference, or the actor's beside the critic's.
    for_inference = "encoder.encoder.net.mlp.0.weight" in weights
    encoder = "encoder.encoder." if for_inference else "encoder.actor_encoder."
    names = [
        name.removesuffix(".weight")
        for part in (encoder, "pi.")
        for name in weights
        if name.startswith(part) and name.endswith(".weight")
    ]
    layers = tuple((weights[f"{n}.weight"], weights[f"{n}.bias"]) for n in names)
    return Network(layers, activation, "clip")
