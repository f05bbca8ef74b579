"""The ids of the environments, registered by string so that nothing else is imported."""

import gymnasium as gym

# id -> (module, class name without its Env or VectorEnv ending, steps of an episode)
ENVIRONMENTS = {
    "RigidTop-v0": ("rbgym.envs.rigid_top", "RigidTop", 500),
}


def register_environments() -> None:
    """Register every environment, with its native vector version, unless that has been done."""
    for env_id, (module, name, horizon) in ENVIRONMENTS.items():
        if env_id not in gym.registry:
            gym.register(
                id=env_id,
                entry_point=f"{module}:{name}Env",
                vector_entry_point=f"{module}:{name}VectorEnv",
                max_episode_steps=horizon,
            )
