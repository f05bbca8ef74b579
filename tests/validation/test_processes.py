"""Validation by several processes, some of which do not come back."""

import os

import pytest

from rbgym.validation import by_processes


def test_a_process_that_is_killed_ends_the_validation_with_a_clear_error():
    with pytest.raises(ChildProcessError, match="one of 1 processes ended before its work did"):
        list(by_processes(3)(os._exit, [7]))


def test_more_processes_than_tasks_are_not_started():
    assert list(by_processes(10**9)(abs, [-1])) == [1]
