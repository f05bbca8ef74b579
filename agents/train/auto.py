"""Training that begins with what a law knows: imitation, then the gradient through the physics.

The teacher is the law that does best on the task. A network imitates it (`imitation`), then climbs
from there along the gradient of the reward (`analytic`). What is kept is the policy that did best
on the validation set, the imitated one among them, so that improvement never ends below its start.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import gymnasium as gym
import numpy as np
import torch

from rbgym.agents import controllers
from rbgym.agents.cases import in_time, spec_of, task_of, training_seeds
from rbgym.agents.policies.network import Network, Normalizer
from rbgym.agents.run_folder import RunFolder, Training
from rbgym.agents.terminal import Counter, bar
from rbgym.agents.train import presets, run
from rbgym.agents.train.analytic import (
    SHARES,
    Callbacks,
    Learner,
    Shown,
    as_modules,
    as_network,
    check_numbers,
    improve,
    take_steps,
)
from rbgym.agents.train.gradients import DifferentiableEnv
from rbgym.agents.train.imitation import Imitation
from rbgym.agents.train.sb3 import training as sb3
from rbgym.envs.arguments import named
from rbgym.envs.parts.rewards import NAMED

ALGORITHM = "auto"
BEST, NONE = "best", "none"  # teachers that are no law
_WHOLE = ("lanes", "rounds", "epochs", "n_envs", "horizon", "iterations", "warm")
_NEEDED = (*_WHOLE, *SHARES, "teacher", "margin", "learning_rate", "net_arch")
_KEYS = (*_NEEDED, "algo")
_LAW_EPISODES = 64  # of the validation set, on which laws are compared
_WITHOUT_LAW = "ppo"
# Success of a teacher below which a training says so; and share of it below which what is imitated
# of one law is not enough, as of one that switches behind a delay, and another one is tried.
_WEAK = 0.5


def learn(job: run.Job, timesteps: int | None = None, callbacks: Callbacks = ()) -> Training:
    """Train a network, see `rbgym.agents.train.train`; timesteps: of the climb, see `analytic`.

    Called again after an interruption, it goes on from the last checkpoint. results.json has what
    the teacher and doing nothing are worth on the validation set, and what the policy is worth on
    the test set. Another algorithm trains where the task's recipe names one, unless hyperparameters
    or changes are given; and PPO where no law fits. Raises ValueError also for a teacher that does
    not fit the task.
    """
    task_of(job.env_id)  # of another env no law is known, and no test set: --algo ppo
    own = bool(job.hyperparameters or job.changes or job.init_from or callbacks)
    if "algo" in (job.changes or {}):
        raise ValueError(f"algo must be given by itself, no hyperparameter, got {job.changes!r}")
    chosen = recipe(job.env_id, job.hyperparameters, job.changes)
    other = chosen.pop("algo", None)
    if other is not None and not own:
        return sb3.learn(replace(job, algo=other), timesteps=timesteps)
    check_numbers(chosen, _WHOLE)
    take_steps(chosen, timesteps)
    config = run.config_of(job, chosen)
    kwargs = in_time(job.env_id, config["env_kwargs"])
    first, spaces = run.first_network(config)
    laws, folder = fitting_laws(config), RunFolder(Path(job.out))
    if not laws and chosen["teacher"] == BEST:
        if own:
            raise ValueError(
                f"teacher must be {NONE!r} for an env that no law is for, got {BEST!r}; or train "
                f"with another algorithm, as {_WITHOUT_LAW!r}"
            )
        job.report(f"no law is for such an env: {_WITHOUT_LAW}")
        return sb3.learn(replace(job, algo=_WITHOUT_LAW), timesteps=timesteps)
    priced_kwargs = priced(kwargs, chosen)
    with closing(gym.make_vec(job.env_id, chosen["n_envs"], **priced_kwargs)) as lanes:
        try:
            env = DifferentiableEnv(lanes)
        except ValueError as error:  # a part of the env has no derivative
            if not laws:
                raise
            env, why = None, error
        if (finished := folder.claim(config, job.resume)) is not None:
            return Training(folder, finished, None)
        if env is None:
            job.report(f"imitation alone, as {why}")
        order, known = teachers(laws, config, job.report)
        resumed, begun = folder.checkpoint.exists(), time.perf_counter()
        network, steps, start = first, 0, 0
        if not resumed and order and not job.init_from:
            network, steps = imitated(order[0], first, config, kwargs, job.progress)
            found = run.worth(network, config)
            if order[1:] and found["success_rate"] < _WEAK * known["teacher"]["success_rate"]:
                job.report(f"imitated: {run.said(found)}; trying {order[1]}")
                other, more = imitated(order[1], first, config, kwargs, job.progress)
                steps += more
                if run.is_better(run.worth(other, config), found):
                    network = other
        seconds = time.perf_counter() - begun
        if env is None:
            found = run.judged(network, config, steps, seconds)
            job.report(f"imitated: {run.said(found)}")
            results = {"timesteps": steps, "wall_time": seconds, "judgements": [found]}
            best = network
        else:
            learner = Learner(env, network, chosen, job.seed)
            if resumed:
                learner.restore(folder.checkpoint)
                start = learner.steps
                job.report(f"resuming {folder.path} from step {learner.steps}")
            else:
                learner.before, learner.seconds = steps, seconds
                job.report(f"begins with: {run.said(learner.judge(config))}")
                learner.save(folder.checkpoint)
            results, best = improve(learner, config, folder, job, callbacks), learner.best_network
    return run.finish(folder, config, results | known, best, spaces, start)


def recipe(
    env_id: str, file: str | Path | None = None, changes: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The hyperparameters of a task, see `presets.read`."""
    return presets.read(ALGORITHM, env_id, file, changes, known=_KEYS, needed=_NEEDED)


