"""Parts that all algorithms share: a training's config, first network, judgements and files."""

import itertools
import json
import math
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

import gymnasium as gym
import numpy as np

from rbgym.agents.cases import by_name, has_test_set, resolved
from rbgym.agents.controllers import Acquiring, at_work
from rbgym.agents.judge.episodes import require_period
from rbgym.agents.judge.evaluation import evaluate, wilson_interval
from rbgym.agents.policies import Network, Normalizer, TrainedPolicy, trained
from rbgym.agents.policies.memory import KINDS, Attitude, Integral, Memory, SunDirection, Trend
from rbgym.agents.policies.network import quaternions_of, read_by_networks
from rbgym.agents.run_folder import IDENTITY, RunFolder, Training, write_json
from rbgym.agents.train.rollouts import rollout_test_set
from rbgym.arguments import count, positive
from rbgym.envs.arguments import named
from rbgym.envs.parts.columns import Column
from rbgym.envs.parts.goals import Rest, Target, TowardsSun
from rbgym.envs.parts.observations import FORMS
from rbgym.envs.planning import episodes_of

Config = Mapping[str, Any]  # the content of a run's config.json
THRESHOLD = 0.95  # success rate from which on a task counts as learned
_EPISODES = 256  # of a judgement
_SMALL = 0.58  # factor of first weights: larger ones saturate most units on a fine scale
# Value on the finest scale of an error at the edge of success: tanh has a slope on both sides.
_EDGE = 0.35
# Columns with one scale. Commands under way, clipped at a finer one, would feed back their signs; a
# component of a direction that passes zero would kick the body.
_COMMANDS = {"actuator"}
_ONE_SCALE = _COMMANDS | {
    "magnetic_field", "coarse_sun", "sun_direction", "sun_reference", "field_reference", "keep_out",
}  # fmt: skip
_DARK = 0.05  # a smaller current of a coarse cell, over its largest one, is noise
_LEAST = 3.0  # a finer scale is added from this ratio on
_UNBOUNDED = 1e9  # of observations that nothing normalises
_LEAST_UNITS = 16  # of a first layer, nine of which show differences
_RELATIVE = {"target_angular_velocity": 0, "wanted_spin": 2}  # wanted rates, first axis of each
_BETWEEN = 30.0  # a third scale, between the two, is added from this ratio on
# Columns of each form of the attitude at an angle of 1 rad, linearised at the target.
_SLOPES = {"quaternion": 0.5, "quaternion_continuous": 0.5, "mrp": 0.25}
_PACKAGES = ("rbgym", "gymnasium", "stable-baselines3", "sb3-contrib", "torch", "numpy", "numba")


@dataclass(frozen=True)
class Job:
    """A request for a training; the fields are arguments of `rbgym.agents.train.train`."""

    env_id: str
    algo: str
    out: str | Path
    seed: int = 0
    hyperparameters: str | Path | None = None
    changes: Mapping[str, Any] | None = None
    env_kwargs: Mapping[str, Any] | None = None
    init_from: str | Path | None = None
    resume: bool = True
    progress: bool = True
    report: Callable[[str], None] = lambda message: None

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", count("seed", self.seed, least=0))
        if self.seed >= 2**32:
            raise ValueError(f"seed must be from 0 to 2**32 - 1, got {self.seed!r}")
        if not isinstance(self.changes, Mapping | None):
            raise ValueError(f"changes must be a dict of hyperparameters, got {self.changes!r}")
        for name in ("out", "hyperparameters", "init_from"):
            value = getattr(self, name)
            if not isinstance(value, str | Path) and (value is not None or name == "out"):
                raise ValueError(f"{name} must be a path, got {value!r}")
        if Path(self.out).is_file():
            raise ValueError(f"out must be a folder, got the file {str(self.out)!r}")
        if self.init_from and Path(self.init_from).resolve() == Path(self.out).resolve():
            raise ValueError(f"out must be another folder than init_from, got {str(self.out)!r}")
        if self.init_from and self.algo not in ("auto", "apg"):
            raise ValueError(f"init_from plays no part with {self.algo}, got {self.init_from!r}")


