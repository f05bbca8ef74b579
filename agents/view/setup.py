"""What the controls of the page say, and the world that follows from it."""

import importlib.util
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium as gym
import numpy as np

from rbgym import integrators
from rbgym.agents import controllers
from rbgym.agents.view.runs import FreeRun, Run
from rbgym.agents.view.task_run import NONE, TaskRun
from rbgym.agents.view.world import MOST, World
from rbgym.body import Part, RigidBody, compound
from rbgym.envs.arguments import hint
from rbgym.potentials import HeavyTop
from rbgym.quaternion import from_rotation_vector
from rbgym.registration import ENVIRONMENTS

FREE = "free body"
OFF = "off"
OWN = "the task's own"
GIVEN = "as given"
_MASS = 6.0  # kg

Size = tuple[float, float, float]


def _box(size: Size) -> RigidBody:
    return RigidBody.box(_MASS, size)


def _ellipsoid(size: Size) -> RigidBody:
    return RigidBody.ellipsoid(_MASS, np.array(size) / 2)


def _cylinder(size: Size) -> RigidBody:
    return RigidBody.cylinder(_MASS, size[0] / 2, size[2])


def _handle(size: Size) -> RigidBody:
    """A T: a stem along x on the middle of a bar along y."""
    stem = RigidBody.box(_MASS / 3, (size[0], size[2], size[2]))
    bar = RigidBody.box(2 * _MASS / 3, (size[2], size[1], size[2]))
    return compound([Part(bar), Part(stem, (size[0] / 2, 0.0, 0.0))])


BODIES: dict[str, Callable[[Size], RigidBody]] = {
    "box": _box,
    "ellipsoid": _ellipsoid,
    "cylinder": _cylinder,
    "T handle": _handle,
}


@dataclass(frozen=True)
class Setup:
    """Everything that a world is made of.

    scene: FREE, or the id of an environment. schemes: integrators, one a run, OFF for no run, OWN
    for that of the task.
    Of a free body: dt [s]; body, a name of BODIES or GIVEN; size (3,) [m] of a named one; inertia
    (3,) or (9,) [kg m^2] of a given one; mgl [N m], 0 for none; rates (3,) [rad/s, body]; tilt
    [deg] from the vertical. Of a task: policies, see `TaskRun`, one a run; seed of its start;
    substeps of a control period, 0 for the task's own; env_kwargs, unpickle.
    """

    scene: str = FREE
    schemes: tuple[str, ...] = ("forward_euler", "imidm", integrators.DEFAULT)
    dt: float = 0.05
    body: str = "box"
    size: Size = (1.0, 0.2, 0.6)
    inertia: tuple[float, ...] = ()
    mgl: float = 0.0
    rates: Size = (0.05, 0.05, 5.0)
    tilt: float = 0.0
    policies: tuple[str, ...] = (NONE, NONE, NONE)
    seed: int = 0
    substeps: int = 0
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    unpickle: str | None = None


def setup_of(
    env: str | None, schemes: Sequence[str], policies: Sequence[str], **given: Any
) -> Setup:
    """The setup that the command line describes: a run for each scheme and each policy.

    Raises ValueError for more than there are places, and for what does not go together.
    """
    for name, least in (("tilt", -math.inf), ("mgl", 0.0), ("seed", 0)):
        value = given.get(name, 0)
        if not (math.isfinite(value) and value >= least):
            allowed = "finite" if least < 0 else "finite and not negative"
            raise ValueError(f"{name} must be {allowed}, got {value!r}")
    scene = _known(env or FREE)
    own = Setup().schemes if scene == FREE else (OWN,)
    count = max(len(schemes), len(policies), 0 if schemes or policies else len(own))
    if count > MOST:
        raise ValueError(f"integrator and policy must name at most {MOST} each, got {count}")
    if scene == FREE and policies:
        raise ValueError(f"policy must be left out without an env, got {list(policies)}")
    first = tuple(schemes) or own[:1] if policies else tuple(schemes) or own
    padded = (first + first[-1:] * MOST)[:count] + (OFF,) * (MOST - count)
    acting = tuple(policies) or policies_of(scene)[:1] or (NONE,)
    acting = (*acting, *(acting[-1:] * MOST))[:MOST]
    inertia, rates = tuple(given.pop("inertia")), tuple(given.pop("rates"))
    body = GIVEN if inertia else Setup().body
    return Setup(scene, padded, policies=acting, rates=rates, body=body, inertia=inertia, **given)


def build(setup: Setup) -> World:
    """The world at its start. Raises ValueError for what does not go together."""
    chosen = [k for k, scheme in enumerate(setup.schemes) if scheme != OFF]
    if not 1 <= len(chosen) <= MOST:
        raise ValueError(f"integrator must name 1 to {MOST} schemes, got {list(setup.schemes)}")
    make = _free if setup.scene == FREE else _task
    return World([make(setup, k) for k in chosen])


def warm_up(setup: Setup) -> None:
    """Compile, or load, what the world's first step needs."""
    build(replace(setup, policies=(NONE,) * MOST)).advance(1)


def body_of(setup: Setup) -> RigidBody:
    """The free body. Raises ValueError where there is none."""
    if setup.body == GIVEN:
        return RigidBody(np.array(setup.inertia).reshape(-1, 3).squeeze())
    if setup.body not in BODIES:
        raise ValueError(
            f"body must be one of {[*BODIES]}, got {setup.body!r}{hint(setup.body, BODIES)}"
        )
    return BODIES[setup.body](setup.size)


def _free(setup: Setup, k: int) -> Run:
    return FreeRun(
        body_of(setup),
        setup.schemes[k],
        dt=setup.dt,
        quaternion=from_rotation_vector((math.radians(math.remainder(setup.tilt, 360)), 0.0, 0.0)),
        angular_velocity=setup.rates,
        potential=HeavyTop(setup.mgl) if setup.mgl > 0 else None,
    )


def _known(scene: str) -> str:
    """The scene, or a ValueError if there is none of that name."""
    if scene != FREE and scene not in gym.registry:
        known = [FREE, *ENVIRONMENTS]
        raise ValueError(f"env must be one of {known}, got {scene!r}{hint(scene, known)}")
    return scene


def _task(setup: Setup, k: int) -> Run:
    _known(setup.scene)
    own: dict[str, Any] = {"substeps": setup.substeps} if setup.substeps else {}
    if setup.schemes[k] != OWN:
        own["integrator"] = setup.schemes[k]
    return TaskRun(
        setup.scene,
        setup.policies[k],
        seed=setup.seed,
        unpickle=setup.unpickle,
        env_kwargs={**setup.env_kwargs, **own},
    )


def policies_of(scene: str) -> list[str]:
    """Who can act in a scene: the controllers that fit, and what the package has trained for it."""
    if scene == FREE:
        return []
    env = gym.make(scene, disable_env_checker=True)
    fitting = [name for name in controllers.names() if name != "idle" and _fits(name, env)]
    env.close()
    trained = importlib.util.find_spec("stable_baselines3") is not None
    return ["pretrained", *fitting] if trained and scene in ENVIRONMENTS else fitting


def _fits(name: str, env: gym.Env[Any, Any]) -> bool:
    """Whether a controller is for an env, and has here what it is computed with."""
    try:
        controllers.make(name, env)
    except (ValueError, ModuleNotFoundError):
        return False
    return True
