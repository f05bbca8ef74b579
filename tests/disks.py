"""Disks without room."""

import contextlib
import resource


@contextlib.contextmanager
def room_for(size):
    """No file of this process, or of one that it starts, grows beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
