"""The simulation on the page: bodies under one scheme each, or a task under several policies, which
advance together from the same start; and the scenario that describes them."""

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import ArrayLike

from rbgym import integrators
from rbgym.agents import controllers
from rbgym.agents.cases import PRETRAINED, Starts, by_name, in_time, task_of
from rbgym.agents.judge.episodes import Player, contenders
from rbgym.agents.policies import trained
from rbgym.arguments import finite, positive
from rbgym.body import PlacedBody, RigidBody, compound
from rbgym.engine.batch import Batch
from rbgym.envs.parts.goals import Target
from rbgym.potentials import HeavyTop, NoPotential, Potential
from rbgym.quaternion import Array, from_rotation_vector

IDLE = "idle"  # the controller whose commands are zero
TRAIL = 80  # instants of a run's trail
_INTERVAL = 0.02  # least time between two of them [s]
MOST_RUNS = 3
OWN = "the task's own"  # a value for the integrator
GIVEN = "as given"  # a value for the body
_MASS = 6.0  # kg
_MOTION = "quaternion", "angular_velocity", "angular_momentum", "energy"

Triple = tuple[float, float, float]
Names = Sequence[str]


@dataclass(frozen=True)
class Snapshot:
    """A run at one instant: quaternion (4,) body to world; angular_velocity (3,) [rad/s, body];
    angular_momentum (3,) [world]; energy [J]; torque (3,) on the body [N m, body]; position (3,)
    [m]; goal_angle [rad] or nan; target (4,), if the goal is an attitude; scale of the body."""

    quaternion: Array
    angular_velocity: Array
    angular_momentum: Array
    energy: float
    torque: Array
    position: Array
    goal_angle: float = np.nan
    target: Array | None = None
    scale: float = 1.0


class _Run:
    """A motion in steps of `dt` [s], now at `time`. `push` adds a torque (3,) [N m, body axes];
    `snapshot` is the last good state. ended: why, or ""; failed: a step was not solved. rate,
    strength: a large angular velocity and torque. dock: place at the target (3,) [m], its axes."""

    time, ended, failed, dock = 0.0, "", False, (0.0, 0.0, 0.0)

    def _fail(self) -> None:
        self.ended, self.failed = "its equation could not be solved", True


class FreeRun(_Run):
    """A free body, or a top, under one scheme: bit for bit the motion of `rbgym.simulate`."""

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
        self.rate = max(math.hypot(*np.asarray(angular_velocity, dtype=np.float64)), 1.0)
        self.strength = float(body.moments.max()) * self.rate
        self._batch = Batch(body, integrator, potential)
        self._batch.set_state(quaternion, angular_velocity)
        self.push(np.zeros(3))
        self._state = self._batch.measure()

    def push(self, torque: Array) -> None:
        self._torque = torque
        self._batch.set_torque(torque)

    def advance(self, steps: int) -> None:
        if self.ended:
            return
        self._batch.advance(self.dt, steps)
        self.time += steps * self.dt
        state = self._batch.measure()
        if self._batch.failed[0] or not all(np.isfinite(part).all() for part in state.values()):
            self._fail()
        else:
            self._state = state

    def snapshot(self) -> Snapshot:
        state: dict[str, Any] = {name: part[0] for name, part in self._state.items()}
        return Snapshot(**state, torque=self._torque, position=np.zeros(3))


