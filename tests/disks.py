"""Disks without room."""

import contextlib
import resource
import shutil
import subprocess


@contextlib.contextmanager
def room_for(size):
    """No file of this process, or of one that it starts, grows beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextlib.contextmanager
def disk(folder, size):
    """A disk of so many bytes at this folder; PermissionError where none can be mounted."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "rbgym", str(folder)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True).returncode:
        raise PermissionError("no disk may be mounted")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def enlarge(folder, size):
    """The disk at this folder has so many bytes from now on."""
    subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)
