"""The pages of the tasks are those of the docstrings, and say what the spaces are."""

import re
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest

from pages import ROOT
from rbgym.registration import ENVIRONMENTS

pytestmark = pytest.mark.interpreted

# Pages that leave out that a control period is one step.
UNSAID = {"KeepOutSlew-v0", "Detumble-v1", "AttitudeTracking-v1"}
WORDS = {1: "one", 2: "two", 3: "three", 4: "four", 6: "six", 9: "nine", 12: "twelve"}


@pytest.mark.parametrize("env_id", [i for i in ENVIRONMENTS if i != "AttitudeReach-v0"])
def test_the_table_of_the_observation_is_the_space(env_id):
    text = (ROOT / "docs" / "tasks" / f"{env_id}.md").read_text("utf-8")
    env = gym.make(env_id).unwrapped
    space, covered = env.observation_space, 0
    for first, last, bounds in re.findall(r"^\| (\d+)(?:-(\d+))? \| .* \| (.*) \|$", text, re.M):
        rows = slice(int(first), int(last or first) + 1)
        covered += rows.stop - rows.start
        low, high = space.low[rows], space.high[rows]
        if match := re.fullmatch(r"\[(-?[\d.]+), ([\d.]+)\]", bounds):
            assert (low == np.float32(match[1])).all()
            assert (high == np.float32(match[2])).all()
        else:
            shown = [float(one) for one in re.findall(r"[\d.]+", bounds)]
            np.testing.assert_allclose(high, np.broadcast_to(shown, high.shape), rtol=5e-3)
            np.testing.assert_array_equal(low, -high)
    assert covered == space.shape[0]
    (channels,) = env.action_space.shape
    assert f"## Action: Box(-1, 1, ({channels},)), float32" in text
    substeps = env.task.substeps
    said = re.findall(r"is (\w+) steps? of (?:the integrator|it)\b", " ".join(text.split()))
    assert said or env_id in UNSAID
    assert set(said) <= {str(substeps), WORDS[substeps]}
    assert "{" not in text.replace('{"', "")
    assert f"{ENVIRONMENTS[env_id][2]} steps" in text


def test_a_task_of_ones_own_has_less_than_sixty_lines_and_all_that_the_others_have(monkeypatch):
    example = ROOT / "docs" / "examples" / "hold_a_spin.py"
    assert len(example.read_text("utf-8").splitlines()) < 60
    script = (
        "from gymnasium.utils.env_checker import check_env\n"
        "import gymnasium as gym\n"
        f"import sys; sys.path.append({str(ROOT / 'tests')!r})\n"
        "from checks import check_vector_env\n"
        "from rbgym.agents.commands import seeing\n"
        "from rbgym.agents.judge.evaluation import evaluate\n"
        "check_env(gym.make('hold_a_spin:HoldASpin-v0').unwrapped)\n"
        "check_vector_env('hold_a_spin:HoldASpin-v0', check_pickle=True)\n"
        "assert 'HoldASpin-v0' in [e['env'] for e in seeing.catalogue()['environments']]\n"
        "assert evaluate('pd', 'hold_a_spin:HoldASpin-v0', 8).success_rate == 1.0\n"
    )
    pytest.importorskip("stable_baselines3")
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, cwd=example.parent)
    assert done.returncode == 0, done.stderr