class TaskRun(_Run):
    """One episode of a task, from the start of `seed`; a step is a control period. policy: the name
    of a controller, "pretrained", or a folder. env_kwargs: override those of its training. The
    page's torque is added to the task's `disturbance`. ValueError for what either refuses."""

    def __init__(
        self, env_id: str, policy: str = IDLE, *, seed: int = 0, env_kwargs: Any = None
    ) -> None:
        task_of(env_id)
        _, ((_, law, kwargs),) = contenders([policy], env_id, env_kwargs)
        kwargs = in_time(env_id, kwargs) if kwargs.get("satellite") is not None else kwargs
        self._torque = np.zeros(3)
        own = kwargs.get("disturbance")
        own = by_name("disturbance", {"torque": own} if callable(own) else own)
        if own.get("torque"):
            raise ValueError(f"disturbance must leave the torque to the page's push, got {own!r}")
        if isinstance(law, str):  # made without the push, of which none that plans can know
            with closing(gym.make_vec(env_id, 1, **kwargs)) as env:
                law = controllers.at_work(law, env)
        push = {"torque": lambda s: np.broadcast_to(self._torque, (len(s["time"]), 3))}
        kwargs |= {"disturbance": own | push, "info": None}
        env = gym.make_vec(env_id, 1, autoreset_mode=AutoresetMode.DISABLED, **kwargs)
        self._player = Player(law, env, Starts([], [seed]))
        base: Any = env.unwrapped
        self.name = f"{policy}, {base.integrator}"
        self.body, self.potential, self.dock = base.body, base.potential, base.goal.dock()
        self.dt, self.rate = base.dt, float(base.rate_limit)
        self.strength = 2.0 * float(base.torque_limit.max()) or float(base.body.moments.max())

    def push(self, torque: Array) -> None:
        self._torque = torque

    def advance(self, steps: int) -> None:
        player = self._player
        for _ in range(steps):
            if self.ended:
                return
            player.step()
            self.time += self.dt
            if player.info["integration_failed"][0]:
                self._fail()
            elif player.start[0]:
                reason = "out of bounds" if player.terminated[0] else "time is up"
                self.ended = "done" if player.info["is_success"][0] else reason

    def snapshot(self) -> Snapshot:
        base = self._player.env.unwrapped
        state = {name: rows[0] for name, rows in base.episodes.state().items()}
        torque, angle = (self._player.info[n][0] for n in ("applied_torque", "attitude_error"))
        return Snapshot(
            **{name: state[name] for name in _MOTION},
            torque=torque + self._torque,
            position=state.get("position", np.zeros(3)),
            goal_angle=float(angle) if base.goal.angle_off else math.nan,
            target=state["target_quaternion"] if isinstance(base.goal, Target) else None,
            scale=float(state.get("scale", 1.0)),
        )


Run = FreeRun | TaskRun


class Simulation:
    """Runs of equal dt. trails: the latest instants of each run, at even intervals."""

    def __init__(self, runs: Sequence[Run]) -> None:
        steps = {run.dt for run in runs}
        if len(steps) != 1:
            raise ValueError(f"runs must share one dt, got {sorted(steps)}")
        self.runs, self.dt, self.steps = list(runs), steps.pop(), 0
        self.vertical = isinstance(runs[0].potential, HeavyTop)
        self.trails = [deque([run.snapshot()], TRAIL) for run in runs]
        self._stride = max(1, round(_INTERVAL / self.dt))
        self._torque = np.zeros(3)
        self._references = [run.snapshot() for run in runs]

    @property
    def time(self) -> float:
        """Time since the start [s]."""
        return self.steps * self.dt

    @property
    def over(self) -> bool:
        return all(run.ended for run in self.runs)

    def push(self, torque: Array) -> None:
        """Apply a torque (3,) [N m, body axes] to every body from now on."""
        if np.array_equal(torque, self._torque):
            return
        self._torque = torque
        for run in self.runs:
            run.push(torque)
        self._references = [run.snapshot() for run in self.runs]

    def advance(self, steps: int) -> None:
        """Advance all runs by this number of steps; a run that has ended stops."""
        last = self.steps + steps
        while self.steps < last:
            part = min(last - self.steps, self._stride - self.steps % self._stride)
            self.steps += part
            for run, trail in zip(self.runs, self.trails, strict=True):
                if not run.ended:
                    run.advance(part)
                    if self.steps % self._stride == 0 and not run.failed:
                        trail.append(run.snapshot())
            if self._torque.any():
                self._references = [run.snapshot() for run in self.runs]

    def changes(self, k: int) -> tuple[float, float]:
        """Changes of a run's energy and momentum since the start or the last push, relative unless
        the reference is zero; only the vertical part of the momentum, if only that is conserved."""
        now, before = self.runs[k].snapshot(), self._references[k]
        conserved = slice(2, 3) if self.vertical else slice(0, 3)
        turned = (now.angular_momentum - before.angular_momentum)[conserved]
        scale = np.linalg.norm(before.angular_momentum) or 1.0
        gained = abs(now.energy - before.energy) / (abs(before.energy) or 1.0)
        return gained, float(np.linalg.norm(turned) / scale)


