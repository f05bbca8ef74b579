"""RLlib's checkpoint of a run in one file, whole or absent; resuming needs no more.

The file is a zip of the folder that `Algorithm.save_to_path` writes, and of progress.json beside
it. It holds pickles: load your own only.
"""

import json
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rbgym.agents.run_folder import replacing
from rbgym.agents.train.rllib.progress import Progress

_PROGRESS = "progress.json"


def save(path: Path, algorithm: Any, at: Progress) -> None:
    """Write the state of the algorithm, and how far it is."""
    with tempfile.TemporaryDirectory(dir=path.parent) as name:
        folder = Path(name)
        algorithm.save_to_path(folder / "algorithm")
        (folder / _PROGRESS).write_text(json.dumps(at._asdict()), encoding="utf-8")
        with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
            for file in _files(folder):
                archive.write(file, file.relative_to(folder))


def progress(path: Path) -> Progress:
    """How far a checkpoint is; ValueError if the file is none."""
    try:
        with zipfile.ZipFile(path) as archive:
            return Progress(**json.loads(archive.read(_PROGRESS)))
    except (zipfile.BadZipFile, KeyError) as error:
        raise ValueError(f"{str(path)!r} is no checkpoint: {error}") from None


def restore(path: Path, algorithm: Any) -> None:
    """Put the algorithm back where it was; the number of its env runners may be another."""
    with tempfile.TemporaryDirectory(dir=path.parent) as name:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(name)
        algorithm.restore_from_path(Path(name) / "algorithm")


def _files(folder: Path) -> Iterator[Path]:
    return (file for file in sorted(folder.rglob("*")) if file.is_file())
