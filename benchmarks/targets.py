"""What was aimed at, what was measured, and why one was missed."""

from typing import Any, NamedTuple

Results = dict[str, dict[str, Any]]

AKW = "rbgym RigidTop-v0, akw, 1 substep"
QUAT_EM = "rbgym RigidTop-v0, quat_em, 1 substep"
# Why a target was missed, by its key, in words for the page; shown only while it is missed.
_FOLLOWS = "It follows from the first."
REASONS: dict[str, str] = {
    "cartpole": "The aim leaves seventeen nanoseconds for a step. The physics of `akw` takes "
    "seven; observation, reward, ends and the beginning of the one episode in thirteen that random "
    "actions end at each step take eight; Python, with `info` and the arrays that it returns, "
    "takes two or three: see what a step is made of, and the last table.",
    "cartpole_65536": "The rows of 65,536 bodies, 26 MB, and what a step returns of them hardly "
    "fit in the cache that all cores of the machine share: runs differ by a tenth. They are asked "
    "for ahead, and yet wait for memory. CartPoleVectorEnv keeps four numbers of a body.",
    "top": "`exact:4` is in the place of four substeps of `quat_em`.",
    "free": "`exact:4`, the default now, has an error that is a small part of that of `quat_em`, "
    "see [accuracy](accuracy.md), and takes elliptic functions; the aim was "
    "set for the scheme of that day.",
    "envpool": _FOLLOWS,
    "gymnax": f"{_FOLLOWS} Its own figure is another in every run.",
    "mujoco": _FOLLOWS,
    "c": "The C loop does some fifty operations in float32, sixteen at once, where `akw` has "
    "hundreds in float64, eight at once; and it returns neither `info` nor arrays of its "
    "own.",
    "threads_2048": "What Python does before and after a step is done by one thread, and how soon "
    "a core sees what the other wrote differs from minute to minute.",
    "threads_16384": "Both threads share the way to memory, too.",
    "single": "Compiled code takes half a microsecond of two and a half. The rest is Python: the "
    "action is checked, and arrays and `info` are made anew by every step.",
    "clone": "A state is checked as a whole before it is put back.",
    "first": "Numba works through many small functions, for the most part in Python. Where a core "
    "is idle, two processes compile a kernel each.",
    "trained": "The update of the networks in PyTorch takes nine tenths of PPO's time.",
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
    threads = two_threads(results)

    def beside(*names: str, lanes: str = "1024") -> float | None:
        return _ratio(_lanes(results, AKW, lanes), [_lanes(results, n, lanes) for n in names])

    def to_old(*keys: str, new: str = "new") -> float | None:
        ours, old = (_median(results, "before", *keys, name) for name in (new, "old"))
        return ours / old if ours and old else None

    def alone(name: str, base: str) -> float | None:
        ours, other = (_median(results, "single", "microseconds", one) for one in (name, base))
        return ours / other if ours and other else None

    cartpole, pendulum = "Gymnasium CartPoleVectorEnv", "gymnax Pendulum-v1"
    step, many = "RigidTop-v0, akw, 1 substep", "two threads to one, "
    cloned, per_step = f"{step}, cloned before", "Gymnasium CartPole-v1, wrapped"
    many_lanes, pendulums = f"{pendulum}, 16 steps a call", "EnvPool Pendulum-v1"
    bare, in_c, old = "mujoco.rollout, free body, Euler", "C CartPole", "the old commit"
    measured = results.get("before", {}).get("steps", {})
    body = next((name for name in measured if name != "RigidTop-v0"), "IntermediateAxis-v0")
    top, free = (to_old("steps", name) for name in ("RigidTop-v0", body))
    first, trained = to_old("first_step"), to_old("training")
    one = alone(f"{step}, wrapped", per_step)
    return [
        Target("cartpole", "`akw` to CartPoleVectorEnv", 3.3, beside(cartpole)),
        Target("cartpole_65536", "the same, 65,536", 1.0, beside(cartpole, lanes="65536")),
        Target("top", f"defaults of RigidTop-v0 to {old}", 1.5, top),
        Target("free", f"defaults of {body} to {old}", 1.5, free),
        Target("envpool", "`akw` to EnvPool's Pendulum", 40.0, beside(pendulums)),
        Target("gymnax", "the same, gymnax's at its best", 8.0, beside(pendulum, many_lanes)),
        Target("mujoco", "`akw` to mujoco.rollout of a free body, Euler", 60.0, beside(bare)),
        Target("c", "`akw` to CartPole in C", 0.5, beside(in_c)),
        Target("threads_2048", f"{many}2,048", 1.6, threads.get((step, "2048"))),
        Target("threads_16384", f"{many}16,384", 1.8, threads.get((step, "16384"))),
        Target("single", "one `env.step`, `akw`, to CartPole-v1's", 0.65, one, False),
        Target("clone", "a clone and a step, in steps", 5.0, alone(cloned, step), False),
        Target("first", f"first step, nothing compiled, to {old}", 0.5, first, False),
        Target("trained", f"seconds to 95 % success, PPO, to {old}'s", 0.333, trained, False),
    ]
