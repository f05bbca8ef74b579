"""What this tree costs next to another one: `python -m benchmarks.prices TREE [--quick]`.

TREE is the folder of a checkout (`git worktree add TREE COMMIT`), or one to import rbgym from. Each
tree has a process, and waits while the other one is timed: all cases of both take turns in every
round. A ratio is the median of those of the rounds: below 1, the step of this tree is faster.
"""

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.markdown import number, table
from benchmarks.record import MEASURED, ROOT, Say, commit, described, rounded, say, write
from benchmarks.startup import first_step

ENVS = "RigidTop-v0", "AttitudeSlew-v1", "ReactionWheelSlew-v1"
# A task whose default an older tree may not have, with the same scheme in both.
STEPPED = *ENVS, "ReactionWheelSlew-v1,quat_em"
COUNTS = 1, 64, 1024, 16384
TRIED = 32  # steps that show how many are to be timed
Case = tuple[str, int, int]  # env, lanes, threads
CARTPOLE: Case = ("CartPole-v1", 1, 1)
CASES: list[Case] = [(env_id, lanes, 1) for env_id in STEPPED for lanes in COUNTS]
THREADED: list[Case] = [(env_id, COUNTS[-1], 2) for env_id in STEPPED]
Pair = dict[str, list[float]]  # values of the rounds by tree, "old" and "new"


def laid_out(tree: Path, folder: Path) -> Path:
    """The folder to import a tree's rbgym from; of a checkout, whose packages lie apart, it is made
    of links."""
    if not (tree / "envs").is_dir():
        return tree
    (folder / "rbgym").mkdir(parents=True)
    for part in (*(tree / "rbgym").iterdir(), tree / "envs", tree / "agents"):
        if part.name != "__pycache__":
            (folder / "rbgym" / part.name).symlink_to(part.resolve())
    return folder


class Tree:
    """A process of benchmarks/stepper.py with the rbgym of a tree, and its own cache."""

    def __init__(self, path: Path, folder: Path, stack: ExitStack) -> None:
        self.path, self.folder = path, folder
        environment = {"PYTHONPATH": str(path), "NUMBA_CACHE_DIR": str(folder / "stepped")}
        self.process = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-P", "-W", "ignore", str(ROOT / "benchmarks" / "stepper.py")],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder,
                env=os.environ | environment,
            )
        )  # fmt: skip

    def seconds(self, case: Case, steps: int) -> float:
        """Time of so many steps."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(*case, steps, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())


def per_step(
    trees: dict[str, Tree], cases: list[Case], rounds: int, seconds: float, say: Say
) -> dict[Case, Pair]:
    """Microseconds of an env-step by case and tree; all take turns in every round."""
    counts = {}
    for case in cases:
        say("{}, {} environments, {} threads".format(*case))
        trees["old"].seconds(case, TRIED)
        counts[case] = math.ceil(TRIED * seconds / trees["new"].seconds(case, TRIED))
    found: dict[Case, Pair] = {case: {name: [] for name in trees} for case in cases}
    for turn in range(rounds):
        say(f"round {turn + 1} of {rounds}")
        for case, steps in counts.items():
            for name in sorted(trees, reverse=bool(turn % 2)):
                each = trees[name].seconds(case, steps) / steps / case[1]
                found[case][name].append(1e6 * each)
    return found


def first_steps(trees: dict[str, Tree], env_id: str, rounds: int) -> Pair:
    """Seconds to the first step on an empty cache by tree, in turns."""
    found: Pair = {name: [] for name in trees}
    for turn in range(rounds):
        for name in sorted(trees, reverse=bool(turn % 2)):
            with tempfile.TemporaryDirectory(dir=trees[name].folder) as cache:
                found[name].append(first_step(env_id, cache, trees[name].path)[1])
    return found


def divided(one: Pair, other: Pair) -> Pair:
    """Round by round, one by another."""
    return {k: [a / b for a, b in zip(one[k], other[k], strict=True)] for k in one}


def prices(trees: dict[str, Tree], quick: bool, say: Say) -> dict[str, Pair]:
    """All rows of the list."""
    rounds, seconds = (2, 0.01) if quick else (9, 0.1)
    times = per_step(trees, [CARTPOLE, *CASES, *THREADED], rounds, seconds, say)
    found = {
        f"`{env_id}`, us an env-step of {lanes:,}": row
        for (env_id, lanes, threads), row in times.items()
        if threads == 1
    }
    found[f"`{ENVS[0]}` to `CartPole-v1`, one env"] = divided(times[ENVS[0], 1, 1], times[CARTPOLE])
    for env_id, lanes, threads in THREADED:
        gain = divided(times[env_id, lanes, 1], times[env_id, lanes, threads])
        found[f"`{env_id}`, {lanes:,}: gain of {threads} threads"] = gain
    for env_id in ENVS[:1] if quick else ENVS:
        say(f"first step of {env_id}")
        row = first_steps(trees, env_id, 1 if quick else 3)
        found[f"`{env_id}`, s to the first step, empty cache"] = row
    return found


def shown(rows: dict[str, dict[str, float]]) -> str:
    """The list as Markdown."""
    cells = [
        [name, *(number(row[key]) for key in ("old", "new", "ratio"))] for name, row in rows.items()
    ]
    return table(["medians", "old", "new", "new / old"], cells)


def main() -> None:
    """Measure, print the list and write prices.json."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prices")
    parser.add_argument("tree", type=Path, help="folder of the other checkout")
    parser.add_argument("--quick", action="store_true", help="a minute, for a look")
    parser.add_argument("--out", type=Path, default=MEASURED, help="folder of the JSON file")
    given = parser.parse_args()
    if not (given.tree / "rbgym").is_dir():
        parser.error(f"there is no package rbgym in {given.tree}")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        trees = {}
        for name, tree in (("old", given.tree), ("new", ROOT)):
            own = Path(folder) / name
            own.mkdir()
            trees[name] = Tree(laid_out(tree.resolve(), own / "tree"), own, stack)
        rows: dict[str, Any] = {}
        for name, row in prices(trees, given.quick, say).items():
            medians = {key: rounded(statistics.median(values)) for key, values in row.items()}
            ratio = statistics.median(divided({"": row["new"]}, {"": row["old"]})[""])
            rows[name] = medians | {"ratio": rounded(ratio)}
    head = described("prices", given.quick) | {"old_commit": commit(given.tree)}
    write(given.out, "prices", head | {"rows": rows})
    print(shown(rows))


if __name__ == "__main__":
    main()
