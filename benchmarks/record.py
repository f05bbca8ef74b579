"""What every part shares: its command line, its file, the machine, the versions, the commit."""

import argparse
import importlib
import json
import os
import platform
import statistics
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parents[1]
MEASURED = ROOT / "runs" / "bench"
PACKAGES = (
    "rbgym", "numpy", "numba", "gymnasium", "envpool", "gymnax", "jax", "mujoco", "pybullet",
    "bsk", "diffrax", "scipy", "stable-baselines3", "torch",
)  # fmt: skip

# One thread for those libraries that would take more without being asked.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

T = TypeVar("T")
Say = Callable[[str], None]  # prints what is measured now
Results = dict[str, dict[str, Any]]  # contents of the JSON files by part


class Missing(Exception):
    """A peer is not installed, or cannot do what is asked; says why."""


def module(name: str) -> Any:
    """The module of a peer; Missing if it is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError as error:
        raise Missing(f"not installed ({error})") from None


def present(makers: Mapping[str, Callable[[], T]], skipped: dict[str, str]) -> dict[str, T]:
    """What could be made; why the others could not is written into `skipped`."""
    made = {}
    for name, make in makers.items():
        try:
            made[name] = make()
        except Missing as error:
            skipped[name] = str(error)
    return made


def rounded(value: float) -> float:
    """Four digits."""
    return float(f"{value:.4g}")


def spread(values: Iterable[float]) -> dict[str, float]:
    """Median and quartiles, four digits each."""
    kept = sorted(values)
    low, middle, high = statistics.quantiles(kept, n=4) if len(kept) > 1 else kept * 3
    found = {"median": middle, "low": max(low, kept[0]), "high": min(high, kept[-1])}
    return {key: rounded(value) for key, value in found.items()}


def fresh(script: str, *arguments: str, cwd: Path = ROOT, **environment: str) -> Any:
    """What a script prints last, as JSON, run by a new process; Missing if a module is missing."""
    command = [sys.executable, "-W", "ignore", "-c", script, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=cwd, env=os.environ | environment
    )
    if "ModuleNotFoundError" in done.stderr:
        raise Missing(f"not installed ({done.stderr.strip().splitlines()[-1]})")
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def machine() -> dict[str, Any]:
    """Processor, cores and Python; nothing that names a host."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    flags = next((line.split() for line in lines if line.startswith("flags")), [])
    return {
        "processor": models[0] if models else model,
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "vectors": next((f for f in ("avx512f", "avx2", "avx") if f in flags), ""),
        "python": platform.python_version(),
        "system": platform.system(),
    }


def versions() -> dict[str, str]:
    """Versions of rbgym and of the peers that are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def commit(folder: Path = ROOT) -> str:
    """The commit of a checkout, with `-dirty` if files have changed; "unknown" without git."""
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def described(name: str, quick: bool) -> dict[str, Any]:
    """What stands at the head of every JSON file."""
    return {
        "benchmark": name,
        "date": date.today().isoformat(),
        "commit": commit(),
        "quick": quick,
        "machine": machine(),
        "versions": versions(),
    }


def write(folder: Path, name: str, content: dict[str, Any]) -> None:
    """Write NAME.json into the folder and print where it is."""
    from rbgym.agents.run_folder import write_json

    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / f"{name}.json", content)
    print(folder / f"{name}.json")


def say(text: str) -> None:
    """Print to the terminal, not to the output."""
    print(text, file=sys.stderr, flush=True)


def main(name: str, measure: Callable[[bool, Say], dict[str, Any]]) -> None:
    """Run one part from the command line and write NAME.json."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}")
    parser.add_argument("--quick", action="store_true", help="seconds, for a look")
    parser.add_argument("--out", type=Path, default=MEASURED, help="folder of the JSON file")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    head = described(name, given.quick)
    write(given.out, name, head | measure(given.quick, say))
