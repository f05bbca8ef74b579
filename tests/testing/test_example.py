"""The worked example runs, judges as its page says, and would judge MuJoCo where there is one."""

import re
import runpy
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import step_functions as steps
from rbgym.testing import CHECKS, Limits

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "docs" / "examples" / "judge_a_simulator.py"
PAGE = (ROOT / "docs" / "testing.md").read_text("utf-8")


@pytest.fixture
def example():
    return types.SimpleNamespace(**runpy.run_path(str(SCRIPT)))


def without_numbers(text):
    """The text, round-off and what depends on it left out."""
    return re.sub(r"(?<![\w.])(\d[\d.]*(e[-+]\d+)?|inf)(?!\w)", "#", re.sub(r" +", " ", text))


def test_the_example_runs_and_its_page_shows_what_it_prints():
    done = subprocess.run(
        [sys.executable, "-W", "error", str(SCRIPT)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for table in done.stdout.split("\n\n")[:2]:
        assert without_numbers(table) in without_numbers(PAGE)


def test_the_naive_subject_fails_and_the_integrator_passes(example):
    found = example.subjects()
    naive, good = (example.measure(found[k]) for k in ("explicit Euler", "rbgym quat_em"))
    assert set(naive.broken) == {"energy", "momentum", "norm", "order", "time_reversal"}
    assert good.broken == ()


def test_mujoco_is_driven_through_its_documented_interface(example, monkeypatch):
    """A stand-in with MuJoCo's names and layout: a free joint has 7 coordinates, 6 velocities."""

    class Model:
        @classmethod
        def from_xml_string(cls, xml):
            assert "<freejoint/>" in xml
            assert 'gravity="0 0 0"' in xml
            assert 'diaginertia="6 8 3"' in xml
            model = cls()
            model.opt = types.SimpleNamespace(timestep=0.002)
            return model

    class Data:
        def __init__(self, model):
            self.qpos, self.qvel = np.zeros(7), np.zeros(6)

    def reset(model, data):
        data.qpos[:], data.qvel[:] = [0, 0, 0, 1, 0, 0, 0], 0

    def advance(model, data):
        state = steps.exact(data.qpos[3:], data.qvel[3:], model.opt.timestep)
        data.qpos[3:], data.qvel[3:] = state
        data.qpos[:3] += model.opt.timestep * data.qvel[:3]

    stand_in = types.ModuleType("mujoco")
    stand_in.MjModel, stand_in.MjData = Model, Data
    stand_in.mj_resetData, stand_in.mj_step = reset, advance
    monkeypatch.setitem(sys.modules, "mujoco", stand_in)
    fidelity = example.measure(example.MujocoStep(), inertia=steps.INERTIA, steps=100)
    assert fidelity.broken == (), fidelity


def test_the_page_describes_every_check_with_its_limit():
    rows = re.findall(r"^\| `(\w+)` \| .* \| ([\de-]+) \|$", PAGE, re.MULTILINE)
    assert {check: float(limit) for check, limit in rows} == vars(Limits())
    assert [check for check, _ in rows] == list(CHECKS)


@pytest.mark.parametrize("marker", ["gym.make_vec(", "bodies.attitudes()"])
def test_the_blocks_of_the_page_that_are_whole_run(marker):
    (block,) = (b for b in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if marker in b)
    names = {}
    exec(block, names)
    for test in (value for name, value in names.items() if name.startswith("test_")):
        test()


def test_links_of_the_page_lead_somewhere():
    for link in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / link).exists(), link
