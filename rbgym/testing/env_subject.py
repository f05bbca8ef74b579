"""Motions of an environment to be measured, from `env.step` under zero actions."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import ArrayLike, NDArray

from rbgym.arguments import count
from rbgym.body import RigidBody
from rbgym.potentials import GravityGradient, NoPotential
from rbgym.quaternion import Array
from rbgym.validation import fidelity
from rbgym.validation.fidelity import FidelityLimits, Motion, State

Env: TypeAlias = gym.Env[Any, Any] | VectorEnv[Any, Any, Any]
ENVIRONMENTS = (gym.Env, VectorEnv)
Read = Callable[[Any], tuple[ArrayLike, ArrayLike]]
Place = Callable[[Any, Array, Array], object]
_PLACED = 1e-9  # rad, or relative: largest distance of a body from where it was placed


@dataclass(frozen=True)
class EnvSubject(fidelity.Subject):
    """An environment, single or vector, and how to read the state of its bodies.

    env: the environment, which stays open; or a function that makes one, closed after each run.
    steps: of the run, over as many episodes as it takes. seed: of the first reset; options: of all
    resets. action: one that exerts no torque, default zeros of a Box.

    Environments with `env.unwrapped.state` (quaternion, angular_velocity) and
    `env.unwrapped.invariants()` (energy, angular_momentum) need nothing else. For others, give
    read: (env) -> (quaternion (4,), angular_velocity (3,)), for a vector environment with a leading
    axis of lanes; and inertia, (3,) or (3, 3) [kg m^2], of the body, which must be free. place:
    (env, quaternion, angular_velocity), called after a reset, places every body there; without it
    symmetries are not measured. Raises ValueError for bad arguments.
    """

    env: Env | Callable[[], Env]
    inertia: ArrayLike | None = field(default=None, repr=False)
    read: Read | None = field(default=None, repr=False)
    place: Place | None = field(default=None, repr=False)
    steps: int = 1000
    seed: int = 0
    options: dict[str, Any] | None = None
    action: Any = None
    limits: FidelityLimits = field(default_factory=FidelityLimits, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.env, ENVIRONMENTS) and not callable(self.env):
            raise ValueError(
                f"env must be an environment or a function that makes one, got {self.env!r}"
            )
        object.__setattr__(self, "steps", count("steps", self.steps))
        fidelity.checked_limits(self.limits)
        for name, law in (("read", self.read), ("place", self.place)):
            if law is not None and not callable(law):
                raise ValueError(f"{name} must be callable or None, got {law!r}")
        if (self.read is None) != (self.inertia is None):
            raise ValueError(
                f"read and inertia must be given together, got {self.read!r} and {self.inertia!r}"
            )

    @property
    def title(self) -> str:
        with self._opened() as env:
            spec = env.spec
            return spec.id if spec is not None else type(env.unwrapped).__name__

    @property
    def dt(self) -> float | None:
        """Seconds between two observations; None if the environment has no `dt`."""
        with self._opened() as env:
            dt = getattr(env.unwrapped, "dt", None)
            return float(dt) if isinstance(dt, int | float) else None

    @property
    def axis(self) -> Array | None:
        with self._opened() as env:
            return self._axis(env)

    @property
    def placeable(self) -> bool:
        return self.place is not None or self.read is None

    def start(self) -> State:
        with self._opened() as env:
            env.reset(seed=self.seed, options=self.options)
            quaternion, rates, *_ = self._see(env)
            return quaternion[0], rates[0]

    def motions(self) -> list[Motion]:
        """The motion of each lane and episode; ValueError if no body ever moves."""
        with self._opened() as env:
            env.reset(seed=self.seed, options=self.options)
            motions = self._episodes(env, self.steps)
        if not any(np.any(motion.angular_velocity) for motion in motions):
            raise ValueError(
                f"{self.title} must move under zero action, got a body that is always at rest: "
                'give a start, such as options={"state": {...}} for environments of rbgym'
            )
        return motions

    def motions_from(self, state: State, steps: int) -> list[Motion]:
        """The motion of each lane from this state, until the first episode ends. Raises ValueError
        if a body does not start there, or if an episode ends in its first step."""
        quaternion, rates = state
        with self._opened() as env:
            if self.place is None:
                put = {"quaternion": quaternion, "angular_velocity": rates}
                env.reset(seed=self.seed, options={**(self.options or {}), "state": put})
            else:
                env.reset(seed=self.seed, options=self.options)
                self.place(env, quaternion, rates)
            seen, seen_rates, *_ = self._see(env)
            if fidelity.difference(quaternion, rates, seen, seen_rates) > _PLACED:
                raise ValueError(
                    f"place must put each body of {self.title} at {quaternion.tolist()} with rates "
                    f"{rates.tolist()}, got {seen.tolist()} and {seen_rates.tolist()}"
                )
            motions = self._episodes(env, steps, stop=True)
        if not motions:
            raise ValueError(f"{self.title} must run for a step, got an episode that ends at once")
        return motions

    def _opened(self) -> AbstractContextManager[Env]:
        """The environment; one made by the given function is closed afterwards."""
        return nullcontext(self.env) if isinstance(self.env, ENVIRONMENTS) else closing(self.env())

    def _axis(self, env: Env) -> Array | None:
        try:
            potential = None if self.read else _own(env, "potential")[0]
        except ValueError:
            return None
        match potential:
            case None | NoPotential():
                return None
            case GravityGradient(_, direction):
                return np.asarray(direction, dtype=np.float64)
        if getattr(potential, "moves", bool)():
            raise ValueError(f"{self.title} must have no orbit, along which the potential moves")
        return np.array([0.0, 0.0, 1.0])

    def _see(self, env: Env) -> tuple[Array, ...]:
        """Of all lanes: attitude (n, 4), rates (n, 3) and, unless `read` is given, energy (n,) and
        world momentum (n, 3)."""
        if self.read is None:
            state, invariants = _own(env, "state"), _own(env, "invariants")
            q, w = ([one[k] for one in state] for k in ("quaternion", "angular_velocity"))
            E, L = ([one[k] for one in invariants] for k in ("energy", "angular_momentum"))
            shaped = ((q, (-1, 4)), (w, (-1, 3)), (E, -1), (L, (-1, 3)))
            return tuple(np.array(part, dtype=np.float64).reshape(shape) for part, shape in shaped)
        quaternion, rates = (np.array(part, dtype=np.float64) for part in self.read(env))
        many = (env.num_envs,) if isinstance(env, VectorEnv) else ()
        if quaternion.shape != (*many, 4) or rates.shape != (*many, 3):
            raise ValueError(
                f"read must return (quaternion {(*many, 4)}, angular_velocity {(*many, 3)}), "
                f"got shapes {quaternion.shape} and {rates.shape}"
            )
        return quaternion.reshape(-1, 4), rates.reshape(-1, 3)

    def _episodes(self, env: Env, steps: int, *, stop: bool = False) -> list[Motion]:
        """The motion of each lane and episode from now on; stop: at the first end of an episode."""
        table, begins = self._play(env, steps, stop=stop)
        if self.inertia is not None:
            free = fidelity.free_motion(table[0], table[1], RigidBody(self.inertia).inertia)
            table += [free.energy, free.angular_momentum]
        axis, motions = self._axis(env), []
        for lane, begin in enumerate(begins.T):
            bounds = [*np.flatnonzero(begin).tolist(), len(begin)]
            for number, (first, last) in enumerate(pairwise(bounds), 1):
                if last > first + 1:
                    q, w, E, L = (column[first:last, lane] for column in table)
                    where = f"episode {number}" + (f", lane {lane}" if len(begins.T) > 1 else "")
                    motions.append(Motion(q, w, E, L, axis, where))
        return motions

    def _play(self, env: Env, steps: int, *, stop: bool) -> tuple[list[Array], NDArray[np.bool_]]:
        """Columns (rows, lanes, ...) of the states from now on, and whether an episode begins
        there (rows, lanes). stop: at the last state of the first episode that ends."""
        action = self.action
        if action is None:
            space = env.action_space
            if not isinstance(space, spaces.Box):
                raise ValueError(f"action must be given for a space other than a Box, got {space}")
            action = np.zeros(space.shape, space.dtype)
        vector, mode = isinstance(env, VectorEnv), env.metadata.get("autoreset_mode")
        same = vector and mode is AutoresetMode.SAME_STEP
        next_step = vector and mode is AutoresetMode.NEXT_STEP
        rows = [self._see(env)]
        no_lane = np.zeros(len(rows[0][0]), dtype=bool)
        begins, reset = [~no_lane], no_lane  # by the next step
        for _ in range(steps):
            _, _, terminated, truncated, _ = env.step(action)
            done = np.asarray(terminated | truncated).reshape(-1)
            stops = stop and done.any()
            if stops and same:
                break
            rows.append(self._see(env))
            begins.append(done if same else reset)
            reset = done if next_step else no_lane
            if stops:
                break
            if done.any() and not (same or next_step):
                mask = {"reset_mask": done.copy()} if vector else {}
                env.reset(options={**(self.options or {}), **mask} or None)
                rows.append(self._see(env))
                begins.append(done)
        return [np.stack(column) for column in zip(*rows, strict=True)], np.stack(begins)


def _own(env: Env, name: str) -> Sequence[Any]:
    """An attribute, or a method's result, of the environment or of each one in it."""
    base: Any = env.unwrapped
    if hasattr(base, name):
        value = getattr(base, name)
        return [value() if callable(value) else value]
    try:
        return list(base.call(name))  # of Sync- and AsyncVectorEnv
    except AttributeError as error:
        raise ValueError(
            "read and inertia must be given for an environment without env.unwrapped.state "
            f"and env.unwrapped.invariants(), got {base}"
        ) from error
