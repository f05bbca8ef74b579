"""From a fresh process to the first step: `python -m benchmarks.startup`."""

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from benchmarks.record import ROOT, Told, main, spread

# Times of the process from its own start [s], by the wall and by the CPU of all its threads.
_SCRIPT = """
import time
before = time.perf_counter(), time.process_time()
{imports}
imported = time.perf_counter()
{step}
print()
print([imported - before[0], time.perf_counter() - before[0], time.process_time() - before[1]])
"""
_GYM = """env = gym.make({id!r}); env.reset(seed=0); env.step(env.action_space.sample())"""
_VEC = """
env = gym.make_vec({id!r}, num_envs=1024, vectorization_mode="vector_entry_point")
env.reset(seed=0); env.step(env.action_space.sample())
"""
_OURS = "import gymnasium as gym, rbgym"
_MUJOCO = """
m = mujoco.MjModel.from_xml_string(
    "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>")
mujoco.mj_step(m, mujoco.MjData(m))
"""
_GYMNAX = """
env, params = gymnax.make("Pendulum-v1")
key = jax.random.PRNGKey(0)
seen, state = env.reset(key, params)
jax.block_until_ready(env.step(key, state, jax.numpy.zeros(1), params))
"""
_ENVPOOL = """
env = envpool.make("Pendulum-v1", env_type="gymnasium", num_envs=1)
env.reset(); env.step(numpy.zeros((1, 1), numpy.float32))
"""
CASES = {
    "rbgym RigidTop-v0": (_OURS, _GYM.format(id="RigidTop-v0")),
    "rbgym RigidTop-v0, 1024 at once": (_OURS, _VEC.format(id="RigidTop-v0")),
    "rbgym AttitudeSlew-v1": (_OURS, _GYM.format(id="AttitudeSlew-v1")),
    "Gymnasium CartPole-v1": ("import gymnasium as gym", _GYM.format(id="CartPole-v1")),
    "EnvPool Pendulum-v1": ("import envpool, numpy", _ENVPOOL),
    "gymnax Pendulum-v1": ("import gymnax, jax", _GYMNAX),
    "MuJoCo free body": ("import mujoco", _MUJOCO),
}
COLD = ("rbgym RigidTop-v0",)


def run(name: str, cache: str | None = None) -> list[float] | None:
    """Import, import and first step by the wall, and the same by the CPU [s]; None if missing."""
    imports, step = CASES[name]
    environment = os.environ | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _SCRIPT.format(imports=imports, step=step)],
        capture_output=True, text=True, check=False, env=environment, cwd=ROOT,
    )  # fmt: skip
    if done.returncode != 0 and "ModuleNotFoundError" in done.stderr:
        return None
    done.check_returncode()
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


def summary(rows: list[list[float]]) -> dict[str, dict[str, float]]:
    """Spreads of what `run` gives."""
    keys = "import", "first_step", "first_step_cpu"
    return {key: spread(row[k] for row in rows) for k, key in enumerate(keys)}


def measure(quick: bool, told: Told) -> dict[str, Any]:
    """Seconds by case: warm, and with an empty cache of compiled kernels."""
    skipped = {}
    warm: dict[str, list[list[float]]] = {}
    told(f"{len(CASES)} starts, warm")
    for turn in range(2 if quick else 6):
        for name in CASES:
            if name in skipped:
                continue
            found = run(name)
            if found is None:
                skipped[name] = "not installed"
            elif turn > 0:  # the first one warms what there is to be warmed
                warm.setdefault(name, []).append(found)
    cold: dict[str, list[list[float]]] = {}
    for name in () if quick else COLD:
        told(f"{name}, cold")
        with tempfile.TemporaryDirectory() as cache:
            cold[name] = [row for row in [run(name, cache)] if row]
    return {
        "skipped": skipped,
        "warm": {name: summary(rows) for name, rows in warm.items()},
        "cold": {name: summary(rows) for name, rows in cold.items()},
    }


if __name__ == "__main__":
    main("startup", measure)
