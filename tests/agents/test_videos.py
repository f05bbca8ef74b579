"""Videos of episodes, read back."""

import sys

import numpy as np
import pytest
from moviepy import VideoFileClip
from PIL import Image
from typer.testing import CliRunner

from rbgym.agents import cases
from rbgym.agents.commands.cli import app
from rbgym.agents.judge import episodes, videos
from rbgym.agents.judge.videos import Timing

pytestmark = pytest.mark.interpreted

TWO = episodes.contenders(["pd", "idle"], "RigidTop-v0")


def test_a_film_shows_the_episode_of_each_contender_abreast_in_its_own_time(tmp_path):
    file = tmp_path / "both.mp4"
    videos.film(file, *TWO, cases.start_of("RigidTop-v0", 0), size=96)
    with VideoFileClip(str(file)) as clip:
        assert clip.size == [192, 96]
        assert clip.fps == pytest.approx(50, abs=0.1)
        first, last = clip.get_frame(0.0).astype(int), clip.get_frame(clip.duration - 0.1)
        # pd rights the top, and idle lets it fall: that episode is over first.
        assert 2.0 < clip.duration < 10.1
    left, right = np.abs(first - last)[:, :96], np.abs(first - last)[:, 96:]
    assert right.mean() > 2 * left.mean() > 0
    assert list(tmp_path.iterdir()) == [file]


def test_contenders_of_other_control_periods_are_shown_at_the_same_instant():
    env_id, (idle,) = episodes.contenders(["idle"], "AttitudeSlew-v1")
    for dt in (0.05, 0.1):
        one = idle._replace(env_kwargs={"dt": dt})
        play = videos._Play(one, env_id, cases.start_of(env_id, 0), alone=True)
        play.go_on(0.3)
        assert play.env.unwrapped.state["time"][0] == pytest.approx(0.3)


def test_an_episode_is_filmed_in_its_own_time_unless_that_is_too_long_or_too_short():
    assert Timing.of(0.02, 500) == (1, pytest.approx(50.0), pytest.approx(1.0))
    for dt, steps, speed in (1.0, 5677, 5677 / 30), (0.004, 500, 0.25):
        found = Timing.of(dt, steps)
        assert found.speed == pytest.approx(speed)
        assert found.rate == pytest.approx(speed / dt / found.stride)
        assert 25 < found.rate < 40


@pytest.mark.parametrize("dt", [0.075, 0.025, 0.017, 0.004])
def test_a_gif_is_as_fast_as_is_said_of_it(dt, tmp_path):
    timing, file = Timing.of(dt, round(10.0 / dt), ".gif"), tmp_path / "x.gif"
    frames = [np.full((8, 8, 3), shade, np.uint8) for shade in (0, 250)]
    videos.write(file, frames, timing.rate)
    with Image.open(file) as film:
        stands = film.info["duration"] / 1000
    assert stands >= 0.02  # what is asked to stand for less, browsers show for a tenth of a second
    assert timing.speed == pytest.approx(timing.stride * dt / stands)
    assert 0.75 < timing.speed <= 1.25 + 1e-9


@pytest.mark.parametrize("split", ["test", "fresh"])
def test_a_film_begins_with_the_named_one_of_the_judged_episodes(split, tmp_path, monkeypatch):
    filmed, short = [], ["--env-arg", "max_episode_steps=4", "--video", str(tmp_path / "x.gif")]
    monkeypatch.setattr(videos, "film", lambda *given: filmed.append(given[3]))
    judged = ["evaluate", "RigidTop-v0", "--policy", "pd", "--episodes", "4", "--split", split]
    CliRunner().invoke(app, [*judged, *short, "--video-episode", "3"], catch_exceptions=False)
    found = cases.starts_of("RigidTop-v0", 4, split)
    assert filmed == [(found.categories[3:], found.seeds[3:])]


def test_what_a_film_needs_is_named_where_it_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    command = ["evaluate", "RigidTop-v0", "--policy", "pd", "--episodes", "8"]
    done = CliRunner().invoke(app, [*command, "--video", str(tmp_path / "x.mp4")])
    assert done.exit_code == 2
    assert "pip install 'rbgym[render]'" in done.stderr
