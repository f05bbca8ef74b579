"""Run every benchmark, print what compares: `python -m benchmarks [--quick] [NAME ...]`."""

import argparse
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import tables
from benchmarks.page import NAMES, results
from benchmarks.record import MEASURED, ROOT


def main() -> int:
    """Each in a process of its own; the exit status is 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", help=f"among {', '.join(NAMES)}; default all")
    parser.add_argument("--quick", action="store_true", help="seconds each, for a look")
    parser.add_argument("--out", type=Path, default=MEASURED, help="folder of the JSON files")
    given = parser.parse_args()
    unknown = sorted(set(given.names) - set(NAMES))
    if unknown:
        parser.error(f"names must be among {', '.join(NAMES)}, got {', '.join(unknown)}")
    failed = []
    for name in given.names or NAMES:
        print(f"== {name}", file=sys.stderr, flush=True)
        started = time.monotonic()
        command = [sys.executable, "-W", "ignore", "-m", f"benchmarks.{name}"]
        command += ["--out", str(given.out), *(["--quick"] if given.quick else [])]
        if subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False).returncode:
            failed.append(name)
        print(f"   {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    found = results(given.out)
    for part in tables.PARTS.values():
        print(part(found), end="\n\n")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
