"""Pictures of environments, and what drawing them leaves alone."""

import copy
import math
import pickle
import subprocess
import sys

import numpy as np
import pygame
import pytest
from gymnasium.error import DependencyNotInstalled, Error, ResetNeeded

from family import IDS, SLEW, at, make, many
from rbgym.envs.rendering import colors, scene_of
from rbgym.envs.rendering.camera import Camera
from rbgym.envs.rendering.painter import MOST_LANES, Canvas

pytestmark = pytest.mark.interpreted


def drawn(env_id, **kwargs):
    env = make(env_id, render_mode="rgb_array", **kwargs)
    env.reset(seed=5)
    return env


def background():
    canvas = Canvas((480, 480), colors.ABOVE, colors.BELOW)
    canvas.clear()
    return canvas.frame()


def pixels_of(frame, color):
    """Where a frame has a colour or nearly so, (n, 2) right and down."""
    down, right = np.nonzero(np.abs(frame.astype(int) - color).max(axis=2) < 12)
    return np.stack([right, down], axis=1)


@pytest.mark.parametrize("env_id", IDS)
def test_every_task_is_drawn_and_the_picture_moves_with_the_body(env_id):
    env = drawn(env_id)
    first = env.render()
    assert first.shape == (480, 480, 3)
    assert first.dtype == np.uint8
    # Above the words on the lower edge, below those on the upper one.
    assert (first != background())[90:380].any(axis=2).mean() > 0.05
    for _ in range(5):
        env.step(np.full(env.action_space.shape, 0.5))
    assert (env.render() != first)[90:380].any(axis=2).mean() > 0.003


def pinhole(point, eye, center, size):
    """Pixel of a point, by Rodrigues-free plane geometry: the picture's plane is at distance
    240 / tan(13 degrees) from the eye."""
    towards = (center - eye) / np.linalg.norm(center - eye)
    right = np.array([towards[1], -towards[0], 0.0]) / math.hypot(towards[0], towards[1])
    upper = np.cross(right, towards)
    ray = point - eye
    ray = ray * (size / 2 / math.tan(math.radians(13.0))) / (ray @ towards)
    return np.array([size / 2 + ray @ right, 0.475 * size - ray @ upper])


def test_the_spin_of_a_top_is_seen_along_its_axis_where_a_hand_computed_projection_says():
    env, tilt = make("RigidTop-v0", render_mode="rgb_array"), 0.3
    # Leaning towards the world's x axis: turned about y.
    at(env, (math.cos(tilt / 2), 0.0, math.sin(tilt / 2), 0.0), (0.0, 0.0, 20.0))
    frame = env.render()
    axis = np.array([math.sin(tilt), 0.0, math.cos(tilt)])
    scene = scene_of(env)
    camera = Camera.of(scene.framing, (480, 480))
    # From the middle of the base, 0.1 m from the tip; 20 of the limit of 40 rad/s.
    tail, slant = 0.1 * axis, math.hypot(0.1, 0.05)
    tip = tail + math.sqrt(20 / 40) * slant * axis
    start, end = (pinhole(point, camera.eye, scene.framing.center, 480) for point in (tail, tip))
    seen = pixels_of(frame[:380], colors.ANGULAR_VELOCITY) + 0.5
    along = (end - start) / np.linalg.norm(end - start)
    reach, aside = (seen - start) @ along, (seen - start) @ np.array([-along[1], along[0]])
    assert np.abs(aside).max() < 7.0  # half of the arrow's head, and a pixel
    assert abs(reach.max() - np.linalg.norm(end - start)) < 3.0
    assert abs(aside.mean()) < 1.0


def test_at_the_target_the_outline_of_the_goal_hides_that_of_the_body():
    env = make(SLEW, render_mode="rgb_array")
    at(env, (1, 0, 0, 0))
    together = len(pixels_of(env.render()[:380], colors.OUTLINE))
    at(env, (1, 0, 0, 0), target_quaternion=(0.0, 1.0, 0.0, 0.0))
    turned_over = len(pixels_of(env.render()[:380], colors.OUTLINE))
    at(env, (1, 0, 0, 0), target_quaternion=(0.8, 0.0, 0.6, 0.0))
    assert len(pixels_of(env.render()[:380], colors.OUTLINE)) > 3 * max(together, 40)
    assert turned_over < 2 * max(together, 40)  # a box turned over has the same edges


