"""Training with RLlib that goes on when a machine dies, and resumes when all of it does."""

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rbgym.agents.policies import trained
from rbgym.agents.run_folder import RunFolder, Training, write_json
from rbgym.agents.train import presets
from rbgym.agents.train.rllib import checkpoints, policy, settings
from rbgym.agents.train.rllib.distributed import connected
from rbgym.agents.train.rllib.lanes import check_env
from rbgym.agents.train.rllib.progress import Bar, Log, Progress
from rbgym.agents.train.run_config import TOLD, described
from rbgym.arguments import count

_PATIENCE = 600.0  # seconds without a step from any env runner after which training gives up

Callback = Callable[[Progress], None]  # called after each iteration


def train(
    env_id: str,
    algo: str = "ppo",
    *,
    out: str | Path,
    seed: int = 0,
    timesteps: int | None = None,
    hyperparameters: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
    runners: int = 2,
    address: str | None = None,
    resume: bool = True,
    progress: bool = True,
    env_kwargs: dict[str, Any] | None = None,
    checkpoint_every: int = 50_000,
    callbacks: Sequence[Callback] = (),
    report: Callable[[str], None] = lambda message: None,
) -> Training:
    """Train a policy with RLlib's PPO into the folder `out`.

    Env runners, processes that step lanes, are spread over the cluster; this process learns. A
    runner whose machine dies is started again where there is a free CPU, while the others go on.
    Called again after an interruption it goes on from the last checkpoint: with the weights and
    the optimizer as they were, and with new episodes; on as many runners as are asked for then.
    After the end it does nothing.

    timesteps: env steps of all lanes together, rounded up to whole batches; None for the
    preset's. runners: at most the CPUs of the cluster. address: of a Ray cluster, see
    `rbgym.agents.distributed.connected`. The other arguments: see `rbgym.agents.training.train`.
    Raises ValueError for bad arguments, and if `out` holds another run; ConnectionError if no
    cluster answers, or none of its env runners for ten minutes.
    """
    settings.check_versions()
    config = _config(env_id, algo, seed, timesteps, env_kwargs or {}, hyperparameters, changes)
    spaces = check_env(env_id, config["env_kwargs"])
    runners = count("runners", runners)
    folder = RunFolder(Path(out))
    if resume:
        folder.require(config)
        if folder.results.exists():
            return Training(folder, folder.read_results(), None)
    there = resume and folder.checkpoint.exists()
    start = checkpoints.progress(folder.checkpoint) if there else Progress()
    if start.timesteps:
        report(f"resuming {folder.path} from step {start.timesteps}")
    with (
        connected(address) as ray,
        _algorithm(ray, folder, config, runners, start.timesteps) as algorithm,
        _claimed(folder, config, resume),
        Log(folder.tensorboard) as log,
        Bar(config["timesteps"], hidden=not progress) as bar,
    ):
        told: list[Callback] = [log, bar, *callbacks]
        at, saved = start, start.timesteps
        for at in _iterations(algorithm, start, config["timesteps"]):
            if at.timesteps - saved >= checkpoint_every:
                checkpoints.save(folder.checkpoint, algorithm, at)
                saved = at.timesteps
            for callback in told:
                callback(at)
        activation = config["hyperparameters"]["fcnet_activation"]
        network = policy.network(algorithm.get_module(), activation)
    results = {**at._asdict(), "steps_per_second": at.timesteps / at.wall_time}
    content = {key: config.get(key) for key in TOLD} | {"training": results}
    trained.write(folder.path, network, spaces, content)
    write_json(folder.results, results)
    return Training(folder, results, start.timesteps)


def _config(
    env_id: str,
    algo: str,
    seed: int,
    timesteps: int | None,
    env_kwargs: dict[str, Any],
    file: str | Path | None,
    changes: Mapping[str, Any] | None,
) -> dict[str, Any]:
    if algo != "ppo":
        raise ValueError(f"algo must be 'ppo' with the engine rllib, got {algo!r}")
    hyperparameters = presets.block(f"rllib_{algo}", env_id, file, changes)
    settings.check_hyperparameters(hyperparameters)
    settings.check_network(hyperparameters)
    preset_steps = hyperparameters.pop("n_timesteps")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**31:
        raise ValueError(f"seed must be an integer from 0 to 2**31 - 1, got {seed!r}")
    steps = count("timesteps", preset_steps if timesteps is None else timesteps)
    told = described(env_id, algo, seed, hyperparameters, env_kwargs)
    return told | {"engine": "rllib", "timesteps": steps}


@contextmanager
def _claimed(folder: RunFolder, config: dict[str, Any], resume: bool) -> Iterator[None]:
    """Take the folder, now that everything has been found to work."""
    if not resume:
        folder.clear()
    folder.claim(config)
    yield


@contextmanager
def _algorithm(
    ray: Any, folder: RunFolder, config: dict[str, Any], runners: int, start: int
) -> Iterator[Any]:
    """RLlib's algorithm, as the checkpoint has it if the run has had a start."""
    cpus = int(ray.cluster_resources().get("CPU", 0))
    if runners > cpus:
        raise ValueError(f"runners must be at most {cpus}, the CPUs of the cluster, got {runners}")
    logging.getLogger("ray.rllib").setLevel(logging.ERROR)
    algorithm = settings.algorithm_config(config, runners, start).build_algo()
    try:
        if start:
            checkpoints.restore(folder.checkpoint, algorithm)
        yield algorithm
    finally:
        algorithm.stop()
        with suppress(OSError):  # a folder in the user's home, which RLlib made and left empty
            Path(algorithm.logdir).rmdir()


def _iterations(algorithm: Any, start: Progress, timesteps: int) -> Iterator[Progress]:
    """Train until so many steps are done; ConnectionError if no env runner steps any more."""
    at, heard = start, time.monotonic()
    begin = heard - start.wall_time
    while at.timesteps < timesteps:
        result = algorithm.train()
        now = time.monotonic()
        sampled = result.get("env_runners", {})
        steps = int(sampled.get("num_env_steps_sampled_lifetime", at.timesteps))
        if steps > at.timesteps:
            heard = now
        elif now - heard > _PATIENCE:
            raise ConnectionError(f"no env runner has answered for {_PATIENCE:.0f} s")
        at = Progress(
            timesteps=steps,
            wall_time=now - begin,
            last_mean_return=_mean(sampled, "episode_return_mean", at.last_mean_return),
            last_mean_length=_mean(sampled, "episode_len_mean", at.last_mean_length),
            runners=algorithm.env_runner_group.num_healthy_remote_workers(),
        )
        yield at


def _mean(sampled: dict[str, Any], name: str, before: float | None) -> float | None:
    """A mean over the last episodes; as it was before where none has ended."""
    value = float(sampled.get(name, math.nan))
    return value if math.isfinite(value) else before
