"""How fast a policy is trained, as `rbgym train` does it: `python -m benchmarks.training`."""

import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.record import Told, main

ENV = "RigidTop-v0"
EVERY = 16384  # env steps between two looks at the test set


def measure(quick: bool, told: Told) -> dict[str, Any]:
    """One training of PPO with the preset on one thread; judging is left out of its time."""
    from rbgym.agents.train.training import train

    told(f"training on {ENV}")
    with tempfile.TemporaryDirectory() as folder:
        cpu = time.process_time()
        done = train(
            ENV, "ppo", out=Path(folder) / "run", timesteps=20_000 if quick else None,
            evaluate_every=EVERY, progress=False,
        ).results  # fmt: skip
        cpu = time.process_time() - cpu
    return {
        "env": ENV,
        "timesteps": done["timesteps"],
        "steps_per_second": round(done["steps_per_second"]),
        "seconds": round(done["wall_time"], 2),
        "cpu_seconds_with_judging": round(cpu, 2),
        "seconds_to_threshold": done["time_to_threshold"],
        "skipped": {},
    }


if __name__ == "__main__":
    main("training", measure)
