"""Training by the gradient of the reward through the derivatives of the physics. The objective is
the reward within a short horizon plus a critic's estimate beyond it; TD(lambda) fits the critic.

Source: Xu et al. (2022), Accelerated policy learning with parallel differentiable simulation, Int.
Conf. Learning Representations (SHAC).
"""

import hashlib
import io
import time
import warnings
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.tensorboard import SummaryWriter

from rbgym.agents.cases import has_test_set, in_time, training_seeds
from rbgym.agents.policies.memory import KINDS
from rbgym.agents.policies.network import Network, Normalizer
from rbgym.agents.run_folder import RunFolder, Training, replacing
from rbgym.agents.terminal import Counter, bar
from rbgym.agents.train import presets, run
from rbgym.agents.train.gradients import DifferentiableEnv
from rbgym.arguments import count, positive
from rbgym.envs.arguments import in_range

_WHOLE = ("n_envs", "horizon", "iterations")
SHARES = ("gamma", "gae_lambda")
_OF_FIRST = ("net_arch", "rates", *KINDS)  # of a first network
_KEYS = (*_WHOLE, *SHARES, "learning_rate", "net_arch", "rates")
# Of the critic: learning rate, passes over the steps, minibatches of a pass, rate of its slow copy.
_CRITIC_RATE, _PASSES, _PARTS, _FOLLOWS = 3e-3, 4, 4, 0.2
_LARGEST_GRADIENT = 1.0
_AVERAGES = 0.02  # rate of the average of weights that is judged (Polyak & Juditsky 1992)
_SMALL = 0.1  # factor of the last layer's first weights, see `calm`
_CHECKPOINTS, _LOOKS = 10, 20  # per training; a look runs the policy on the validation set
Callbacks = Sequence[Callable[["Learner"], None]]
_COUNTED = ("iteration", "before", "seconds", "judgements", "chosen_look")  # stored unchanged
_DIGEST = hashlib.sha256().digest_size  # bytes, at the head of a checkpoint


def learn(job: run.Job, timesteps: int | None = None, callbacks: Callbacks = ()) -> Training:
    """Train a network, see `rbgym.agents.train.train`; resumed, it reaches the same weights. Rounds
    timesteps up to whole iterations. ValueError also for an env whose steps have no derivative."""
    chosen = recipe(job, timesteps)
    config = run.config_of(job, chosen)
    network, spaces = run.first_network(config)
    if not job.init_from:
        network = replace(calm(network), output="tanh")
    kwargs = in_time(job.env_id, config["env_kwargs"])
    folder = RunFolder(Path(job.out))
    with closing(gym.make_vec(job.env_id, num_envs=chosen["n_envs"], **kwargs)) as lanes:
        env = DifferentiableEnv(lanes, network.memory)
        learner = Learner(env, network, chosen, job.seed)
        if (finished := folder.claim(config, job.resume, learner.restore)) is not None:
            return Training(folder, finished, None)
        if folder.checkpoint.exists():
            learner.restore(folder.checkpoint)
            job.report(f"resuming {folder.path} from step {learner.steps}")
        start = learner.steps
        results = improve(learner, config, folder, job, callbacks)
    return run.finish(folder, config, results, learner.best_network, spaces, start)


def calm(network: Network) -> Network:
    """A copy of a first network whose commands are nearly zero."""
    *before, (weight, bias) = network.layers
    return replace(network, layers=(*before, (_SMALL * weight, bias)))


