"""From a fresh process to the first step: `python -m benchmarks.startup`."""

import os
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.record import Say, fresh, main, rounded, spread

CASES = "RigidTop-v0", "AttitudeSlew-v1", "ReactionWheelSlew-v1", "CartPole-v1"
# Seconds to import, and to import, make, reset and step.
_SCRIPT = """
import sys, time
started = time.perf_counter()
import gymnasium as gym
if sys.argv[1] != "CartPole-v1":
    import rbgym
imported = time.perf_counter()
env = gym.make(sys.argv[1])
env.reset(seed=0)
env.step(env.action_space.sample())
print([imported - started, time.perf_counter() - started])
"""


def first_step(env_id: str, cache: str, tree: Path | None = None) -> tuple[float, float]:
    """Seconds to import, and until the first step is done. cache: folder of what is compiled;
    tree: the folder of another rbgym than the installed one."""
    others = {} if tree is None else {"PYTHONPATH": str(tree)}
    imported, stepped = fresh(
        _SCRIPT, env_id, cwd=Path(cache), NUMBA_CACHE_DIR=os.path.join(cache, "numba"), **others
    )
    return imported, stepped


def measure(quick: bool, say: Say) -> dict[str, Any]:
    """Seconds by case: with an empty cache of compiled kernels, and then with a full one."""
    warm: dict[str, Any] = {}
    cold: dict[str, float] = {}
    for env_id in CASES[:1] if quick else CASES:
        say(f"first steps of {env_id}")
        with tempfile.TemporaryDirectory() as cache:
            cold[env_id] = rounded(first_step(env_id, cache)[1])
            rows = [first_step(env_id, cache) for _ in range(2 if quick else 5)]
        imports, steps = zip(*rows, strict=True)
        warm[env_id] = {"import": spread(imports), "first_step": spread(steps)}
    return {"cold": cold, "warm": warm, "skipped": {}}


if __name__ == "__main__":
    main("startup", measure)
