"""Draw wake_up.gif: a 3U CubeSat detumbles, turns its panels to the Sun, and points.

    python docs/pictures/wake_up.py [FILE]

A slow start of DetumbleToPoint-v0, flown by `supervisor`; 80 times as fast.
"""

import sys
from pathlib import Path

import gymnasium as gym
from PIL import Image

import rbgym  # noqa: F401  (registers the environments)
from rbgym.agents import controllers
from rbgym.agents.cases import TEST_SEEDS

SECONDS, EVERY, RATE, SIZE = 420, 8, 10, 320  # s, s, frames per second, pixels
WORDS = "detumble", "find the Sun", "point"


def main(file: Path) -> None:
    """Fly, and write the film, of few colours so that it is small."""
    env = gym.make("DetumbleToPoint-v0", render_mode="rgb_array", initial="slow")
    law = controllers.make("supervisor", env, calm=0.01745)  # rad/s, so that all modes are seen
    memory, frames, last = None, [], -1
    observation, _ = env.reset(seed=TEST_SEEDS[0])
    for second in range(SECONDS):
        action, memory = law.predict(observation, memory)
        if memory.mode[0] != last:
            last = int(memory.mode[0])
            print(f"{WORDS[last]} from {second} s")
        observation, *_ = env.step(action)
        frame = env.render()  # of each step, so that the path is whole
        if second % EVERY == 0:
            frames.append(Image.fromarray(frame).resize((SIZE, SIZE), Image.Resampling.LANCZOS))
    few = [one.quantize(128, dither=Image.Dither.NONE) for one in frames]
    few[0].save(file, save_all=True, append_images=few[1:], duration=1000 // RATE, loop=0)
    print(f"{file.name}: {file.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).with_name("wake_up.gif"))