@pytest.mark.parametrize("env_id", ["FreeFlyer-v0", "MagneticDetumble-v1"])
def test_an_episode_that_is_drawn_is_the_same_to_the_last_bit(env_id):
    env, plain = drawn(env_id), make(env_id)
    plain.reset(seed=5)
    action = np.linspace(-0.9, 0.8, env.action_space.shape[0])
    for _ in range(5):
        env.render()
        seen, unseen = env.step(action), plain.step(action)
        assert seen[0].tobytes() == unseen[0].tobytes()
        assert seen[1] == unseen[1]
    env.render()
    assert env.episodes.batch.full_state().tobytes() == plain.episodes.batch.full_state().tobytes()
    assert env.reset()[0].tobytes() == plain.reset()[0].tobytes()
    assert env.np_random.integers(2**63) == plain.np_random.integers(2**63)


def test_a_copy_of_an_env_that_was_drawn_goes_on_with_the_same_pictures():
    env = drawn("RigidTop-v0")
    env.render()
    copies = copy.deepcopy(env), pickle.loads(pickle.dumps(env))
    pygame.quit()  # as other envs do when they close
    env.step(np.full(3, 0.3))
    for other in copies:
        other.step(np.full(3, 0.3))
        assert np.array_equal(other.render(), env.render())


def test_a_reset_of_some_lanes_keeps_the_paths_of_the_others():
    vec = many("RigidTop-v0", n=2, render_mode="rgb_array")
    for options in (None, {"reset_mask": np.array([True, False])}):
        vec.reset(seed=4, options=options)
        for _ in range(2):
            vec.step(np.zeros((2, 3)))
        vec.render()
    # The first lane is drawn at its old instant again, the other at a new one.
    assert [len(vec._viewer.trails[lane].points) for lane in (0, 1)] == [1, 2]


def test_an_unknown_render_mode_is_named_and_nothing_is_drawn_before_a_reset():
    for env in (make(SLEW), many(SLEW, n=2)):
        with pytest.raises(ValueError, match=r"'rgb_array'\] or None, got 'ansi'"):
            type(env)(render_mode="ansi")
    with pytest.raises(ResetNeeded, match="before render"):
        make(SLEW, render_mode="rgb_array").render()


def test_without_pygame_an_env_works_until_it_is_drawn_and_then_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    env = drawn(SLEW)
    env.step(np.zeros(3))
    with pytest.raises(DependencyNotInstalled, match=r"pip install 'rbgym\[render\]'"):
        env.render()


@pytest.mark.compiled
def test_pygame_is_loaded_for_a_picture_only_and_quietly():
    code = (
        "import os, sys, gymnasium, rbgym\n"
        "env = gymnasium.make('RigidTop-v0', render_mode='rgb_array')\n"
        "env.reset(seed=0), env.step(env.action_space.sample())\n"
        "assert 'pygame' not in sys.modules\n"
        "before = dict(os.environ)\n"
        "env.render()\n"
        "import pygame\n"
        "assert dict(os.environ) == before\n"
        "assert not pygame.display.get_init()\n"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_window_shows_each_step_until_it_is_closed_and_needs_a_screen(monkeypatch):
    env = make("RigidTop-v0", render_mode="human")
    env.reset(seed=5)
    shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    assert np.array_equal(shown, drawn("RigidTop-v0").render())
    env.step(np.full(3, 0.5))
    after = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    assert (after != shown).any()
    assert env.render() is None
    env.close()
    assert not pygame.display.get_init()
    vector = many("RigidTop-v0", n=2, render_mode="human")
    for _ in range(2):  # opened again, closed again
        vector.reset(seed=5), vector.close()
        assert not pygame.display.get_init()
    monkeypatch.setattr(pygame.display, "get_driver", lambda: "offscreen")  # SDL's last resort
    with pytest.raises(Error, match="needs a screen"):
        env.reset()


def test_a_vector_env_gives_a_picture_of_each_lane_and_no_more_than_some():
    env = many(SLEW, n=3, render_mode="rgb_array")
    env.reset(seed=5)
    frames = env.render()
    assert [frame.shape for frame in frames] == [(320, 320, 3)] * 3
    assert (frames[0] != frames[1]).any()
    env = many(SLEW, n=MOST_LANES + 6, render_mode="rgb_array")
    env.reset(seed=5)
    assert len(env.render()) == MOST_LANES


def test_the_frame_rate_is_that_of_the_control_period_within_what_can_be_watched():
    assert make("RigidTop-v0").metadata["render_fps"] == 50
    assert make("RigidTop-v0", dt=0.04).metadata["render_fps"] == 25
    assert make("SteadyPrecession-v0").metadata["render_fps"] == 60
    assert many("MagneticDetumble-v1", n=2).metadata["render_fps"] == 10
