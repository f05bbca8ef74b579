"""Run targets of make: in_lanes.py MAKE STAGE..., and tell at the end what each of them took.

A stage is a list of lanes, parted by "|", a lane a list of targets, parted by ",". Lanes run side
by side, targets of a lane and stages one after the other. What fails ends its stage, and the run.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from typing import NamedTuple


class Step(NamedTuple):
    target: str
    seconds: float
    processor: float  # seconds of it, of all that the step started and waited for
    status: int


def run(make: str, target: str, shown: bool) -> Step:
    """Make one target; what it says is shown at once, or whole when it has ended."""
    begun = time.monotonic()
    with tempfile.TemporaryFile() as log:
        into = None if shown else log
        command = [make, "--no-print-directory", target]
        process = subprocess.Popen(command, stdout=into, stderr=into)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        sys.stdout.buffer.write(f"--- {target}\n".encode() + log.read())
        sys.stdout.flush()
    seconds, processor = time.monotonic() - begun, used.ru_utime + used.ru_stime
    return Step(target, seconds, processor, process.returncode)


def stage(make: str, lanes: list[list[str]]) -> list[Step]:
    done: list[Step] = []

    def follow(lane: list[str]) -> None:
        for target in lane:
            if any(step.status for step in done):
                return
            done.append(run(make, target, shown=len(lanes) == 1))

    threads = [threading.Thread(target=follow, args=[lane]) for lane in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


def main(make: str, *stages: str) -> int:
    begun, done = time.monotonic(), list[Step]()
    for text in stages:
        done += stage(make, [lane.split(",") for lane in text.split("|")])
        if any(step.status for step in done):
            break
    print(f"\n{'step':<24}{'seconds':>9}{'processor':>11}")
    for step in done:
        failed = "  FAILED" if step.status else ""
        print(f"{step.target:<24}{step.seconds:>9.0f}{step.processor:>11.0f}{failed}")
    total = sum(step.processor for step in done)
    print(f"{'all':<24}{time.monotonic() - begun:>9.0f}{total:>11.0f}", flush=True)
    wanted = sum(len(lane.split(",")) for text in stages for lane in text.split("|"))
    return int(len(done) < wanted or any(step.status for step in done))  # fewer: `run` has raised


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
