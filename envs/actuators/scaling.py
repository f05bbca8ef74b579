"""A scaling force: Moller & Glocker's body changes its size as a skater does. The body's own
scheme, rbgym.integrators.free_scale, advances the scale s and its momentum in its memory. S is the
scaling force of (75), held over the period; in a step it does the work S (s_1 - s_0)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from rbgym.compiled.record import constant
from rbgym.engine.actuation import act
from rbgym.engine.batch import Batch
from rbgym.envs.actuators.driven import Driven
from rbgym.envs.actuators.effector import Effector, Setting
from rbgym.envs.parts.columns import Column
from rbgym.envs.rows import Key
from rbgym.integrators import Integrator
from rbgym.integrators.free_scale import FORCE, REFERENCE, SCALE, SCALING, FreeScale
from rbgym.quaternion import Array
from rbgym.quaternion import scale as scaled
from rbgym.rows import J_INV, LANES, J, Physics, put_vector, vector


@dataclass(frozen=True)
class Scaling(Effector):
    """The scaling force of Moller & Glocker's body, which changes its size.

    force: of a full command [N m], see `rbgym.simulate_scalable`. smallest, largest_scale: bounds
    of the scale in the observation; rate: scale rate shown as 1 [1/s].
    """

    force: float
    smallest: float = 0.4
    largest_scale: float = 2.1
    rate: float = 2.0
    positive: ClassVar = ("force", "smallest", "largest_scale", "rate")
    is_tied: ClassVar[bool] = True
    needs: ClassVar[str] = "scale"
    keys: ClassVar[Mapping[str, Key]] = {
        "scale": Key(SCALE, 1, 1.0, 0.1, 10.0),
        "scale_rate": Key(SCALING, 1, 0.0, -100.0, 100.0),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.smallest < self.largest_scale:
            raise ValueError(
                f"Scaling.smallest must be less than largest_scale = {self.largest_scale!r}, "
                f"got {self.smallest!r}"
            )

    def record(self, setting: Setting, line: Any) -> "ScalingForce":
        if setting.spread is not None and any(setting.spread.misalignment):
            raise ValueError("randomization['misalignment'] must be left out for a scaling force")
        numbers = setting.scale * self.force, self.smallest, self.largest_scale, self.rate
        return ScalingForce(line, *map(float, numbers))

    def columns(self) -> tuple[Column, ...]:
        size = Column("scale", low=self.smallest, high=self.largest_scale)
        return (size, Column("scale_rate", unit="1/s", scale=self.rate))

    def commands(self, limits: Array, strength: float) -> tuple[Column, ...]:
        full = strength * self.force
        return (Column("scaling_force", unit="N m", frame="outwards", scale=full),)

    def largest(self, setting: Setting) -> Array:
        return np.zeros(3)

    def scheme(self, integrator: str | Integrator) -> Integrator:
        return replace(super().scheme(integrator), scheme=FreeScale())

    def rest(self, batch: Batch) -> None:
        row, rows = batch.physics.memory_row(), batch.block_view()  # of spare lanes too
        rows[:, row], rows[:, row + 1], rows[:, row + REFERENCE : row + REFERENCE + 3] = 1, 0, 1
        batch.put_rows(row + REFERENCE, np.array([body.moments for body in batch.bodies]))

    def places(self, physics: Physics) -> dict[str, tuple[int, int]]:
        return {"scale_rate": (physics.actuator.effector_row(physics), 1)}

    def sketch(self, instant: Any) -> Iterable[Any]:
        yield f"size {float(instant.state['scale']):.2f}"


class ScalingForce(Driven):
    """force: S of a full command [N m]; smallest, largest, rate: see `Scaling`. Its own row is the
    scale rate [1/s]."""

    line: Any
    force: float
    smallest: float
    largest: float
    rate: float
    channels = constant(1)
    effector_rows = constant(1)
    effector_shows = constant(2)

    def state_row(self, physics):
        return physics.memory_row()

    def half_trace(self, physics, buffer, i):
        """T, half the trace of the reference inertia [kg m^2]."""
        x, y, z = vector(buffer, i, physics.memory_row() + REFERENCE)
        return 0.5 * (x + y + z)

    def exert(self, physics, buffer, i, c, h):
        buffer[i + (physics.memory_row() + FORCE) * LANES] = self.force * c[0]
        act(physics, buffer, i, (0.0, 0.0, 0.0))

    def more_energy(self, physics, buffer, i):
        m = i + physics.memory_row() * LANES
        s, sigma = buffer[m + SCALE * LANES], buffer[m + SCALING * LANES]
        return 0.5 * sigma * sigma / (s * s * self.half_trace(physics, buffer, i))

    def rebuild(self, physics, buffer, i):
        x, y, z = vector(buffer, i, physics.memory_row() + REFERENCE)
        put_vector(buffer, i, J, (x, y, z))
        put_vector(buffer, i, J_INV, (1.0 / x, 1.0 / y, 1.0 / z))

    def ready(self, physics, buffer, i, placed, mass, u):
        m = i + physics.memory_row() * LANES
        # J is that of the reference configuration here, and of the present scale after `release`.
        put_vector(buffer, i, physics.memory_row() + REFERENCE, vector(buffer, i, J))
        rate = buffer[m + SCALING * LANES] if placed else 0.0
        buffer[i + self.effector_row(physics) * LANES] = rate
        buffer[m + SCALE * LANES] = buffer[m + SCALE * LANES] if placed else 1.0
        buffer[m + FORCE * LANES] = 0.0

    def release(self, physics, buffer, i, omega):
        m = i + physics.memory_row() * LANES
        s, rate = buffer[m + SCALE * LANES], buffer[i + self.effector_row(physics) * LANES]
        x, y, z = vector(buffer, m, REFERENCE)
        buffer[m + SCALING * LANES] = s * self.half_trace(physics, buffer, i) * rate
        put_vector(buffer, i, J, scaled(s * s, (x, y, z)))
        put_vector(buffer, i, J_INV, scaled(1.0 / (s * s), (1.0 / x, 1.0 / y, 1.0 / z)))

    def present(self, physics, buffer, i):
        m = i + physics.memory_row() * LANES
        k = i + self.shown_row(physics) * LANES
        s, sigma = buffer[m + SCALE * LANES], buffer[m + SCALING * LANES]
        nu = sigma / (s * self.half_trace(physics, buffer, i))
        buffer[i + self.effector_row(physics) * LANES] = nu
        buffer[k] = min(max(s, self.smallest), self.largest)
        buffer[k + LANES] = min(max(nu / self.rate, -1.0), 1.0)
