"""The tasks on which policies are judged, their envs' arguments and their fixed start states."""

import importlib
import itertools
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

if TYPE_CHECKING:  # its import compiles kernels, which checking a name does not need
    from rbgym.envs.task import Task

# A lane draws its start state from its own seed: no training run uses one of these.
TEST_SEEDS = range(1_000_000, 1_000_256)
# Seeds of sets of starts: a training selects its policy on "validation"; "fresh" ones are drawn.
SPLITS = {"test": TEST_SEEDS, "validation": range(2_000_000, 2_000_256), "fresh": None}
_MOST_FRESH = 1_000_000
_HALF_TURNS = 2.0  # length of a satellite's slew episode, in half turns
_LONGEST = 1_000_000  # steps, more than any task has
BEHIND, DISPERSED = "behind", "dispersed"  # conditions, see `judge.card`
# Names of the package's policies for a task: of the true state, and of the conditions.
PRETRAINED = "pretrained"
SHIPPED = {PRETRAINED: None} | {f"{PRETRAINED}-{one}": one for one in (BEHIND, DISPERSED)}
# Arguments that gym.make, gym.make_vec and the functions here that call them set themselves.
_RESERVED = {
    "autoreset_mode", "disable_env_checker", "env_id", "episodes", "estimator", "id", "num_envs",
    "policy", "render_mode", "seed", "split", "vector_kwargs", "vectorization_mode", "wrappers",
}  # fmt: skip


def training_seeds(seed: int, lanes: int) -> list[int]:
    """Seeds of a training's lanes, apart from those of other trainings and of the test set."""
    drawn = np.random.SeedSequence(seed).generate_state(lanes, np.uint64)
    return [int(one) | 1 << 63 for one in drawn]


def has_test_set(env_id: str) -> bool:
    """Whether the env is a task of rbgym, whose categories of start states make a test set."""
    from rbgym.envs.task import Task

    return isinstance(getattr(creator_of(spec_of(env_id).entry_point), "task", None), Task)


def task_of(env_id: str) -> "Task":
    """The declaration of a registered task. Raises ValueError for any other env."""
    if not has_test_set(env_id):
        raise ValueError(f"env_id must be a task of rbgym, got {env_id!r}")
    return creator_of(spec_of(env_id).entry_point).task


def creator_of(entry_point: Any) -> Any:
    """The function or class that creates an env; imports an entry point given as a string."""
    return load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point


def spec_of(env_id: str) -> Any:
    """The registered spec of an env, also for "module:Env-v0"; ValueError if it has none."""
    if not isinstance(env_id, str):
        raise ValueError(f"env_id must be the id of an env, got {env_id!r}")
    module, colon, name = env_id.rpartition(":")
    if colon:
        try:
            importlib.import_module(module)
        except (ModuleNotFoundError, TypeError, ValueError) as error:
            raise ValueError(f"env_id must name a module, got {env_id!r}: {error}") from None
    if name not in gym.registry:
        raise ValueError(
            f"env_id must be registered, see rbgym list, got {env_id!r}{hint(name, gym.registry)}"
        )
    return gym.spec(name)


def check_policy(name: str) -> None:
    """Raise ValueError unless it is a controller's name, one of `SHIPPED` or an existing path."""
    if not Path(name).exists():
        named("policy", name, [*catalogue.names(), *SHIPPED], " or a folder")


def by_name(argument: str, value: Any, must_end: bool = False) -> dict[str, Any]:
    """Return a copy of an env's keyword arguments; ValueError for names that the caller sets
    itself, and for a bad time limit; -1 (no limit) is bad where an episode must end."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError(f"{argument} must be a dict of arguments by name, got {value!r}")
    if taken := sorted(_RESERVED & value.keys()):
        raise ValueError(f"{argument} must hold arguments of the environment alone, got {taken}")
    limit = value.get("max_episode_steps")
    if limit is not None and (must_end or not (is_number(limit) and limit == -1)):
        count("max_episode_steps", limit)
    return dict(value)


class Starts(NamedTuple):
    """Start states: the category of each, which is the `initial` of its reset, and its seed.
    Without categories the env's own `initial` draws them."""

    categories: list[str]
    seeds: list[int]

    def env(self, env_id: str, env_kwargs: Mapping[str, Any]) -> Any:
        """Make a vector env with a lane for each start; `begin` resets it."""
        if self.categories and env_kwargs.get("initial") is not None:
            raise ValueError(
                f"initial must be left out, as the test set of {env_id} fixes the starts (evaluate "
                f"takes it with split='fresh'), got {env_kwargs['initial']!r}"
            )
        kwargs, mode = in_time(env_id, env_kwargs), AutoresetMode.DISABLED
        return gym.make_vec(env_id, len(self.seeds), autoreset_mode=mode, **kwargs)

    def begin(self, env: Any) -> Any:
        """Reset each lane of the env to its start; returns observations and info."""
        return env.reset(seed=self.seeds, options={"initial": self.categories or None})


