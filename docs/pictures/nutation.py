"""Draw nutation.png: one policy, trained on backward Euler, there and on exact physics.

python docs/pictures/nutation.py    # after `make fidelity-map`, which trains it
"""

from pathlib import Path

import gymnasium as gym
import numpy as np
from PIL import Image

from rbgym.agents.run_folder import RunFolder
from rbgym.agents.train import load_policy

FILE = Path(__file__).with_name("nutation.png")
RUN = Path("runs") / "fidelity_map" / "backward_euler-0"
MOMENTS = 20, 100, 300, 590  # control periods of 0.1 s
CUT = slice(0, 330), slice(0, 390)  # without the legend
START = {"quaternion": (1, 0, 0, 0), "angular_velocity": (1.0, 0.5, 5.0)}


def strip(integrator: str) -> np.ndarray:
    """Frames of an episode beside each other; drawn at every step, so that the path is whole."""
    policy = load_policy(RunFolder(RUN))
    env = gym.make("NutationDamping-v0", render_mode="rgb_array", integrator=integrator)
    seen, _ = env.reset(seed=0, options={"state": START})
    frames = []
    for step in range(1, MOMENTS[-1] + 1):
        seen = env.step(policy.predict(seen)[0])[0]
        frame = env.render()
        if step in MOMENTS:
            frames.append(frame[CUT])
    env.close()
    return np.concatenate(frames, axis=1)


def main() -> None:
    """The upper row is what it was trained on, the lower one the truth."""
    rows = np.concatenate([strip("backward_euler"), strip("exact:4")])
    Image.fromarray(rows).quantize(dither=Image.Dither.NONE).save(FILE, optimize=True)
    print(f"{FILE.name}: {FILE.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
