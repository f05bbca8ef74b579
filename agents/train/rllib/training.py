"""Training with RLlib that goes on when a machine dies, and resumes when all of it does.

A checkpoint is a zip of the folder that `Algorithm.save_to_path` writes, and of progress.json
beside it; whole or absent, and all that resuming needs. It holds pickles: load your own only.
"""

import json
import logging
import math
import os
import socket
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from rbgym.agents.run_folder import RunFolder, Training, replacing
from rbgym.agents.terminal import Counter, bar
from rbgym.agents.train import run
from rbgym.agents.train.rllib import settings
from rbgym.agents.train.rllib.lanes import check_env
from rbgym.arguments import count

_PATIENCE = 600.0  # seconds without a step from any env runner after which training gives up
_PROGRESS = "progress.json"
# Bytes that processes of one machine share, where it is this process that starts Ray.
_OBJECT_STORE = 256 * 2**20


class Progress(NamedTuple):
    """Env steps and seconds of training so far, and means over the last episodes.

    runners: env runners that are at work.
    """

    timesteps: int = 0
    wall_time: float = 0.0
    last_mean_return: float | None = None
    last_mean_length: float | None = None
    runners: int = 0


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
    callbacks: Sequence[Callable[[Progress], None]] = (),
    report: Callable[[str], None] = lambda message: None,
) -> Training:
    """Train a policy with RLlib's PPO into the folder `out`.

    Env runners, processes that step lanes, are spread over the cluster; this process learns. A
    runner whose machine dies is started again where there is a free CPU, while the others go on.
    Called again after an interruption it goes on from the last checkpoint: with the weights and
    the optimizer as they were, and with new episodes; on as many runners as are asked for then.
    After the end it does nothing.

    timesteps: env steps of all lanes together, rounded up to whole batches; None for the
    preset's. runners: at most the CPUs of the cluster. address: "host:port" of a running cluster
    or "auto" to find it, as Ray takes them; None or "local" starts Ray for this process, listening
    to this machine only. callbacks: called after each iteration. The other arguments: see
    `rbgym.agents.train.sb3.training.train`.
    Raises ValueError for bad arguments, and if `out` holds another run; ConnectionError if no
    cluster answers, or none of its env runners for ten minutes.
    """
    settings.check_versions()
    from torch.utils.tensorboard import SummaryWriter

    if algo != "ppo":
        raise ValueError(f"algo must be 'ppo' with the engine rllib, got {algo!r}")
    chosen = settings.hyperparameters(env_id, hyperparameters, changes)
    preset_steps = chosen.pop("n_timesteps")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**31:
        raise ValueError(f"seed must be an integer from 0 to 2**31 - 1, got {seed!r}")
    steps = count("timesteps", preset_steps if timesteps is None else timesteps)
    config = run.config_of(env_id, algo, seed, chosen, env_kwargs, engine="rllib", timesteps=steps)
    spaces = check_env(env_id, config["env_kwargs"])
    runners = count("runners", runners)
    folder = RunFolder(Path(out))
    if resume:
        folder.require(config)
        if folder.results.exists():
            return Training(folder, folder.read_results(), None)
    before = Progress()
    if resume and folder.checkpoint.exists():
        try:
            with zipfile.ZipFile(folder.checkpoint) as archive:
                before = Progress(**json.loads(archive.read(_PROGRESS)))
        except (zipfile.BadZipFile, KeyError) as error:
            raise ValueError(f"{str(folder.checkpoint)!r} is no checkpoint: {error}") from None
    at, start, saved = before, before.timesteps, before.timesteps
    if start:
        report(f"resuming {folder.path} from step {start}")
    with _connected(address) as ray, _algorithm(ray, folder, config, runners, start) as algorithm:
        folder.claim(config, resume)  # now that everything has been found to work
        with SummaryWriter(str(folder.tensorboard)) as log, bar(hidden=not progress) as shown:
            show = Counter(shown, "training", steps)
            for at in _iterations(algorithm, before, steps):
                if at.timesteps - saved >= checkpoint_every:
                    _save(folder.checkpoint, algorithm, at)
                    saved = at.timesteps
                _log(log, at)
                show(at.timesteps, steps, at.last_mean_return)
                for callback in callbacks:
                    callback(at)
        network = settings.network_of(algorithm.get_module(), chosen["fcnet_activation"])
    return run.finish(folder, config, at._asdict(), network, spaces, start)


def _save(path: Path, algorithm: Any, at: Progress) -> None:
    """Write the state of the algorithm, and how far it is."""
    with tempfile.TemporaryDirectory(dir=path.parent) as name:
        folder = Path(name)
        algorithm.save_to_path(folder / "algorithm")
        (folder / _PROGRESS).write_text(json.dumps(at._asdict()), encoding="utf-8")
        with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
            for file in sorted(f for f in folder.rglob("*") if f.is_file()):
                archive.write(file, file.relative_to(folder))


def _log(writer: Any, at: Progress) -> None:
    """Add a point to each curve, which has the name that Stable-Baselines3 gives it."""
    curves = {
        "rollout/ep_rew_mean": at.last_mean_return,
        "rollout/ep_len_mean": at.last_mean_length,
        "time/fps": at.timesteps / at.wall_time,
    }
    for name, value in curves.items():
        if value is not None:
            writer.add_scalar(name, value, at.timesteps)


@contextmanager
def _connected(address: str | None) -> Iterator[Any]:
    """The module `ray`, connected for the time of the block; an existing connection is used.
    ConnectionError if no cluster answers."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    if ray.is_initialized():
        yield ray
        return
    local = address in (None, "local")
    try:
        if local:
            _start(ray)
        else:
            _knock(str(address))
            ray.init(address=address, logging_level="ERROR", log_to_driver=False)
    except (OSError, RuntimeError, ValueError) as error:
        where = "on this machine" if local else f"at {address!r}"
        raise ConnectionError(f"no Ray {where}: {error}") from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _start(ray: Any) -> None:
    """Start Ray for this process, with no door to the network."""
    from ray._private import ray_constants

    could = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False  # else Ray takes the machine's address on the network
    try:
        ray.init(
            address="local",
            include_dashboard=False,
            object_store_memory=_OBJECT_STORE,
            logging_level="ERROR",
            log_to_driver=False,
            _node_ip_address="127.0.0.1",
        )
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = could


def _knock(address: str) -> None:
    """Raise OSError if nothing listens at "host:port": Ray itself takes minutes to say so."""
    host, _, port = address.rpartition(":")
    if port.isdigit() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


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
            with tempfile.TemporaryDirectory(dir=folder.path) as name:
                with zipfile.ZipFile(folder.checkpoint) as archive:
                    archive.extractall(name)
                algorithm.restore_from_path(Path(name) / "algorithm")
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
