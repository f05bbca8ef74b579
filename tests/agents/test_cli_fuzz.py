"""Hostile values for whatever option there is; tests/soak tries thousands."""

import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("viser")

from hypothesis import HealthCheck, given, settings

import hostile

pytestmark = pytest.mark.interpreted


@pytest.mark.filterwarnings("ignore:You have specified a mini-batch size")  # from SB3, to the user
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(arguments=hostile.command_lines())
def test_no_command_line_makes_a_traceback_a_warning_or_a_file_that_was_not_asked_for(
    arguments, tmp_path_factory
):
    hostile.attack(arguments, tmp_path_factory.getbasetemp() / "hostile")


def test_every_command_has_a_cheap_start():
    assert hostile.START.keys() == hostile.COMMANDS.keys()
