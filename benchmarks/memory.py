"""Bytes of one environment among many: `python -m benchmarks.memory`."""

import json
import subprocess
import sys
from typing import Any

from benchmarks.record import ROOT, Told, main

LANES = 65536
STEPS = 4
# How the memory of the process grows, beyond what one small batch and all imports take.
_SCRIPT = """
import sys
from benchmarks.memory import grown
print()
print(grown(sys.argv[1], int(sys.argv[2])))
"""
CASES = (
    "rbgym RigidTop-v0",
    "rbgym AttitudeSlew-v1",
    "Gymnasium CartPoleVectorEnv",
    "EnvPool Pendulum-v1",
)


def resident() -> int:
    """Resident memory of this process [B]."""
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[1])
    import resource

    return pages * resource.getpagesize()


def made(name: str, lanes: int) -> Any:
    """A batch of environments, stepped."""
    if name.startswith("EnvPool"):
        import envpool

        env = envpool.make("Pendulum-v1", env_type="gymnasium", num_envs=lanes, num_threads=1)
    else:
        import gymnasium as gym

        import rbgym  # noqa: F401  registers

        env_id = "CartPole-v1" if "CartPole" in name else name.split()[1]
        env = gym.make_vec(env_id, num_envs=lanes, vectorization_mode="vector_entry_point")
    env.reset()
    return env


def stepped(env: Any, lanes: int) -> Any:
    """What a few steps give, kept; actions are made before and not counted as theirs."""
    import numpy as np

    kind = env.action_space.dtype if hasattr(env, "single_action_space") else np.float32
    shape = getattr(env, "single_action_space", env.action_space).shape
    actions = np.zeros((lanes, *shape), kind)
    return actions, [env.step(actions) for _ in range(STEPS)][-1]


def grown(name: str, lanes: int) -> list[float]:
    """Growth of the process [B per lane], actions aside, and size of the arrays that it holds."""
    import gc

    small = made(name, 64)
    kept = stepped(small, 64)
    gc.collect()
    before = resident()
    env = made(name, lanes)
    actions, seen = stepped(env, lanes)
    gc.collect()
    growth = resident() - before - actions.nbytes
    del kept
    return [growth / lanes, arrays(env) / lanes, arrays(seen) / lanes]


def arrays(thing: Any) -> int:
    """Bytes of all NumPy arrays that a thing holds, each memory counted once."""
    import numpy as np

    seen: dict[int, int] = {}
    pending, known = [thing], set()
    while pending:
        one = pending.pop()
        if id(one) in known:
            continue
        known.add(id(one))
        if isinstance(one, np.ndarray):
            while isinstance(one.base, np.ndarray):
                one = one.base
            seen[id(one)] = one.nbytes
        elif isinstance(one, dict):
            pending.extend(one.values())
        elif isinstance(one, list | tuple | set):
            pending.extend(one)
        elif type(one).__module__.split(".")[0] in ("rbgym", "gymnasium"):
            pending.extend(getattr(one, "__dict__", {}).values())
            pending.extend(getattr(one, name) for name in getattr(type(one), "__slots__", ()))
    return sum(seen.values())


def measure(quick: bool, told: Told) -> dict[str, Any]:
    """Bytes per lane by case: growth of the process, arrays held, arrays that a step returns."""
    found, skipped = {}, {}
    for name in CASES[:1] if quick else CASES:
        told(f"memory of {name}")
        command = [sys.executable, "-W", "ignore", "-c", _SCRIPT, name, str(LANES)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        if "ModuleNotFoundError" in done.stderr:
            skipped[name] = "not installed"
            continue
        done.check_returncode()
        growth, held, returned = json.loads(done.stdout.splitlines()[-1])
        found[name] = {
            "resident": round(growth, 1), "arrays": round(held, 1), "returned": round(returned, 1)
        }  # fmt: skip
    return {"lanes": LANES, "bytes": found, "skipped": skipped}


if __name__ == "__main__":
    main("memory", measure)
