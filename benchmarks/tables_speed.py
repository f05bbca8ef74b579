"""What steps, starts and trainings cost, as Markdown; each takes all results."""

from benchmarks.markdown import NOT_MEASURED, number, spread, table
from benchmarks.targets import AKW, QUAT_EM, Results, two_threads

MILLION = 1e6
# Rows of the short table: what they are called there, and in the results of one step and of many.
BESIDE = {
    "rbgym `RigidTop-v0`, `akw`": ("RigidTop-v0, akw, 1 substep", AKW),
    "rbgym `RigidTop-v0`, `quat_em`": ("RigidTop-v0, quat_em, 1 substep", QUAT_EM),
    "Gymnasium CartPole, NumPy": ("Gymnasium CartPole-v1", "Gymnasium CartPoleVectorEnv"),
    "CartPole in C, float32": ("C CartPole", "C CartPole"),
    "gymnax CartPole, 16 steps a call": ("", "gymnax CartPole-v1, 16 steps a call"),
    "EnvPool Pendulum": ("EnvPool Pendulum-v1", "EnvPool Pendulum-v1"),
    "MuJoCo, bare free body, Euler": (
        "MuJoCo free body, Euler",
        "mujoco.rollout, free body, Euler",
    ),
    "Basilisk, bare hub, RK4": ("Basilisk hub, RK4", "Basilisk hub, RK4, 1000 steps a call"),
}


def summary(found: Results) -> str:
    """One step alone, and one of 1,024, beside others."""
    one = found.get("single", {}).get("microseconds")
    many = found.get("throughput", {}).get("by_count")
    if not one or not many:
        return NOT_MEASURED
    rows = []
    for name, (alone, batch) in BESIDE.items():
        steps = many[batch].get("1024", many[batch]["1"])["median"]
        cells = [number(one[alone]["median"]) if alone else "", number(steps / MILLION)]
        rows.append([name, *cells, number(1e9 / steps)])
    head = ["one core", "one env: us a step", "1,024 envs: M steps/s", "ns a step"]
    return table(head, rows)


def single(found: Results) -> str:
    """Microseconds of a step."""
    cases = found.get("single", {}).get("microseconds")
    if not cases:
        return NOT_MEASURED
    base = cases["RigidTop-v0, akw, 1 substep"]["median"]
    rows = []
    for name, row in cases.items():
        if name.endswith(", wrapped"):
            continue
        wrapped = cases.get(f"{name}, wrapped")
        ratio = number(row["median"] / base)
        rows.append([name, spread(row), spread(wrapped) if wrapped else "", ratio])
    head = ["one step", "unwrapped [us]", "as `gym.make` gives it [us]", "to `akw`"]
    return table(head, rows)


def lanes(found: Results) -> str:
    """Millions of steps a CPU-second by number of environments."""
    cases = found.get("throughput", {}).get("by_count")
    if not cases:
        return NOT_MEASURED
    counts = sorted({int(n) for row in cases.values() for n in row})
    akw = cases[AKW]
    rows = []
    for name, row in cases.items():
        cells = [number(row[str(n)]["median"] / MILLION) if str(n) in row else "" for n in counts]
        at = "1024" if "1024" in row else "1"
        ratio = number(akw["1024"]["median"] / row[at]["median"])
        rows.append([name, *cells, ratio])
    head = ["M steps per CPU-second, environments:", *(f"{n:,}" for n in counts), "`akw` is"]
    return table(head, rows)


def _one_column(found: Results, key: str, head: str) -> str:
    rows = found.get("throughput", {}).get(key)
    if not rows:
        return NOT_MEASURED
    cells = [
        [f"`{name}`", number(row["median"] / MILLION), number(1e9 / row["median"])]
        for name, row in rows.items()
    ]
    return table([head, "M env-steps/s", "ns per env-step"], cells)


def schemes(found: Results) -> str:
    """Each scheme in RigidTop-v0."""
    return _one_column(found, "schemes", "integrator")


def tasks(found: Results) -> str:
    """Each environment with its defaults."""
    return _one_column(found, "tasks", "environment")


def threads(found: Results) -> str:
    """Two threads to one."""
    ratios = two_threads(found)
    if not ratios:
        return NOT_MEASURED
    counts = sorted({int(n) for _, n in ratios})
    cases = dict.fromkeys(case for case, _ in ratios)
    rows = [[case, *(number(ratios.get((case, str(n)))) for n in counts)] for case in cases]
    return table(["two threads to one, environments:", *(f"{n:,}" for n in counts)], rows)


