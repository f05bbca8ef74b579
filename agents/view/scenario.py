"""What is simulated: a body and its start, or an environment; with which schemes and policies."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from rbgym import integrators
from rbgym.agents import controllers
from rbgym.agents.cases import PRETRAINED, task_of
from rbgym.agents.policies import trained
from rbgym.agents.view.simulation import IDLE, FreeRun, Run, Simulation, TaskRun
from rbgym.arguments import finite
from rbgym.body import Part, RigidBody, compound
from rbgym.potentials import HeavyTop
from rbgym.quaternion import from_rotation_vector

MOST_RUNS = 3
OWN = "the task's own"  # integrator
GIVEN = "as given"  # body
_MASS = 6.0  # kg

Triple = tuple[float, float, float]


def _handle(size: Triple) -> RigidBody:
    """A T: a stem along x on the middle of a bar along y."""
    stem = RigidBody.box(_MASS / 3, (size[0], size[2], size[2]))
    bar = RigidBody.box(2 * _MASS / 3, (size[2], size[1], size[2]))
    return compound([Part(bar), Part(stem, (size[0] / 2, 0.0, 0.0))])


BODIES: dict[str, Callable[[Triple], RigidBody]] = {
    "box": lambda size: RigidBody.box(_MASS, size),
    "ellipsoid": lambda size: RigidBody.ellipsoid(_MASS, np.array(size) / 2),
    "cylinder": lambda size: RigidBody.cylinder(_MASS, size[0] / 2, size[2]),
    "T handle": _handle,
}


@dataclass(frozen=True)
class Scenario:
    """What is simulated.

    env_id: an environment, None for a free body. schemes: an integrator for each run, OWN for that
    of the task.
    Of a free body: dt [s]; body, a name of BODIES or GIVEN; size (3,) [m] of a named one; inertia
    (3,) or (9,) [kg m^2] of a given one; mgl [N m], 0 for none; rates (3,) [rad/s, body]; tilt
    [deg] from the vertical. Of a task: policies, see `TaskRun`, one for each run, IDLE where they
    are fewer; seed of its start; substeps of a control period, 0 for the task's own; env_kwargs.
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
        """The runs at their start. Raises ValueError for what does not go together."""
        if not 1 <= len(self.schemes) <= MOST_RUNS:
            raise ValueError(
                f"integrator must name 1 to {MOST_RUNS} schemes, got {list(self.schemes)}"
            )
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
                self.rigid_body(),
                scheme,
                dt=self.dt,
                quaternion=from_rotation_vector((math.radians(tilt), 0.0, 0.0)),
                angular_velocity=self.rates,
                potential=HeavyTop(self.mgl) if self.mgl else None,
            )
        substeps = {"substeps": self.substeps} if self.substeps else {}
        integrator = {"integrator": scheme} if scheme != OWN else {}
        return TaskRun(
            self.env_id,
            self.policies[k] if k < len(self.policies) else IDLE,
            seed=self.seed,
            env_kwargs={**self.env_kwargs, **substeps, **integrator},
        )


def scenario_of(
    env_id: str | None, schemes: Sequence[str], policies: Sequence[str], **values: Any
) -> Scenario:
    """The scenario of a command line: a run for each scheme and each policy, of which the last of
    the fewer goes on.

    values: of other fields. Raises ValueError where there are too many, and for policies without an
    environment.
    """
    if env_id is None and policies:
        raise ValueError(f"policy must be left out without an env, got {list(policies)}")
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
    """Who can act: the controllers that fit the environment, and the package's policy for it."""
    if env_id is None:
        return []
    task_of(env_id)
    with closing(gym.make(env_id, disable_env_checker=True)) as env:
        laws = controllers.for_env(env, planners=True)
    return [PRETRAINED, *laws] if env_id in trained.names() else laws
