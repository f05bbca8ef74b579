"""What every benchmark shares: its command line, its file, the machine and the versions."""

import argparse
import importlib
import os
import platform
import statistics
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

# One thread: the clock counts the work of this process, so others' matters less.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

T = TypeVar("T")
Told = Callable[[str], None]


class Missing(Exception):
    """A peer, or a tool, that is not there; says what."""


def module(name: str) -> Any:
    """The module of a peer; Missing if it is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError as error:
        raise Missing(f"{name} cannot be imported: {error}") from None


def present(makers: Mapping[str, Callable[[], T]], skipped: dict[str, str]) -> dict[str, T]:
    """What could be made; why the others could not is written into `skipped`."""
    made = {}
    for name, make in makers.items():
        try:
            made[name] = make()
        except Missing as error:
            skipped[name] = str(error)
    return made


def spread(values: Iterable[float]) -> dict[str, float]:
    """Median and quartiles, four digits each."""
    kept = sorted(values)
    low, middle, high = statistics.quantiles(kept, n=4) if len(kept) > 1 else kept * 3
    found = {"median": middle, "low": max(low, kept[0]), "high": min(high, kept[-1])}
    return {key: float(f"{value:.4g}") for key, value in found.items()}


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
    """Versions of what is installed of ours and of the peers."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def main(name: str, measure: Callable[[bool, Told], dict[str, Any]]) -> None:
    """Run one benchmark from the command line and write NAME.json."""
    from rbgym.agents.run_folder import write_json

    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}")
    parser.add_argument("--quick", action="store_true", help="seconds, for a look")
    parser.add_argument("--out", type=Path, default=MEASURED, help="folder of the JSON file")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    found = measure(given.quick, lambda text: print(text, file=sys.stderr, flush=True))
    told = {
        "benchmark": name,
        "date": date.today().isoformat(),
        "quick": given.quick,
        "machine": machine(),
        "versions": versions(),
    }
    given.out.mkdir(parents=True, exist_ok=True)
    write_json(given.out / f"{name}.json", told | found)
    print(given.out / f"{name}.json")
