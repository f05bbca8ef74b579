"""`rbgym record`: a data set that Minari reads, of the episodes that single environments give."""

import json
import os

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("minari")
pytest.importorskip("h5py")
pytest.importorskip("typer")

import minari
from typer.testing import CliRunner

from rbgym.agents import controllers
from rbgym.agents.commands.cli import app
from rbgym.agents.judge import dataset


def recorded(path, env_id="RigidTop-v0", **arguments):
    dataset.record(env_id, "pd", out=path, **{"episodes": 5, "seed": 7, **arguments})
    return minari.MinariDataset(path / "data")


def test_every_episode_is_the_single_environments_and_tells_its_seed(tmp_path, monkeypatch):
    monkeypatch.setattr(dataset, "LANES", 2)  # several batches
    kept = recorded(tmp_path / "top-v0", env_kwargs={"difficulty": "hard"})
    assert [one["seed"] for one in kept.storage.get_episode_metadata(range(5))] == [*range(7, 12)]
    env = gym.make("RigidTop-v0", difficulty="hard")
    policy = controllers.make("pd", env)
    for episode, seed in zip(kept, range(7, 12), strict=True):
        (seen, _), ended, n = env.reset(seed=seed), False, 0
        np.testing.assert_array_equal(episode.observations[0], seen)
        while not ended:
            action, _ = policy.predict(seen)
            seen, reward, terminated, truncated, _ = env.step(action)
            np.testing.assert_array_equal(episode.observations[n + 1], seen)
            np.testing.assert_array_equal(episode.actions[n], action)
            assert episode.rewards[n] == reward
            assert (episode.terminations[n], episode.truncations[n]) == (terminated, truncated)
            ended, n = terminated or truncated, n + 1
        assert len(episode.rewards) == n
    assert kept.total_steps == sum(len(episode.rewards) for episode in kept)


def test_the_environment_comes_back_with_its_arguments(tmp_path):
    env = recorded(tmp_path / "top-v0", episodes=1, env_kwargs={"torque_limit": 3.0})
    assert env.recover_environment().unwrapped.torque_limit.tolist() == [3.0, 3.0, 3.0]


def test_goals_are_recorded_part_by_part(tmp_path):
    (episode,) = recorded(tmp_path / "reach-v0", "AttitudeReach-v0", episodes=1)
    steps = len(episode.rewards)
    assert {name: len(x) for name, x in episode.observations.items()} == dict.fromkeys(
        ("observation", "achieved_goal", "desired_goal"), steps + 1
    )


def test_the_command_writes_what_minari_loads_by_its_name(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    line = ["record", "RigidTop-v0", "--policy", "pd", "--episodes", "3", "--json", "--out"]
    done = CliRunner().invoke(app, [*line, str(tmp_path / "top-pd-v0")])
    assert done.exit_code == 0, done.output
    loaded = minari.load_dataset("top-pd-v0")
    assert json.loads(done.stdout) == {
        "episodes": 3, "steps": int(loaded.total_steps), "first_seed": 0
    }  # fmt: skip
    assert os.environ["MINARI_DATASETS_PATH"] == str(tmp_path)
    assert os.listdir(tmp_path) == ["top-pd-v0"]
    again = CliRunner().invoke(app, [*line, str(tmp_path / "top-pd-v0")])
    assert again.exit_code == 2
    assert "out must be a folder that is not there yet" in again.stderr


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"episodes": 0}, "episodes must be a positive integer"),
        ({"seed": 999_998}, "seed must be at most 999995 for 5 episodes"),
        ({"env_id": "CartPole-v1"}, "env_id must be a task of rbgym"),
        ({"env_kwargs": {"dt": -1}}, "dt must be a positive finite number"),
    ],
)
def test_bad_arguments_are_refused_and_nothing_is_left(changes, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        recorded(tmp_path / "top-v0", **changes)
    assert not list(tmp_path.iterdir())


def test_a_name_that_minari_does_not_take_is_refused(tmp_path):
    with pytest.raises(ValueError, match="a b"):
        recorded(tmp_path / "a b")
    assert not list(tmp_path.iterdir())
