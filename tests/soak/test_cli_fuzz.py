"""Twelve thousand hostile command lines; `make soak` runs it.

RBGYM_SOAK_COMMANDS changes how many. They are others each time; pytest prints the shortest that
fails.
"""

import os

import pytest
from hypothesis import HealthCheck, given, settings

import hostile

COUNT = int(os.environ.get("RBGYM_SOAK_COMMANDS", "12000"))


@pytest.mark.filterwarnings("ignore:You have specified a mini-batch size")  # from SB3, to the user
@pytest.mark.parametrize("name", list(hostile.COMMANDS))
def test_no_command_line_makes_a_traceback_a_warning_or_a_file_that_was_not_asked_for(
    name, tmp_path
):
    @settings(
        max_examples=COUNT // len(hostile.COMMANDS),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(arguments=hostile.command_lines((name,)))
    def attacked(arguments):
        hostile.attack(arguments, tmp_path / "hostile")

    attacked()
