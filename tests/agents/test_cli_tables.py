"""Tables: text in a pipe, no wider than the terminal at a terminal, the same numbers in both."""

import csv
import json
import re

import numpy as np
import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

import rbgym
from rbgym import integrators, validation
from rbgym.agents.commands.cli import app
from rbgym.agents.commands.measuring import print_claims
from rbgym.agents.judge.tables import percent, print_card
from rbgym.agents.terminal import print_json
from rbgym.agents.train.run import Job, config_of

pytestmark = pytest.mark.interpreted

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
COLOUR = re.compile(r"\x1b\[(?:\d+;)*3[1-7]m")


def run(*arguments: object, status: int = 0):
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert done.exit_code == status, (done.output, done.exception)
    return done


@pytest.fixture
def at_terminal(monkeypatch):
    """Makes what is printed believe in a terminal of so many columns."""

    def pretend(columns: int, **variables: str) -> None:
        told = {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": str(columns), **variables}
        for name, value in told.items():
            monkeypatch.setenv(name, value)

    monkeypatch.delenv("NO_COLOR", raising=False)
    return pretend


def test_a_table_in_a_pipe_has_one_line_for_a_row_and_nothing_but_text(monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    text = run("list").stdout
    assert "\x1b" not in text
    assert text.isascii()
    for record in map(integrators.get, integrators.names()):
        (line,) = (one for one in text.splitlines() if one.startswith(f"{record.name} "))
        cells = re.split(r" {2,}", line)
        assert cells[:3] == [record.name, record.title, str(record.order)]
        assert cells[-1] == record.source
    assert not any(line.endswith(" ") for line in text.splitlines())


@pytest.mark.parametrize("columns", [60, 100, 200])
def test_a_table_is_no_wider_than_its_terminal_and_json_the_same(at_terminal, columns):
    piped = run("list", "--json").stdout
    at_terminal(columns)
    assert run("list", "--json").stdout == piped
    text = run("list").stdout
    assert COLOUR.search(text)
    assert max(map(len, ESCAPE.sub("", text).splitlines())) <= columns


def test_several_integrators_stand_side_by_side_with_the_drift_of_each():
    chosen = ("-i", "rkn4", "-i", "quat_em", "-i", "rkn4", "--steps", 40, "--dt", 0.05)
    both = json.loads(run("simulate", *chosen, "--json").stdout)
    assert list(both) == ["rkn4", "quat_em"]
    for name, drift in both.items():
        alone = run("simulate", "-i", name, "--steps", 40, "--dt", 0.05, "--json")
        assert json.loads(alone.stdout) == drift
    _, heading, *lines = run("simulate", *chosen).stdout.strip().splitlines()
    assert heading.split()[:2] == ["integrator", "energy"]
    shown = {name: float(energy) for name, energy, *_ in map(str.split, lines)}
    assert shown == {k: pytest.approx(d["energy"]["max"], rel=0.05) for k, d in both.items()}


@pytest.mark.parametrize("mgl", [0, 20])
@pytest.mark.parametrize("schemes", [("quat_em",), ("quat_em", "akw")])
def test_only_what_the_exact_motion_conserves_has_a_drift(mgl, schemes):
    chosen = (*(part for name in schemes for part in ("-i", name)), "--mgl", mgl, "--steps", 40)
    found = json.loads(run("simulate", *chosen, "--json").stdout)
    free = ["angular_momentum"] if mgl == 0 else []
    for drift in found.values() if len(schemes) > 1 else [found]:
        assert list(drift) == ["energy", *free, "vertical_momentum", "quaternion_norm"]
        assert max(one["max"] for one in drift.values()) < 1e-13
    words = run("simulate", *chosen).stdout.replace("_", " ")
    assert ("angular momentum" in words) == bool(free)


def test_the_table_of_several_motions_names_the_integrator_of_each_line(tmp_path):
    file = tmp_path / "motion.csv"
    run("simulate", "-i", "akw", "-i", "imid", "--steps", 3, "--csv", file)
    with file.open() as text:
        rows = list(csv.DictReader(text))
    assert [row["integrator"] for row in rows] == ["akw"] * 4 + ["imid"] * 4
    body = rbgym.RigidBody([6, 8, 3])
    start = {"dt": 0.01, "steps": 3, "angular_velocity": (10, 20, 20)}
    for k, name in enumerate(("akw", "imid")):
        motion = rbgym.simulate(body, integrator=name, **start)
        written = [[float(row[f"q{axis}"]) for axis in "wxyz"] for row in rows[4 * k : 4 * k + 4]]
        assert np.array_equal(written, motion.quaternion)


def test_a_scheme_that_gives_up_is_said_and_the_others_are_shown():
    unsolved = ("simulate", "-i", "quat_em", "-i", "forward_euler", "--dt", 0.1)
    done = run(*unsolved, status=1)
    assert "quat_em" in done.stdout
    assert "forward_euler" not in done.stdout
    assert done.stderr.startswith("rbgym: forward_euler could not solve a step of 0.1 s")
    assert done.stderr.count("\n") == 1
    assert json.loads(run(*unsolved, "--json", status=1).stdout)["forward_euler"] is None


def test_long_runs_record_a_hundred_thousand_instants_unless_told(monkeypatch):
    asked, motion = [], rbgym.simulate(rbgym.RigidBody([6, 8, 3]), dt=0.1, steps=1)
    monkeypatch.setattr(rbgym, "simulate", lambda body, **given: asked.append(given) or motion)
    for steps, every in ((1000, 1), (100_000, 1), (100_001, 2), (10**9, 10_000)):
        run("simulate", "--steps", steps)
        assert asked[-1]["record_every"] == every
    run("simulate", "--steps", 1_000_000, "--record-every", 3)
    assert asked[-1]["record_every"] == 3


def test_a_card_is_a_table_at_a_terminal_and_markdown_in_a_pipe(at_terminal, capsys):
    row = {"merits": {"all": MERITS, "near": MERITS}, "of_seeds": {}, "origin": {}}
    content = {"env_id": "RigidTop-v0", "env_kwargs": {}, "rows": {"pd": row}}
    print_card(content)
    assert "| pd | 50.0 | 9.5 - 90.5 | 1.00 | 0.500 | 2 | 3 | 4 |" in capsys.readouterr().out
    shares = 0.9996, 0.0004, 1.0, 1e-17, 0.95
    assert [*map(percent, shares)] == ["99.96", "0.04", "100.0", "0.0", "95.0"]
    at_terminal(80)
    print_card(content)
    lines = ESCAPE.sub("", capsys.readouterr().out).splitlines()
    assert "|" not in "".join(lines)
    assert [line.split()[:2] for line in lines if line.startswith(" pd")] == [["pd", "50.0"]] * 2


MERITS = {"success_rate": 0.5, "success_interval": (0.095, 0.905), "final_error": 0.5,
          "settling_time": 1.0, "overshoot": None, "effort": 2.0, "torque_variation": 3.0,
          "unwound": 4, "eigenaxis_share": None}  # fmt: skip


def test_what_is_broken_is_counted_and_stands_out(at_terminal, capsys):
    broken = validation.Claim("akw", "none", "energy", "conserved", 0.1, 1e-13, False)
    print_claims("2 declarations, 1 broken", [broken._replace(passed=True), broken])
    at_terminal(100)
    print_claims("2 declarations, 1 broken", [broken._replace(passed=True), broken])
    piped, shown = capsys.readouterr().out.split("2 declarations, 1 broken")[1:]
    assert piped.splitlines()[3].split()[-3:] == ["0.1", "1e-13", "BROKEN"]
    assert re.search(r"\x1b\[1;31mBROKEN", shown)


@pytest.mark.parametrize("command", ["evaluate", "card", "train"])
def test_a_command_explains_every_number_of_its_env(command, tmp_path, monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.chdir(tmp_path)
    policy = () if command == "train" else ("--policy", "pd")
    asked = (command, "MomentumDumping-v0", *policy, "--explain", "--env-arg")
    text = run(*asked, "satellite=innocube-3u").stdout
    rows = [re.split(r" {2,}", line) for line in text.splitlines()]
    assert rows[1] == ["name", "value", "source"]
    assert ["dt", "1.0", "satellite"] in rows
    assert ["max_episode_steps", "5700", "satellite"] in rows
    assert ["success.momentum", "0.001", "satellite"] in rows
    found = json.loads(run(*asked, "dt=1.5", "--json").stdout)
    found = found["pd"] if command == "evaluate" else found
    assert found["dt"] == {"value": 1.5, "source": "argument"}
    if command == "train":
        other = json.loads(run(*asked, "dt=1", "--set", "gamma=0.9", "--json").stdout)
        assert other["hyperparameters"]["gamma"] == {"value": 0.9, "source": "argument"}
        assert found["hyperparameters"]["horizon"] == {"value": 96, "source": "auto.yml"}
    assert not [*tmp_path.iterdir()]


def test_policies_with_arguments_of_one_env_are_explained_once():
    asked = ("evaluate", "AttitudeSlew-v1", "--policy", "pd", "--policy", "pretrained")
    assert run(*asked, "--explain").stdout.count("rate_limit") == 1
    assert [*json.loads(run(*asked, "--explain", "--json").stdout)] == ["pd", "pretrained"]


def test_json_has_null_for_what_is_not_finite(capsys):
    print_json({"row": [np.float32("nan"), -np.inf]})
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == {"row": [None, None]}


def test_a_run_keeps_every_number_of_its_env():
    job = Job("AttitudeSlew-v1", "apg", "out", env_kwargs={"difficulty": "hard"})
    found = config_of(job, {})["resolved"]
    assert found["rate_limit"]["source"] == "task"
    assert found["difficulty"] == {"value": "hard", "source": "argument"}
