"""How fast `rbgym train RigidTop-v0` trains a policy by PPO: `python -m benchmarks.training`."""

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.record import Say, main

ENV = "RigidTop-v0"
EVERY = 16384  # env steps between two looks at the validation set


def measure(quick: bool, say: Say) -> dict[str, Any]:
    """One training with the preset on one thread; judging is left out of its time."""
    from rbgym.agents.train import train

    say(f"training on {ENV}")
    with tempfile.TemporaryDirectory() as folder:
        done = train(
            ENV, "ppo", out=Path(folder) / "run", timesteps=20_000 if quick else None,
            evaluate_every=EVERY, progress=False,
        ).results  # fmt: skip
    return {
        "env": ENV,
        "timesteps": done["timesteps"],
        "steps_per_second": round(done["steps_per_second"]),
        "seconds": round(done["wall_time"], 2),
        "seconds_to_threshold": done["time_to_threshold"],
        "skipped": {},
    }


if __name__ == "__main__":
    main("training", measure)