def priced(kwargs: dict[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of an env whose reward has the margin's price: an event has no derivative."""
    reward = kwargs.get("reward", "dense")
    terms = NAMED[reward] if isinstance(reward, str) else reward
    return {**kwargs, "reward": {"margin": chosen["margin"], **terms}}


def fitting_laws(config: Mapping[str, Any]) -> list[str]:
    """Names of the laws among which the teacher is; ValueError for one that does not fit."""
    env_id, wanted = config["env_id"], config["hyperparameters"]["teacher"]
    named("teacher", wanted, [BEST, NONE, *controllers.names()])
    if wanted == NONE:
        return []
    with closing(gym.make_vec(env_id, 1, **in_time(env_id, config["env_kwargs"]))) as env:
        if wanted == BEST:
            return [law for law in controllers.for_env(env) if law != "idle"]
        controllers.make(wanted, env)  # raises, and says what is amiss
    return [wanted]


def teachers(
    laws: list[str], config: Mapping[str, Any], report: Callable[[str], None]
) -> tuple[list[str], dict[str, Any]]:
    """The laws, the best first; and what that one and doing nothing are worth."""
    known: dict[str, Any] = {"idle": run.worth("idle", config)}
    found = {law: run.worth(law, config, episodes=_LAW_EPISODES) for law in laws}
    if not found:
        return [], known
    env_id = config["env_id"]
    with closing(gym.make_vec(env_id, 1, **in_time(env_id, config["env_kwargs"]))) as env:
        seen, _ = env.reset(seed=0)
        remembers = {law: controllers.make(law, env).predict(seen)[1] is not None for law in laws}

    def rank(law: str) -> tuple[float, bool, float]:
        # What a law remembers, a network does not see.
        return found[law]["success_rate"], not remembers[law], found[law]["mean_return"]

    order = sorted(found, key=rank, reverse=True)
    worth = run.worth(order[0], config)
    report(f"teacher {order[0]}: {run.said(worth)}")
    if worth["success_rate"] < _WEAK:
        report("a weak teacher: try more max_episode_steps, a shorter dt, or --algo ppo")
    return order, known | {"teacher": {"law": order[0], **worth}}


def imitated(
    law: str,
    first: Network,
    config: Mapping[str, Any],
    kwargs: Mapping[str, Any],
    progress: bool,
) -> tuple[Network, int]:
    """The network after all rounds of imitation, and how many steps they took."""
    chosen, env_id = config["hyperparameters"], config["env_id"]
    steps = kwargs.get("max_episode_steps") or spec_of(env_id).max_episode_steps
    actor, threads = as_modules(first), torch.get_num_threads()
    with closing(gym.make_vec(env_id, chosen["lanes"], **kwargs)) as lanes:
        seeds = np.random.SeedSequence([config["seed"], 1]).generate_state(chosen["rounds"])
        imitation = Imitation(
            lanes,
            controllers.make(law, lanes),
            actor,
            Shown(cast(Normalizer, first.normalizer)),
            lambda n: training_seeds(int(seeds[n]), chosen["lanes"]),
            int(steps),
        )
        try:
            torch.set_num_threads(1)
            with bar(hidden=not progress) as shown:
                show = Counter(shown, "imitation", chosen["rounds"])
                for done in range(1, chosen["rounds"] + 1):
                    imitation.one_round(chosen["epochs"])
                    show(done, chosen["rounds"])
        finally:
            torch.set_num_threads(threads)
    return as_network(first, actor), imitation.steps
