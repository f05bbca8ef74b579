"""What a browser can take with it: the records of the runs, and who makes the files."""

import contextlib
import io
import multiprocessing
import signal
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbgym.agents.view.history import COLUMNS, WIDTHS
from rbgym.agents.view.world import World
from rbgym.quaternion import Array

_MOST_WAITING = 3
_SAVED = ("time", "quaternion", "angular_velocity", "angular_momentum", "energy", "torque")
_NAMES = {
    "time": ["time"],
    "quaternion": ["qw", "qx", "qy", "qz"],
    "angular_velocity": ["wx", "wy", "wz"],
    "angular_momentum": ["Lx", "Ly", "Lz"],
    "energy": ["energy"],
    "torque": ["ux", "uy", "uz"],
}


@dataclass(frozen=True)
class Records:
    """The records of all runs at one instant: names, and rows (n, WIDTH) of each."""

    names: tuple[str, ...]
    rows: tuple[Array, ...]

    @classmethod
    def of(cls, world: World) -> "Records":
        """A copy, which the world's thread makes."""
        return cls(
            tuple(run.name for run in world.runs),
            tuple(history.rows() for history in world.histories),
        )


def as_csv(records: Records) -> bytes:
    """Columns run, name, and those of `rbgym simulate --csv` with the torque that acted [N m]."""
    header = ",".join(["run", "name", *(n for part in _SAVED for n in _NAMES[part])])
    lines = [header]
    for k, (name, rows) in enumerate(zip(records.names, records.rows, strict=True)):
        values = np.concatenate([rows[:, COLUMNS[part]] for part in _SAVED], axis=1)
        quoted = '"' + name.replace('"', '""') + '"'
        lines += [f"{k + 1},{quoted}," + ",".join(map(repr, row)) for row in values.tolist()]
    return ("\n".join(lines) + "\n").encode()


def as_npz(records: Records) -> bytes:
    """Arrays `names` (runs,), and time_1 (n,), quaternion_1 (n, 4), ... for each run."""
    arrays: dict[str, Any] = {"names": np.array(records.names)}
    for k, rows in enumerate(records.rows):
        for part in _SAVED:
            column = rows[:, COLUMNS[part]]
            arrays[f"{part}_{k + 1}"] = column[:, 0] if WIDTHS[part] == 1 else column
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


class Saver:
    """Makes files one after the other, in a process of their own, and sends them."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="rbgym-save")
        self._processes: ProcessPoolExecutor | None = None
        self._places = threading.BoundedSemaphore(_MOST_WAITING)

    def save(self, name: str, make: Callable[[Any], bytes], given: Any, client: Any) -> bool:
        """Send a client the file make(given); False, nothing done, if many are waiting.

        make: a function of a module, given: its argument, both of which can be pickled.
        """
        if not self._places.acquire(blocking=False):
            return False
        self._threads.submit(self._send, name, make, given, client)
        return True

    def _send(self, name: str, make: Callable[[Any], bytes], given: Any, client: Any) -> None:
        note = None
        try:
            note = client.add_notification(
                f"Making {name}", "It comes as a download.", loading=True, with_close_button=False
            )
            content = self._process().submit(make, given).result()
            client.send_file_download(name, content, save_immediately=True)
        except Exception as error:  # whatever it is, who asked is told, and the page goes on
            if isinstance(error, BrokenExecutor):
                self._processes = None  # it was killed; the next file gets another
            with contextlib.suppress(Exception):  # who asked may have left
                client.add_notification(
                    "Not saved", str(error), color="red", auto_close_seconds=8.0
                )
        finally:
            with contextlib.suppress(Exception):
                if note is not None:
                    note.remove()
            self._places.release()

    def _process(self) -> ProcessPoolExecutor:
        if self._processes is None:
            context = multiprocessing.get_context("spawn")
            self._processes = ProcessPoolExecutor(1, context, initializer=_deaf)
        return self._processes

    def close(self) -> None:
        """Make no more files."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._processes is not None:
            self._processes.shutdown(wait=False, cancel_futures=True)


def _deaf() -> None:
    """Ctrl-C is for the page, which ends its helper."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
