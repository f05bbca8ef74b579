"""Neither threads nor processes change a bit, long after everything has been drawn at random."""

import sys

import pytest

from fuzzing.digests import digest, elsewhere

TOP = "RigidTop-v0"
# From Python 3.12 on it warns of forks while there are threads; here that is the point.
FORK = pytest.mark.filterwarnings("ignore:This process.*fork:DeprecationWarning")
forks = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on Windows")


@FORK
@forks
def test_a_process_forked_from_one_with_threads_gives_the_same_bits():
    assert digest(TOP, 40, 3) == elsewhere("fork", TOP, 40, 2)
