"""The command line, command by command."""

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

import rbgym
import rbgym.agents
from rbgym import integrators, validation
from rbgym.agents.commands.cli import app
from rbgym.registration import ENVIRONMENTS

pytestmark = pytest.mark.interpreted

PNG = b"\x89PNG"
SHELF = Path(__file__).resolve().parents[2] / "agents" / "pretrained"


def run(*arguments: object, status: int = 0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == status, (result.output, result.exception)
    return result


def run_json(*arguments: object, status: int = 0):
    return json.loads(run(*arguments, "--json", status=status).stdout)


def test_list_shows_the_whole_catalogue():
    content = run_json("list")
    assert [i["name"] for i in content["integrators"]] == integrators.names()
    assert content["environments"][0] == {"env": "RigidTop-v0", "max_episode_steps": 500}
    assert [e["env"] for e in content["environments"]] == list(ENVIRONMENTS)
    text = run("list").stdout
    assert all(name in text for name in [*ENVIRONMENTS, "pd", *integrators.names()])


def test_simulate_writes_csv_and_plot_of_a_body_with_a_full_tensor(tmp_path):
    table, picture = tmp_path / "motion.csv", tmp_path / "motion.png"
    J = np.array([[6, 1, 0.5], [1, 8, -0.7], [0.5, -0.7, 5]])
    body = ("--inertia", ",".join(map(str, J.ravel())), "--omega", "1,2,3")
    files = ("--csv", table, "--plot", picture)
    run("simulate", *body, "--steps", 20, "--record-every", 5, *files)
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["time"]) for row in rows] == pytest.approx([0, 0.05, 0.1, 0.15, 0.2])
    assert float(rows[0]["wy"]) == pytest.approx(2, abs=1e-14)
    momentum = [float(rows[0][name]) for name in ("Lx", "Ly", "Lz")]
    assert momentum == pytest.approx(J @ [1, 2, 3], rel=1e-14)  # at the attitude (1, 0, 0, 0)
    assert picture.read_bytes().startswith(PNG)


