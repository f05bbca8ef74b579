"""What a browser can take with it: the records of the runs, and a video of them."""

import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbgym.agents.view.history import COLUMNS, WIDTHS
from rbgym.agents.view.world import World
from rbgym.quaternion import Array

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
    """Makes files one after the other, beside the thread that keeps the page moving."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="rbgym-save")
        self._waiting = 0

    def save(self, name: str, make: Callable[[], bytes], client: Any) -> bool:
        """Send a client a file that `make` returns; False, nothing done, if many are waiting."""
        if self._waiting > 2:
            return False
        self._waiting += 1
        self._pool.submit(self._send, name, make, client)
        return True

    def _send(self, name: str, make: Callable[[], bytes], client: Any) -> None:
        try:
            content = make()
            client.send_file_download(name, content, save_immediately=True)
        except Exception as error:  # whatever it is, who asked is told, and the page goes on
            client.add_notification("Not saved", str(error), color="red", auto_close_seconds=8.0)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Make no more files."""
        self._pool.shutdown(wait=False, cancel_futures=True)
