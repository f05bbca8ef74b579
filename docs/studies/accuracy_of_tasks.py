"""Accuracy and cost of the physics of each task: docs/records/accuracy.md.

python docs/studies/accuracy_of_tasks.py [TASK ...]
python docs/studies/accuracy_of_tasks.py --write    # the page alone, from docs/accuracy.json

Bodies at random attitudes with rates up to the task's limit, under random actions, one control
period, against the truth: `exact:6` with 64 steps in it; and an episode's first 50 control periods
from the task's own starts, under the actions of the trained policy, or of a law. Cost: processor
time for an environment and step, the schemes measured in turn.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any, cast

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator

import rbgym
from rbgym.agents import controllers, load
from rbgym.agents.policies import trained
from rbgym.agents.run_folder import write_json
from rbgym.envs.task import Task
from rbgym.quaternion import Array, angle_between, normalized
from rbgym.registration import ENVIRONMENTS

DOCS = Path(__file__).resolve().parents[1]
RESULTS, PAGE = DOCS / "accuracy.json", DOCS / "records" / "accuracy.md"
BODIES, PERIODS, ROUNDS = 512, 50, 5
TRUTH = {"integrator": "exact:6", "substeps": 64}
# The others have a scheme of their own kind.
TASKS = [name for name in ENVIRONMENTS if name != "ScalableSpin-v0"]


def declaration(task: str) -> Task:
    """The settings that the task declares."""
    return cast(Task, load_env_creator(cast(str, gym.spec(task).entry_point)).task)


def physics(task: str) -> dict[str, dict[str, Any]]:
    """Arguments of the environments that are compared, by what the table calls them: as many steps
    as the task takes of its own integrator, or of others. quat_em was the default for long."""
    declared = declaration(task)
    own, others = declared.substeps, declared.substeps_of_others
    compared = ("quat_em", others), ("rkn4", others), ("exact", own), ("exact:4", own)
    return {
        f"{name} x {steps}": {"integrator": name, "substeps": steps}
        for name, steps in (*compared, (declared.integrator, own))
    }


def error(task: str, how: dict[str, Any]) -> tuple[Array, Array]:
    """Errors after one control period, of attitude [rad] and of rates [rad/s], (BODIES,)."""
    rng = np.random.default_rng(7)
    ends = []
    q = normalized(rng.standard_normal((BODIES, 4)))
    way = normalized(rng.standard_normal((BODIES, 4)))[:, 1:]  # into the ball
    for arguments in (how, TRUTH):
        env = gym.make_vec(task, num_envs=BODIES, **arguments)
        env.action_space.seed(3)
        action = env.action_space.sample()
        env.reset(seed=5)
        if task == "SoftWall-v0":  # not from beyond the wall
            q = env.unwrapped.state["quaternion"]
        rates = 0.95 * env.unwrapped.rate_limit * way  # type: ignore[attr-defined]
        env.reset(seed=5, options={"state": {"quaternion": q, "angular_velocity": rates}})
        env.step(action)
        ends.append(env.unwrapped.state)  # type: ignore[attr-defined]
    return _difference(*ends)


def episode_error(task: str, how: dict[str, Any]) -> Array:
    """Largest error of the attitude [rad] within the first control periods of episodes, (BODIES,),
    under the actions of the trained policy, or the first law; of lanes whose episode ended, as it
    is then."""
    policy, memory, begins = _policy(task), None, np.ones(BODIES, bool)
    envs = [gym.make_vec(task, num_envs=BODIES, **arguments) for arguments in (how, TRUTH)]
    seen = [env.reset(seed=11)[0] for env in envs][1]
    worst, going = np.zeros(BODIES), np.ones(BODIES, bool)
    for _ in range(PERIODS):
        action, memory = policy.predict(seen, memory, begins)
        steps = [env.step(action) for env in envs]
        seen = steps[1][0]
        off, _ = _difference(*(env.unwrapped.state for env in envs))  # type: ignore[attr-defined]
        worst = np.where(going, np.maximum(worst, off), worst)
        for _, _, terminated, truncated, _ in steps:
            begins = terminated | truncated
            going &= ~begins
    return worst


def _policy(task: str) -> Any:
    if task in trained.names():
        return load(task)
    env = gym.make(task)
    return controllers.make(next(law for law in controllers.for_env(env) if law != "idle"), env)


def _difference(a: dict[str, Array], b: dict[str, Array]) -> tuple[Array, Array]:
    rates = a["angular_velocity"] - b["angular_velocity"]
    return angle_between(a["quaternion"], b["quaternion"]), np.linalg.norm(rates, axis=1)


def costs(task: str) -> dict[str, float]:
    """Processor time of a step [ns] of one of 1,024 environments, the best of the rounds."""
    envs = {name: gym.make_vec(task, num_envs=1024, **how) for name, how in physics(task).items()}
    best = dict.fromkeys(envs, np.inf)
    for env in envs.values():
        env.reset(seed=1)
        env.action_space.seed(2)
    action = next(iter(envs.values())).action_space.sample()
    for _ in range(ROUNDS):
        for name, env in envs.items():
            started = time.process_time()
            for _ in range(200):
                env.step(action)
            best[name] = min(best[name], (time.process_time() - started) / 200 / 1024 * 1e9)
    return best


def measure(task: str) -> dict[str, Any]:
    """The rows of one task in the table."""
    cost, found = costs(task), {}
    for name, how in physics(task).items():
        attitude, rate = error(task, how)
        found[name] = {
            "median": float(np.median(attitude)),
            "largest": float(attitude.max()),
            "largest_rate": float(rate.max()),
            "episode": float(np.max(episode_error(task, how))),
            "ns": cost[name],
        }
        print(task, name, found[name], flush=True)
    return found


def table(results: dict[str, Any]) -> str:
    """The table of all that was compared."""
    lines = [
        "| task | physics | median [rad] | largest [rad] | rates, largest [rad/s] | episode [rad] "
        "| ns a step |",
        "|---|---|---|---|---|---|---|",
    ]
    for task in TASKS:
        for name, row in results.get(task, {}).items():
            numbers = [
                f"{row[key]:.1e}" for key in ("median", "largest", "largest_rate", "episode")
            ]
            physics = name.replace(" ", "&nbsp;")
            lines.append(f"| {task} | {physics} | {' | '.join(numbers)} | {row['ns']:.0f} |")
    return "\n".join(lines)


def defaults(results: dict[str, Any]) -> str:
    """Each task's own integrator and steps."""
    lines = ["| task | median [rad] | largest [rad] | ns a step |", "|---|---:|---:|---:|"]
    for task in TASKS:
        if task in results:
            declared = declaration(task)
            row = results[task][f"{declared.integrator} x {declared.substeps}"]
            numbers = f"{row['median']:.1e} | {row['largest']:.1e} | {row['ns']:.0f}"
            lines.append(f"| {task} | {numbers} |")
    return "\n".join(lines)


def current(results: dict[str, Any]) -> str:
    """The page with its tables made again."""
    text = PAGE.read_text("utf-8")
    for name, made in ("defaults", defaults), ("study", table):
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        head, tail = text.split(begin)[0], text.split(end)[1]
        text = f"{head}{begin}\n{made(results)}\n{end}{tail}"
    return text


def main(arguments: list[str]) -> None:
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if "--write" not in arguments:
        for task in arguments or TASKS:
            results[task] = measure(task)
            write_json(RESULTS, results)
    PAGE.write_text(current(results), "utf-8")


if __name__ == "__main__":
    print(f"rbgym {rbgym.__version__}")
    main(sys.argv[1:])
