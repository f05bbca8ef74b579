"""Train a policy of every task with its recipe, two trainings at a time, and compare each with the
best law: docs/records/shelf.md.

python docs/studies/shelf.py [--seeds 3]

A task's law is that of docs/learning.json. Policies and law fly the 256 starts of the test set and
1,000 fresh ones. The runs go to runs/shelf; one that was interrupted goes on, one that is finished
is not trained again. `make shelf` trains all tasks with seed 0.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from train_every_task import DOCS, LEARNED, TRUE, condition_of, flown

from rbgym.agents.cases import starts_of
from rbgym.agents.judge.evaluation import summary
from rbgym.agents.run_folder import RunFolder, write_json
from rbgym.agents.train import load_policy

RUNS, PAGE = Path("runs") / "shelf", DOCS / "records" / "shelf.md"
SECONDS = RUNS / "seconds.json"
_AT_A_TIME, _WRITING = 2, threading.Lock()
_HEAD = """# Every task learned

`make shelf SEEDS={seeds}` trains every task with its recipe, with no option but the seed, two at
a time on two cores, and writes this page. Columns are success in %; "law" is the best law of
[the task](../training.md#results), with the lower end of its 95 % interval. Each command ended
within the seconds of the last column, with compilation and evaluations.

{minutes}

| task | law | test set: law | {names} | 1,000 fresh starts: law | {names} | seconds |
|---|---|---:|---:|---:|---:|---:|
"""


def train(env_id: str, seed: int) -> bool:
    """Train a task by the command, and record its seconds if it began anew; whether it ended."""
    name = f"{env_id}-{seed}"
    if (RUNS / name / "results.json").exists():
        return True
    is_new, started = not (RUNS / name / "config.json").exists(), time.perf_counter()
    command = [Path(sys.executable).with_name("rbgym"), "train", env_id, "--seed", str(seed)]
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    failed = subprocess.run([*command, "--out", RUNS / name], env=alone).returncode
    if is_new and not failed:
        record(name, time.perf_counter() - started)
    return not failed


def record(name: str, seconds: float) -> None:
    """Add a time to the file of times."""
    with _WRITING:
        write_json(SECONDS, times() | {name: seconds})


def times() -> dict[str, float]:
    """Seconds by run, and by seed where all runs of a seed began anew."""
    found: dict[str, float] = json.loads(SECONDS.read_text("utf-8")) if SECONDS.exists() else {}
    return found


def train_all(env_ids: list[str], seed: int) -> None:
    """Train all tasks with a seed; ends the program where one failed, once the others are done."""
    started, were_there = time.perf_counter(), [*RUNS.glob(f"*-{seed}")]
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        ended = list(pool.map(train, env_ids, itertools.repeat(seed)))
    if not all(ended):
        sys.exit("a training failed: see above")
    if not were_there:
        record(f"seed {seed}", time.perf_counter() - started)


def compared(env_id: str, seeds: range, seconds: dict[str, float]) -> tuple[list[str], list[bool]]:
    """The cells of a task's row; and whether each set of starts has a seed below the interval."""
    law, cells, loses = json.loads(LEARNED.read_text("utf-8"))[env_id]["law"], [], []
    names = [f"{env_id}-{seed}" for seed in seeds]
    policies = [load_policy(RunFolder(RUNS / name)) for name in names]
    for starts in (starts_of(env_id), None):  # None: the fresh ones
        one = summary(flown(law, env_id, condition_of(env_id, TRUE), starts))
        rates = [
            float(flown(policy, env_id, condition_of(env_id, TRUE), starts).success.mean())
            for policy in policies
        ]
        least = one.success_interval[0]
        cells += [f"{100 * one.success_rate:.1f} ({100 * least:.1f})"]
        cells += [" ".join(f"{100 * rate:.1f}" for rate in rates)]
        loses += [min(rates) < least]
    longest = max((seconds[name] for name in names if name in seconds), default=None)
    return [env_id, f"`{law}`", *cells, "-" if longest is None else f"{longest:.0f}"], loses


def page(env_ids: list[str], seeds: range) -> str:
    """The page: a table, and the tasks of which a seed is below the law's interval."""
    seconds = times()
    found = {env_id: compared(env_id, seeds, seconds) for env_id in env_ids}
    whole = {seed: seconds[f"seed {seed}"] for seed in seeds if f"seed {seed}" in seconds}
    minutes = [f"All tasks with seed {n} took {s / 60:.0f} minutes." for n, s in whole.items()]
    names = f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"
    lines = [f"| {' | '.join(cells)} |" for cells, _ in found.values()]
    below = ["Below the law's interval with one seed or more:", ""]
    for n, where in enumerate(("on the test set", "on the fresh starts")):
        behind = [env_id for env_id, (_, loses) in found.items() if loses[n]]
        below.append(f"- {where}: {', '.join(behind) or 'none'}")
    head = _HEAD.format(seeds=len(seeds), names=names, minutes=" ".join(minutes))
    return head + "\n".join([*lines, "", *below, ""])


def main() -> None:
    """Train what is missing, and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=1)
    seeds, env_ids = range(parser.parse_args().seeds), list(json.loads(LEARNED.read_text("utf-8")))
    RUNS.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        train_all(env_ids, seed)
    PAGE.write_text(page(env_ids, seeds), "utf-8")


if __name__ == "__main__":
    main()
