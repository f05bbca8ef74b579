"""The folder that a training run writes, and files that are written whole or not at all."""

import errno
import json
import os
import shutil
import time
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbgym.arguments import number

_LARGEST_JSON = 2**26
_DAY = 86_400.0  # s
# Two runs are the same if these agree; the rest of config.json records versions and the command.
IDENTITY = ("env_id", "algo", "seed", "timesteps", "threads", "hyperparameters",
            "env_kwargs", "init_from")  # fmt: skip


class RunFolder:
    """The paths in a run's folder. checkpoint: the latest state. model, normalizer: as SB3 saves
    them. results: written last, so it marks the end. files: all, in the order of removal."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config, self.results = path / "config.json", path / "results.json"
        self.checkpoint = path / "checkpoint.zip"
        self.model, self.normalizer = path / "model.zip", path / "vecnormalize.pkl"
        self.policy, self.tensorboard = path / "policy.json", path / "tb"
        weights = self.policy.with_suffix(".safetensors")
        self.files = (self.results, self.policy, weights, self.model, self.normalizer,
                      self.checkpoint, self.config)  # fmt: skip

    def read_results(self) -> dict[str, Any]:
        """The content of results.json. Raises ValueError where a number is missing."""
        found = read_json(self.results)
        for key in ("timesteps", "wall_time"):
            if not isinstance(value := found.get(key), int | float):
                raise ValueError(f"{key} must be a number in {str(self.results)!r}, got {value!r}")
        return found

    def claim(
        self, config: dict[str, Any], resume: bool, restore: Callable[[Path], object] | Exception
    ) -> dict[str, Any] | None:
        """Write config.json, or continue the same run or a shorter one; returns its results if it
        is finished. ValueError if the folder holds another run, a longer one, other files, or a
        checkpoint of another rbgym. resume: False empties it first, unless its config.json is not a
        run's. restore: reads the checkpoint, or raises ValueError before a finished run loses its
        results; or why nothing can read it."""
        there = read_json(self.config) if self.config.exists() else config
        if lacking := [key for key in ("env_id", "algo") if key not in there]:
            raise ValueError(
                f"{str(self.config)!r} must be of a run, got one without {', '.join(lacking)}: "
                "take another folder"
            )
        if not resume:
            for file in self.files:
                file.unlink(missing_ok=True)
            shutil.rmtree(self.tensorboard, ignore_errors=True)
            there = config
        found = [file.name for file in self.files if file.exists()]
        if found and not self.config.exists():
            raise ValueError(
                f"{str(self.path)!r} has no config.json, so its {', '.join(found)} may be of "
                "something else: take another, or overwrite it"
            )
        differing = [key for key in IDENTITY if there.get(key) != config.get(key)]
        alike = _without_length(there) == _without_length(config)
        if differing and not (alike and length(there) <= length(config)):
            changes = ", ".join(f"{k} {there.get(k)!r} -> {config.get(k)!r}" for k in differing)
            raise ValueError(
                f"{str(self.path)!r} holds another run ({changes}): take another, or overwrite it"
            )
        longer = length(there) != length(config)
        whole, begun = all(one.exists() for one in self.files[:3]), self.checkpoint.exists()
        if whole and not longer:
            return self.read_results()
        was = there.get("versions")
        was = was.get("rbgym") if isinstance(was, dict) else was
        if begun and was != config["versions"].get("rbgym"):
            raise ValueError(
                f"{str(self.path)!r} has a checkpoint of rbgym {was!r}: use that, or overwrite it"
            )
        if isinstance(restore, Exception):
            if begun:
                raise restore
            if whole:  # an imitation alone, which has no checkpoint
                return self.read_results()
        elif self.results.exists():
            restore(self.checkpoint)
        self.results.unlink(missing_ok=True)
        if longer or not begun:
            self.path.mkdir(parents=True, exist_ok=True)
            write_json(self.config, config)
        return None

    def require(self, config: Mapping[str, Any]) -> None:
        """Raise ValueError if another training has finished this run, or replaced it."""
        there = read_json(self.config)
        if self.results.exists() or any(there.get(key) != config[key] for key in IDENTITY):
            raise ValueError(f"another training has taken over {str(self.path)!r}")


def length(config: dict[str, Any]) -> float:
    """The length of a run: its timesteps, or the iterations among its hyperparameters."""
    given = config.get("hyperparameters")
    iterations = given.get("iterations") if isinstance(given, dict) else None
    return number(config.get("timesteps") or iterations or 0)


def _without_length(config: dict[str, Any]) -> dict[str, Any]:
    given = config.get("hyperparameters")
    rest = {**given, "iterations": None} if isinstance(given, dict) else given
    identity = {key: config.get(key) for key in IDENTITY}
    return {**identity, "timesteps": None, "hyperparameters": rest}


@dataclass(frozen=True)
class Training:
    """The result of `train`: the run's folder, the content of its results.json, and the step it
    started from: 0 for a new run, None if the run was already finished and nothing was done."""

    folder: RunFolder
    results: dict[str, Any]
    resumed_from: int | None


def made_folder(folder: Any) -> Path:
    """The path of a folder, made if missing; ValueError if it cannot be one."""
    try:
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
    except (TypeError, ValueError, FileExistsError, NotADirectoryError) as error:
        raise ValueError(f"folder must be the path of a folder, got {folder!r}: {error}") from None
    return path


def file_at(path: Path) -> Path:
    """The file, there or not, that `path` is or links to. Raises OSError, which names `path`, for
    anything else, and for /dev/stdout and the like, which link to files that others write."""
    target, link = Path(os.path.realpath(path)), Path(path)
    good = target.is_file() or not os.path.lexists(target)
    while good and link.is_symlink():
        good = not link.is_relative_to("/proc")
        link = link.parent.absolute() / link.readlink()
    if not good:
        raise OSError(errno.EINVAL, "Not a file that can be replaced", str(path))
    return target


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path that replaces `file_at(path)` once written and synced. The last of
    several writers wins; a killed one's file is removed a day later. OSError names `path`."""
    target = file_at(path)
    beginning = f".{zlib.crc32(os.fsencode(target.name)):08x}-"  # short, as names have a limit
    temporary = target.with_name(f"{beginning}{uuid.uuid4().hex}.tmp")
    for left in target.parent.glob(f"{beginning}*.tmp"):
        with suppress(OSError):  # another process has removed it, or another user owns it
            if time.time() - left.stat().st_mtime > _DAY:
                left.unlink()
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        if error.filename in (None, str(temporary)) and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file; an interruption leaves the old one."""
    with replacing(path) as temporary:
        temporary.write_text(as_text(content), encoding="utf-8")


def as_text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2) + "\n"


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; ValueError, which names the file, for anything else."""
    if not path.is_file() or path.stat().st_size > _LARGEST_JSON:
        raise ValueError(f"{str(path)!r} must be a file of at most {_LARGEST_JSON} bytes")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{str(path)!r} cannot be read as JSON: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{str(path)!r} must hold a JSON object, got {type(content).__name__}")
    return content
