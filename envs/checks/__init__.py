"""Does a vectorised environment keep Gymnasium's promises? `check_vector_env` finds out.

It works on anybody's `VectorEnv`. Every check compares recorded runs: the same environment twice,
other batch sizes, a copy of it, and Gymnasium's own `SyncVectorEnv` over the single environment,
driven by the same seeds and actions.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from gymnasium.vector import AutoresetMode

from rbgym.envs.checks import rules
from rbgym.envs.checks.sources import Factory, Single, Vec, from_id, limited, pickled, variants

__all__ = ["check_vector_env"]


def check_vector_env(
    make_vector_env: str | Vec | Factory,
    *,
    num_envs: int = 3,
    seed: int = 0,
    steps: int = 40,
    single_env: Single | None = None,
    modes: Sequence[AutoresetMode] | None = None,
    max_episode_steps: int | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    per_lane_seeds: bool = True,
    random_start: bool = True,
    exact: bool = True,
    check_copy: bool = True,
    check_pickle: bool = False,
) -> None:
    """Raise an AssertionError that says what breaks the vector API, in which lane, at which step.

    Args:
        make_vector_env: a registered id (its native vector entry point, else SyncVectorEnv); or a
            factory, called as `factory(num_envs=n, autoreset_mode=mode)`; or a ready environment,
            examined in its own mode and size, and left open.
        num_envs: number of lanes (a ready environment has its own).
        seed: first seed; lane i has seed + i.
        steps: steps of each run; some episode must end within them.
        single_env: makes the single environment to compare with; an id has `gym.make`.
        modes: the autoreset modes to examine; None: all three, or the only one where the factory
            takes no `autoreset_mode`.
        max_episode_steps: time limit, passed to `gym.make`, `gym.make_vec` or the factory, and
            put around `single_env`. None: 7 for an id, otherwise untouched.
        env_kwargs: further keyword arguments for the id or the factory.
        per_lane_seeds: lane i depends on seed + i alone. False for environments with one generator
            for all lanes, which are then compared with the single one at one lane.
        random_start: another seed gives another start.
        exact: compare with the single environment bit for bit; False: to 1e-6.
        check_copy: a deep copy continues bit for bit.
        check_pickle: so does a pickled one.
    """
    kwargs = dict(env_kwargs or {})
    if isinstance(make_vector_env, str):
        kwargs["max_episode_steps"] = 7 if max_episode_steps is None else max_episode_steps
        make_vector_env, single_env = from_id(make_vector_env, kwargs, single_env)
    elif max_episode_steps is not None:
        kwargs["max_episode_steps"] = max_episode_steps
        single_env = limited(single_env, max_episode_steps) if single_env else None
    copiers = [copy.deepcopy] * check_copy + [pickled] * check_pickle
    for source in variants(make_vector_env, num_envs, modes, kwargs):
        case = rules.Case(source, seed, steps, per_lane_seeds)
        rules.check_spaces(case)
        rules.check_repeats(case)
        rules.check_seeds(case, random_start)
        rules.check_lanes_are_independent(case)
        rules.check_autoreset(case)
        for copier in copiers:
            rules.check_copy(case, copier)
        if single_env is not None:
            rules.check_against_single(case, single_env, exact)