def test_a_plot_without_matplotlib_says_what_to_install(tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("rbgym.plot")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(rbgym, "plot", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run("simulate", "--steps", 5, "--plot", tmp_path / "motion.png", status=2)
    assert "rbgym[plot]" in done.stderr


@pytest.mark.compiled
def test_evaluate_prints_a_controller():
    content = run_json("evaluate", "pd", "--episodes", 2)
    assert content["pd"]["success_rate"] == 1
    assert "pd            100.0" in run("evaluate", "pd", "--episodes", 2).stdout
    both = run("evaluate", "pd", "--policy", "idle", "--episodes", 2, "--intervals").stdout
    assert "More than pd, 95 % intervals" in both
    assert "-1 (-1 to -0.158)" in both.splitlines()[-2]


@pytest.mark.compiled
def test_train_evaluate_and_compare_with_a_plot(tmp_path):
    pytest.importorskip("stable_baselines3")
    out, picture = tmp_path / "run", tmp_path / "comparison.png"
    train = ("train", "RigidTop-v0", "--algo", "ppo", "--out", out, "--timesteps", 1,
             "--no-progress")  # fmt: skip
    done, last = run(*train).stdout, json.loads((out / "results.json").read_text())["test"]
    rate, mean = 100 * last["success_rate"], last["mean_return"]
    assert done.startswith("trained 4096 steps in ")
    found = f"success {rate:.1f} %, mean return {mean:.1f}"
    assert done.endswith(f" s, on the test set: {found}: {out}/policy.json\n")
    assert "was finished before" in run(*train).stdout
    assert run_json(*train)["timesteps"] == 4096
    compared = run_json("evaluate", out, "--policy", "pd", "--episodes", 8, "--plot", picture)
    assert list(compared) == [str(out), "pd"]
    assert picture.read_bytes().startswith(PNG)
    both = run_json(*train[:5], tmp_path / "both", *train[6:], "--seeds", 2, "--seed", 1)
    assert [one["timesteps"] for one in both] == [4096, 4096]
    configs = [json.loads((tmp_path / f"both/{k}/config.json").read_text()) for k in (1, 2)]
    assert [config["seed"] for config in configs] == [1, 2]


def trained(folder, **changes):
    shutil.copytree(SHELF / "RigidTop-v0", folder)
    config = json.loads((folder / "policy.json").read_text())
    (folder / "policy.json").write_text(json.dumps(config | changes))
    return folder


def judged(*arguments):
    """Title of the table, and the lines beneath it."""
    title, *lines = run("evaluate", *arguments, "--episodes", 2).stdout.splitlines()
    return title, [line for line in lines if ": " in line]


@pytest.mark.compiled
def test_evaluate_names_the_environment_and_what_is_not_the_same_for_all(tmp_path):
    pytest.importorskip("stable_baselines3")
    fine = trained(tmp_path / "fine", env_kwargs={"substeps": 3})
    hard = trained(tmp_path / "hard", env_kwargs={"difficulty": "hard"})
    other = trained(tmp_path / "other", env_id="TopSwingUp-v0")
    assert judged("pd") == ("RigidTop-v0, 2 fixed start states", [])
    assert judged(fine, "pd") == ("RigidTop-v0 (substeps=3), 2 fixed start states", [])
    lines = {
        f"{fine}: judged with substeps=3",
        f"{hard}: judged with difficulty=hard",
        "pd: judged with no --env-arg",
    }
    for order in ((fine, hard, "pd"), ("pd", hard, fine)):
        title, differences = judged(*order)
        assert title == "RigidTop-v0, 2 fixed start states"
        assert set(differences) == lines
    assert judged("RigidTop-v0", other)[1] == [f"{other}: trained for TopSwingUp-v0"]


def test_train_takes_hyperparameters_and_arguments_of_the_environment(tmp_path):
    yaml = tmp_path / "ppo.yml"
    yaml.write_text(
        "RigidTop-v0:\n  n_envs: 4\n  n_timesteps: 256\n  policy: MlpPolicy\n  n_steps: 32\n"
        "  batch_size: 64\n  normalize: true\n  policy_kwargs: {net_arch: [8, 8]}\n"
    )
    body = {"inertia": [6, 8, 3], "center_of_mass": [0, 0, 0.5]}
    arguments = ("--env-arg", "integrator=akw", "--env-arg", f"body={json.dumps(body)}")
    chosen = ("--hyperparameters", yaml, "--set", "n_epochs=2", *arguments)
    out = tmp_path / "run"
    train = ("train", "RigidTop-v0", "--algo", "ppo", "--out", out, "--no-progress")
    run(*train, *chosen, "--evaluate-every", 0)
    config = json.loads((out / "config.json").read_text())
    assert config["hyperparameters"]["policy_kwargs"] == {"net_arch": [8, 8]}
    assert config["hyperparameters"]["n_epochs"] == 2
    assert config["env_kwargs"] == {"integrator": "akw", "body": body}


CLAIM = validation.Claim("akw", "none", "energy", "conserved", 1e-15, 1e-13, True)
BROKEN = CLAIM._replace(measured=0.1, passed=False)
PARTS = ("validate", "validate_external", "validate_endurance", "validate_derivatives",
         "validate_papers")  # fmt: skip


@pytest.fixture
def measured(monkeypatch):
    """Has parts of the validation measure what is given, and the others nothing; what they were
    asked for."""

    def measure(**found):
        asked = {}
        for part in PARTS:

            def measuring(*names, part=part, **given):
                asked[part] = given
                return found.get(part, [])

            monkeypatch.setattr(validation, part, measuring)
        return asked

    return measure


def test_validate_exits_with_1_on_a_broken_promise(measured):
    measured(validate=[CLAIM])
    whole = {"declared": [CLAIM._asdict()], "external": [], "papers": []}
    assert run_json("validate", "akw") == whole
    measured(validate=[CLAIM, BROKEN])
    assert "1 broken" in run("validate", "akw", status=1).stdout
    declared = run_json("validate", "akw", status=1)["declared"]
    assert [c["passed"] for c in declared] == [True, False]


def test_a_paper_that_does_not_reproduce_is_said_but_breaks_no_promise(measured):
    measured(validate=[CLAIM], validate_papers=[("a claim", "somewhere", [BROKEN])])
    shown = run("validate").stdout
    assert "a claim (somewhere): not reproduced in full" in shown
    assert "differs" in shown
    assert run_json("validate")["papers"][0]["claims"] == [BROKEN._asdict()]


@pytest.mark.parametrize(
    ("option", "part", "key", "said"),
    [("--external", "validate_external", "external", "1 known ends, 1 broken"),
     ("--derivatives", "validate_derivatives", "declared", "1 declarations, 1 broken")],
)  # fmt: skip
def test_a_part_of_the_validation_can_be_had_alone(option, part, key, said, measured):
    measured(**{part: [BROKEN]})
    assert said in run("validate", status=1).stdout
    asked = measured(**{part: [BROKEN]})
    cases = ["--case", "none"] if option == "--derivatives" else []
    found = run_json("validate", "akw", option, *cases, status=1)
    assert found == {"declared": [], "external": [], "papers": [], key: [BROKEN._asdict()]}
    assert list(asked) == [part]
    assert asked[part].get("cases") == (["none"] if cases else None)


def test_a_quick_validation_measures_short_runs_in_gravity(measured):
    asked = measured()
    run("validate", "--quick")
    assert (asked["validate"]["cases"], asked["validate"]["steps"]) == (["heavy_top"], 2000)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize(
    ("output", "status", "line"), [("/dev/full", 2, "rbgym: [Errno 28]"), ("", 0, "")]
)
def test_commands_say_that_they_could_not_write_and_run_no_file_for_a_library(
    tmp_path, output, status, line
):
    (tmp_path / "safetensors.py").write_text("raise SystemExit('a file of the working folder')")
    with Path(output or tmp_path / "out").open("w") as out:
        rbgym_command = Path(sys.executable).with_name("rbgym")
        command = [rbgym_command, "evaluate", "pretrained", "--episodes=1"]
        done = subprocess.run(command, cwd=tmp_path, stdout=out, stderr=-1, text=True)
    assert done.returncode == status
    assert done.stderr[: len(line)] == line
    assert bool(line) == bool(done.stderr)


@pytest.mark.parametrize("command", ["list", "simulate --steps 2", "evaluate pd --episodes 1"])
def test_light_commands_and_rbgym_import_no_learning_library_and_need_no_output(command):
    code = f"""
import sys
from rbgym import *
sys.stdout = None  # as after >&-
sys.argv = ["rbgym", *{command.split()!r}]
from rbgym.agents.commands.cli import main
try:
    main()
finally:
    heavy = {{"torch", "stable_baselines3", "tensorboard", "matplotlib", "pygame", "ray"}}
    assert not (found := heavy & sys.modules.keys()), found
"""
    subprocess.run([sys.executable, "-P", "-c", code], check=True)
