"""Runs, trained policies and controllers by name, and the arguments that their envs have."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym

from rbgym.agents import controllers
from rbgym.agents.cases import PRETRAINED, by_name, check_policy
from rbgym.agents.policies import TrainedPolicy, trained
from rbgym.registration import ENVIRONMENTS

# Env arguments that decide on what an observation's entries are: others move at most the bounds,
# which a policy does not look at.
_ENTRIES = frozenset({"observation", "preview", "actuator"})


class Contender(NamedTuple):
    """A policy, or a controller's name, by the name it was asked for; arguments of its env."""

    name: str
    policy: Any
    env_kwargs: dict[str, Any]

    @property
    def config(self) -> Mapping[str, Any] | None:
        """What policy.json of a trained policy holds; None for a controller."""
        return self.policy.config if isinstance(self.policy, TrainedPolicy) else None

    def at_work(self, env: Any, **gains: Any) -> Any:
        """The policy, or the controller of that name for an env. gains: of the controller."""
        by_name = isinstance(self.policy, str)
        return controllers.make(self.policy, env, **gains) if by_name else self.policy


def contenders(
    targets: Sequence[str], env_id: str | None = None, env_kwargs: Mapping[str, Any] | None = None
) -> tuple[str, list[Contender]]:
    """The env's id, and what the targets stand for.

    targets: folders of runs or policies, names of controllers, or "pretrained" for the package's
    policy. env_id: None for that of the first folder, or RigidTop-v0 without any. env_kwargs: for
    all of them; they take precedence over those that a policy was trained with, which controllers
    have too where env_id is None and all folders agree. Raises ValueError for what is none of
    these, and for a policy that was trained on other observations.
    """
    given = by_name("env_kwargs", env_kwargs)
    learned = [name for name in targets if name not in controllers.names()]
    policies = {}
    for name in learned:
        if name != PRETRAINED:
            check_policy(name)
            policies[name] = trained.load(Path(name))
    configs = [policy.config for policy in policies.values() if "env_id" in policy.config]
    of_all: dict[str, Any] = {}
    if not env_id and configs:
        first, *others = [config.get("env_kwargs", {}) for config in configs]
        of_all = dict(first) if all(one == first for one in others) else {}
        of_all.pop("initial", None)
        env_id = str(configs[0]["env_id"])
        module = env_id.rpartition(":")[0]
        if module and module not in sys.modules:  # a file that came with a policy could name it
            raise ValueError(
                f"env must be named for a policy of {env_id!r}, which is of a module that is to be "
                f"imported: say --env {env_id} if you trust it"
            )
    env_id = env_id or next(iter(ENVIRONMENTS))
    if PRETRAINED in learned:
        policies[PRETRAINED] = trained.load(env_id)
    found = []
    for name in targets:
        policy, kwargs = policies.get(name), {**of_all, **given}
        if policy is not None:
            kwargs = own_kwargs(policy, env_id, given if "env_id" in policy.config else kwargs)
        found.append(Contender(name, policy or name, kwargs))
    return env_id, found


def own_kwargs(policy: Any, env_id: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The env arguments that a policy was trained with but for the starts, `given` over them;
    ValueError if it cannot read what the env then shows."""
    learned_in = by_name("env_kwargs", policy.config.get("env_kwargs"))
    learned_in.pop("initial", None)
    kwargs = {**learned_in, **given}
    own, seen = (observation_space(env_id, some) for some in (learned_in, kwargs))
    alike = _ENTRIES.isdisjoint(given) and gym.spaces.flatdim(own) == gym.spaces.flatdim(seen)
    if not (alike and policy.observation_space == own):
        policy.require(env_id, seen)
    return kwargs


def observation_space(env_id: str, env_kwargs: dict[str, Any]) -> gym.Space[Any]:
    """What one lane of the env shows."""
    with closing(gym.make(env_id, **env_kwargs)) as env:
        return env.observation_space
