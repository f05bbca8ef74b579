"""Validation by several processes, some of which do not come back."""

import os
from functools import partial

import pytest

from rbgym.validation import measured


def test_a_process_that_is_killed_ends_the_validation_with_a_clear_error():
    with pytest.raises(ChildProcessError, match="one of 1 processes ended before its work was"):
        measured([partial(os._exit, 7)], jobs=3)


def test_more_processes_than_tasks_are_not_started():
    assert measured([partial(abs, -1)], jobs=10**9) == [1]
    assert measured([partial(abs, -n) for n in range(6)], jobs=2) == [*range(6)]
