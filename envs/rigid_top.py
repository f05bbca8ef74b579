"""RigidTop-v0: bring a heavy top upright and to rest."""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import ArrayLike

from rbgym import integrators
from rbgym.body import RigidBody
from rbgym.engine import Batch
from rbgym.envs.arguments import (
    body_or,
    horizon,
    named,
    no_rendering,
    ranges,
    torque_limits,
    unbounded,
    upright_moment,
)
from rbgym.envs.base import AttitudeEnv, AttitudeVectorEnv
from rbgym.envs.bounds import rate_bounds
from rbgym.envs.episodes import Setup
from rbgym.envs.kernels import Parts
from rbgym.envs.parts import Fallen, QuaternionRates, Settled, Sparse, Tilted, Upright
from rbgym.potentials import HeavyTop
from rbgym.simulate import count, positive

GRAVITY = 9.81  # m/s^2
RATE_LIMIT = 40.0  # rad/s
SETTLED_STEPS = 50

REWARDS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "upright": (Upright(), ("tilt", "rate", "effort")),
    "sparse": (Sparse(), ()),
}
OBSERVATIONS = ("quaternion",)
START = {"tilt": 0.5, "spin": 5.0, "transverse": 0.1}
START_LIMITS = {"tilt": math.pi / 2, "spin": RATE_LIMIT, "transverse": RATE_LIMIT}


def cone() -> RigidBody:
    """Betsch and Siebert's aluminium cone on its tip (2009, section 5.2)."""
    return RigidBody.cone_top(radius=0.05, height=0.1, density=2700.0)


def build(
    size: int,
    max_episode_steps: int | None,
    *,
    integrator: str | integrators.Integrator = integrators.DEFAULT,
    dt: float = 0.02,
    substeps: int = 4,
    body: RigidBody | None = None,
    mgl: float | None = None,
    torque_limit: ArrayLike | None = None,
    reward: str | Callable[..., ArrayLike] = "upright",
    observation: str | Callable[..., ArrayLike] = "quaternion",
    initial: dict[str, float] | None = None,
    projection: bool = True,
    render_mode: str | None = None,
) -> tuple[Batch, Setup, spaces.Box]:
    """The bodies, the task and the observation space of `size` tops."""
    no_rendering(render_mode)
    named("reward", reward, REWARDS)
    named("observation", observation, OBSERVATIONS)
    body = body_or(body, cone())
    mgl = upright_moment(body, GRAVITY) if mgl is None else positive("mgl", mgl)
    dt, substeps = positive("dt", dt), count("substeps", substeps)
    limits = torque_limits(torque_limit, mgl * np.array([0.5, 0.5, 0.01]))
    start = ranges("initial", initial, START, START_LIMITS)
    batch = Batch(body, integrator, HeavyTop(mgl), size=size, projection=projection)
    shown = QuaternionRates.within(RATE_LIMIT, rate_bounds(body, RATE_LIMIT, limits + mgl, dt))
    space = unbounded(observation, batch) if callable(observation) else shown.space()
    rewarded, terms = REWARDS[reward] if isinstance(reward, str) else (Sparse(), ())
    setup = Setup(
        parts=Parts(
            shown,
            rewarded,
            Settled(math.cos(math.radians(5.0)), 0.5),
            Fallen(0.0, RATE_LIMIT),
            Tilted(**start),
        ),
        terms=terms,
        dt=dt,
        substeps=substeps,
        torque_limit=limits,
        limit=horizon(max_episode_steps),
        settled_steps=SETTLED_STEPS,
        width=space.shape[0],
        observe=observation if callable(observation) else None,
        reward=reward if callable(reward) else None,
    )
    return batch, setup, space


class RigidTopEnv(AttitudeEnv):
    """Bring the axis of a heavy top upright and the body to rest, spin included, and hold it.

    ## Physics
    Betsch and Siebert's cone (2009, section 5.2): aluminium, 2700 kg/m^3, height 0.1 m, radius
    0.05 m, turning about its tip under g = 9.81 m/s^2. Principal moments 4.51e-3, 4.51e-3 and
    5.30e-4 kg m^2, weight moment mgl = 0.520 N m. A control period of dt = 0.02 s is 4 steps of
    the integrator, quat_em by default; every integrator of the catalogue can be named. Upright is
    unstable: without torque the top falls.

    ## Observation: Box, float32, (7,)
    | index | what | bounds |
    |---|---|---|
    | 0 | w of the quaternion, body to world; of q and -q the one with w >= 0 | [0, 1] |
    | 1-3 | x, y, z of it | [-1, 1] |
    | 4-6 | angular velocity in body axes / (40 rad/s) | a little over the rate limit |

    ## Action: Box(-1, 1, (3,)), float32
    Torque about the body axes as a fraction of 0.5, 0.5 and 0.01 times mgl, held over the period.
    The spin axis has a tenth of the inertia, and a fiftieth of the torque. Beyond +-1 is clipped.

    ## Reward, in (0, 1]
    1 / (1 + (2 sin(tilt/2) / 0.2)^2 + 0.02 |omega|^2 + 0.02 mean(action^2)), tilt in rad, omega in
    rad/s. It is positive, so that ending early never pays. `reward="sparse"`: 1 in the success
    region, else 0. `info["reward_terms"]` has the three summands.

    ## Start
    Tilt uniform in [0, 0.5] rad in a uniform direction, spin uniform in [-5, 5] rad/s, rates
    across the axis uniform in a disc of 0.1 rad/s. Drawn from (seed, number of the episode).

    ## Success, termination and truncation
    Success: tilt under 5 degrees and |omega| under 0.5 rad/s throughout the last 50 steps
    (`info["is_success"]`). Terminates when the axis falls below the horizontal or |omega| exceeds
    40 rad/s; truncated after 500 steps, or if a step cannot be solved
    (`info["integration_failed"]`).

    ## Arguments
    integrator, dt, substeps, body (a RigidBody that turns about its reference point), mgl [N m],
    torque_limit [N m] (number or (3,)), initial (dict with tilt, spin, transverse), projection;
    reward: "upright", "sparse" or a callable (state, action) -> (n,); observation: "quaternion" or
    a callable (state) -> (n, k). state is a dict of arrays with a leading lane axis: quaternion,
    angular_velocity, angular_momentum, energy, time.

    ## Version history
    v0: first version.
    """

    rate_limit: ClassVar[float] = RATE_LIMIT

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(*build(1, kwargs.pop("max_episode_steps", None), **kwargs))


class RigidTopVectorEnv(AttitudeVectorEnv):
    """Many tops at once; see `RigidTopEnv`."""

    rate_limit: ClassVar[float] = RATE_LIMIT

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = 500,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **kwargs: Any,
    ) -> None:
        built = build(count("num_envs", num_envs), max_episode_steps, **kwargs)
        super().__init__(*built, autoreset_mode)
