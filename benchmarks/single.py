"""Microseconds of one step of one environment, or body: `python -m benchmarks.single`."""

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym

from benchmarks import peers
from benchmarks.record import Told, main, present, spread
from benchmarks.timing import Timed, interleaved, one

_AKW: dict[str, Any] = {"integrator": "akw", "substeps": 1}
_QUAT_EM: dict[str, Any] = {"integrator": "quat_em", "substeps": 1}
# Each as (unwrapped, with Gymnasium's default wrappers).
ENVIRONMENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "RigidTop-v0, akw, 1 substep": ("RigidTop-v0", _AKW),
    "RigidTop-v0, quat_em, 1 substep": ("RigidTop-v0", _QUAT_EM),
    "RigidTop-v0": ("RigidTop-v0", {}),
    "AttitudeSlew-v0": ("AttitudeSlew-v0", {}),
    "Gymnasium CartPole-v1": ("CartPole-v1", {}),
    "Gymnasium Pendulum-v1": ("Pendulum-v1", {}),
}
OTHERS: dict[str, Callable[[], Timed]] = {
    "Gymnasium's wrappers around nothing": peers.wrappers,
    "EnvPool CartPole-v1": partial(peers.envpool, "CartPole-v1", 1),
    "EnvPool Pendulum-v1": partial(peers.envpool, "Pendulum-v1", 1),
    "gymnax CartPole-v1": partial(peers.gymnax, "CartPole-v1", 1),
    "gymnax Pendulum-v1": partial(peers.gymnax, "Pendulum-v1", 1),
    "C CartPole": partial(peers.c_cartpole, 1),
    "MuJoCo free body, Euler": partial(peers.mujoco_step, "Euler"),
    "MuJoCo free body, RK4": partial(peers.mujoco_step, "RK4"),
    "PyBullet free body": peers.pybullet_step,
    "Basilisk hub, RK4": peers.basilisk_step,
}


def cloned(env_id: str, **options: Any) -> Timed:
    """Steps of one env, each from the same state, and then what was reached is read."""
    env: Any = gym.make(env_id, **options).unwrapped
    env.reset(seed=0)
    state, action = env.get_state(), env.action_space.sample()

    def run(steps: int) -> float:
        begun = peers.CLOCK()
        for _ in range(steps):
            env.set_state(state)
            env.step(action)
            env.get_state()
        return peers.CLOCK() - begun

    return run


def measure(quick: bool, told: Told) -> dict[str, Any]:
    """Spread of the time of a step [us] by case, resets of environments left out."""
    skipped: dict[str, str] = {}
    cases: dict[str, Timed] = {}
    for name, (env_id, options) in ENVIRONMENTS.items():
        cases[name] = one(env_id, peers.CLOCK, **options)
        cases[f"{name}, wrapped"] = one(env_id, peers.CLOCK, wrapped=True, **options)
    cases["RigidTop-v0, akw, 1 substep, cloned before"] = cloned("RigidTop-v0", **_AKW)
    cases |= present(OTHERS, skipped)
    told(f"{len(cases)} cases of one step")
    times = interleaved(cases, 3 if quick else 15, 0.01 if quick else 0.06, lambda: None)
    found = {name: spread(1e6 * t for t in values) for name, values in times.items()}
    return {"skipped": skipped, "microseconds": found}


if __name__ == "__main__":
    main("single", measure)