def in_time(env_id: str, env_kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of an env for training or judging. Adds the `max_episode_steps` that a `satellite`
    needs, unless they are given. Slew: twice the slowest half turn plus the settling time, and at
    least the task's own seconds for a satellite slower than the task's. Tumble or momentum: the
    task's seconds times the ratio of the least times. Else the task's seconds or, of a longer
    period, its steps."""
    kwargs, limit = dict(env_kwargs), spec_of(env_id).max_episode_steps
    if kwargs.pop("max_episode_steps", None) is not None:  # None changes nothing
        return dict(env_kwargs)
    if limit is None and has_test_set(env_id):
        raise ValueError(f"max_episode_steps must be given for {env_id}, got None")
    if kwargs.get("satellite") is None:
        return kwargs
    own, setup = (setup_of(env_id, some) for some in ({}, kwargs))
    task = task_of(env_id)
    slews = setup.parts.goal.has_target() and math.isinf(task.momentum)
    slews &= not getattr(task.start, "least_rate", 0.0)  # not from a tumble
    seconds = limit * own.dt
    if slews and setup.least_time:
        wanted = _HALF_TURNS * setup.least_time + setup.settled_steps * setup.dt
        seconds = max(seconds if setup.least_time > own.least_time else 0.0, wanted)
    elif own.least_time:
        seconds *= max(setup.least_time / own.least_time, 1.0)
    else:
        seconds = limit * max(own.dt, setup.dt)
    kwargs["max_episode_steps"] = math.ceil(round(seconds / setup.dt, 9))
    return kwargs


def resolved(env_id: str, env_kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting of an env for training or judging, with the layer that set it."""
    task_of(env_id)  # raises for any other env
    kwargs = in_time(env_id, env_kwargs)
    with closing(gym.make_vec(env_id, 1, **kwargs)) as env:
        tree: dict[str, Any] = cast(Any, env.unwrapped).resolved
    if env_kwargs.get("max_episode_steps") is None:  # `make_vec` passes the registered one
        brought = "max_episode_steps" in kwargs
        tree["max_episode_steps"]["source"] = "satellite" if brought else "task"
    return tree


def setup_of(env_id: str, env_kwargs: Mapping[str, Any]) -> Any:
    """The `setup` of a task's episodes, without `initial` and with a long time limit."""
    kwargs = {name: value for name, value in env_kwargs.items() if name != "initial"}
    kwargs["max_episode_steps"] = _LONGEST  # a short limit would warn
    with closing(gym.make_vec(env_id, 1, **kwargs)) as env:
        return cast(Any, env.unwrapped).episodes.setup


def starts_of(env_id: str, episodes: int = 256, split: str = "test", seed: int = 0) -> Starts:
    """The first `episodes` starts of a set of `SPLITS`, dealt to a task's categories in turn, in
    the order of seeds. seed: draws fresh ones, which no training has. ValueError for too many."""
    named("split", split, SPLITS)
    seeds: Sequence[int] | None = SPLITS[split]
    most = _MOST_FRESH if seeds is None else len(seeds)
    if not (is_number(episodes) and 1 <= episodes <= most and episodes % 1 == 0):
        raise ValueError(f"episodes must be from 1 to {most}, got {episodes!r}")
    if seeds is None:
        from rbgym.envs.reset import checked_seed  # its import compiles kernels

        drawn = np.random.SeedSequence(checked_seed(seed)).generate_state(int(episodes), np.uint64)
        seeds = [int(one) >> 2 | 1 << 62 for one in drawn]
    elif seed != 0:
        raise ValueError(f"seed must be left out, as it draws only fresh starts, got {seed!r}")
    dealt = sorted(zip(seeds[: int(episodes)], itertools.cycle(task_of(env_id).categories)))
    return Starts([category for _, category in dealt], [seed for seed, _ in dealt])


def start_of(env_id: str, episode: int) -> Starts:
    """One start state of a task's test set, counted from 0."""
    categories = [*task_of(env_id).categories]
    return Starts([categories[episode % len(categories)]], [TEST_SEEDS[episode]])
