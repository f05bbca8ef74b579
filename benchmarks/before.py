"""Beside an older commit, each in processes of its own, in turn: `python -m benchmarks.before`."""

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.record import ROOT, Missing, Told, main, spread

COMMIT = "f46330a"  # of 2026-11-22, before bodies carried what they use
ENVS = "RigidTop-v0", "AttitudeSlew-v0"
LANES = 1024
_STEPS = """
import json, time
import gymnasium as gym
from {bench} import many
found = {{}}
for name in {envs}:
    step = many(name, {lanes}, time.process_time)
    step(20)
    found[name] = {lanes} / min(step(20) / 20 for _ in range(40))
print(json.dumps(found))
"""
_FIRST = """
import time
begun = time.perf_counter()
import gymnasium as gym, rbgym
env = gym.make("RigidTop-v0"); env.reset(seed=0); env.step(env.action_space.sample())
print(time.perf_counter() - begun)
"""
_TRAIN = """
import json, tempfile
from rbgym.agents.{train} import train
with tempfile.TemporaryDirectory() as folder:
    done = train("RigidTop-v0", {algo!r}, out=folder + "/run", progress=False, {more})
    told = done.results
    late = [one["seconds"] for one in told.get("judgements", []) if one["success_rate"] >= 0.95]
    print(json.dumps(told["time_to_threshold"] if {algo!r} == "ppo" else late[0]))
"""
_EVERY = "evaluate_every=16384"


class Version:
    """One of the two: where its modules are, and where its machine code is kept."""

    def __init__(self, folder: Path, old: bool) -> None:
        self.folder, self.old = folder, old
        self.path = str(_laid_out(folder / "rbgym") if old else ROOT)

    def run(self, script: str, cache: str | None = None, **values: Any) -> Any:
        """What a script prints, by default with its machine code at hand."""
        rooms = {"bench": "benchmarks.timing", "train": "train"}
        if self.old:
            rooms = {"bench": "rbgym.agents.bench", "train": "engines"}
        code = script.format(**{**rooms, **values}) if values else script
        kept = cache or str(self.folder / "cache")
        environment = os.environ | {"NUMBA_CACHE_DIR": kept, "OMP_NUM_THREADS": "1"}
        environment["PYTHONPATH"] = self.path
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            capture_output=True, text=True, check=True, env=environment, cwd=self.folder,
        )  # fmt: skip
        return json.loads(done.stdout.splitlines()[-1])


def _laid_out(folder: Path) -> Path:
    """The packages of that commit as they are installed; returns the folder to import them from."""
    command = ["git", "archive", COMMIT, "rbgym", "envs", "agents"]
    done = subprocess.run(command, capture_output=True, check=False, cwd=ROOT)
    if done.returncode:
        raise Missing(f"there is no commit {COMMIT}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    for part in ("envs", "agents"):
        (folder / part).rename(folder / "rbgym" / part)
    return folder


def measure(quick: bool, told: Told) -> dict[str, Any]:
    """Env-steps per CPU-second by env, each with the defaults of its version; seconds from a fresh
    process to the first step, nothing compiled; and seconds of training until 95 % succeed."""
    with tempfile.TemporaryDirectory() as folder:
        both = {}
        for name in ("old", "new"):
            (Path(folder) / name).mkdir()
            try:
                both[name] = Version(Path(folder) / name, name == "old")
            except Missing as missing:
                return {"skipped": {"an older commit": str(missing)}}
        told("one step of an empty cache, old and new")
        first: dict[str, list[float]] = {"old": [], "new": []}
        for turn in range(1 if quick else 3):
            for name, version in both.items():
                first[name].append(version.run(_FIRST, str(Path(folder) / f"{name} {turn}")))
        told(f"{' and '.join(ENVS)}, old and new")
        steps: dict[str, dict[str, list[float]]] = {env: {"old": [], "new": []} for env in ENVS}
        for _ in range(1 if quick else 5):
            for name, version in both.items():
                for env, rate in version.run(_STEPS, envs=ENVS, lanes=LANES).items():
                    steps[env][name].append(rate)
        told("trainings on RigidTop-v0, old and new")
        trained: dict[str, list[float]] = {"old": [], "new": [], "apg": []}
        cases = {
            "old": ("old", "ppo", _EVERY),
            "new": ("new", "ppo", _EVERY),
            "apg": ("new", "apg", ""),
        }
        for turn in range(1 if quick else 4):
            for name, (version, algo, more) in cases.items():
                seconds = both[version].run(_TRAIN, algo=algo, more=more)
                if turn or quick:  # the first one compiles
                    trained[name].append(seconds)
    return {
        "commit": COMMIT,
        "first_step": {name: spread(values) for name, values in first.items()},
        "steps": {env: {k: spread(v) for k, v in rates.items()} for env, rates in steps.items()},
        "training": {name: spread(values) for name, values in trained.items()},
        "skipped": {},
    }


if __name__ == "__main__":
    main("before", measure)
