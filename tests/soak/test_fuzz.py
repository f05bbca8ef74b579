"""A hundred thousand hostile calls of everything that is public; `make soak` runs it."""

import pytest

from fuzzing.attack import PARTS, attack

# Plots and rollouts are the slow ones.
EXAMPLES = {"physics": 1000, "engine": 1000, "environments": 300, "policies": 200, "tools": 60}
CALLS = 100_000
made: dict[str, int] = {}


@pytest.mark.parametrize("part", EXAMPLES)
def test_hostile_arguments_are_refused_by_name_or_give_a_valid_result(part):
    made[part] = attack(PARTS[part](), EXAMPLES[part])


def test_there_were_a_hundred_thousand_of_them():
    if set(made) == set(EXAMPLES):  # unless pytest was asked for some of them only
        assert sum(made.values()) >= CALLS, made
