"""A disk that is full: what was there stays, nothing is left half written, and it is said why."""

import os

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from typer.testing import CliRunner

import damaged_runs
from disks import room_for
from rbgym.agents.commands.cli import app
from rbgym.agents.judge import videos
from rbgym.agents.run_folder import replacing

pytestmark = pytest.mark.interpreted

MOTION = ["simulate", "--steps", "300"]
JUDGED = ["evaluate", "RigidTop-v0", "--policy", "pd", "--episodes", "2"]
CARD = ["card", "RigidTop-v0", "--policy", "pd", "--episodes", "2"]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("command", "option", "file", "written"),
    [(MOTION, "--csv", "motion.csv", ["motion.csv"]),
     (MOTION, "--plot", "motion.png", ["motion.png"]),
     (JUDGED, "--plot", "judged.svg", ["judged.svg"]),
     (CARD, "--out", "card", ["card.md", "card.json", "card.png"])],
)  # fmt: skip
def test_a_file_that_finds_no_room_leaves_those_before_it(
    command, option, file, written, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(app, [*command, option, file])  # machine code would find no room either
    for name in written:
        (tmp_path / name).write_text("whole")
    before = contents(tmp_path)
    with room_for(1500):
        done = CliRunner().invoke(app, [*command, option, file])
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith("rbgym: [Errno ")
    assert any(repr(name) in done.stderr for name in written)
    assert done.stderr.count("\n") == 1
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", ["film.mp4", "film.gif"])
def test_a_film_that_finds_no_room_leaves_the_one_before(name, tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    file = tmp_path / name
    file.write_text("whole")
    frames = np.random.default_rng(0).integers(0, 256, (4, 64, 64, 3), dtype=np.uint8)
    with room_for(1000), pytest.raises(OSError, match=name), replacing(file) as temporary:
        videos.write(temporary, frames, 10.0, kind=file.suffix)
    assert contents(tmp_path) == {name: b"whole"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    damaged_runs.trained(folder, evaluate_every=256)
    return folder


@pytest.mark.parametrize("size", [500, 20_000])
def test_a_training_goes_on_once_there_is_room_again(run, tmp_path, size):
    with room_for(size), pytest.raises(OSError, match=r"File too large: '.*(json|zip)'"):
        damaged_runs.trained(tmp_path / "run", evaluate_every=256)
    assert not [path for path in tmp_path.rglob("*") if path.suffix == ".tmp"]
    damaged_runs.trained(tmp_path / "run", evaluate_every=256)
    weights = "policy.safetensors"
    assert (tmp_path / "run" / weights).read_bytes() == (run / weights).read_bytes()


def test_what_a_killed_process_had_begun_is_removed_a_day_later(tmp_path):
    file = tmp_path / "file"
    with replacing(file) as temporary:
        temporary.write_text("new")
    old, young = (temporary.with_name(f"{temporary.stem}{n}.tmp") for n in (1, 2))
    for one in (old, young, tmp_path / ".other.tmp"):
        one.write_text("begun")
    os.utime(old, (0.0, 0.0))
    with replacing(file) as temporary:
        temporary.write_text("newer")
    assert {path.name for path in tmp_path.iterdir()} == {"file", young.name, ".other.tmp"}


def test_a_link_stays_one_and_what_is_no_file_is_not_replaced(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    link.symlink_to(file)
    with replacing(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert file.read_text() == "new"
    (tmp_path / "full").symlink_to("/dev/full")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("full", "loop", "."):
        with (
            pytest.raises(OSError, match="Not a file that can be replaced"),
            replacing(tmp_path / name) as temporary,
        ):
            temporary.write_text("new")
        done = CliRunner().invoke(app, [*MOTION, "--csv", str(tmp_path / name)])
        assert "must be a writable file" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "full", "link", "loop"]
