"""What moves on the page: a body under one scheme, or a task under one policy."""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from rbgym.arguments import positive
from rbgym.body import RigidBody
from rbgym.engine.batch import Batch
from rbgym.potentials import NoPotential, Potential
from rbgym.quaternion import Array


@dataclass(frozen=True)
class Look:
    """A run at one instant.

    quaternion (4,) body to world; angular_velocity (3,) [rad/s, body]; angular_momentum (3,)
    [kg m^2/s, world]; energy [J]; torque (3,) that acts [N m, body]; position (3,) [m, world];
    goal_angle [rad] to what is asked for, nan where nothing is; target (4,), the attitude that is
    asked for, if one is; scale of the body's size.
    """

    quaternion: Array
    angular_velocity: Array
    angular_momentum: Array
    energy: float
    torque: Array
    position: Array
    goal_angle: float = np.nan
    target: Array | None = None
    scale: float = 1.0


class Run(Protocol):
    """Something that advances by steps of `dt` seconds. `ended` says why it goes no further.

    rate: an angular velocity [rad/s] that is large here; strength: a torque [N m] that is felt.
    """

    name: str
    body: RigidBody
    potential: Potential
    dt: float
    rate: float
    strength: float
    ended: str
    failed: bool

    def push(self, torque: Array) -> None:
        """Let this torque (3,) [N m, body axes] act beside all others, from now on."""

    def advance(self, steps: int) -> int:
        """Advance by so many steps or to the end; returns how many were made."""

    def look(self) -> Look:
        """How it stands."""


class FreeRun:
    """A body by itself, or on its point in gravity, stepped by one scheme.

    It is what `rbgym.simulate` computes, bit for bit. Arguments as there.
    """

    def __init__(
        self,
        body: RigidBody,
        integrator: str,
        *,
        dt: float,
        quaternion: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
        potential: Potential | None = None,
    ) -> None:
        self.name, self.body, self.dt = integrator, body, positive("dt", dt)
        self.potential = NoPotential() if potential is None else potential
        self.ended, self.failed = "", False
        spin = math.hypot(*np.asarray(angular_velocity, dtype=np.float64))  # never too large for it
        self.rate = max(spin, 1.0)
        self.strength = float(body.moments.max()) * self.rate
        self._batch = Batch(body, integrator, potential)
        self._batch.set_state(quaternion, angular_velocity)
        self._torque = np.zeros(3)
        self._batch.set_torque(self._torque)
        self._seen = self._batch.measure()

    def push(self, torque: Array) -> None:
        """See `Run`."""
        self._torque = np.asarray(torque, dtype=np.float64)
        self._batch.set_torque(self._torque)

    def advance(self, steps: int) -> int:
        """See `Run`. A run that fails keeps the last good state that was seen."""
        if self.ended:
            return 0
        self._batch.advance(self.dt, steps)
        seen = self._batch.measure()
        if self._batch.failed[0] or not all(np.isfinite(part).all() for part in seen.values()):
            self.ended, self.failed = "its equation could not be solved", True
        else:
            self._seen = seen
        return steps

    def look(self) -> Look:
        """See `Run`."""
        seen: dict[str, Any] = {name: part[0] for name, part in self._seen.items()}
        return Look(**seen, torque=self._torque, position=np.zeros(3))
