"""A task, declared; and what is built of the declaration."""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike

from rbgym import integrators
from rbgym.arguments import count, flag, positive, quietly
from rbgym.body import RigidBody
from rbgym.engine.batch import Batch
from rbgym.envs import options
from rbgym.envs.actuators import (
    Actuator,
    Setting,
    Torque,
    at_rest,
    chosen,
    refuse_unused,
    scheme_for,
    state_beyond,
)
from rbgym.envs.arguments import (
    body_or,
    hint,
    horizon,
    named,
    sample_state,
    torque_limits,
    unbounded,
    upright_moment,
)
from rbgym.envs.bounds import rate_bounds
from rbgym.envs.episodes import Setup, checked_hook
from rbgym.envs.kernels import Parts
from rbgym.envs.parts.endings import Docked, Ends, Settled
from rbgym.envs.parts.goals import Axis, Rest, Spin, Target
from rbgym.envs.parts.observations import FORMS, Nothing, Shown
from rbgym.envs.parts.references import Still
from rbgym.envs.parts.rewards import Approach, Closeness
from rbgym.envs.parts.starts import Adrift, Spun, Tilted, Turned
from rbgym.envs.parts.tallies import Nothing as NoTally
from rbgym.potentials import (
    CircularOrbit,
    HeavyTop,
    NoPotential,
    Potential,
    SoftWall,
    parameters,
)
from rbgym.quaternion import Array

GRAVITY = 9.81  # m/s^2
_SHORTEST = 1e-100  # s; of a step whose reciprocal, squared, is to be a float
_PULL = 1.5  # N m, a little over the largest towards a soft wall; the wall itself turns bodies back

Goal = Axis | Target | Rest | Spin
Start = Tilted | Turned | Adrift | Spun


