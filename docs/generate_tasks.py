"""Write the page of each task from its docstring, and tables of tasks.md, training.md and hooks.md.

python docs/generate_tasks.py            # write
python docs/generate_tasks.py --check    # exit 1 if a page is not current
python docs/generate_tasks.py --measure [ID ...]  # run the classical controllers again, then write

Training results come from docs/learning.json, see docs/studies/train_every_task.py.
"""

import inspect
import json
import math
import re
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium as gym
import task_page
from gymnasium.envs.registration import load_env_creator

from rbgym.agents import controllers
from rbgym.envs.parts.parameters import OF_BODY, OF_MOUNTING, OF_SENSOR
from rbgym.registration import ENVIRONMENTS

DOCS = Path(__file__).resolve().parent
SOLVED, LEARNED, CARDS = (DOCS / f"{name}.json" for name in ("solved", "learning", "cards"))
INDEX = DOCS / "tasks.md"
BEGIN, END = "<!-- tasks:begin -->", "<!-- tasks:end -->"
HOOKS = DOCS / "hooks.md"
DRAWN, DRAWN_END = "<!-- parameters:begin -->", "<!-- parameters:end -->"
TRAINING = DOCS / "training.md"
TIMES, TIMES_END = "<!-- times:begin -->", "<!-- times:end -->"
# Modules; the others are of the classroom.
SATELLITES = "cubesat", "reach", "innocube", "free_flyer", "nutation", "wakeup"
HISTORY = {
    "v0": "v0: first version.",
    "v1": "v1: torques, wheels and tolerances of a CubeSat, a reward in units of tolerances, "
    "success slower than 0.05 degrees/s. v0, with torques that no satellite of this size has, is "
    "gone.",
}
TRAINED = (
    "task", "condition", "algorithm", "trained [s] (to 95 %)", "success of seeds [%]", "best law",
    "success [%]: law", "policy", "return more than the law's, 95 % interval", "settled [s]: law",
    "policy", "effort [N m s]: law", "policy",
)  # fmt: skip
HEADINGS = ("task", "what", "doing nothing", "classical controller", "learned")


def env_class(env_id: str) -> Any:
    """The class of the single environment."""
    module, name, _ = ENVIRONMENTS[env_id]
    return load_env_creator(f"{module}:{name}Env")


def of_satellites(env_id: str) -> bool:
    """Whether it is a task of a satellite, not of the classroom."""
    return ENVIRONMENTS[env_id][0].rpartition(".")[2] in SATELLITES


def page(env_id: str) -> str:
    """The docstring and the sections from the parts, under the id."""
    with closing(gym.make(env_id)) as env:
        text = task_page.page(env.unwrapped, ENVIRONMENTS[env_id][2])
        laws = [f"`{name}`" for name in controllers.for_env(env, planners=True) if name != "idle"]
    text = re.sub(r"docs/([\w/]+)\.md", r"[\1](../\1.md)", text)
    head = f"<!-- made by docs/generate_tasks.py from the docstring -->\n# {env_id}\n\n"
    first, rest = text.strip().split("\n\n", 1)
    shown = f"![A frame of {env_id}](../pictures/envs/{env_id}.png)"
    return (
        f"{head}{first}\n\n{shown}\n\n{rest}\n\n"
        f"## Laws that fit\n{', '.join(laws)}: see [controllers](../controllers.md).\n\n"
        f"## Version history\n{HISTORY[env_id.rpartition('-')[2]]}\n"
    )


def rank(found: dict[str, Any]) -> tuple[float, float]:
    """Sort key of controllers: success, then the shorter time."""
    settling = found["settling"]
    return found["success"], -math.inf if settling is None else -settling


def row(env_id: str, solved: dict[str, Any], learned: dict[str, Any] | None) -> str:
    """The cells of one task."""
    first = inspect.cleandoc(env_class(env_id).__doc__).split("\n")[0].rstrip(".")
    best = max((name for name in solved if name != "idle"), key=lambda n: rank(solved[n]))
    time = solved[best]["settling"]
    settled = "none settles" if time is None else f"settled after {float(f'{time:.3g}'):,g} s"
    cells = (
        f"[{env_id}](tasks/{env_id}.md)",
        first,
        f"{100 * solved['idle']['success']:.1f} %",
        f"`{best}` {100 * solved[best]['success']:.1f} %, {settled}",
        f"{_algorithm(learned)} {100 * learned['success']:.1f} %, "
        f"{learned['steps'] / 1e6:.2g} M steps; "
        f"return {learned['return']:.0f}, doing nothing {learned['idle']['mean_return']:.0f}"
        if learned
        else "no policy yet",
    )
    return f"| {' | '.join(cells)} |"


def _algorithm(learned: dict[str, Any]) -> str:
    return str(learned["algo"]).upper().replace("_", "-")


def _training_of(learned: dict[str, Any]) -> tuple[str, str]:
    """What trained a policy, and how long."""
    if "trained_in" in learned:
        return f"{_algorithm(learned)}, of the true state", "-"
    to_threshold = learned["seconds_to_threshold"]
    return (
        _algorithm(learned) + ("" if learned["shipped"] else ", not shipped"),
        f"{learned['seconds']:.0f} ({f'{to_threshold:.0f}' if to_threshold else '-'})",
    )