def config_of(job: Job, hyperparameters: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """The content of config.json; ValueError for non-JSON values. more: timesteps, threads."""
    kwargs = by_name("env_kwargs", job.env_kwargs, must_end=True)
    content = {
        "env_id": job.env_id,
        "algo": job.algo,
        "seed": job.seed,
        "timesteps": None,
        "threads": None,
        "hyperparameters": dict(hyperparameters),
        "env_kwargs": kwargs,
        "init_from": job.init_from and str(job.init_from),
        "versions": _versions(),
        "git": _revision(),
        "command": sys.argv,
        **more,
    }
    try:
        for name, value in kwargs.items():
            if hasattr(value, "_fields"):  # JSON would make a list of a record
                raise TypeError(f"{name} is {value!r}")
        plain: dict[str, Any] = json.loads(json.dumps(content))  # as a later run will read it
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"env_kwargs and hyperparameters must be plain data, as JSON has it: {error}"
        ) from None
    if has_test_set(job.env_id):
        plain["resolved"] = resolved(job.env_id, plain["env_kwargs"])
    return plain


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Run the block with this number of torch's threads."""
    import torch  # what only loads a policy needs no learning library

    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def judgement(policy: Any, config: Config, steps: int, seconds: float) -> dict[str, Any]:
    """The `worth` of a policy on the validation set, with the training's steps and seconds."""
    return {"timesteps": steps, "seconds": seconds, **worth(policy, config)}


def worth(
    policy: Any, config: Config, split: str = "validation", episodes: int = _EPISODES
) -> dict[str, float]:
    """Success rate and mean return of a policy, or of a law by name, in the training's env."""
    kwargs = {name: value for name, value in config["env_kwargs"].items() if name != "initial"}
    env_id = config["env_id"]
    if isinstance(policy, Network):
        flown = rollout_test_set(policy, env_id, episodes=episodes, split=split, env_kwargs=kwargs)
        success, returns = flown.success.mean(), flown.returns.mean()
        return {"success_rate": float(success), "mean_return": float(returns)}
    found = evaluate(policy, env_id, episodes, split=split, **kwargs)
    return {"success_rate": found.success_rate, "mean_return": found.mean_return}


def rank(found: Mapping[str, float]) -> tuple[float, float]:
    """What a run keeps the best of: success first, then return."""
    return found["success_rate"], found["mean_return"]


