"""The ids of the environments, registered by string so that nothing else is imported."""

import gymnasium as gym

# id -> (module, class name without its Env or VectorEnv ending, steps of an episode)
ENVIRONMENTS = {
    "RigidTop-v0": ("rbgym.envs.rigid_top", "RigidTop", 500),
    "TopSwingUp-v0": ("rbgym.envs.top_swing_up", "TopSwingUp", 500),
    "SteadyPrecession-v0": ("rbgym.envs.steady_precession", "SteadyPrecession", 500),
    "AttitudeSlew-v0": ("rbgym.envs.attitude_slew", "AttitudeSlew", 400),
    "AttitudeTracking-v0": ("rbgym.envs.attitude_tracking", "AttitudeTracking", 600),
    "Detumble-v0": ("rbgym.envs.detumble", "Detumble", 400),
    "IntermediateAxis-v0": ("rbgym.envs.intermediate_axis", "IntermediateAxis", 500),
    "AttitudeReach-v0": ("rbgym.envs.attitude_reach", "AttitudeReach", 300),
    "ReactionWheelSlew-v0": ("rbgym.envs.reaction_wheel_slew", "ReactionWheelSlew", 500),
    "MagneticDetumble-v0": ("rbgym.envs.magnetic_detumble", "MagneticDetumble", 5677),
    "ScalableSpin-v0": ("rbgym.envs.scalable_spin", "ScalableSpin", 200),
    "FreeFlyer-v0": ("rbgym.envs.free_flyer", "FreeFlyer", 300),
    "SoftWall-v0": ("rbgym.envs.soft_wall", "SoftWall", 400),
}


def register(env_id: str, module: str, name: str, max_episode_steps: int) -> None:
    """Register a task of your own, with its native vector version, for Gymnasium and `rbgym list`.

    module: where the classes `<name>Env` and `<name>VectorEnv` stand; nothing is imported yet.
    """
    ENVIRONMENTS[env_id] = (module, name, max_episode_steps)
    register_environments()


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
