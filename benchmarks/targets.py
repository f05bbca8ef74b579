"""What was aimed at, what was measured, and why one was missed."""

import statistics
from typing import Any, NamedTuple

Results = dict[str, dict[str, Any]]

AKW = "rbgym RigidTop-v0, akw, 1 substep"
QUAT_EM = "rbgym RigidTop-v0, quat_em, 1 substep"
# Why a target was missed, by its key, in words for the page; shown only while it is missed.
_FOLLOWS = "It follows from the first: the aim was set beside 50 M."
REASONS: dict[str, str] = {
    "akw": "The physics alone takes more than two fifths of the time, and that is near what the "
    "core's arithmetic allows, see the last table. The rest is judging the step (observation, "
    "reward, ends, and what `info` keeps), beginning anew the one episode in fourteen that random "
    "actions end at each step, and Python. Less arithmetic would be another scheme.",
    "envpool": _FOLLOWS,
    "gymnax": _FOLLOWS,
    "mujoco": _FOLLOWS,
    "c": "The C loop does some fifty operations in float32, sixteen at once, where `akw` has a "
    "thousand in float64, eight at once; and it returns neither `info` nor arrays of its own.",
    "threads": "Two threads share the way to memory and Python's lock between "
    "ranges; on a shared machine the second core is seldom free.",
    "single": "What is left is two calls of compiled code with two dozen arguments, and the arrays "
    "and the `info` that every step returns anew.",
    "startup": "Most of it is importing Gymnasium and Numba, and loading compiled code.",
    "arrays": "Each body has 134 rows of float64, whatever its task uses of them: offsets that are "
    "the same for all tasks keep kernels vectorised and few. `RigidTop-v0` uses less than half.",
    "memory": "As above, and what a step returns.",
}


class Target(NamedTuple):
    """One aim; least: at least so much, else at most. unit: what stands behind the numbers."""

    key: str
    aim: str
    wanted: float
    measured: float | None
    least: bool = True
    unit: str = ""

    @property
    def met(self) -> bool | None:
        """None where nothing was measured."""
        if self.measured is None:
            return None
        return self.measured >= self.wanted if self.least else self.measured <= self.wanted

    @property
    def verdict(self) -> str:
        """Met or missed, by which factor."""
        if self.measured is None:
            return "not measured"
        factor = self.measured / self.wanted
        better = factor if self.least else 1.0 / factor
        return f"met, {better:.2f} times" if self.met else f"missed, {better:.2f} of it"


def _dig(found: Any, *keys: str) -> Any:
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _median(results: Results, *keys: str) -> float | None:
    found = _dig(results, *keys, "median")
    return float(found) if found is not None else None


def _lanes(results: Results, name: str, lanes: str = "1024") -> float | None:
    return _median(results, "throughput", "by_count", name, lanes)


def _ratio(ours: float | None, theirs: list[float | None]) -> float | None:
    there = [x for x in theirs if x]
    return ours / max(there) if ours and there else None


def two_threads(results: Results) -> dict[tuple[str, str], float]:
    """How many times faster two threads are, by case and lanes."""
    found = _dig(results, "throughput", "threads") or {}
    return {
        (case, lanes): row["2"]["median"] / row["1"]["median"]
        for case, rows in found.items()
        for lanes, row in rows.items()
    }


def targets(results: Results) -> list[Target]:
    """All of them, in the order of the page; results: the JSON files by name."""
    akw, million = _lanes(results, AKW), 1e6
    many = [x for (_, lanes), x in two_threads(results).items() if int(lanes) >= 16384]
    shared = statistics.median(many) if many else None
    exact = _median(results, "throughput", "schemes", "exact")

    def in_millions(x: float | None) -> float | None:
        return None if x is None else x / million

    def beside(*names: str) -> float | None:
        return _ratio(akw, [_lanes(results, name) for name in names])

    unit = "M env-steps/s"
    pendulum = "gymnax Pendulum-v1", "gymnax Pendulum-v1, 16 steps a call"
    memory = _dig(results, "memory", "bytes", "rbgym RigidTop-v0") or {}
    step = _median(results, "single", "microseconds", "RigidTop-v0, akw, 1 substep")
    start = _median(results, "startup", "warm", "rbgym RigidTop-v0", "first_step")
    return [
        Target("akw", "`akw`", 50.0, in_millions(akw), unit=unit),
        Target("quat_em", "`quat_em`", 20.0, in_millions(_lanes(results, QUAT_EM)), unit=unit),
        Target("exact", "`exact`", 2.0, in_millions(exact), unit=unit),
        Target("envpool", "`akw` to EnvPool's Pendulum", 80.0, beside("EnvPool Pendulum-v1")),
        Target("gymnax", "`akw` to gymnax's Pendulum, at its best", 5.0, beside(*pendulum)),
        Target("c", "`akw` to CartPole in C", 1.2, beside("C CartPole")),
        Target(
            "mujoco",
            "`akw` to mujoco.rollout of a free body, Euler",
            100.0,
            beside("mujoco.rollout, free body, Euler"),
        ),
        Target("threads", "two threads to one, from 16,384 on", 1.9, shared),
        Target("single", "`env.unwrapped.step`, `akw`", 3.0, step, False, "us"),
        Target("startup", "import and first step, warm", 0.8, start, False, "s"),
        Target("arrays", "arrays of an env among 65,536", 400.0, memory.get("arrays"), False, "B"),
        Target("memory", "growth of the process by it", 400.0, memory.get("resident"), False, "B"),
    ]
