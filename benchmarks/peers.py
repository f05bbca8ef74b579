"""Steps of what others offer, each as `Timed`: steps so often, returns how long it took [s].

Random actions, and every output made, as for our environments. By the clock on the wall; a maker
raises `Missing` where its peer is not installed.
"""

import copy
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import bodies
from benchmarks.record import module
from benchmarks.timing import Timed

ACTIONS = 16
CLOCK = time.perf_counter
# A spin about a principal axis, which every engine keeps up for as long as it is timed.
STEADY = bodies.Motion("steady", (6.0, 8.0, 3.0), (0.0, 0.0, 1.0))


def by_step(step: Callable[[int], Any]) -> Timed:
    """Of a function that makes one step with the prepared action of that number."""

    def run(steps: int) -> float:
        start = CLOCK()
        for k in range(steps):
            step(k % ACTIONS)
        return CLOCK() - start

    return run


def in_one_call(steps: int, call: Callable[[], Any]) -> Timed:
    """Of a function that makes so many steps in a call."""

    def run(wanted: int) -> float:
        calls = -(-wanted // steps)
        start = CLOCK()
        for _ in range(calls):
            call()
        return (CLOCK() - start) * wanted / (calls * steps)

    return run


def _pushes(lanes: int) -> np.ndarray:
    """Random actions of CartPole, (ACTIONS, lanes)."""
    return np.random.default_rng(0).integers(0, 2, (ACTIONS, lanes))


def envpool(lanes: int, threads: int = 1) -> Timed:
    """EnvPool's CartPole-v1 in its synchronous mode."""
    pool = module("envpool")
    env = pool.make(
        "CartPole-v1", env_type="gymnasium", num_envs=lanes, num_threads=threads, seed=0
    )
    env.reset()
    actions = list(_pushes(lanes))
    return by_step(lambda k: env.step(actions[k]))


def gymnax(lanes: int) -> Timed:
    """gymnax's CartPole-v1, a compiled step of all lanes called from Python."""
    jax, step, state, keys, actions = _gymnax(lanes)
    compiled, held = jax.jit(step), [state]

    def once(k: int) -> None:
        held[0], seen = compiled(held[0], (keys[k], actions[k]))
        jax.block_until_ready(seen)

    return by_step(once)


def gymnax_scan(lanes: int) -> Timed:
    """gymnax's CartPole-v1, 16 steps in one compiled call, observations and rewards kept."""
    jax, step, state, keys, actions = _gymnax(lanes)
    compiled, held = jax.jit(lambda s: jax.lax.scan(step, s, (keys, actions))), [state]

    def call() -> None:
        held[0], seen = compiled(held[0])
        jax.block_until_ready(seen)

    return in_one_call(ACTIONS, call)


def _gymnax(lanes: int) -> tuple[Any, ...]:
    jax, suite = module("jax"), module("gymnax")
    env, params = suite.make("CartPole-v1")
    many = jax.vmap(env.step, in_axes=(0, 0, 0, None))

    def step(state: Any, given: Any) -> tuple[Any, Any]:
        seen, state, *ends, _info = many(given[0], state, given[1], params)
        return state, (seen, *ends)

    keys = jax.random.split(jax.random.PRNGKey(0), (ACTIONS, lanes))
    _seen, state = jax.jit(jax.vmap(env.reset, in_axes=(0, None)))(keys[0], params)
    return jax, step, state, keys, jax.numpy.asarray(_pushes(lanes))


def mujoco_rollout(integrator: str, lanes: int, threads: int = 1) -> Timed:
    """mujoco.rollout of free bodies, 16 steps in a call."""
    mujoco, rollout = module("mujoco"), module("mujoco.rollout")
    model, data = bodies.mujoco_body(STEADY, integrator, 1e-3)
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.zeros(mujoco.mj_stateSize(model, kind))
    mujoco.mj_getState(model, data, state, kind)
    start = np.tile(state, (lanes, 1))
    out = np.zeros((lanes, ACTIONS, len(state)))
    workers = rollout.Rollout(nthread=threads if threads > 1 else 0)
    each = [copy.copy(data) for _ in range(threads)]

    def call() -> None:
        workers.rollout(model, each, start, nstep=ACTIONS, state=out)

    return in_one_call(ACTIONS, call)


def basilisk() -> Timed:
    """Basilisk, 1000 steps of one spacecraft hub by RK4 in one execution."""
    engine = bodies.Basilisk(STEADY, 1e-3)
    return in_one_call(1000, lambda: engine.advance(1000))
