"""An environment on trial: its own physics, seen through `env.step` under an action of zero."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike

from rbgym.arguments import count, unit
from rbgym.body import RigidBody
from rbgym.quaternion import Array
from rbgym.testing import playing
from rbgym.testing.limits import Limits
from rbgym.testing.motion import Motion, difference, free_motion

Env: TypeAlias = gym.Env[Any, Any] | gym.vector.VectorEnv[Any, Any, Any]
ENVIRONMENTS = (gym.Env, gym.vector.VectorEnv)
Read = Callable[[Any], tuple[ArrayLike, ArrayLike]]
_PLACED = 1e-9  # rad, or relative: how far a body may be from where it was put
Place = Callable[[Any, Array, Array], object]


@dataclass(frozen=True)
class EnvSubject:
    """An environment, single or vector, and how its physics is seen.

    env: the environment, left open; or a function without arguments that makes one, closed after
    each run. steps: of the run; an episode that ends is followed by the next. seed, options: of
    the first reset; options also of the following ones. action: one that exerts no torque, default
    zeros of a Box.

    Environments in rbgym's manner, with `env.unwrapped.state` (quaternion, angular_velocity) and
    `env.unwrapped.invariants()` (energy, angular_momentum), need no more. For others:
    read: (env) -> (quaternion (4,), angular_velocity (3,)), with a leading lane axis for a vector
    environment; with inertia (3,) or (3, 3) [kg m^2] of the body, which must be free.
    place: (env, quaternion, angular_velocity), called after a reset, puts the body there (every
    body of a vector environment); without it symmetries are not measured. rbgym's environments
    take options["state"].
    momentum_axis: (3,) unit world vector, the only component of momentum that gravity leaves
    invariant. None: what `env.unwrapped.potential` implies, the whole vector where there is none.

    Raises ValueError for an argument that is none of this.
    """

    env: Env | Callable[[], Env]
    inertia: ArrayLike | None = field(default=None, repr=False)
    read: Read | None = field(default=None, repr=False)
    place: Place | None = field(default=None, repr=False)
    steps: int = 1000
    seed: int = 0
    options: dict[str, Any] | None = None
    action: Any = None
    momentum_axis: ArrayLike | None = None
    limits: Limits = field(default_factory=Limits, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.env, ENVIRONMENTS) and not callable(self.env):
            raise ValueError(f"env must be an environment or a function making one: {self.env!r}")
        object.__setattr__(self, "steps", count("steps", self.steps))
        for name, law in (("read", self.read), ("place", self.place)):
            if law is not None and not callable(law):
                raise ValueError(f"{name} must be callable or None, got {law!r}")
        if (self.read is None) != (self.inertia is None):
            raise ValueError(
                "read and inertia must be given both or neither, "
                f"got read={self.read!r} and inertia={self.inertia!r}"
            )
        if self.momentum_axis is not None:
            unit("momentum_axis", self.momentum_axis, 3, 1e-9)

    @property
    def title(self) -> str:
        """What reports call it if nobody gives it a name."""
        with self._opened() as env:
            spec = env.spec
            return spec.id if spec is not None else type(env.unwrapped).__name__

    @property
    def dt(self) -> float | None:
        """Seconds between two observations, where the environment says so."""
        with self._opened() as env:
            dt = getattr(env.unwrapped, "dt", None)
            return float(dt) if isinstance(dt, int | float) else None

    @property
    def axis(self) -> Array | None:
        """World axis (3,) about which alone momentum is kept, None for the whole vector."""
        with self._opened() as env:
            return self._axis(env)

    @property
    def placeable(self) -> bool:
        """Whether the body can be put where a symmetry is to be tried."""
        return self.place is not None or self.read is None

    def start(self) -> tuple[Array, Array]:
        """Attitude and rates (of the first lane) after the first reset."""
        with self._opened() as env:
            env.reset(seed=self.seed, options=self.options)
            row = self._see(env)
            return row["quaternion"][0], row["angular_velocity"][0]

    def motions(self) -> list[Motion]:
        """The episodes of every lane; ValueError if nothing ever moves, or none has a step."""
        with self._opened() as env:
            env.reset(seed=self.seed, options=self.options)
            motions = self._played(env, self.steps)
        if not any(np.any(motion.angular_velocity) for motion in motions):
            raise ValueError(
                f"{self.title} must move under zero action, got a body at rest from first to last: "
                'give a start, such as options={"state": {...}} for environments of rbgym'
            )
        return motions

    def motions_from(self, begin: tuple[Array, Array], steps: int) -> list[Motion]:
        """The motion of each lane from another start, until some episode ends.

        Raises ValueError if the body does not start there, or an episode ends in its first step.
        """
        quaternion, rates = begin
        with self._opened() as env:
            if self.place is None:
                state = {"quaternion": quaternion, "angular_velocity": rates}
                env.reset(seed=self.seed, options={**(self.options or {}), "state": state})
            else:
                env.reset(seed=self.seed, options=self.options)
                self.place(env, quaternion, rates)
            seen = self._see(env)
            if (
                difference(quaternion, rates, seen["quaternion"], seen["angular_velocity"])
                > _PLACED
            ):
                raise ValueError(
                    f"place must put each body of {self.title} at {quaternion.tolist()} with rates "
                    f"{rates.tolist()}, got {seen['quaternion'].tolist()} and "
                    f"{seen['angular_velocity'].tolist()}"
                )
            motions = self._played(env, steps, stop=True)
        if not motions:
            raise ValueError(f"{self.title} must run for a step, got an episode that ends at once")
        return motions

    def _axis(self, env: Env) -> Array | None:
        if self.momentum_axis is not None:
            return np.asarray(self.momentum_axis, dtype=np.float64)
        return None if self.read else playing.conserved_axis(env)

    def _played(self, env: Env, steps: int, *, stop: bool = False) -> list[Motion]:
        action = zero_action(env) if self.action is None else self.action
        rows, fresh = playing.play(env, action, steps, self._see, self.options, stop=stop)
        return playing.episodes(rows, fresh, self._axis(env))

    def _see(self, env: Env) -> playing.Row:
        """One row of the record, every array with a leading lane axis."""
        if self.read is None:
            return playing.see_own(env)
        quaternion, rates = (np.array(part, dtype=np.float64) for part in self.read(env))
        lanes = (env.num_envs,) if isinstance(env, gym.vector.VectorEnv) else ()
        if quaternion.shape != (*lanes, 4) or rates.shape != (*lanes, 3):
            raise ValueError(
                f"read must return (quaternion {(*lanes, 4)}, angular_velocity {(*lanes, 3)}), "
                f"got shapes {quaternion.shape} and {rates.shape}"
            )
        assert self.inertia is not None
        q, w = quaternion.reshape(-1, 4), rates.reshape(-1, 3)
        free = free_motion(q, w, RigidBody(self.inertia).inertia)
        return playing.row_of(q, w, free.energy, free.angular_momentum)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Env]:
        if isinstance(self.env, ENVIRONMENTS):
            yield self.env
        else:
            with contextlib.closing(self.env()) as env:
                yield env


def zero_action(env: Env) -> Any:
    """Zeros of a Box; ValueError for any other action space."""
    space = env.action_space
    if not isinstance(space, spaces.Box):
        raise ValueError(f"action must be given for an action space that is no Box, got {space}")
    return np.zeros(space.shape, space.dtype)
