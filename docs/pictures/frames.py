"""Draw one picture of every environment, envs/ID.png, at a moment under a classical controller.

python docs/pictures/frames.py [ID ...]
"""

import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
from PIL import Image

import rbgym.agents.controllers as controllers
from rbgym.registration import ENVIRONMENTS

FOLDER = Path(__file__).with_name("envs")
SEED = 3
# Controller, and the moment [s].
MOMENTS = {
    "RigidTop-v0": ("lqr", 0.16),
    "TopSwingUp-v0": ("swing_up", 0.7),
    "SteadyPrecession-v0": ("lqr", 0.1),
    "IntermediateAxis-v0": ("pd", 0.3),
    "AttitudeReach-v0": ("bang_bang", 2.0),
    "ScalableSpin-v0": ("scale", 0.6),
    "FreeFlyer-v0": ("pd", 7.0),
    "AttitudeSlew-v1": ("bang_bang", 8.0),
    "ReactionWheelSlew-v1": ("bang_bang", 12.0),
    "FlexibleSlew-v0": ("bang_bang", 16.0),
    "KeepOutSlew-v0": ("detour", 8.0),
    "Detumble-v1": ("pd", 2.0),
    "InertialPointing-v0": ("pd", 9.0),
    "MomentumDumping-v0": ("pd", 400.0),
    "AttitudeTracking-v1": ("pd", 5.0),
    "MagneticDetumble-v1": ("magnetic_rate", 300.0),
    "MagneticPointing-v0": ("pd", 400.0),
    "SafeMode-v0": ("b_dot", 300.0),
    "SunAcquisition-v0": ("sun_pointing", 12.0),
    "DetumbleToPoint-v0": ("supervisor", 200.0),
    "TumblingCapture-v0": ("pd", 8.0),
    "SoftWall-v0": ("pd", 1.2),
    "NutationDamping-v0": ("lqr", 3.0),
}


def picture(env_id: str) -> np.ndarray:
    """The picture, (480, 480, 3); drawn at every step, so that the path is whole."""
    name, seconds = MOMENTS[env_id]
    env = gym.make(env_id, render_mode="rgb_array")
    law, (observation, _) = controllers.make(name, env), env.reset(seed=SEED)
    frame, state, start = env.render(), None, np.ones(1, dtype=bool)
    for _ in range(round(seconds / env.unwrapped.dt)):
        action, state = law.predict(observation, state=state, episode_start=start)
        observation, start = env.step(action)[0], np.zeros(1, dtype=bool)
        frame = env.render()
    env.close()
    return np.asarray(frame)


def main(ids: list[str]) -> None:
    """Write the pictures, of few colours so that they are small."""
    FOLDER.mkdir(exist_ok=True)
    for env_id in ids or ENVIRONMENTS:
        file = FOLDER / f"{env_id}.png"
        few = Image.fromarray(picture(env_id)).quantize(dither=Image.Dither.NONE)
        few.save(file, optimize=True)
        print(f"{file.name}: {file.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
