"""Attributes and methods of the sub-envs of a `gymnasium.vector.VectorEnv`, for chosen lanes.

A SyncVectorEnv has one env a lane, an AsyncVectorEnv one a lane in other processes (reached all at
once: a method runs in every lane). A native vector env is one object whose lanes share everything.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium as gym
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv

AnyVectorEnv = VectorEnv[Any, Any, Any]


def get_attr(vector_env: AnyVectorEnv, name: str, chosen: Sequence[int]) -> list[Any]:
    """Return the attribute of each chosen lane; AttributeError if there is none."""
    base = vector_env.unwrapped
    if isinstance(base, SyncVectorEnv):
        return [base.envs[lane].get_wrapper_attr(name) for lane in chosen]
    if isinstance(base, AsyncVectorEnv):
        values = base.get_attr(name)
        return [values[lane] for lane in chosen]
    return [getattr(_owner(vector_env, name), name)] * len(chosen)


def set_attr(vector_env: AnyVectorEnv, name: str, value: Any, chosen: Sequence[int]) -> None:
    """Set the attribute in each chosen lane.

    Raises ValueError for some lanes only, except of a SyncVectorEnv.
    """
    base = vector_env.unwrapped
    if isinstance(base, SyncVectorEnv):
        for lane in chosen:
            base.envs[lane].set_wrapper_attr(name, value)
    elif len(set(chosen)) != vector_env.num_envs:
        raise ValueError(f"indices={chosen}: {vector_env} can set {name!r} only in all lanes")
    elif isinstance(base, AsyncVectorEnv):
        base.set_attr(name, [value] * vector_env.num_envs)
    else:
        owners = [layer for layer in _layers(vector_env) if hasattr(layer, name)]
        setattr((owners or [base])[0], name, value)


def call(
    vector_env: AnyVectorEnv, name: str, chosen: Sequence[int], *args: Any, **kwargs: Any
) -> list[Any]:
    """Call the method in each chosen lane, once for all in a native env; one result a lane."""
    base = vector_env.unwrapped
    if isinstance(base, SyncVectorEnv):
        methods = [base.envs[lane].get_wrapper_attr(name) for lane in chosen]
        return [method(*args, **kwargs) for method in methods]
    if isinstance(base, AsyncVectorEnv):
        results = base.call(name, *args, **kwargs)
        return [results[lane] for lane in chosen]
    return [getattr(_owner(vector_env, name), name)(*args, **kwargs)] * len(chosen)


def are_wrapped(vector_env: AnyVectorEnv, wrapper: type, chosen: Sequence[int]) -> list[bool]:
    """Tell for each chosen lane if a vector wrapper or a wrapper of its sub-env is of the class.

    The sub-envs of an AsyncVectorEnv cannot be looked at and count as not wrapped.
    """
    base = vector_env.unwrapped
    around_all = _has_layer(vector_env, wrapper)
    if isinstance(base, SyncVectorEnv):
        return [around_all or _has_layer(base.envs[lane], wrapper) for lane in chosen]
    return [around_all] * len(chosen)


def _layers(env: Any) -> Iterator[Any]:
    """Yield the wrappers of an env or vector env, outermost first, then the env itself."""
    yield env
    while isinstance(env, gym.Wrapper | gym.vector.VectorWrapper):
        env = env.env
        yield env


def _has_layer(env: Any, wrapper: type) -> bool:
    return any(isinstance(layer, wrapper) for layer in _layers(env))


def _owner(vector_env: AnyVectorEnv, name: str) -> Any:
    """Return the outermost layer that has the attribute."""
    for layer in _layers(vector_env):
        if hasattr(layer, name):
            return layer
    raise AttributeError(f"{vector_env} has no attribute {name!r}")
