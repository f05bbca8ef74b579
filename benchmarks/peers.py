"""What others offer, each as `Timed`: steps so often, returns how long it took by the clock.

Random actions, and every output made, as for our environments. A maker raises `Missing` where its
peer is not there.
"""

import ctypes
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import bodies, native
from benchmarks.record import module
from benchmarks.timing import Timed, stepping

# Of all threads: a peer may work on others than the caller's.
CLOCK = time.process_time
ACTIONS = 16
# A spin about a principal axis, which every engine keeps up for as long as it is timed.
STEADY = bodies.Motion("steady", (6.0, 8.0, 3.0), (0.0, 0.0, 1.0))


def timed(step: Callable[[int], Any]) -> Timed:
    """Of a function that is told which of the prepared actions to take."""

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


def _actions(env_id: str, lanes: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    if env_id.startswith("CartPole"):
        return list(rng.integers(0, 2, (ACTIONS, lanes)))
    return list(rng.uniform(-2.0, 2.0, (ACTIONS, lanes, 1)).astype(np.float32))


def envpool(env_id: str, lanes: int, threads: int = 1) -> Timed:
    """EnvPool in its synchronous mode."""
    pool = module("envpool")
    env = pool.make(env_id, env_type="gymnasium", num_envs=lanes, num_threads=threads, seed=0)
    env.reset()
    actions = _actions(env_id, lanes)
    return timed(lambda k: env.step(actions[k]))


def gymnax(env_id: str, lanes: int) -> Timed:
    """gymnax, a compiled step of all lanes called from Python."""
    jax, step, state, keys, actions = _gymnax(env_id, lanes)
    compiled, held = jax.jit(step), [state]

    def once(k: int) -> None:
        held[0], seen = compiled(held[0], (keys[k], actions[k]))
        jax.block_until_ready(seen)

    return timed(once)


def gymnax_scan(env_id: str, lanes: int) -> Timed:
    """gymnax at its best: 16 steps in one compiled call, observations and rewards kept."""
    jax, step, state, keys, actions = _gymnax(env_id, lanes)
    compiled, held = jax.jit(lambda s: jax.lax.scan(step, s, (keys, actions))), [state]

    def call() -> None:
        held[0], seen = compiled(held[0])
        jax.block_until_ready(seen)

    return in_one_call(ACTIONS, call)


def _gymnax(env_id: str, lanes: int) -> tuple[Any, ...]:
    jax, suite = module("jax"), module("gymnax")
    env, params = suite.make(env_id)
    many = jax.vmap(env.step, in_axes=(0, 0, 0, None))

    def step(state: Any, given: Any) -> tuple[Any, Any]:
        seen, state, *ends, _info = many(given[0], state, given[1], params)
        return state, (seen, *ends)

    keys = jax.random.split(jax.random.PRNGKey(0), (ACTIONS, lanes))
    _seen, state = jax.jit(jax.vmap(env.reset, in_axes=(0, None)))(keys[0], params)
    return jax, step, state, keys, jax.numpy.asarray(np.stack(_actions(env_id, lanes)))


def c_cartpole(lanes: int) -> Timed:
    """The loop of cartpole.c."""
    library = native.built("cartpole")
    carts = np.zeros(24 * lanes, np.uint8)
    seen, rewards = np.zeros((lanes, 4), np.float32), np.zeros(lanes, np.float32)
    ended, late = np.zeros(lanes, np.uint8), np.zeros(lanes, np.uint8)
    actions = [a.astype(np.int64) for a in _actions("CartPole-v1", lanes)]

    def at(array: np.ndarray) -> ctypes.c_void_p:
        return ctypes.c_void_p(array.ctypes.data)

    count = ctypes.c_long(lanes)
    library.reset(at(carts), count, at(seen))
    given = [at(a) for a in actions]
    outputs = [at(a) for a in (seen, rewards, ended, late)]
    step, first = library.step, at(carts)

    def once(k: int, kept: Any = (carts, seen, rewards, ended, late, actions)) -> None:
        step(first, count, given[k], *outputs)

    return timed(once)


def mujoco_step(integrator: str) -> Timed:
    """MuJoCo, mj_step of one free body."""
    mujoco = module("mujoco")
    model, data = bodies.mujoco_body(STEADY, integrator, 1e-3)
    return timed(lambda k: mujoco.mj_step(model, data))


def mujoco_rollout(integrator: str, lanes: int) -> Timed:
    """mujoco.rollout of free bodies, 16 steps in a call, on one thread."""
    mujoco, rollout = module("mujoco"), module("mujoco.rollout")
    model, data = bodies.mujoco_body(STEADY, integrator, 1e-3)
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.zeros(mujoco.mj_stateSize(model, kind))
    mujoco.mj_getState(model, data, state, kind)
    start = np.tile(state, (lanes, 1))
    out = np.zeros((lanes, ACTIONS, len(state)))

    def call() -> None:
        rollout.rollout(model, [data], start, nstep=ACTIONS, state=out)

    return in_one_call(ACTIONS, call)


def pybullet_step() -> Timed:
    """PyBullet, stepSimulation of one body."""
    engine = bodies.PyBullet(STEADY, 1e-3)
    return timed(lambda k: engine.advance(1))


def basilisk_step() -> Timed:
    """Basilisk, one step of a spacecraft hub by RK4, each executed by itself."""
    engine = bodies.Basilisk(STEADY, 1e-3)
    return timed(lambda k: engine.advance(1))


def basilisk_run() -> Timed:
    """Basilisk, 1000 steps of a spacecraft hub in one execution."""
    engine = bodies.Basilisk(STEADY, 1e-3)
    return in_one_call(1000, lambda: engine.advance(1000))


def wrappers() -> Timed:
    """Gymnasium's default wrappers around an environment that does nothing."""
    gym = module("gymnasium")

    class Empty(gym.Env):  # type: ignore[name-defined,misc]
        observation_space = gym.spaces.Box(-1.0, 1.0, (3,), np.float32)
        action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        seen = np.zeros(3, np.float32)

        def reset(self, **kwargs: Any) -> Any:
            return self.seen, {}

        def step(self, action: Any) -> Any:
            return self.seen, 0.0, False, False, {}

    gym.register("Empty-v0", entry_point=Empty, max_episode_steps=500)
    return stepping(gym.make("Empty-v0"), CLOCK)
