"""The tasks that can be judged, the arguments of their envs, and their fixed start states."""

import importlib
import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator
from gymnasium.vector import AutoresetMode

from rbgym.agents import catalogue
from rbgym.arguments import count, hint, is_number
from rbgym.envs.arguments import named

if TYPE_CHECKING:  # it imports what compiles, and names are checked without
    from rbgym.envs.task import Task

# Start states are drawn from the lane's own seed: these never meet those of a training run.
TEST_SEEDS = range(1_000_000, 1_000_256)
# Seeds of sets of starts; on the validation set a training chooses, fresh starts are drawn.
SPLITS = {"test": TEST_SEEDS, "validation": range(2_000_000, 2_000_256), "fresh": None}
_MOST_FRESH = 1_000_000
_HALF_TURNS = 2.0  # that a slew on a satellite lasts
_LONGEST = 1_000_000  # steps, beyond any task's
PRETRAINED = "pretrained"  # the name of the package's policy for a task
# What Gymnasium's makers, and functions here that hand arguments on to them, say themselves.
_TAKEN = {
    "autoreset_mode", "disable_env_checker", "env_id", "episodes", "id", "num_envs", "policy",
    "render_mode", "seed", "split", "vector_kwargs", "vectorization_mode", "wrappers",
}  # fmt: skip


def training_seeds(seed: int, lanes: int) -> list[int]:
    """Seeds of the lanes of a training, which no other training nor the test set has."""
    drawn = np.random.SeedSequence(seed).generate_state(lanes, np.uint64)
    return [int(one) | 1 << 63 for one in drawn]


def has_test_set(env_id: str) -> bool:
    """Whether the env is a task of rbgym: its categories of start states make a test set."""
    from rbgym.envs.task import Task

    return isinstance(getattr(creator_of(spec_of(env_id).entry_point), "task", None), Task)


def task_of(env_id: str) -> "Task":
    """The declaration of a registered task. Raises ValueError for an env that is none."""
    if not has_test_set(env_id):
        raise ValueError(f"env_id must be a task of rbgym, got {env_id!r}")
    return creator_of(spec_of(env_id).entry_point).task


def creator_of(entry_point: Any) -> Any:
    """What makes an env: an entry point of its spec, imported where it is a text."""
    return load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point


def spec_of(env_id: str) -> Any:
    """The registered spec of an env, also of "module:Env-v0"; ValueError if none is."""
    if not isinstance(env_id, str):
        raise ValueError(f"env_id must be the id of an env, got {env_id!r}")
    module, _, name = env_id.rpartition(":")
    if module:
        try:
            importlib.import_module(module)
        except (ModuleNotFoundError, TypeError, ValueError) as error:
            raise ValueError(f"env_id must name a module,, got {env_id!r}: {error}") from None
    if name not in gym.registry:
        raise ValueError(
            f"env_id must be registered, see rbgym list, got {env_id!r}{hint(name, gym.registry)}"
        )
    return gym.spec(name)


def check_policy(name: str) -> None:
    """Raise ValueError unless it is a controller's name, "pretrained" or a path that is there."""
    if not Path(name).exists():
        named("policy", name, [*catalogue.names(), PRETRAINED], " or a folder")


def by_name(argument: str, value: Any, must_end: bool = False) -> dict[str, Any]:
    """Arguments of an env by their names, in a dict of its own; ValueError for names that are said
    elsewhere, and for a bad time limit, as -1, for none, where an episode must end."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError(f"{argument} must be a dict of arguments by name, got {value!r}")
    taken = sorted(_TAKEN & value.keys())
    if taken:
        raise ValueError(f"{argument} must hold arguments of the environment alone, got {taken}")
    limit = value.get("max_episode_steps")
    if limit is not None and (must_end or not (is_number(limit) and limit == -1)):
        count("max_episode_steps", limit)
    return dict(value)


class Starts(NamedTuple):
    """Start states of one category, which envs know by its name: their seeds."""

    category: str
    seeds: list[int]

    def env(self, env_id: str, env_kwargs: Mapping[str, Any]) -> Any:
        """A vector env with a lane for each, which leaves resets to the caller."""
        kwargs = judged_kwargs(env_id, env_kwargs) | {"initial": self.category}
        mode = AutoresetMode.DISABLED
        return gym.make_vec(env_id, len(self.seeds), autoreset_mode=mode, **kwargs)


def judged_kwargs(env_id: str, env_kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of an env that is judged, see `in_time`; ValueError for other starts."""
    if env_kwargs.get("initial") is not None:
        raise ValueError(
            f"initial must be left out, as the test set of {env_id} has starts of its own, got "
            f"{env_kwargs['initial']!r}"
        )
    return in_time(env_id, env_kwargs)


