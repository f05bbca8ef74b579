"""RigidTop-v0: bring a heavy top upright and to rest."""

import difflib
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
from rbgym.envs.base import AttitudeEnv, AttitudeVectorEnv
from rbgym.envs.bounds import rate_bounds
from rbgym.envs.episodes import Setup
from rbgym.envs.kernels import Parts
from rbgym.envs.parts import Fallen, QuaternionRates, Settled, Sparse, Tilted, Upright
from rbgym.potentials import HeavyTop
from rbgym.quaternion import Array
from rbgym.simulate import count, positive

GRAVITY = 9.81  # m/s^2
RATE_LIMIT = 40.0  # rad/s
SETTLED_STEPS = 50

REWARDS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "upright": (Upright(), ("tilt", "rate", "effort")),
    "sparse": (Sparse(), ()),
}
OBSERVATIONS = ("quaternion",)


def cone() -> RigidBody:
    """Betsch and Siebert's aluminium cone on its tip (2009, section 5.2)."""
    return RigidBody.cone_top(radius=0.05, height=0.1, density=2700.0)


def _named(argument: str, name: Any, known: Any) -> None:
    if name not in known:
        near = difflib.get_close_matches(str(name), list(known), n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"{argument} must be one of {list(known)} or a callable, got {name!r}{hint}"
        )


def _ranges(initial: dict[str, float] | None) -> Tilted:
    values = {"tilt": 0.5, "spin": 5.0, "transverse": 0.1, **(initial or {})}
    limits = {"tilt": math.pi / 2, "spin": RATE_LIMIT, "transverse": RATE_LIMIT}
    if set(values) != set(limits):
        raise ValueError(f"initial must have keys out of {list(limits)}, got {initial!r}")
    for name, value in values.items():
        if not (np.isfinite(value) and 0 <= value <= limits[name]):
            raise ValueError(f"initial[{name!r}] must be in [0, {limits[name]:g}], got {value!r}")
    return Tilted(float(values["tilt"]), float(values["spin"]), float(values["transverse"]))


def _limits(torque_limit: ArrayLike | None, mgl: float) -> Array:
    if torque_limit is None:
        return mgl * np.array([0.5, 0.5, 0.01])
    limit = np.asarray(torque_limit, dtype=np.float64)
    if limit.shape not in ((), (3,)) or not np.all(np.isfinite(limit) & (limit >= 0)):
        raise ValueError(f"torque_limit must be non-negative, () or (3,), got {torque_limit!r}")
    return np.broadcast_to(limit, (3,)).copy()


def build(
    size: int,
    max_episode_steps: int | None,
    *,
    integrator: str = integrators.DEFAULT,
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
    if render_mode is not None:
        raise ValueError(f"render_mode must be None, got {render_mode!r}: there is none yet")
    body = cone() if body is None else body
    if not isinstance(body, RigidBody):
        raise ValueError(f"body must be a rbgym.RigidBody, got {body!r}")
    mgl = body.gravity_moment(GRAVITY) if mgl is None else positive("mgl", mgl)
    dt, substeps = positive("dt", dt), count("substeps", substeps)
    limits = _limits(torque_limit, mgl)
    bounds = rate_bounds(body, RATE_LIMIT, limits + mgl, dt)
    scaled = (bounds[0] / RATE_LIMIT, bounds[1] / RATE_LIMIT, bounds[2] / RATE_LIMIT)
    named = reward if isinstance(reward, str) else "upright"
    _named("reward", named, REWARDS)
    if not callable(observation):
        _named("observation", observation, OBSERVATIONS)
    batch = Batch(body, integrator, HeavyTop(mgl), size=size, projection=projection)
    width, high = 7, np.array([1.0, 1.0, 1.0, 1.0, *scaled], dtype=np.float32)
    if callable(observation):
        sample = np.asarray(observation({**batch.measure(), "time": np.zeros(size)}))
        if sample.ndim != 2 or len(sample) != size:
            raise ValueError(f"observation must return shape ({size}, k), got {sample.shape}")
        width, high = sample.shape[1], np.full(sample.shape[1], np.inf, dtype=np.float32)
    parts = Parts(
        QuaternionRates(RATE_LIMIT, scaled),
        REWARDS[named][0],
        Settled(math.cos(math.radians(5.0)), 0.5),
        Fallen(0.0, RATE_LIMIT),
        _ranges(initial),
    )
    setup = Setup(
        parts=parts,
        terms=REWARDS[named][1] if isinstance(reward, str) else (),
        dt=dt,
        substeps=substeps,
        torque_limit=limits,
        limit=math.inf if max_episode_steps is None else float(max_episode_steps),
        settled_steps=SETTLED_STEPS,
        width=width,
        observe=observation if callable(observation) else None,
        reward=reward if callable(reward) else None,
    )
    low = -high.copy()
    if not callable(observation):
        low[0] = 0.0  # the canonical quaternion
    return batch, setup, spaces.Box(low, high, dtype=np.float32)


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
