"""What tests/fuzz and tests/agents try some times, tried thousands of times; `make soak` runs it.

RBGYM_SOAK_COMMANDS and RBGYM_SOAK_DAMAGES change how many command lines and damaged files there
are. They are others each time; pytest prints the shortest line that fails, a damage has a seed.
"""

import os
import random
import time

import pytest
from gymnasium.vector import AutoresetMode
from hypothesis import HealthCheck, given, settings

pytest.importorskip("stable_baselines3")

import damaged_runs
import hostile
from checks import Wanderer
from fuzzing.attack import PARTS, attack
from rbgym.registration import ENVIRONMENTS

COMMANDS = int(os.environ.get("RBGYM_SOAK_COMMANDS", "12000"))
DAMAGES = int(os.environ.get("RBGYM_SOAK_DAMAGES", "500"))
SLOW = 10  # a file whose reading trains takes so much longer
# Together a hundred thousand calls; plots and rollouts are the slow ones.
EXAMPLES = {"physics": 1000, "engine": 1000, "environments": 300, "policies": 200, "tools": 60}
# Something else is kept as well: noise, bodies of each episode.
MORE = {
    "AttitudeSlew-v1": {
        "sensor": {"attitude": 1e-3, "rate": 5e-4, "rate_bias": 1e-3},
        "randomization": {"inertia": 0.2, "torque": 0.1},
        "disturbance": {"white_noise": 1e-3},
        "reward": {"closeness": 1.0, "change": 0.1, "progress": 0.1},
    }
}
in_every_mode = pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.name)


@pytest.mark.parametrize("part", EXAMPLES)
def test_hostile_arguments_are_refused_by_name_or_give_a_valid_result(part):
    attack(PARTS[part](), EXAMPLES[part])


@pytest.mark.filterwarnings("ignore:You have specified a mini-batch size")  # from SB3, to the user
@pytest.mark.parametrize("name", list(hostile.COMMANDS))
def test_no_command_line_makes_a_traceback_a_warning_or_a_file_that_was_not_asked_for(
    name, tmp_path
):
    @settings(max_examples=COMMANDS // len(hostile.COMMANDS), deadline=None, database=None,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(arguments=hostile.command_lines((name,)))
    def attacked(arguments):
        hostile.attack(arguments, tmp_path / "hostile")

    attacked()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return damaged_runs.make_runs(tmp_path_factory.mktemp("runs"))


@pytest.mark.parametrize(("of", "name", "read"), damaged_runs.READ)
def test_a_damaged_file_is_read_or_refused_and_left_as_it_is(runs, tmp_path, of, name, read):
    start = time.time_ns()
    for seed in range(start, start + DAMAGES // (SLOW if name == "checkpoint.zip" else 1)):
        try:
            damaged_runs.attack(runs, of, name, read, random.Random(seed), tmp_path / "work")
        except Exception as error:
            error.add_note(f"the damage was that of random.Random({seed})")
            raise


@in_every_mode
@pytest.mark.parametrize("env_id", list(ENVIRONMENTS))
def test_whatever_is_called_lanes_are_environments_of_their_own(env_id, mode):
    Wanderer(env_id, mode, seed=2, **MORE.get(env_id, {})).wander(150)
