"""Frames per second of `render()`: printed, never a reason to fail. `make bench` runs it."""

import time

import numpy as np
import pytest

from family import IDS, make

FRAMES = 60


@pytest.mark.parametrize("env_id", IDS)
def test_frames_per_second(env_id):
    env = make(env_id, render_mode="rgb_array")
    env.reset(seed=5)
    env.render()
    seconds = []
    for _ in range(FRAMES):
        env.step(np.full(env.action_space.shape, 0.2))
        begun = time.process_time()
        env.render()
        seconds.append(time.process_time() - begun)
    print(f"{env_id}: {1 / np.median(seconds):.0f} frames/s of 480x480, {FRAMES} frames")
    assert env.render().shape == (480, 480, 3)