def recipe(
    job: run.Job,
    timesteps: int | None = None,
    known: Collection[str] = _KEYS,
    needed: Collection[str] = _KEYS,
    whole: Collection[str] = _WHOLE,
) -> dict[str, Any]:
    """Checked hyperparameters, with `iterations` from timesteps if given; those of a first network
    only if the training makes one. known, needed: see `presets.read`. whole: the counts."""
    chosen = presets.read(
        job.algo, job.env_id, job.hyperparameters, job.changes, known=known, needed=needed,
        unused=_OF_FIRST if job.init_from else (),
    )  # fmt: skip
    for key in whole:
        count(key, chosen[key])
    for key in SHARES:
        in_range(key, chosen[key], 0, 1)
    for key in chosen.keys() & {"learning_rate", "rates"}:
        positive(key, chosen[key])
    hidden = chosen.get("net_arch", [])
    if not isinstance(hidden, list) or not all(isinstance(n, int) and n > 0 for n in hidden):
        raise ValueError(f"net_arch must be a list of positive integers, got {hidden!r}")
    if timesteps is not None:
        each = chosen["n_envs"] * chosen["horizon"]
        chosen["iterations"] = -(-count("timesteps", timesteps) // each)
    return chosen


def improve(
    learner: "Learner", config: run.Config, folder: RunFolder, job: run.Job, calls: Callbacks
) -> dict[str, Any]:
    """Run all iterations, with checkpoints and runs on the validation set; returns results."""
    total = learner.chosen["iterations"]
    every = max(total // _CHECKPOINTS, 1)
    looks = learner.chosen.get("looks", _LOOKS)
    judges, lanes = has_test_set(job.env_id), learner.env.env
    spaces = lanes.single_observation_space, lanes.single_action_space
    with (
        run.torch_threads(1),
        bar(hidden=not job.progress) as shown,
        SummaryWriter(folder.tensorboard) as board,
    ):
        steps = learner.before + total * learner.steps_each
        show = Counter(shown, "training", steps)
        while learner.iteration < total:
            gain = learner.iterate()
            done = learner.iteration
            for call in calls:
                call(learner)
            show(learner.steps, steps)
            if judges and done * looks // total > (done - 1) * looks // total:
                found = learner.judge(config)
                if learner.chosen_look == len(learner.judgements) - 1:
                    run.put_policy(folder, config, learner.results, learner.best_network, spaces)
                job.report(f"step {learner.steps:,} of {steps:,}: {run.summary(found)}")
                board.add_scalar("train/reward", gain, learner.steps)
                for name in ("success_rate", "mean_return"):
                    board.add_scalar(f"eval/{name}", found[name], learner.steps)
            if done % every == 0 or done == total:
                folder.require(config)
                learner.save(folder.checkpoint)
    return learner.results


class _Seen(NamedTuple):
    """A step of all lanes: normalised observation before it (n, w), else (n,); begins: it reset."""

    observation: Tensor
    reward: Tensor
    ended: Tensor
    terminated: Tensor
    begins: Tensor


class Learner:
    """The state of a training: policy, critic, their optimisers and the lanes. network: the first
    policy. chosen: hyperparameters; `warm`: first iterations, in which only the critic learns.
    before: steps of an imitation. best: weights at judgement number `chosen_look`."""

    def __init__(self, env: DifferentiableEnv, network: Network, chosen: Any, seed: int) -> None:
        self.env, self.chosen, self.seconds = env, chosen, 0.0
        self.before = self.iteration = self.chosen_look = 0
        self.judgements: list[dict[str, Any]] = []
        self.best: Any = None
        self._network, self.shown = network, Shown(cast(Normalizer, network.normalizer))
        self._actor, self._average = as_modules(network), as_modules(network)
        self._critic = as_modules(Network.random((*network.sizes[:-1], 1), seed + 1))
        self._slow = deepcopy(self._critic)
        self._optimisers = (
            torch.optim.Adam(self._actor.parameters(), lr=chosen["learning_rate"], fused=True),
            torch.optim.Adam(self._critic.parameters(), lr=_CRITIC_RATE, fused=True),
        )
        self._shuffling = torch.Generator().manual_seed(seed)
        self._observation = env.reset(seed=training_seeds(seed, chosen["n_envs"]))

    @property
    def steps_each(self) -> int:
        """Env steps of an iteration, summed over the lanes."""
        return int(self.chosen["n_envs"] * self.chosen["horizon"])

    @property
    def steps(self) -> int:
        return self.before + self.iteration * self.steps_each

    @property
    def network(self) -> Network:
        """The current policy: a moving average of the weights, which fluctuate."""
        return as_network(self._network, self._average)

    @property
    def best_network(self) -> Network:
        """The policy that did best on the validation set; the current one, if none was judged."""
        return self.network if self.best is None else self._network.with_parameters(self.best)

    @property
    def results(self) -> dict[str, Any]:
        return {
            "timesteps": self.steps,
            "wall_time": self.seconds,
            "judgements": self.judgements,
            "kept": self.chosen_look,
        }

    def judge(self, config: run.Config) -> dict[str, Any]:
        """Run the policy on the validation set, and keep its weights if it is the best so far."""
        found = run.judgement(self.network, config, self.steps, self.seconds)
        if self.best is None or run.rank(found) > run.rank(self.judgements[self.chosen_look]):
            self.best, self.chosen_look = self.network.parameters(), len(self.judgements)
        self.judgements.append(found)
        return found

    def iterate(self) -> float:
        """Fly a horizon, update policy and critic; returns the mean reward of a step."""
        started = time.perf_counter()
        self._stagger()
        actor, critic = self._optimisers
        actor.param_groups[0]["lr"] = self.chosen["learning_rate"] * self._pace()
        gain, seen = self._fly()
        actor.zero_grad()
        (-gain / self.steps_each).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self._actor.parameters(), _LARGEST_GRADIENT)
        actor.step()
        follow(self._average, self._actor, _AVERAGES)
        inputs, targets = self._targets(seen)
        for _ in range(self.chosen.get("passes", _PASSES)):
            order = torch.randperm(len(inputs), generator=self._shuffling)
            for part in order.chunk(_PARTS):
                critic.zero_grad()
                off = self._critic(inputs[part])[:, 0] - targets[part]
                off.square().mean().backward()
                critic.step()
        follow(self._slow, self._critic, _FOLLOWS)
        self.iteration += 1
        self.seconds += time.perf_counter() - started
        return float(torch.stack([one.reward for one in seen]).mean())

    def _stagger(self) -> None:
        """Restart lanes, one after the other, in the time of the first episode, so that iterations
        see all parts of one; else the policy would learn them in turn, and forget the others."""
        horizon, lanes = self.chosen["horizon"], len(self._observation)
        whole = min(self.env.env.episodes.setup.limit, horizon * self.chosen["iterations"])
        begins = np.arange(lanes) * whole // (lanes * horizon) == self.iteration
        if self.iteration and begins.any():
            self._observation = self.env.restart(torch.from_numpy(begins), self._observation)

    def _pace(self) -> float:
        """Factor of the learning rate. It falls to zero over the training. In the `warm` iterations
        it is zero, so that Adam first averages the gradients, and rises in as many more."""
        iterations = self.chosen["iterations"]
        left = 1.0 - self.iteration / iterations
        warm = min(self.chosen.get("warm", 0), iterations // 3)
        return left * min(max(self.iteration / warm - 1.0, 0.0), 1.0) if warm else left

    def _fly(self) -> tuple[Tensor, list[_Seen]]:
        """Fly a horizon; returns all lanes' discounted reward with the critic's estimate, steps."""
        env, gamma, horizon = self.env, self.chosen["gamma"], self.chosen["horizon"]
        env.detach()
        observation, gain = self._observation, torch.zeros(())
        weight, seen = torch.ones(len(observation)), []
        for step in range(horizon):
            shown, begins = self.shown(observation), env.ended
            answer = self._actor(shown)
            stepped = env.step(torch.tanh(answer) if self._network.output == "tanh" else answer)
            observation, reward, ended = stepped
            gain = gain + (weight * self._price(shown, env.terminated & ~begins) * reward).sum()
            weight = weight * gamma
            last = step == horizon - 1
            if last or ended.any():  # the critic's estimate beyond, for lanes that did not fail
                worth = self._slow(self.shown(observation))[:, 0]
                counts = (ended | last) & ~env.terminated & ~begins
                gain = gain + (weight * worth * counts).sum()
            weight = torch.where(ended | begins, 1.0, weight)
            seen.append(_Seen(shown.detach(), reward.detach(), ended, env.terminated, begins))
        self._observation = observation.detach()
        return gain, seen

    @torch.no_grad()
    def _price(self, shown: Tensor, over: Tensor) -> Tensor:
        """Factors of the rewards of a step. over: (n,), lanes it terminates, whose loss has no
        slope: `price` times the critic's value is spread over the margin, whose reward has one."""
        if not (over.any() and (price := self.chosen.get("price"))):
            return torch.ones(())
        lost = price * self._slow(shown)[:, 0].clamp(0.0) / self.chosen["margin"]
        return torch.where(over, 1.0 + lost, 1.0)

    @torch.no_grad()
    def _targets(self, seen: list[_Seen]) -> tuple[Tensor, Tensor]:
        """The critic's inputs, and the returns that TD(lambda) estimates for them."""
        gamma, share = self.chosen["gamma"], self.chosen["gae_lambda"]
        every = [*(one.observation for one in seen), self.shown(self._observation)]
        values = self._slow(torch.cat(every))[:, 0].view(len(every), -1)
        worth, targets = values[-1], torch.empty(len(seen), len(values[0]))
        for t in range(len(seen) - 1, -1, -1):
            mixed = torch.where(seen[t].ended, values[t + 1], values[t + 1].lerp(worth, share))
            worth = seen[t].reward + gamma * torch.where(seen[t].terminated, 0.0, mixed)
            targets[t] = worth
        steps = ~torch.stack([one.begins for one in seen])
        return torch.stack(every[:-1])[steps], targets[steps]

    def _parts(self) -> list[Any]:
        return [self._actor, self._average, self._critic, self._slow, *self._optimisers]

    def save(self, path: Path) -> None:
        """Write a checkpoint for `restore`; an interruption leaves the old one."""
        state = self.env.env.unwrapped.get_state()
        held = {
            "parts": [part.state_dict() for part in self._parts()],
            "rows": torch.from_numpy(state["rows"]),
            "generator": [int(x) for x in state["generator"]],
            "observation": self._observation,
            "ended": self.env.ended,
            "memory": self.env.remembered.detach(),
            "shuffling": self._shuffling.get_state(),
            **{name: getattr(self, name) for name in _COUNTED},
            "best": None if self.best is None else torch.from_numpy(self.best),
        }
        content = io.BytesIO()
        torch.save(held, content)
        whole = content.getvalue()
        with replacing(path) as temporary:
            temporary.write_bytes(hashlib.sha256(whole).digest() + whole)

    def restore(self, path: Path) -> None:
        """Continue from the file of `save`, executing nothing in it; ValueError if damaged."""
        try:
            content = path.read_bytes()
            digest, whole = content[:_DIGEST], content[_DIGEST:]
            if hashlib.sha256(whole).digest() != digest:
                raise ValueError("its digest does not match")
            with warnings.catch_warnings(action="ignore"):
                held = torch.load(io.BytesIO(whole), weights_only=True)
            state = self.env.env.unwrapped.get_state()
            state["rows"][:] = held["rows"].numpy()
            state["generator"][:] = held["generator"]
            self.env.env.unwrapped.set_state(state)
            for part, content in zip(self._parts(), held["parts"], strict=True):
                part.load_state_dict(content)
            self._shuffling.set_state(held["shuffling"])
        except Exception as error:  # a damaged file raises any type
            raise ValueError(f"{str(path)!r} is damaged, or of another version") from error
        self._observation, self.env.ended = held["observation"], held["ended"]
        self.env.remembered = held["memory"]
        vars(self).update({name: held[name] for name in _COUNTED})
        self.best = None if held["best"] is None else held["best"].numpy()


class Shown:
    """A `Normalizer` in PyTorch, of observations (n, width)."""

    def __init__(self, normalizer: Normalizer) -> None:
        self.columns = torch.from_numpy(normalizer.columns)
        self.mean = torch.tensor(normalizer.mean, dtype=torch.float32)
        self.scale = torch.tensor(normalizer.scale, dtype=torch.float32)
        self.clip = normalizer.clip

    def __call__(self, observation: Tensor) -> Tensor:
        scaled = (observation[:, self.columns] - self.mean) * self.scale
        return scaled.clamp(-self.clip, self.clip)


@torch.no_grad()
def follow(slow: nn.Module, fast: nn.Module, share: float) -> None:
    """Move the weights of `slow` by this share of the way towards those of `fast`."""
    for one, other in zip(slow.parameters(), fast.parameters(), strict=True):
        one.lerp_(other, share)


def as_network(like: Network, modules: nn.Module) -> Network:
    """A network like `like` with the weights of these modules, see `as_modules`."""
    parts = [p.detach().numpy().ravel() for p in modules.parameters()]
    return like.with_parameters(np.concatenate(parts))


def as_modules(network: Network) -> nn.Sequential:
    """The layers of a network as trainable PyTorch modules, with tanh between them."""
    modules: list[nn.Module] = []
    for weight, bias in network.layers:
        # skip_init, as drawing weights would advance PyTorch's global generator.
        layer = nn.utils.skip_init(nn.Linear, *weight.shape[::-1])  # type: ignore[no-untyped-call]
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(weight))
            layer.bias.copy_(torch.tensor(bias))
        modules += [layer, nn.Tanh()]
    return nn.Sequential(*modules[:-1])