def _handle(size: Triple) -> RigidBody:
    """A T-shaped body: a stem along x on the middle of a bar along y."""
    stem = RigidBody.box(_MASS / 3, (size[0], size[2], size[2]))
    bar = RigidBody.box(2 * _MASS / 3, (size[2], size[1], size[2]))
    return compound([PlacedBody(bar), PlacedBody(stem, (size[0] / 2, 0.0, 0.0))])


BODIES: dict[str, Callable[[Triple], RigidBody]] = {
    "box": lambda size: RigidBody.box(_MASS, size),
    "ellipsoid": lambda size: RigidBody.ellipsoid(_MASS, np.array(size) / 2),
    "cylinder": lambda size: RigidBody.cylinder(_MASS, size[0] / 2, size[2]),
    "T handle": _handle,
}


@dataclass(frozen=True)
class Scenario:
    """The settings of a simulation. env_id: None for a free body. schemes: one for each run; OWN
    for the task's.

    Of a free body: dt [s]; body, a name of BODIES or GIVEN; size (3,) [m] of a named one; inertia
    (3,) or (9,) [kg m^2] of a given one; mgl [N m]; rates (3,) [rad/s, body]; tilt [deg]. Of a
    task: policies, see `TaskRun`, one for each run, or else IDLE; seed; substeps, 0 for its own.
    """

    env_id: str | None = None
    schemes: tuple[str, ...] = ("forward_euler", "imidm", integrators.DEFAULT)
    policies: tuple[str, ...] = ()
    dt: float = 0.05
    body: str = "box"
    size: Triple = (1.0, 0.2, 0.6)
    inertia: tuple[float, ...] = ()
    mgl: float = 0.0
    rates: Triple = (0.05, 0.05, 5.0)
    tilt: float = 0.0
    seed: int = 0
    substeps: int = 0
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)

    def simulation(self) -> Simulation:
        """Make the runs, at their start. Raises ValueError for settings that do not fit."""
        if not 1 <= len(self.schemes) <= MOST_RUNS:
            raise ValueError(f"integrator must name 1 to {MOST_RUNS} schemes, got {self.schemes}")
        return Simulation([self._run(k) for k in range(len(self.schemes))])

    def rigid_body(self) -> RigidBody:
        if self.body == GIVEN:
            return RigidBody(np.array(self.inertia).reshape(-1, 3).squeeze())
        return BODIES[self.body](self.size)

    def _run(self, k: int) -> Run:
        scheme = self.schemes[k]
        if self.env_id is None:
            tilt = math.remainder(float(finite("tilt", self.tilt, ())), 360)
            return FreeRun(
                self.rigid_body(), scheme, dt=self.dt, angular_velocity=self.rates,
                quaternion=from_rotation_vector((math.radians(tilt), 0.0, 0.0)),
                potential=HeavyTop(self.mgl) if self.mgl else None,
            )  # fmt: skip
        substeps = {"substeps": self.substeps} if self.substeps else {}
        integrator = {"integrator": scheme} if scheme != OWN else {}
        return TaskRun(
            self.env_id,
            self.policies[k] if k < len(self.policies) else IDLE,
            seed=self.seed,
            env_kwargs={**self.env_kwargs, **substeps, **integrator},
        )


def scenario_of(env_id: str | None, schemes: Names, policies: Names, **values: Any) -> Scenario:
    """The scenario of scheme k and policy k for run k; the last of the shorter list repeats."""
    schemes = tuple(schemes) or (Scenario.schemes if env_id is None else (OWN,))
    policies = tuple(policies) or tuple(actors(env_id)[:1]) or (IDLE,)
    count = max(len(schemes), len(policies))
    if count > MOST_RUNS:
        raise ValueError(f"integrator and policy must name at most {MOST_RUNS} each, got {count}")
    return Scenario(
        env_id,
        schemes + schemes[-1:] * (count - len(schemes)),
        policies + policies[-1:] * (count - len(policies)),
        body=GIVEN if values.get("inertia") else Scenario.body,
        **values,
    )


def actors(env_id: str | None) -> list[str]:
    """Names of the controllers that fit an environment, and "pretrained" if it has a policy."""
    if env_id is None:
        return []
    task_of(env_id)
    with closing(gym.make(env_id, disable_env_checker=True)) as env:
        laws = controllers.for_env(env)
    return [PRETRAINED, *laws] if env_id in trained.names() else laws