def parts(found: Results) -> str:
    """What a step of many is made of."""
    cases = found.get("parts", {}).get("nanoseconds")
    if not cases:
        return NOT_MEASURED
    rows = []
    for name, by_count in cases.items():
        for lanes, row in by_count.items():
            rest = row["all"] - row["physics"] - row["judging"]
            cells = [row["physics"], row["judging"], rest, row["all"]]
            rows.append([name, f"{int(lanes):,}", *map(number, cells)])
    head = ["ns of a step", "environments", "physics", "judging", "the rest", "all"]
    return table(head, rows)


def before(found: Results) -> str:
    """Beside an older commit."""
    told = found.get("before")
    if not told:
        return NOT_MEASURED
    rows = [
        [f"`{env}`, M steps per CPU-second", *(number(row[k]["median"] / MILLION) for k in row)]
        for env, row in told["steps"].items()
    ]
    first, trained = told["first_step"], told["training"]
    rows.append(["first step, nothing compiled [s]", *(number(first[k]["median"]) for k in first)])
    for name, label in (("new", "by PPO"), ("apg", "by PPO, and by `apg`")):
        cells = [number(trained[key]["median"]) for key in ("old", name)]
        rows.append([f"`RigidTop-v0` to 95 % success, {label} [s]", *cells])
    return table(["its defaults", f"at {told['commit']}", "now"], rows)


def startup(found: Results) -> str:
    """Seconds to the first step."""
    both = found.get("startup")
    if not both:
        return NOT_MEASURED
    rows = []
    for name, row in both["warm"].items():
        cold = both["cold"].get(name)
        cells = [spread(row[key]) for key in ("import", "first_step", "first_step_cpu")]
        rows.append([name, *cells, number(cold["first_step"]["median"]) if cold else ""])
    head = ["from a fresh process", "import [s]", "import and first step [s]", "of CPU [s]"]
    return table([*head, "nothing compiled before [s]"], rows)


def memory(found: Results) -> str:
    """Bytes of one environment among many."""
    told = found.get("memory")
    if not told:
        return NOT_MEASURED
    rows = [
        [
            name,
            *(f"{row[key]:.0f}" if row[key] else "" for key in ("resident", "arrays", "returned")),
        ]
        for name, row in told["bytes"].items()
    ]
    head = [f"bytes of one of {told['lanes']:,}", "growth of the process", "arrays it holds"]
    return table([*head, "arrays that a step returns"], rows)


def training(found: Results) -> str:
    """One training."""
    told = found.get("training")
    if not told:
        return NOT_MEASURED
    reached = told["seconds_to_threshold"]
    row = [
        f"`{told['env']}`",
        f"{told['timesteps']:,}",
        f"{told['steps_per_second']:,}",
        number(told["seconds"]),
        number(reached) if reached is not None else "not reached",
    ]
    return table(
        ["PPO on", "env-steps", "env-steps/s", "seconds", "seconds to 95 % success"], [row]
    )


def core(found: Results) -> str:
    """What the core can do."""
    told = found.get("roofline", {}).get("core")
    if not told:
        return NOT_MEASURED
    rows = [
        ["fused multiply-add", f"{told['fused'] / 1e9:.0f} GFLOP/s"],
        ["division", f"{told['divided'] / 1e9:.1f} G/s"],
        ["square root", f"{told['rooted'] / 1e9:.1f} G/s"],
        *([f"read and write, {k}", f"{v / 1e9:.0f} GB/s"] for k, v in told["bytes"].items()),
    ]
    return table(["one core, float64", "measured"], rows)


def roofline(found: Results) -> str:
    """Each scheme against the limits of the core."""
    rows = found.get("roofline", {}).get("schemes")
    if not rows:
        return NOT_MEASURED
    made = []
    for name, row in rows.items():
        count = row["counts"]
        flops = sum(count[key] for key in ("add", "multiply", "divide", "root"))
        cells = [f"{flops:.0f}", f"{count['divide'] + count['root']:.0f}"]
        cells += [f"{count['corrections']:.1f}"]
        cells += [f"{count['bytes_read'] + count['bytes_written']:.0f}"]
        cells += [f"{row['nanoseconds']:.1f}"]
        cells += [f"{x:.1f}" for x in row["limits"].values()]
        made.append([f"`{name}`", *cells, row["bound"], f"{100 * row['reached']:.0f} %"])
    head = ["scheme", "flops", "of them / and roots", "corrections", "bytes", "measured [ns]"]
    limits = [f"{key} [ns]" for key in next(iter(rows.values()))["limits"]]
    return table([*head, *limits, "nearest limit", "reached"], made)