def is_better(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """Whether `one` has the better success rate or, within the interval, the better return."""
    low, other_low = (
        wilson_interval(round(x["success_rate"] * _EPISODES), _EPISODES)[0] for x in (one, other)
    )
    if one["success_rate"] < other_low or other["success_rate"] < low:
        return one["success_rate"] > other["success_rate"]
    return one["mean_return"] > other["mean_return"]


def summary(worth: Mapping[str, float]) -> str:
    rate, mean = 100 * worth["success_rate"], worth["mean_return"]
    return f"success {rate:.1f} %, mean return {mean:.1f}"


def first_network(config: Config) -> tuple[Network, tuple[Any, Any]]:
    """A training's first network, random or `init_from`'s, and the env's spaces. rates: factor of
    the angular velocity, which replaces `normalizer_for`. ValueError for what does not fit."""
    chosen, env_id, kwargs = config["hyperparameters"], config["env_id"], config["env_kwargs"]
    asked = kwargs.get("observation") or "quaternion"
    form = asked[0] if isinstance(asked, list | tuple) and asked else asked
    named("observation", form, FORMS, f" for {config['algo']}")
    env = gym.make(env_id, **kwargs)
    env.close()
    seen, done = env.observation_space, env.action_space
    episodes_of(env)  # raises for an env that is not rbgym's
    if not (isinstance(seen, gym.spaces.Box) and isinstance(done, gym.spaces.Box)):
        raise ValueError(f"env_id must be a task whose observations are a box, got {env_id!r}")
    memory = memory_for(env, memory_times(chosen))
    if given := config["init_from"]:
        if not Path(given).is_dir():
            raise ValueError(f"init_from must be the folder of a policy, got {given!r}")
        policy = trained.load(Path(given))
        network = policy.network
        if not isinstance(network, Network):
            raise ValueError(f"init_from must be without an LSTM, got {given!r}")
        if (network.width, network.sizes[-1]) != (seen.shape[0], done.shape[0]):
            raise ValueError(
                f"init_from must read {seen.shape[0]} numbers and command {done.shape[0]}, got "
                f"{network.width} and {network.sizes[-1]}: {given!r}"
            )
        try:
            at_work(policy, env)  # raises if the columns are others
        except ValueError as error:
            raise ValueError(f"init_from does not fit, got {given!r}: {error}") from None
        if network.activation != "tanh" or network.output == "gsde":
            raise ValueError(
                "init_from must have tanh between its layers, and clip its commands or squash them "
                f"by tanh, got {network.activation!r} and {network.output!r}: {given!r}"
            )
        own = list(network.sizes[1:-1])
        if (hidden := chosen.get("net_arch", own)) != own:
            raise ValueError(f"net_arch must be left out, or init_from's, {own}, got {hidden!r}")
        if "rates" in chosen:
            raise ValueError(f"rates play no part with init_from, got {chosen['rates']!r}")
        if isinstance(network.memory, Attitude):  # whose filter is that of this env's sensors
            if not isinstance(finds := memory, Attitude):
                finds = Attitude(Acquiring.for_env(env, network.memory.filter.stays))
            network = replace(network, memory=finds)
        elif network.memory is not None:
            require_period(policy, env_id, kwargs)
        if memory is not None and memory != network.memory:
            raise ValueError(
                f"{', '.join(KINDS)} must be 0, or init_from's, {network.memory}, got {memory}"
            )
        if network.normalizer is None:  # what the training reads; this one changes nothing
            n = network.sizes[0]
            plain = Normalizer(np.zeros(n), np.ones(n) - 1e-8, clip=_UNBOUNDED, epsilon=1e-8)
            network = replace(network, normalizer=plain)
        return replace(network, quaternions=quaternions_of(env)), (seen, done)
    if "rates" in chosen:
        variance, shown = np.ones(seen.shape[0]), read_by_networks(env).get("angular_velocity")
        if shown:
            variance[shown.place] = chosen["rates"] ** -2.0
        normalizer = Normalizer(np.zeros(len(variance)), variance)
    else:
        normalizer = normalizer_for(env, memory)
    sizes = (len(normalizer.mean), *chosen["net_arch"], done.shape[0])
    network = Network.random(sizes, config["seed"], normalizer=normalizer, memory=memory)
    if "rates" not in chosen:
        network = show_differences(network.with_parameters(_SMALL * network.parameters()), env)
    return replace(network, quaternions=quaternions_of(env)), (seen, done)


def memory_times(chosen: Mapping[str, Any]) -> dict[str, float]:
    """The time [s] of a network's memory by name, none if 0; ValueError for bad ones, and two."""
    times = {name: positive(name, chosen[name]) for name in KINDS if chosen.get(name)}
    if len(times) > 1:
        raise ValueError(f"{', '.join(KINDS)}: all but one must be 0, got {times}")
    return times


def memory_for(env: Any, times: Mapping[str, float]) -> Memory | None:
    """The memory for these `memory_times`; ValueError if the env does not show what it reads."""
    if not times:
        return None
    base, columns = env.unwrapped, read_by_networks(env)
    if "trend" in times:
        width = sum(one.size for one in columns.values())
        return Trend(0, width, min(base.dt / times["trend"], 1.0))
    if "attitude" in times:
        return Attitude(Acquiring.for_env(env, times["attitude"]))
    if "sun" in times:
        cells, rates = columns.get("coarse_sun"), columns.get("angular_velocity")
        if cells is None or rates is None:
            raise ValueError(f"sun must be 0 without coarse cells and gyros, got {times['sun']!r}")
        normals = np.array(base.episodes.setup.parts.sensor.normals)
        half = 0.5 * float(np.linalg.eigvalsh(normals.T @ normals).max())
        share = min(base.dt / times["sun"], 1.0) / max(half, 1.0)
        return SunDirection(cells.first, rates.first, normals, base.dt * float(rates.factor), share)
    column, time = next(iter(columns.values())), times["integral"]
    edge = _attitude_edge(base, column.name) if column.name == "quaternion" else None
    if edge is None:
        raise ValueError(
            "integral must be 0 where observations do not begin with a quaternion relative to a "
            f"target, got {time!r}"
        )
    return Integral.over(time, base.dt, 2.0 * edge, column.first + 1)


def normalizer_for(env: Any, memory: Memory | None = None) -> Normalizer:
    """The normaliser for an env of rbgym: divides each column by its bound and, if the task's
    tolerances are small parts of them, repeats most at one or two finer scales, clipped at +-1.
    Coarse cells begin at `_DARK`; a keep-out cone's direction comes again, about its edge. Columns
    of an `Integral` stay; other memories have own scales, and with an `Attitude` there is one."""
    columns, base = read_by_networks(env), env.unwrapped
    bounds = np.concatenate([np.asarray(one.high, dtype=float) for one in columns.values()])
    factors = np.array([1.0 / bound if 0 < bound < math.inf else 1.0 for bound in bounds])
    steps = _finer(_edges(base, columns))
    # With a SunDirection wheels have one scale too; a finer one turns the body in the shadow.
    unlike = _ONE_SCALE | ({"wheel_momentum"} if isinstance(memory, SunDirection) else set())
    fine = [] if isinstance(memory, Attitude) else _places(columns, unlike)
    # Of what a memory appends: scales, the places that finer ones repeat, edges of success.
    width = 0 if memory is None else memory.width
    own, again, edges = np.ones(width), list(range(width)), list[float]()
    if isinstance(memory, Trend):  # of rad, in which a unit vector turns at the edge of success
        own, again = factors, _places(columns, _COMMANDS)
        edges = [base.task.rate * base.dt / memory.share]
    elif isinstance(memory, SunDirection):
        edges = [0.1 * float(base.task.angle)]
    elif isinstance(memory, Attitude):
        own = np.r_[np.ones(4), factors[columns["angular_velocity"].place]]
        edges = [0.5 * float(base.task.angle), *_edges(base, columns)]
    further = _finer(edges)
    finer = [step * factors[fine] for step in steps] + [step * own[again] for step in further]
    repeats = fine * len(steps) + [len(factors) + k for k in again] * len(further)
    whole = np.concatenate([factors, own, *finer])
    mean = np.zeros(len(whole))
    if "coarse_sun" in columns:
        cells = columns["coarse_sun"].place
        mean[cells], whole[cells] = 0.5 * (1.0 + _DARK), 2.0 / (1.0 - _DARK)
    if "keep_out" in columns:  # once more, where the boresight meets the cone
        axes, halves = zip(*base.episodes.setup.parts.constraints.angles(), strict=True)
        a, half = np.array(axes), np.array(halves)[:, np.newaxis]
        across = np.sqrt(np.maximum(1.0 - a * a, 0.0))  # of each column, over the cone's cap
        extent = np.abs(a) * (1.0 - np.cos(half)) + across * np.sin(half)
        mean, whole = np.r_[mean, (a * np.cos(half)).ravel()], np.r_[whole, 0.5 / extent.ravel()]
        repeats += range(columns["keep_out"].place.start, columns["keep_out"].place.stop)
    return Normalizer(mean, whole**-2.0, 1.0, 1e-12, tuple(repeats))


def _places(columns: Mapping[str, Column], but: set[str]) -> list[int]:
    """The places of all columns but those with these names."""
    shown = (one for name, one in columns.items() if name not in but)
    return [one.first + k for one in shown for k in range(one.size)]


def _finer(edges: list[float]) -> list[float]:
    """Factors of one or two finer scales, which show errors at these edges of success."""
    finest = _EDGE / float(np.exp(np.mean(np.log(edges)))) if edges else 1.0
    steps = [finest] if finest > _LEAST else []
    return [math.sqrt(finest), *steps] if finest > _BETWEEN else steps


def show_differences(network: Network, env: Any) -> Network:
    """A copy whose first units compute the angular velocity minus a moving target's, or the spin
    minus the wanted one, which the finer scales clip. A network of few units stays as it is."""
    columns, normalizer = read_by_networks(env), cast(Normalizer, network.normalizer)
    name = next((one for one in _RELATIVE if one in columns), None)
    if name is None or "angular_velocity" not in columns or network.sizes[1] < _LEAST_UNITS:
        return network
    own, wanted, rate = columns["angular_velocity"], columns[name], env.unwrapped.task.rate
    edges = _edges(env.unwrapped, columns) or [rate / own.factor / float(np.max(own.high))]
    weight, bias = network.layers[0][0].copy(), network.layers[0][1]
    finest = _EDGE / rate  # of a difference in rad/s
    steps = [finest * np.exp(np.mean(np.log(edges))) ** share for share in (0.0, 0.5, 1.0)]
    for row, (step, k) in enumerate(itertools.product(steps, range(wanted.size))):
        weight[row] = 0.0
        axis = own.first + _RELATIVE[name] + k
        for sign, one, column in ((1.0, own, axis), (-1.0, wanted, wanted.first + k)):
            weight[row, column] = sign * step * one.factor / normalizer.scale[column]
    return replace(network, layers=((weight, bias), *network.layers[1:]))


def _edges(env: Any, columns: dict[str, Column]) -> list[float]:
    """The task's tolerances in the columns that are zero at the goal, as fractions of bounds."""
    task, goal, found = env.task, env.goal, list[float]()
    form = next((name for name in columns if name in FORMS), "")  # or the attitude is hidden
    if form and (edge := _attitude_edge(env, form)) is not None:
        found.append(edge / float(np.max(columns[form].high)))
    rates = columns.get("angular_velocity")
    if isinstance(goal, Target | Rest | TowardsSun) and rates:
        found.append(task.rate / rates.factor / float(np.max(rates.high)))
    return found


def _attitude_edge(env: Any, form: str) -> float | None:
    """The task's tolerance of the attitude, in the columns of this form; None without a target."""
    if not isinstance(env.goal, Target) or env.task.split:
        return None
    return float(env.task.angle) * _SLOPES.get(form, 1.0)


def finish(
    folder: RunFolder, config: Config, results: Any, network: Any, spaces: Any, start: int
) -> Training:
    """Write the policy of a run, then results.json, with steps per second, seconds until the task
    was learned, and the worth on the test set. spaces: of observations and actions."""
    seconds = results["wall_time"]
    results["steps_per_second"] = results["timesteps"] / seconds if seconds else None
    if results["judgements"]:
        results["test"] = worth(network, config, "test")
    learned = [e["seconds"] for e in results["judgements"] if e["success_rate"] >= THRESHOLD]
    results["time_to_threshold"] = learned[0] if learned else None
    put_policy(folder, config, results, network, spaces)
    write_json(folder.results, results)
    return Training(folder, results, start)


def put_policy(
    folder: RunFolder, config: Config, results: Config, network: Any, spaces: tuple[Any, Any]
) -> None:
    """Write the current policy of a run, so that it can be judged before the run ends."""
    folder.require(config)
    content = {key: config[key] for key in (*IDENTITY, "versions", "git")}
    trained.write(folder.path, network, spaces, {**content, "training": results})


def load_policy(folder: RunFolder | str | Path) -> TrainedPolicy:
    """The policy of a run, the best so far if it is not finished; ValueError if none is there."""
    return trained.read(folder.path if isinstance(folder, RunFolder) else Path(folder))


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _revision() -> str | None:
    """The git revision of the sources; None where they are not under git."""
    file = Path(__file__).resolve()
    ask = partial(
        subprocess.check_output, cwd=file.parent, stderr=subprocess.DEVNULL, text=True, timeout=10
    )
    with suppress(OSError, subprocess.SubprocessError):
        # A virtual env inside another repository holds this file, but that one does not track it.
        ask(["git", "ls-files", "--error-unmatch", file.name])
        return ask(["git", "describe", "--always", "--dirty", "--abbrev=40"]).strip() or None
    return None
