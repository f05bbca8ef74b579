"""Hostile arguments for batches, and for integrators made of others."""

import pytest

from fuzzing import engine
from fuzzing.attack import attack


@pytest.mark.parametrize("number", range(len(engine.targets())))
def test_the_engine_refuses_by_name_what_it_cannot_take(number):
    assert attack([engine.targets()[number]], 30) > 10
