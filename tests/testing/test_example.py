"""The worked example runs and judges as its page says, MuJoCo where there is one."""

import re
import runpy
import subprocess
import sys
import types
from pathlib import Path

import pytest

from rbgym.testing import CHECKS, FidelityLimits

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "docs" / "examples" / "judge_a_simulator.py"
PAGE = (ROOT / "docs" / "testing.md").read_text("utf-8")


@pytest.fixture
def example():
    return types.SimpleNamespace(**runpy.run_path(str(SCRIPT)))


def without_numbers(text):
    """The text, round-off and what depends on it left out."""
    return re.sub(r"(?<![\w.])(\d[\d.]*(e[-+]\d+)?|inf)(?!\w)", "#", re.sub(r" +", " ", text))


def test_the_example_runs_and_its_page_shows_what_it_prints(example):
    command = [sys.executable, "-W", "error", str(SCRIPT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for table in done.stdout.split("\n\n")[: len(example.subjects())]:
        assert table
        assert without_numbers(table) in without_numbers(PAGE)


def test_mujoco_is_accurate_and_conserves_nothing(example):
    pytest.importorskip("mujoco")
    fidelity = example.measure(example.subjects()["MuJoCo RK4"])
    assert set(fidelity.broken) == {"energy", "momentum", "time_reversal"}
    assert fidelity.order.attitude == pytest.approx(4.0, abs=0.1)
    assert fidelity.energy.trend == "grows linearly"
    assert 1e-8 < fidelity.energy.max < 1e-4


def test_the_page_describes_every_check_with_its_limit():
    rows = re.findall(r"^\| `(\w+)` \| .* \| ([\de-]+) \|$", PAGE, re.MULTILINE)
    assert {check: float(limit) for check, limit in rows} == vars(FidelityLimits())
    assert [check for check, _ in rows] == list(CHECKS)
