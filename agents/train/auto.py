"""Training that starts from a law: a network imitates the law that does best on the task, then
follows the gradient of the reward (`analytic`). The result is the policy, the imitation included,
that does best on the validation set."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from rbgym.agents import controllers
from rbgym.agents.cases import by_name, in_time, task_of, training_seeds
from rbgym.agents.policies.memory import KINDS
from rbgym.agents.policies.network import Network, Normalizer
from rbgym.agents.run_folder import RunFolder, Training
from rbgym.agents.terminal import Counter, bar
from rbgym.agents.train import analytic, run
from rbgym.agents.train.analytic import Callbacks
from rbgym.agents.train.gradients import DifferentiableEnv
from rbgym.agents.train.sb3 import training as sb3
from rbgym.arguments import count
from rbgym.envs.arguments import in_range, named
from rbgym.envs.parts.rewards import NAMED
from rbgym.envs.rows import Part

ALGORITHM = "auto"
BEST, NONE = "best", "none"  # values of `teacher` that do not name a law
_WHOLE = ("lanes", "rounds", "epochs", "n_envs", "horizon", "iterations", "warm")
_NEEDED = (*_WHOLE, *analytic.SHARES, "teacher", "margin", "learning_rate", "net_arch")
_LIMIT = "max_episode_steps"
_OPTIONAL = (_LIMIT, "looks", "passes", "price")
_KEYS = (*_NEEDED, "algo", *_OPTIONAL, *KINDS)
_OF_IMITATION = ("teacher", "lanes", "rounds", "epochs")
_LAW_EPISODES = 64  # of the validation set, to compare laws
_WITHOUT_LAW = "ppo"
# Of imitation: share of the lanes that the law steers, by round; most states used of a round.
_LED, _KEPT = (1.0, 0.4, 0.3, 0.2, 0.1), 120_000
_BATCH, _RATE, _SMOOTH = 2048, 1e-3, 0.1
# A training warns if its teacher's success rate is lower; it tries a second law if the imitation
# reaches a lower share of the first one's, as of a law that switches behind a delay.
_WEAK = 0.5


def learn(job: run.Job, timesteps: int | None = None, callbacks: Callbacks = ()) -> Training:
    """Train a network, see `rbgym.agents.train.train`, or with the algorithm that `decide` says;
    timesteps: those after the imitation, see `analytic`."""
    algo, chosen, laws = decide(job, timesteps, callbacks)
    if algo != ALGORITHM:
        return sb3.learn(replace(job, algo=algo), timesteps=timesteps)
    config = run.config_of(job, chosen)
    kwargs = in_time(job.env_id, config["env_kwargs"])
    limit = config["resolved"][_LIMIT]["value"]
    kwargs[_LIMIT] = min(limit, chosen.get(_LIMIT, limit))
    first, spaces = run.first_network(config)
    folder = RunFolder(Path(job.out))
    weights = weights_of(job.env_id, kwargs, chosen["margin"])
    priced = {**kwargs, "reward": weights} if weights else kwargs
    chosen["margin"] = weights.get("margin") or chosen["margin"]
    with closing(gym.make_vec(job.env_id, chosen["n_envs"], **priced)) as lanes:
        learner = None
        restore: Callable[[Path], object] | Exception
        try:
            env = DifferentiableEnv(lanes, first.memory)
            idle = np.zeros((lanes.num_envs, spaces[1].shape[0]))
            env.differentiation.of_step(idle, strict=False)
            learner = analytic.Learner(env, first, chosen, job.seed)
            restore = learner.restore
        except (ValueError, NotImplementedError) as error:  # a part of the env has no derivative
            if not laws or job.init_from:  # nothing is left to do
                raise
            restore = error
        if (finished := folder.claim(config, job.resume, restore)) is not None:
            return Training(folder, finished, None)
        if learner is None:
            job.report(f"imitation only, as {restore}")
        order, known = teachers(laws, config, job.report)
        resumed, started = folder.checkpoint.exists(), time.perf_counter()
        network, steps, start = first if order or job.init_from else analytic.calm(first), 0, 0
        if not resumed and order and not job.init_from:
            network, steps = imitate(order[0], first, config, kwargs, job.progress)
            found = run.worth(network, config)
            if order[1:] and found["success_rate"] < _WEAK * known["teacher"]["success_rate"]:
                job.report(f"imitated: {run.summary(found)}; trying {order[1]}")
                other, more = imitate(order[1], first, config, kwargs, job.progress)
                steps += more
                if run.is_better(run.worth(other, config), found):
                    network = other
        seconds = time.perf_counter() - started
        if learner is None:
            found = run.judgement(network, config, steps, seconds)
            job.report(f"imitated: {run.summary(found)}")
            results = {"timesteps": steps, "wall_time": seconds, "judgements": [found]}
        else:
            if resumed:
                learner.restore(folder.checkpoint)
                start = learner.steps
                job.report(f"resuming {folder.path} from step {learner.steps}")
            else:
                learner = analytic.Learner(env, network, chosen, job.seed)
                learner.before, learner.seconds = steps, seconds
                job.report(f"starts with: {run.summary(learner.judge(config))}")
                run.put_policy(folder, config, learner.results, network, spaces)
                learner.save(folder.checkpoint)
            results = analytic.improve(learner, config, folder, job, callbacks)
            network = learner.best_network
    return run.finish(folder, config, results | known, network, spaces, start)


def decide(
    job: run.Job, timesteps: int | None = None, callbacks: Callbacks = ()
) -> tuple[str, dict[str, Any], list[str]]:
    """The algorithm that trains; for this one also its hyperparameters, and the laws that may
    teach. Another, if the recipe names one, unless hyperparameters, changes, init_from or callbacks
    are given; PPO if no law fits. ValueError also for a teacher that does not fit."""
    task_of(job.env_id)  # refuses any other env, which has no laws and no test set
    own = job.hyperparameters or job.changes or job.init_from or callbacks
    chosen = recipe(job, timesteps)
    other = chosen.pop("algo", None)
    if other is not None and not own:
        return other, {}, []
    if other is not None and job.changes:
        job.report(f"training with {ALGORITHM}, not the recipe's {other}: see --algo {other}")
    laws = fitting_laws(job, chosen["teacher"])
    if laws or job.init_from or chosen["teacher"] == NONE:
        return ALGORITHM, chosen, laws
    if own:
        raise ValueError(
            f"teacher must be {NONE!r} for an env that no law fits, got {BEST!r}; or train "
            f"with another algorithm, such as {_WITHOUT_LAW!r}"
        )
    job.report(f"no law fits this env: training with {_WITHOUT_LAW}")
    return _WITHOUT_LAW, {}, []


def recipe(job: run.Job, timesteps: int | None = None) -> dict[str, Any]:
    """`analytic.recipe` with what an imitation needs; algo: of our own file alone."""
    chosen = analytic.recipe(job, timesteps, _KEYS, _NEEDED, _WHOLE)
    if "algo" in (chosen if job.hyperparameters else job.changes or ()):
        raise ValueError(f"algo must be an argument, not a hyperparameter, got {chosen['algo']!r}")
    for key in _OPTIONAL:
        count(key, chosen.get(key, 1), least=int(key != "price"))  # 0 for none
    if not in_range("margin", chosen["margin"], 0, 1e9) and chosen.get("price"):
        raise ValueError(f"price plays no part without a margin, got {chosen['price']!r}")
    named("teacher", chosen["teacher"], [BEST, NONE, *controllers.names()])
    if job.init_from or chosen["teacher"] == NONE:
        why = "with init_from" if job.init_from else "without a teacher"
        for key in sorted({*(job.changes or ())} & {*_OF_IMITATION[not job.init_from :]}):
            raise ValueError(f"{key} plays no part {why}, got {chosen[key]!r}")
    run.memory_times(chosen)
    return chosen


def weights_of(env_id: str, kwargs: Mapping[str, Any], margin: float) -> dict[str, float]:
    """The weights of the env's reward, which any layer may set, and of the margin: the event of a
    violated limit has no derivative. None for a callable, and for a shape with a memory."""
    with closing(gym.make_vec(env_id, 1, **kwargs)) as env:
        base = cast(Any, env.unwrapped)
        reward = base._layers.arguments.get("reward", "dense")
    remembers = type(base.task.dense()).rows_needed is not Part.rows_needed
    if remembers and margin:
        raise ValueError(
            f"margin must be 0 (--set margin=0) for shapes with memory, got {margin!r}"
        )
    if remembers or callable(reward):
        return {}
    return {"margin": margin, **(NAMED[reward] if isinstance(reward, str) else reward)}


def fitting_laws(job: run.Job, wanted: str) -> list[str]:
    """Names of the laws that may teach. wanted: the `teacher`; ValueError if it does not fit."""
    if wanted == NONE:
        return []
    kwargs = in_time(job.env_id, by_name("env_kwargs", job.env_kwargs, must_end=True))
    with closing(gym.make_vec(job.env_id, 1, **kwargs)) as env:
        if wanted == BEST:
            return [law for law in controllers.for_env(env) if law != "idle"]
        controllers.make(wanted, env)  # raises, and says why it does not fit
    return [wanted]


def teachers(
    laws: list[str], config: run.Config, report: Callable[[str], None]
) -> tuple[list[str], dict[str, Any]]:
    """The laws, best first; and the success and return of the best one and of doing nothing."""
    known: dict[str, Any] = {"idle": run.worth("idle", config)}
    found = {law: run.worth(law, config, episodes=_LAW_EPISODES) for law in laws}
    if not found:
        return [], known
    env_id = config["env_id"]
    keeps = any(config["hyperparameters"].get(name) for name in KINDS)
    with closing(gym.make_vec(env_id, 1, **in_time(env_id, config["env_kwargs"]))) as env:
        seen, _ = env.reset(seed=0)
        # A network without a memory imitates a law without one better.
        suits = {law: controllers.make(law, env).predict(seen)[1] is None or keeps for law in laws}
    rank = {law: (x["success_rate"], suits[law], x["mean_return"]) for law, x in found.items()}
    order = sorted(found, key=rank.__getitem__, reverse=True)
    worth = run.worth(order[0], config)
    report(f"teacher {order[0]}: {run.summary(worth)}")
    if worth["success_rate"] < _WEAK:
        report("the teacher is weak: try more max_episode_steps, a shorter dt, or --algo ppo")
    return order, known | {"teacher": {"law": order[0], **worth}}


def imitate(
    law: str, first: Network, config: run.Config, kwargs: Mapping[str, Any], progress: bool
) -> tuple[Network, int]:
    """Train a network to imitate a law; returns it and the number of env steps."""
    chosen, steps = config["hyperparameters"], int(kwargs[_LIMIT])
    with closing(gym.make_vec(config["env_id"], chosen["lanes"], **kwargs)) as lanes:
        imitation = Imitation(lanes, controllers.make(law, lanes), first, steps)
        seeds = np.random.SeedSequence([config["seed"], 1]).generate_state(chosen["rounds"])
        with run.torch_threads(1), bar(hidden=not progress) as shown:
            show = Counter(shown, "imitation", len(seeds))
            for done, seed in enumerate(seeds, 1):
                imitation.one_round(training_seeds(int(seed), chosen["lanes"]), chosen["epochs"])
                show(done, len(seeds))
    return analytic.as_network(first, imitation.actor), imitation.steps


class Imitation:
    """Fits a network to a law's commands in the states that the network itself reaches (DAgger): in
    each round the law steers some of the lanes and the network the others. lanes: a vector env that
    resets itself (NEXT_STEP). first: the network before, whose layers `actor` trains. length: steps
    of a round.

    Source: Ross, Gordon & Bagnell (2011), A reduction of imitation learning and structured
    prediction to no-regret online learning, Int. Conf. Artificial Intelligence and Statistics.
    """

    def __init__(self, lanes: Any, law: Any, first: Network, length: int) -> None:
        self.lanes, self.law, self.read, self.length = lanes, law, first.read, length
        self.actor = analytic.as_modules(first)
        self.shown = analytic.Shown(cast(Normalizer, first.normalizer))
        self.rounds, self.steps = 0, 0
        self.optimiser = torch.optim.Adam(self.actor.parameters(), lr=_RATE, fused=True)
        self.met: list[NDArray[np.float32]] = []
        self.said: list[NDArray[np.float32]] = []

    def one_round(self, seeds: Sequence[int], epochs: int) -> None:
        """Fly one round in every lane, and fit the network to the law's commands so far."""
        observation, _ = self.lanes.reset(seed=seeds)
        rng = np.random.default_rng([self.rounds, self.lanes.num_envs])
        led = _LED[self.rounds] if self.rounds < len(_LED) else 0.0
        self._fly(observation, rng.random(self.lanes.num_envs) < led, rng)
        shuffling = torch.Generator().manual_seed(self.rounds)
        inputs = self.shown(torch.from_numpy(np.concatenate(self.met)))
        wanted = torch.from_numpy(np.concatenate(self.said))
        # Larger errors than the law's mean command, where it steers all lanes, count alike.
        smooth = min(_SMOOTH, float(np.sqrt(np.mean(np.square(self.said[0])))))
        for epoch in range(epochs):
            self.optimiser.param_groups[0]["lr"] = _RATE * (1.0 - epoch / epochs)
            for part in torch.split(torch.randperm(len(inputs), generator=shuffling), _BATCH):
                self.optimiser.zero_grad()
                said = self.actor(inputs[part])
                loss = nn.functional.smooth_l1_loss(said, wanted[part], beta=smooth)
                loss.backward()  # type: ignore[no-untyped-call]
                self.optimiser.step()
        self.rounds += 1

    def _fly(self, observation: Any, led: NDArray[np.bool_], rng: np.random.Generator) -> None:
        memory, begins = None, np.ones(len(led), dtype=np.bool_)
        own_memory: Any = None
        ended, met, said = ~begins, [], []
        for _ in range(self.length):
            wanted, memory = self.law.predict(observation, memory, begins)
            wanted = np.clip(wanted, -1.0, 1.0).astype(np.float32)
            read, own_memory = self.read(observation, own_memory, begins)
            with torch.no_grad():
                own = self.actor(self.shown(torch.from_numpy(read))).clamp(-1.0, 1.0)
            met.append(read[~ended])  # the step after an end resets and ignores commands
            said.append(wanted[~ended])
            commands = np.where(led[:, None], wanted, own.numpy())
            observation, _, terminated, truncated, _ = self.lanes.step(commands)
            begins, ended = ended, terminated | truncated
        self.steps += self.length * len(led)
        some = rng.permutation(sum(map(len, met)))[:_KEPT]
        self.met.append(np.concatenate(met)[some])
        self.said.append(np.concatenate(said)[some])