@dataclass(frozen=True, kw_only=True)
class Task:
    """What defines a task; every entry but the goal can be overridden by an argument of the env.

    body: makes the rigid body. gravity: the body hangs on or stands upon its reference point, and
    has weight. torque: torque of a full command about each body axis [N m], from body and weight
    moment. actuator: what makes torque of an action, see rbgym.envs.actuators. potential: where it
    is not gravity. start: see rbgym.envs.parts.starts; ranges: of its fields that are no angles and
    no rates. goal, success: what to reach; success needs the attitude within `angle` [rad] and the
    rates within `rate` [rad/s] of it for `settled_steps` steps, and where there is a dock, the
    distance [m] and speed [m/s] that `docked` names.
    rate_limit [rad/s] and lowest (cosine of the largest tilt): beyond them the episode ends.
    ends: what else ends it, made of those two. tally: what is counted. shape: of the dense reward.
    reference: makes the target's motion, given dt. more: what is
    shown beside attitude and rates. form: of the attitude, where it cannot be chosen. split and
    split_space: rows of observations, and their box, as a dict. difficulty: arguments that "easy"
    and "hard" stand for. categories: starts of the test set, as `initial`, by name.
    """

    body: Callable[[], RigidBody]
    torque: Callable[[RigidBody, float], ArrayLike]
    actuator: Any = field(default_factory=Torque)
    integrator: str = integrators.DEFAULT
    potential: Potential | None = None
    start: Start
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    goal: Goal | Callable[[RigidBody, float], Goal]
    gravity: bool = False
    dt: float = 0.02
    substeps: int = 4
    angle: float = math.radians(5.0)
    rate: float = 0.5
    settled_steps: int = 50
    rate_limit: float
    lowest: float = -2.0
    shape: Closeness | Approach
    ends: Callable[[Any], Any] = lambda ends: ends
    docked: tuple[float, float] | None = None
    tally: Any = field(default_factory=NoTally)
    reference: Callable[[float], Any] = lambda dt: Still()
    more: Any = field(default_factory=Nothing)
    form: Any = None
    split: Callable[[Any], dict[str, Any]] | None = None
    split_space: Callable[[spaces.Box], spaces.Dict] | None = None
    difficulty: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    categories: Mapping[str, Mapping[str, float]]

    def build(
        self,
        size: int,
        max_episode_steps: int | None,
        /,
        *,
        difficulty: str = "medium",
        **kwargs: Any,
    ) -> tuple[Batch, Setup, spaces.Box]:
        """The bodies, the episodes and the observation space of `size` environments."""
        if not isinstance(difficulty, str):
            raise ValueError(f"difficulty must be a name, got {difficulty!r}")
        presets: dict[str, Any] = {"easy": {}, "medium": {}, "hard": {}, **self.difficulty}
        if difficulty not in presets:
            raise ValueError(
                f"difficulty must be one of {list(presets)}, got {difficulty!r}"
                f"{hint(difficulty, presets)}"
            )
        known = ["difficulty", *[*inspect.signature(self._build).parameters][2:]]
        for name in kwargs:
            if name not in known:
                raise ValueError(
                    f"arguments must be out of {known}, got {name!r}{hint(name, known)}"
                )
        chosen = {**presets[difficulty], **kwargs}
        if isinstance(kwargs.get("initial"), Mapping):
            chosen["initial"] = _joined(presets[difficulty].get("initial", {}), kwargs["initial"])
        return self._build(size, max_episode_steps, **chosen)

    @quietly
    def _build(
        self,
        size: int,
        max_episode_steps: int | None,
        *,
        integrator: str | integrators.Integrator | None = None,
        dt: float | None = None,
        substeps: int | None = None,
        body: RigidBody | Mapping[str, Any] | None = None,
        mgl: float | None = None,
        torque_limit: ArrayLike | None = None,
        torque_scale: float = 1.0,
        actuator: Any = None,
        reward: str | Mapping[str, float] | Callable[..., ArrayLike] = "dense",
        observation: str | Callable[..., ArrayLike] = "quaternion",
        sensor: Mapping[str, float] | None = None,
        termination: str | Mapping[str, Any] | Callable[..., ArrayLike] | None = None,
        disturbance: Mapping[str, Any] | Callable[..., ArrayLike] | None = None,
        randomization: Mapping[str, float] | None = None,
        initial: Mapping[str, float] | None = None,
        preview: float | None = None,
        projection: bool = True,
    ) -> tuple[Batch, Setup, spaces.Box]:
        projection = flag("projection", projection)
        named("observation", observation, FORMS)
        if self.form is not None and observation != "quaternion":
            raise ValueError(f"observation must be 'quaternion' in this task, got {observation!r}")
        if self.split and not (isinstance(reward, str) and reward in ("dense", "sparse")):
            raise ValueError(f"reward must be 'dense' or 'sparse' in this task, got {reward!r}")
        body = body_or(body, self.body())
        weight = self._weight(body, mgl)
        dt = positive("dt", self.dt if dt is None else dt)
        substeps = count("substeps", self.substeps if substeps is None else substeps)
        if dt / substeps < _SHORTEST:
            raise ValueError(
                f"dt must be at least {_SHORTEST:g} s for each of the substeps, got {dt!r}"
            )
        limits = torque_limits(torque_limit, np.asarray(self.torque(body, weight), dtype=float))
        strength = positive("torque_scale", torque_scale)
        limits = strength * limits
        spread, differing = options.randomization(randomization, body, weight, limits)
        limit = horizon(max_episode_steps)
        moved = chosen(
            actuator,
            self.actuator,
            differing,
            Setting(body, dt, dt / substeps, limit, limits, strength, self.rate_limit),
        )
        scheme = scheme_for(self.integrator if integrator is None else integrator, moved.effector)
        refuse_unused(moved.effector, torque_limit, randomization)
        reference = self.reference(dt)
        goal = self.goal_of(body, weight)
        noise = options.sensor(sensor)
        options.refuse_noise_beyond_success(noise, self.angle, self.rate, goal)
        pushed, orbit, largest = options.disturbance(disturbance, weight > 0)
        ends = options.termination(termination, Ends(self.rate_limit, self.lowest), goal)
        start = options.start(self.start, initial, options.plain(ends), goal, self.ranges)
        if not (isinstance(termination, str) and termination == "none"):
            ends = self.ends(ends)
        within = 4.0 * math.sin(self.angle / 2.0) ** 2
        potential = self._field(weight, orbit, moved)
        batch = Batch(
            body, scheme, potential, size=size, projection=projection, actuator=moved.part
        )
        at_rest(moved.effector, batch)
        state = {**sample_state(batch), **state_beyond(moved.effector, batch)}
        bounds = self._bounds(body, moved.strongest(differing) + largest, potential, dt, moved)
        if not np.all(bounds < np.finfo(np.float32).max):
            raise ValueError(
                "body, mgl, torque_limit, torque_scale, disturbance and dt must give rates that a "
                f"float32 can hold, got up to {bounds.max():g} rad/s"
            )
        if callable(observation) and (sensor is not None or preview is not None):
            raise ValueError(
                "observation must be named with sensor or preview: a callable sees the true state"
            )
        form = FORMS[observation] if isinstance(observation, str) else FORMS["quaternion"]
        shown = Shown(
            form=form.cls() if self.form is None else self.form,
            scale=self.rate_limit,
            bounds=options.triple(bounds / self.rate_limit),
            more=options.preview(preview, self.more),
        )
        space = unbounded(observation, state) if callable(observation) else shown.space(moved.shown)
        rewarded, terms = options.reward(reward, self.shape, self.rate_limit)
        commands = np.zeros((size, batch.channels))
        if callable(reward):
            checked_hook("reward", reward, (size,), state, commands)
        if callable(termination):
            checked_hook("termination", termination, (size,), state)
        if callable(disturbance):
            checked_hook("disturbance", disturbance, (size, 3), state)
        setup = Setup(
            parts=Parts(
                observation=shown,
                sensor=noise,
                goal=goal,
                reference=reference,
                reward=rewarded,
                success=(
                    Docked(within, self.rate, *self.docked)
                    if self.docked
                    else Settled(within, self.rate)
                ),
                ends=ends,
                start=start,
                spread=spread,
                disturbance=pushed,
                tally=self.tally,
            ),
            terms=() if self.split else terms,
            dt=dt,
            substeps=substeps,
            torque_limit=limits,
            strength=strength,
            actuator=moved,
            limit=limit,
            settled_steps=self.settled_steps,
            width=space.shape[0],
            observe=observation if callable(observation) else None,
            reward=reward if callable(reward) else None,
            terminate=termination if callable(termination) else None,
            disturb=disturbance if callable(disturbance) else None,
        )
        return batch, setup, space

    def _field(self, weight: float, orbit: CircularOrbit | None, moved: Actuator) -> Potential:
        """What acts on the body at each attitude."""
        if orbit is not None and moved.effector.needs == "scale":
            raise ValueError(
                "disturbance['gravity_gradient'] must be left out for a body that scales"
            )
        if orbit is not None and self.potential is not None:
            raise ValueError(
                "disturbance['gravity_gradient'] must be left out where there is another potential"
            )
        return HeavyTop(weight) if weight > 0 else orbit or self.potential or NoPotential()

    def _bounds(
        self, body: RigidBody, torque: Array, potential: Potential, dt: float, moved: Actuator
    ) -> Array:
        """Of the rates at most dt after they were within the limit [rad/s], (3,)."""
        pull = parameters(potential, body)[0] if isinstance(potential, HeavyTop) else 0.0
        if isinstance(potential, SoftWall):
            pull = _PULL
        apart = moved.effector.needs != "rotors"
        return rate_bounds(body, self.rate_limit, torque + abs(pull), dt, apart=apart)

    def goal_of(self, body: RigidBody, weight: float) -> Goal:
        """What is asked of a body with this weight moment."""
        return self.goal(body, weight) if callable(self.goal) else self.goal

    def default_goal(self) -> Goal:
        """What is asked of the task's own body."""
        body = self.body()
        return self.goal_of(body, self._weight(body, None))

    def _weight(self, body: RigidBody, mgl: float | None) -> float:
        """Weight moment [N m], 0.0 for a free body."""
        if not self.gravity:
            if mgl is not None:
                raise ValueError(f"mgl must be left out for a free body, got {mgl!r}")
            return 0.0
        return upright_moment(body, GRAVITY) if mgl is None else positive("mgl", mgl)


def _joined(preset: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What is given, and what a preset says of the rest, but for bounds that contradict it."""
    kept = dict(preset)
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, int | float):
            continue
        high, low = name.removeprefix("least_"), f"least_{name}"
        if high != name and value > kept.get(high, math.inf):
            del kept[high]
        if value < kept.get(low, -math.inf):
            del kept[low]
    return {**kept, **given}
