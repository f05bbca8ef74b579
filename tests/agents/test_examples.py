"""The scripts in examples/ run, and print and draw what they say."""

import re
import runpy
from pathlib import Path

import pytest

pytest.importorskip("stable_baselines3")

import torch

import rbgym

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PNG = b"\x89PNG"
WITH_RAY = {"train_on_a_cluster.py"}  # it is no notebook; tests/clients runs it


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs a script in a folder of its own; its variables and what it printed."""
    monkeypatch.chdir(tmp_path)

    def run_script(name):
        variables = runpy.run_path(str(EXAMPLES / name))
        return variables, capsys.readouterr().out

    return run_script


def test_every_example_is_tested_and_opens_as_a_notebook():
    tested = re.findall(r'run\("(\w+\.py)"\)', Path(__file__).read_text("utf-8"))
    assert {file.name for file in EXAMPLES.iterdir() if file.suffix} - WITH_RAY == set(tested)
    for name in tested:
        text = (EXAMPLES / name).read_text("utf-8")
        assert text.startswith("# %% [markdown]\n# # ")
        # A Markdown cell holds comments alone.
        for cell in text.split("# %% [markdown]\n")[1:]:
            words = cell.split("\n# %%\n")[0]
            assert all(line.startswith("#") or not line for line in words.splitlines())


def test_the_first_flight_reaches_its_target(run, tmp_path):
    variables, printed = run("first_flight.py")
    assert "success" in printed
    assert "no success" not in printed
    assert variables["attitude"][-1] < 1e-3 < variables["attitude"][0]
    assert (tmp_path / "first_flight.png").read_bytes().startswith(PNG)


def test_a_scheme_of_ones_own_is_measured_as_what_it_declares(run, tmp_path):
    variables, printed = run("own_scheme.py")
    assert variables["found"].broken == ("energy", "time_reversal")
    rows = [line.split() for line in printed.partition("scheme ")[2].splitlines()[1:5]]
    for name, energy, momentum in rows:
        drift = variables["runs"][name].drift()
        assert float(energy) == pytest.approx(drift["energy"]["max"], rel=0.06)
        assert float(momentum) == pytest.approx(drift["angular_momentum"]["max"], rel=0.06)
        kept = rbgym.integrators.get(variables["schemes"][name]).conserves["none"]
        assert ("energy" in kept) == (float(energy) < 1e-13)
        assert ("angular_momentum" in kept) == (float(momentum) < 1e-13)
    assert [name for name, *_ in rows] == list(variables["schemes"])
    assert (tmp_path / "drifts.png").read_bytes().startswith(PNG)
    assert (tmp_path / "work_precision.png").read_bytes().startswith(PNG)
    # Orders 2, 2 and 4: from 10 to 100 steps the errors fall by two digits, or by four.
    fall = [errors[0] / errors[3] for _, errors in variables["curves"].values()]
    assert all(90 < one < 130 for one in fall[:2])
    assert all(5e3 < one < 2e4 for one in fall[2:])


def test_a_satellite_of_ones_own_is_reviewed(run, tmp_path):
    variables, printed = run("design_review.py")
    assert "bang_bang: 100 %, settled after" in printed
    true, estimated = (one.attitude for one in variables["flown"].values())
    assert max(true[-20:]) < max(estimated[-20:]) < 0.0087  # half a degree
    assert re.search(r"(?s)pd +ape_deg[^\n]*: not met.*\npid +ape_deg[^\n]*: met", printed)
    assert "pd ['friction: ape_deg" in printed
    assert variables["again"].differs(variables["report"].campaign) == []
    for picture in ("my_satellite", "envelope", "tornado"):
        assert (tmp_path / f"{picture}.png").exists()


def test_flight_code_flies_the_slew_of_the_policy(run, tmp_path):
    variables, printed = run("flight_code.py")
    assert "16 vectors, largest difference" in printed
    assert variables["apart"] < 1e-6  # rad
    assert max(one.attitude[-1] for one in variables["flown"].values()) < 0.0087
    assert (tmp_path / "flight_code.png").read_bytes().startswith(PNG)


def test_a_satellite_wakes_up_and_its_c_flies_the_same_orbit(run, tmp_path):
    variables, _ = run("wake_up.py")
    assert sorted(set(variables["modes"])) == [0, 1, 2]
    assert variables["apart"].max() < 1e-9
    assert variables["filtered"][-1] < 3.0  # degrees
    assert (tmp_path / "wake_up.png").read_bytes().startswith(PNG)


def test_a_trained_policy_is_judged_beside_a_law_and_the_shipped_one(run, tmp_path, monkeypatch):
    monkeypatch.setenv("RBGYM_EXAMPLE_STEPS", "1")
    threads = torch.get_num_threads()
    try:
        variables, printed = run("train_and_judge.py")
    finally:
        torch.set_num_threads(threads)
    assert "pd: success 100 %" in printed
    assert "shipped: success 100 %" in printed
    assert variables["found"]["trained here"].mean_return < variables["found"]["pd"].mean_return
    assert (tmp_path / "judged.png").read_bytes().startswith(PNG)


def test_a_plan_swings_the_top_up_and_holds_it(run):
    variables, printed = run("plan_a_swing_up.py")
    assert "after 10 s" in printed
    assert variables["tilt"] < 10.0
    assert variables["total"] > 460.0  # the classical law has 473 of 500
