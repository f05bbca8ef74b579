"""What `info` tells of one instant, kept until somebody asks."""

from typing import TYPE_CHECKING, Any

import numpy as np

from rbgym import layout as physics
from rbgym.engine.batch import measured
from rbgym.envs import layout
from rbgym.envs.actuators import Forces
from rbgym.envs.actuators.effector import APPLIED
from rbgym.quaternion import Array

if TYPE_CHECKING:
    from rbgym.envs.episodes import Episodes, Setup


class Snapshot:
    """The invariants, reward terms and flags of one instant, computed when asked for.

    What it hands out is the asker's own: any number of infos may read one snapshot.
    """

    __slots__ = ("_copied", "_episodes", "_failed", "_kept", "_measured")

    KEYS = (
        "energy",
        "angular_momentum",
        "quaternion_norm",
        "attitude_error",
        "rate_error",
        "applied_torque",
        "reward_terms",
        "integration_failed",
        "is_success",
    )

    def __init__(self, episodes: "Episodes", kept: Array) -> None:
        self._episodes, self._kept = episodes, kept
        self._failed = episodes.batch.failed if episodes.failed else None
        self._copied = episodes.changing_rows() if episodes.changing else ()
        self._measured: dict[str, Array] | None = None

    @property
    def size(self) -> int:
        """How many bodies."""
        return self._episodes.size

    @property
    def _setup(self) -> "Setup":
        return self._episodes.setup

    def _row(self, row: int) -> Array:
        return self._rows()[:, row - self._episodes.kept_from].flatten()[: self.size]

    def _rows(self) -> Array:
        return self._kept.reshape(len(self._kept), -1, physics.LANES)

    def _measure(self) -> dict[str, Array]:
        if self._measured is None:
            self._measured = measured(
                self._episodes.batch.kept, self._blocks().reshape(-1), self.size
            )
        return self._measured

    def _blocks(self) -> Array:
        """The buffer as it was, where it matters."""
        blocks, rows = self._episodes.batch.block_view().copy(), self._rows()[:, :-3]
        first = self._episodes.kept_from
        blocks[:, first : first + rows.shape[1]] = rows
        for part, values in self._copied:
            blocks[:, part] = values
        return blocks

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of all entries."""
        effector = self._setup.actuator.effector
        force = ("applied_force",) if isinstance(effector, Forces) else ()
        counts = ("contacts",) if self._setup.counts else ()
        return (*self.KEYS, *effector.state_keys(), *force, *counts)

    def _beyond(self) -> dict[str, Array]:
        """What moves beside the attitude."""
        rows = _by_lane(self._blocks())[: self.size]
        beyond = rows[:, physics.BEYOND : physics.BEYOND + 6]
        reference = rows[:, physics.POTENTIAL : physics.POTENTIAL + 3]
        return self._setup.actuator.effector.state(beyond, reference)

    def _applied(self) -> Array:
        """Torque of the last control period, on average [N m, body axes]."""
        torque = _by_lane(self._rows()[:, -3:])[: self.size]
        if not self._setup.actuator.is_direct:
            return torque
        scale = _by_lane(self._blocks()[:, physics.SCALE : physics.SCALE + 3])
        return np.asarray(torque * scale[: self.size])

    def _force(self) -> Array:
        """Force of the last control period, on average [N, body axes]."""
        first = self._episodes.batch.actuator_row + APPLIED + 3
        return _by_lane(self._blocks()[:, first : first + 3])[: self.size]

    def __getitem__(self, key: str) -> Any:
        if key in ("energy", "angular_momentum"):
            return self._measure()[key].copy()
        if key in self._setup.actuator.effector.state_keys():
            return self._beyond()[key]
        if key == "contacts":
            return self._row(layout.CONTACTS)
        if key == "applied_torque":
            return self._applied()
        if key == "applied_force":
            return self._force()
        if key == "quaternion_norm":
            return np.linalg.norm(self._measure()["quaternion"], axis=1)
        if key == "attitude_error":
            return 2.0 * np.arcsin(np.minimum(0.5 * np.sqrt(self._row(layout.ERROR)), 1.0))
        if key == "rate_error":
            return np.sqrt(self._row(layout.RATE_ERROR))
        if key == "reward_terms":
            return {n: self._row(layout.TERMS + j) for j, n in enumerate(self._setup.terms)}
        if key == "integration_failed":
            return np.zeros(self.size, bool) if self._failed is None else self._failed.copy()
        if key == "is_success":
            return self._row(layout.STREAK) >= self._setup.settled_steps
        raise KeyError(key)


def _by_lane(rows: Array) -> Array:
    """Rows (blocks, count, lanes) as (lane, count), copied."""
    return rows.transpose(0, 2, 1).reshape(-1, rows.shape[1]).copy()
