"""The native vector environment as one of RLlib's env runners steps it."""

import warnings
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorWrapper

from rbgym.agents.judge.cases import creator_of, spec_of
from rbgym.envs.base import AttitudeVectorEnv

# Seeds from here on belong to no test set and to no Stable-Baselines3 run.
_FIRST_SEED = 1 << 63


class RunnerLanes(VectorWrapper):
    """A native vector env with seeds of its own for each env runner, and empty infos.

    RLlib seeds its runners with consecutive numbers, as a vector env its lanes: without this, lane
    1 of one runner would repeat lane 0 of the next. Infos would be turned into a dict for each
    lane, step by step, and nobody reads them.
    """

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin episodes; from a seed, those of all lanes are drawn."""
        seeds: Any = None if seed is None else lane_seeds(seed, self.num_envs)
        observations, _ = self.env.reset(seed=seeds, options=options)
        return observations, {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step all lanes."""
        return *self.env.step(actions)[:4], {}


def lane_seeds(seed: int, count: int) -> list[int]:
    """As many seeds of lanes, from 2**63 to 2**64 - 1; others in a runner that was restarted.

    Its predecessor has had the episodes that the runner's own seed leads to.
    """
    entropy = None if _restarted() else seed
    drawn = np.random.SeedSequence(entropy).generate_state(count, np.uint64)
    return [int(value) | _FIRST_SEED for value in drawn]


def make_lanes(context: dict[str, Any]) -> RunnerLanes | gym.Env[Any, Any]:
    """RLlib's env creator: `num_envs` lanes of `env_id`, or one env where no number is given.

    context: RLlib's, with the entries env_id, env_kwargs and perhaps num_envs.
    """
    env_id, kwargs = context["env_id"], context["env_kwargs"]
    if "num_envs" not in context:
        return gym.make(env_id, **kwargs)
    env = gym.make_vec(
        env_id,
        num_envs=context["num_envs"],
        vectorization_mode="vector_entry_point",
        # An env runner takes the step after the end of an episode for the reset that it is.
        autoreset_mode=AutoresetMode.NEXT_STEP,
        **kwargs,
    )
    return RunnerLanes(env)


def check_env(
    env_id: str, env_kwargs: dict[str, Any]
) -> tuple[spaces.Space[Any], spaces.Space[Any]]:
    """One lane's observations and actions.

    Raises ValueError, or Gymnasium's error with a near name, for what cannot be trained.
    """
    native = creator_of(spec_of(env_id).vector_entry_point)
    if not (isinstance(native, type) and issubclass(native, AttitudeVectorEnv)):
        raise ValueError(f"env_id must be one of rbgym's environments, got {env_id!r}")
    env = make_lanes({"env_id": env_id, "env_kwargs": env_kwargs, "num_envs": 1})
    env.close()
    if not isinstance(env.observation_space, spaces.Box):
        raise ValueError(
            f"env_id must be an environment whose observations are arrays, got {env_id!r}, which "
            "observes goals: train it with the engine sb3"
        )
    return env.single_observation_space, env.single_action_space  # type: ignore[union-attr]


def _restarted() -> bool:
    """Whether this process takes the place of a runner that died: not to repeat its episodes."""
    import ray

    if not ray.is_initialized():
        return False
    context = ray.get_runtime_context()
    if context.get_actor_id() is None:
        return False
    with warnings.catch_warnings():  # Ray's property asks another one that it has deprecated
        warnings.filterwarnings("ignore", "This API is deprecated", DeprecationWarning)
        return bool(context.was_current_actor_reconstructed)
