"""Hostile arguments for everything that is public: a few; `make soak` has a hundred thousand."""

import pytest

from fuzzing import environments
from fuzzing.attack import PARTS, attack
from fuzzing.surface import NOT_ATTACKED, documented

pytestmark = pytest.mark.interpreted

TASKS = ["RigidTop-v0", "AttitudeReach-v0", "ReactionWheelSlew-v1"]
EXAMPLES = {"physics": 5, "environments": 4, "policies": 3, "tools": 3}


@pytest.mark.parametrize("part", EXAMPLES)
def test_hostile_arguments_are_refused_by_name_or_give_a_valid_result(part):
    targets = environments.targets(TASKS) if part == "environments" else PARTS[part]()
    assert attack(targets, EXAMPLES[part]) > 50


@pytest.mark.compiled  # where a step is too long, Python raises an error and machine code does not
def test_the_engine_refuses_by_name_what_it_cannot_take():
    assert attack(PARTS["engine"](), 30) > 80


def test_everything_that_is_documented_is_attacked_or_says_why_not():
    # Without the tasks, each of which has targets of its own.
    makers = {**PARTS, "environments": lambda: environments.targets(())}
    attacked = {target.name for make in makers.values() for target in make()}
    missing = sorted(set(documented()) - attacked - set(NOT_ATTACKED))
    assert not missing, f"public, and without a target in tests/fuzzing: {missing}"
    assert set(NOT_ATTACKED) <= set(documented())
    assert not attacked & set(NOT_ATTACKED)
