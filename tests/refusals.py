"""Tests of what is refused: one table of arguments, each with what the error must say of them."""

import functools
import inspect
from contextlib import contextmanager

import numpy as np
import pytest


def refused(*cases):
    """Runs a test once for each case, which must raise ValueError.

    case: the first arguments of the test, and what the message must match.
    """

    def decorate(test):
        own = inspect.signature(test)

        @functools.wraps(test)
        def refuses(message, **arguments):
            with pytest.raises(ValueError, match=message):
                test(**arguments)

        message = inspect.Parameter("message", inspect.Parameter.KEYWORD_ONLY)
        refuses.__signature__ = own.replace(parameters=[*own.parameters.values(), message])
        names = [*own.parameters][: len(cases[0]) - 1]
        return pytest.mark.parametrize((*names, "message"), cases)(refuses)

    return decorate


@contextmanager
def refused_and_unchanged(env, message):
    """What is called raises ValueError, and the state of the env is what it was."""
    before = env.unwrapped.get_state()
    with pytest.raises(ValueError, match=message):
        yield
    np.testing.assert_equal(env.unwrapped.get_state(), before)
