"""The ids of the environments, registered as strings, which imports no environment."""

import gymnasium as gym

from rbgym.arguments import count

# id -> (module, class name without Env or VectorEnv, steps in an episode)
ENVIRONMENTS = {
    "RigidTop-v0": ("rbgym.envs.tasks.top", "RigidTop", 500),
    "TopSwingUp-v0": ("rbgym.envs.tasks.top", "TopSwingUp", 500),
    "SteadyPrecession-v0": ("rbgym.envs.tasks.top", "SteadyPrecession", 500),
    "IntermediateAxis-v0": ("rbgym.envs.tasks.intermediate_axis", "IntermediateAxis", 500),
    "AttitudeReach-v0": ("rbgym.envs.tasks.reach", "AttitudeReach", 300),
    "ScalableSpin-v0": ("rbgym.envs.tasks.scalable_spin", "ScalableSpin", 200),
    "FreeFlyer-v0": ("rbgym.envs.tasks.free_flyer", "FreeFlyer", 300),
    "AttitudeSlew-v1": ("rbgym.envs.tasks.cubesat", "AttitudeSlew", 200),
    "ReactionWheelSlew-v1": ("rbgym.envs.tasks.cubesat", "ReactionWheelSlew", 200),
    "FlexibleSlew-v0": ("rbgym.envs.tasks.cubesat", "FlexibleSlew", 200),
    "KeepOutSlew-v0": ("rbgym.envs.tasks.cubesat", "KeepOutSlew", 200),
    "Detumble-v1": ("rbgym.envs.tasks.cubesat", "Detumble", 100),
    "InertialPointing-v0": ("rbgym.envs.tasks.innocube", "InertialPointing", 120),
    "MomentumDumping-v0": ("rbgym.envs.tasks.innocube", "MomentumDumping", 2850),
    "AttitudeTracking-v1": ("rbgym.envs.tasks.cubesat", "AttitudeTracking", 400),
    "MagneticDetumble-v1": ("rbgym.envs.tasks.innocube", "MagneticDetumble", 5693),
    "MagneticPointing-v0": ("rbgym.envs.tasks.innocube", "MagneticPointing", 1708),
    "SafeMode-v0": ("rbgym.envs.tasks.wakeup", "SafeMode", 5693),
    "SunAcquisition-v0": ("rbgym.envs.tasks.wakeup", "SunAcquisition", 2850),
    "TumblingCapture-v0": ("rbgym.envs.tasks.free_flyer", "TumblingCapture", 300),
    "DetumbleToPoint-v0": ("rbgym.envs.tasks.wakeup", "DetumbleToPoint", 5693),
    "SoftWall-v0": ("rbgym.envs.tasks.soft_wall", "SoftWall", 400),
    "NutationDamping-v0": ("rbgym.envs.tasks.nutation", "NutationDamping", 600),
}


def register(env_id: str, module: str, name: str, max_episode_steps: int) -> None:
    """Register a task of your own, with its native vector version, for Gymnasium and `rbgym list`.

    module: the module of the classes `<name>Env` and `<name>VectorEnv`, imported only by gym.make.
    Raises ValueError for wrong arguments and for an id already in use, and Gymnasium's error for an
    id that Gymnasium rejects.
    """
    for argument, value in (("env_id", env_id), ("module", module), ("name", name)):
        if not isinstance(value, str) or not value:
            raise ValueError(f"{argument} must be a name, got {value!r}")
    steps = count("max_episode_steps", max_episode_steps)
    entry, known = f"{module}:{name}Env", gym.registry.get(env_id)
    if known and (known.entry_point, known.max_episode_steps) != (entry, steps):
        raise ValueError(
            f"env_id must be new, but {env_id!r} is {known.entry_point}, with "
            f"{known.max_episode_steps} steps"
        )
    if not known:
        several = f"{module}:{name}VectorEnv"
        gym.register(env_id, entry, vector_entry_point=several, max_episode_steps=steps)
    ENVIRONMENTS[env_id] = (module, name, steps)


def register_environments() -> None:
    """Register every environment that is not registered yet, with its native vector version."""
    for env_id, (module, name, steps) in ENVIRONMENTS.items():
        if env_id not in gym.registry:
            register(env_id, module, name, steps)
