"""Files that are torn, twisted or made to do harm are refused, and run nothing."""

import json
import pickle
import random
import shutil

import pytest

pytest.importorskip("stable_baselines3")

import torch
from typer.testing import CliRunner

import damaged_runs
from damaged_runs import Payload, deep, payload
from hostile_values import PLAIN
from rbgym.agents.commands.cli import app
from rbgym.agents.judge import episodes
from rbgym.agents.policies import trained
from rbgym.agents.run_folder import RunFolder, read_json
from rbgym.agents.train.presets import read_yaml

pytestmark = pytest.mark.interpreted

TIMES = 5  # that each file is damaged; tests/soak does it hundreds of times


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return damaged_runs.make_runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture
def run(runs, tmp_path):
    """A copy of the finished run, to be spoilt."""
    return shutil.copytree(runs / "done", tmp_path / "run")


@pytest.mark.parametrize(("of", "name", "read"), damaged_runs.READ)
def test_a_damaged_file_is_read_or_refused_and_left_as_it_is(runs, tmp_path, of, name, read):
    draw = random.Random(f"{of} {name}")
    refused = [
        damaged_runs.attack(runs, of, name, read, draw, tmp_path / "work") for _ in range(TIMES)
    ]
    assert any(refused)


@pytest.mark.parametrize(
    "text", [*PLAIN, "!!bool x", "!!timestamp 2026-01-01", "!!int ''"], ids=repr
)
def test_yaml_is_plain_data_or_refused(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        found = read_yaml(text)
    except ValueError as error:
        found = str(error)
    assert len(repr(found)) < 10_000
    left = [found]
    while left:
        one = left.pop()
        assert type(one) in (dict, list, str, int, float, bool, type(None))
        left += [*one, *one.values()] if isinstance(one, dict) else one if type(one) is list else ()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", [deep(), '{"a": ' * 50_000, "9" * 5000, "\ufeff{}", "[1]", ""])
def test_json_that_is_no_object_is_refused(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ValueError, match=r"x\.json'"):
        read_json(tmp_path / "x.json")


@pytest.mark.parametrize("name", ["policy.json", "policy.safetensors"])
def test_a_pickle_in_disguise_is_not_loaded(run, tmp_path, name):
    made = tmp_path / "made"
    (run / name).write_bytes(payload(made))
    with pytest.raises(ValueError):
        trained.load(run)
    torch.save({"a": Payload(made)}, run / name)
    with pytest.raises(ValueError):
        trained.load(run)
    assert not made.exists()
    pickle.loads(payload(made))
    assert made.exists()  # it would have


def test_judging_a_run_opens_none_of_its_pickles(run, tmp_path):
    made = tmp_path / "made"
    for name in ("model.zip", "vecnormalize.pkl", "checkpoint.zip"):
        (run / name).write_bytes(payload(made))
    damaged_runs.judged(run)
    damaged_runs.trained(run, evaluate_every=256)
    assert not made.exists()


def test_a_policy_that_names_a_module_does_not_have_it_imported(run, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    made = tmp_path / "made"
    (tmp_path / "evil_module_of_a_policy.py").write_text(f"open({str(made)!r}, 'w')")
    config = read_json(run / "policy.json")
    config["env_id"] = "evil_module_of_a_policy:RigidTop-v0"
    (run / "policy.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="say --env evil_module_of_a_policy:RigidTop-v0 if you"):
        episodes.contenders([str(run)])
    assert not made.exists()
    assert episodes.contenders([str(run)], "rbgym:RigidTop-v0")[0] == "rbgym:RigidTop-v0"


def test_a_policy_whose_arrays_share_their_bytes_is_refused(run):
    one = {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]}
    text = json.dumps({"layers.0.weight": one, "layers.1.weight": one}).encode()
    (run / "policy.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + bytes(4))
    with pytest.raises(ValueError, match=rf"{run.name}' holds no policy that can be read"):
        trained.load(run)


def test_a_policy_that_names_escape_characters_sends_none_to_the_terminal(run, monkeypatch):
    config = read_json(run / "policy.json")
    config["env_kwargs"] = {"difficulty": "\x1b]0;owned\x07"}
    (run / "policy.json").write_text(json.dumps(config))
    refused = CliRunner().invoke(app, ["evaluate", str(run)])
    assert refused.exit_code == 2
    config |= {"env_kwargs": {}, "env_id": "TopSwingUp-v0", "versions": {"rbgym": "\x9b2J"}}
    (run / "policy.json").write_text(json.dumps(config | {"env_id": "\x1b[2JTop-v0"}))
    shown = CliRunner().invoke(app, ["evaluate", "RigidTop-v0", str(run), "--episodes", "4"])
    assert shown.exit_code == 0, shown.output
    assert "trained for \\x1b[2JTop-v0" in shown.stdout
    (run / "policy.json").write_text(json.dumps(config | {"format": "\x1b[31m"}))
    unread = CliRunner().invoke(app, ["evaluate", str(run)])
    assert unread.exit_code == 2
    for done in (refused, shown, unread):
        assert not {"\x1b", "\x07", "\x9b"} & set(done.output)


def test_results_without_their_numbers_are_refused(run):
    RunFolder(run).results.write_text('{"timesteps": "many"}')
    with pytest.raises(ValueError, match=r"timesteps must be a number in .*, got 'many'"):
        damaged_runs.trained(run, evaluate_every=256)


def test_a_tensorboard_folder_of_garbage_is_left_alone_and_added_to(runs, tmp_path):
    cut = shutil.copytree(runs / "cut", tmp_path / "cut")
    old = next((cut / "tb").glob("events.*"))
    old.write_bytes(b"\xff" * 100)
    damaged_runs.trained(cut)
    assert old.read_bytes() == b"\xff" * 100
    assert len(list((cut / "tb").glob("events.*"))) == 2