def in_time(env_id: str, env_kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of an env that is trained in or judged, with the `max_episode_steps` of a
    `satellite` where they lack it: twice the largest half turn of a slew and what success takes
    besides; with a satellite slower than the task's, the task's own seconds at least, as all else
    has; of tumbles and momentum as many times that as they take longer."""
    kwargs, limit = dict(env_kwargs), spec_of(env_id).max_episode_steps
    if kwargs.get("satellite") is None or kwargs.get("max_episode_steps") is not None:
        return kwargs
    own, setup = (_setup(env_id, some) for some in ({}, kwargs))
    slews = setup.parts.goal.has_target() and math.isinf(task_of(env_id).momentum)
    seconds = limit * own.dt
    if slews and setup.least_time:
        least = seconds if setup.least_time > own.least_time else 0.0
        wanted = _HALF_TURNS * setup.least_time + setup.settled_steps * setup.dt
        seconds = max(least, wanted)
    elif own.least_time:
        seconds *= max(setup.least_time / own.least_time, 1.0)
    else:
        seconds = limit * max(own.dt, setup.dt)
    kwargs["max_episode_steps"] = math.ceil(round(seconds / setup.dt, 9))
    return kwargs


def resolved(env_id: str, env_kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """All numbers of an env that is trained in or judged, each with the layer that has said it."""
    kwargs = in_time(env_id, env_kwargs)
    with closing(gym.make_vec(env_id, 1, **kwargs)) as env:
        tree: dict[str, Any] = cast(Any, env.unwrapped).resolved
    if kwargs != env_kwargs:
        tree["max_episode_steps"]["source"] = "satellite"
    return tree


def _setup(env_id: str, env_kwargs: Mapping[str, Any]) -> Any:
    """How the episodes of a task are made, of any starts and length."""
    kwargs = {name: value for name, value in env_kwargs.items() if name != "initial"}
    kwargs["max_episode_steps"] = _LONGEST  # so that no warning tells of a short one
    with closing(gym.make_vec(env_id, 1, **kwargs)) as env:
        return cast(Any, env.unwrapped).episodes.setup


def starts_of(env_id: str, episodes: int = 256, split: str = "test", seed: int = 0) -> list[Starts]:
    """The first `episodes` start states of a set of `SPLITS`, by category, dealt out in turn. seed:
    of fresh starts, which no training has. Raises ValueError for more than there are."""
    named("split", split, SPLITS)
    seeds = SPLITS[split]
    most = _MOST_FRESH if seeds is None else len(seeds)
    if not (is_number(episodes) and 1 <= episodes <= most and episodes % 1 == 0):
        raise ValueError(f"episodes must be from 1 to {most}, got {episodes!r}")
    if seeds is None:
        from rbgym.envs.reset import checked_seed  # whose module compiles

        drawn = np.random.SeedSequence(checked_seed(seed)).generate_state(int(episodes), np.uint64)
        return shared(env_id, [int(one) >> 2 | 1 << 62 for one in drawn])
    if seed != 0:
        raise ValueError(f"seed must be left out, as it draws fresh starts alone, got {seed!r}")
    return shared(env_id, seeds[: int(episodes)])


def start_of(env_id: str, episode: int) -> Starts:
    """One start state of a task's test set, counted from 0."""
    categories = [*task_of(env_id).categories]
    return Starts(categories[episode % len(categories)], [TEST_SEEDS[episode]])


def shared(env_id: str, seeds: Sequence[int]) -> list[Starts]:
    """The seeds, dealt out among the categories of a task."""
    categories = task_of(env_id).categories
    dealt = (list(seeds[k :: len(categories)]) for k in range(len(categories)))
    return [Starts(*one) for one in zip(categories, dealt, strict=True) if one[1]]