def is_ahead(learned: dict[str, Any]) -> bool:
    """Whether a policy whose success is not below the law's interval surely has more return, and
    settles in nine tenths of the time or has nine tenths of the effort."""
    policy, law = learned["policy"], learned["of_law"]
    times = [x["settling_time"] or math.inf for x in (policy, law)]
    less = times[0] <= 0.9 * times[1] or policy["effort"] <= 0.9 * law["effort"]
    return bool(learned["shipped"] and learned["differences"]["return"][1] > 0.0 and less)


def training() -> str:
    """docs/training.md with its table of training results replaced."""
    learned, ahead = json.loads(LEARNED.read_text("utf-8")), dict[str, list[str]]()
    rows = [f"| {' | '.join(TRAINED)} |", f"|{'---|' * 2}{'---:|' * (len(TRAINED) - 2)}"]
    for env_id, whole in learned.items():
        for condition, one in {"true": whole, **whole.get("conditions", {})}.items():
            policy, law, more = one["policy"], one["of_law"], one["differences"]
            rates = [f"{100 * rate:.1f}" for rate, _ in one.get("seeds", {}).values()]
            settled = [
                "-" if x["settling_time"] is None else f"{x['settling_time']:.3g}"
                for x in (law, policy)
            ]
            cells = (
                *(env_id, condition, *_training_of(one)),
                *(" ".join(rates) or "-", f"`{one['law']}`"),
                *(f"{100 * x['success_rate']:.1f}" for x in (law, policy)),
                "{:+.3g} ({:+.3g} to {:+.3g})".format(*more["return"]),
                *(*settled, *(f"{x['effort']:.3g}" for x in (law, policy))),
            )
            rows.append(f"| {' | '.join(cells)} |")
            if is_ahead(one):
                fewer = policy["success_rate"] < law["success_rate"]
                ahead.setdefault(condition, []).append(env_id + " (*)" * fewer)
    rule = "success not below its interval (*: but less often), more return, beyond the interval, "
    rule += "and a tenth less settling time or effort, one of the two"
    rows += ["", f"Ahead of the law: {rule}:", ""]
    rows += [f"- {condition}: {', '.join(tasks)}" for condition, tasks in ahead.items()]
    before, rest = TRAINING.read_text("utf-8").split(TIMES)
    return "\n".join([f"{before}{TIMES}", *rows, f"{TIMES_END}{rest.split(TIMES_END)[1]}"])


def index() -> str:
    """docs/tasks.md with its table replaced."""
    files = SOLVED, LEARNED, CARDS
    solved, learned, cards = (json.loads(file.read_text("utf-8")) for file in files)
    idle = {env_id: card["rows"]["idle"]["merits"]["all"] for env_id, card in cards.items()}
    shipped = {e: one | {"idle": idle[e]} for e, one in learned.items() if one["shipped"]}
    rows = {env_id: row(env_id, solved[env_id], shipped.get(env_id)) for env_id in ENVIRONMENTS}
    table = []
    for title, in_space in (("Satellites", True), ("Classroom", False)):
        table += [f"## {title}", "", f"| {' | '.join(HEADINGS)} |", f"|{'---|' * len(HEADINGS)}"]
        table += [text for env_id, text in rows.items() if of_satellites(env_id) == in_space] + [""]
    before, rest = INDEX.read_text("utf-8").split(BEGIN)
    return "\n".join([f"{before}{BEGIN}", *table, f"{END}{rest.split(END)[1]}"])


def parameters() -> str:
    """docs/hooks.md with the table of randomised parameters replaced."""
    rows = ["| parameter | is | unit |", "|---|---|---|"]
    for one in (*OF_BODY, *OF_MOUNTING, *OF_SENSOR):
        words = f"{one.words}, {one.frame}" if one.frame else one.words
        rows.append(f"| `{one.name}` | {words} | {one.unit} |")
    before, rest = HOOKS.read_text("utf-8").split(DRAWN)
    return "\n".join([f"{before}{DRAWN}", *rows, f"{DRAWN_END}{rest.split(DRAWN_END)[1]}"])


def measure(env_ids: list[str]) -> None:
    """Run every controller that fits on the test sets of these tasks, some seconds each."""
    from rbgym.agents.judge.evaluation import evaluate

    found = json.loads(SOLVED.read_text("utf-8")) if SOLVED.exists() else {}
    for env_id in env_ids:
        found[env_id] = {}
        for name in controllers.for_env(gym.make(env_id)):
            result = evaluate(name, env_id)
            found[env_id][name] = {
                "success": result.success_rate,
                "settling": result.settling_time,
                "final_error": result.final_error and round(result.final_error, 4),
                "by_category": result.by_category,
            }
    found = {env_id: found[env_id] for env_id in ENVIRONMENTS}
    SOLVED.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


def main(check: bool) -> int:
    """Write or check every page; the exit status."""
    pages = {DOCS / "tasks" / f"{env_id}.md": page(env_id) for env_id in ENVIRONMENTS}
    pages[INDEX], pages[TRAINING], pages[HOOKS] = index(), training(), parameters()
    stale = [f for f, text in pages.items() if not f.exists() or f.read_text("utf-8") != text]
    for file in stale:
        if check:
            print(f"{file.name} is not current: run python docs/generate_tasks.py")
        else:
            file.parent.mkdir(exist_ok=True)
            file.write_text(pages[file], "utf-8")
    return int(check and bool(stale))


if __name__ == "__main__":
    if "--measure" in sys.argv[1:]:
        measure([given for given in sys.argv[1:] if given in ENVIRONMENTS] or [*ENVIRONMENTS])
    sys.exit(main("--check" in sys.argv[1:]))
