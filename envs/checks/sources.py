"""Where the environments under examination come from: an id, a factory, a ready environment."""

import contextlib
import importlib
import inspect
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, TypeAlias

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.wrappers import TimeLimit

Vec: TypeAlias = VectorEnv[Any, Any, Any]
Factory: TypeAlias = Callable[..., Vec]
Single: TypeAlias = Callable[[], gym.Env[Any, Any]]


@dataclass(frozen=True)
class Source:
    """Environments of one autoreset mode; `rebuilds` is False for the caller's only instance."""

    make: Callable[[int], Vec]
    mode: AutoresetMode
    num_envs: int
    rebuilds: bool = True

    @contextlib.contextmanager
    def build(self, num_envs: int | None = None) -> Iterator[Vec]:
        """The environment; closed afterwards unless it is the caller's own."""
        env = self.make(num_envs or self.num_envs)
        try:
            yield env
        finally:
            if self.rebuilds:
                env.close()


def from_id(
    name: str, kwargs: Mapping[str, Any], single: Single | None = None
) -> tuple[Factory, Single]:
    """The factory and the single environment behind a registered id ("module:Name-v0" too)."""
    module, _, local = name.rpartition(":")
    if module:
        importlib.import_module(module)
    entry = gym.spec(local).vector_entry_point
    single = single or partial(gym.make, local, disable_env_checker=True, **kwargs)
    if entry is None:
        return partial(_make_sync, local), single
    creator = load_env_creator(entry) if isinstance(entry, str) else entry

    @wraps(creator)  # takes_mode then sees the creator's own signature
    def native(**options: Any) -> Vec:
        return gym.make_vec(local, vectorization_mode="vector_entry_point", **options)

    return native, single


def _make_sync(name: str, num_envs: int, autoreset_mode: AutoresetMode, **kwargs: Any) -> Vec:
    single = partial(gym.make, name, disable_env_checker=True, **kwargs)
    return SyncVectorEnv([single] * num_envs, autoreset_mode=autoreset_mode)


def limited(single: Single, steps: int) -> Single:
    """The same single environment with a time limit around it."""
    return lambda: TimeLimit(single(), steps)


def pickled(env: Vec) -> Vec:
    """The environment after a trip through pickle."""
    clone: Vec = pickle.loads(pickle.dumps(env))
    return clone


def takes_mode(factory: Factory) -> bool:
    """Whether the factory accepts `autoreset_mode`."""
    parameters = inspect.signature(factory).parameters
    return "autoreset_mode" in parameters or any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
    )


def mode_of(env: Vec) -> AutoresetMode:
    """The mode that the environment declares."""
    mode = env.metadata.get("autoreset_mode")
    assert isinstance(mode, AutoresetMode), (
        f"metadata['autoreset_mode'] must be an AutoresetMode, not {mode!r}"
    )
    return mode


def variants(
    origin: Vec | Factory,
    num_envs: int,
    modes: Sequence[AutoresetMode] | None,
    kwargs: Mapping[str, Any],
) -> Iterator[Source]:
    """One source for each autoreset mode that can be examined."""
    if isinstance(origin, VectorEnv):
        ready = origin
        yield Source(lambda _: ready, mode_of(ready), ready.num_envs, rebuilds=False)
        return
    make = partial(origin, **kwargs)
    if takes_mode(origin):
        for mode in modes or AutoresetMode:
            yield Source(_by_number(partial(make, autoreset_mode=mode)), mode, num_envs)
    else:
        with contextlib.closing(make(num_envs=1)) as env:
            mode = mode_of(env)
        yield Source(_by_number(make), mode, num_envs)


def _by_number(factory: Factory) -> Callable[[int], Vec]:
    return lambda num_envs: factory(num_envs=num_envs)
