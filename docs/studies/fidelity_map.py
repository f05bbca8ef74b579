"""Where does the physics decide? The tables and the picture of docs/learning_study.md.

python docs/studies/fidelity_map.py [policies] [map] [draw]

On NutationDamping-v0, and with other steps and torques, something is made on the physics of one
scheme, one step a control period: a policy trained, a linear law tuned, its course planned. It is
then judged on that physics, and with the same control period on the truth: `exact`, in small
steps. An interrupted study goes on; `draw` only writes the page again. What MuJoCo makes of the
same body is measured by `python -m benchmarks.nutation`.
"""

import itertools
import json
import math
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from rbgym.agents.judge import plots
from rbgym.agents.judge.evaluation import evaluate
from rbgym.agents.policies import Network
from rbgym.agents.run_folder import RunFolder, write_json
from rbgym.agents.train import Rollout, load_policy, rollout, train
from rbgym.envs.tasks.nutation import SPIN
from rbgym.plot import style
from rbgym.quaternion import Array

DOCS = Path(__file__).resolve().parents[1]
RESULTS, PAGE = DOCS / "fidelity_map.json", DOCS / "learning_study.md"
ENGINE = DOCS.parent / "benchmarks" / "results" / "nutation.json"
PICTURE = DOCS / "pictures" / "fidelity_map.svg"
RUNS = Path("runs") / "fidelity_map"
TASK = "NutationDamping-v0"
TRUTH = {"integrator": "exact", "substeps": 32}

# Of the policies.
LEARNED_ON = ("backward_euler", "forward_euler", "rkn4", "exact:4")
SEEDS = (0, 1, 2, 3, 4)

# Of the map: half a radian of spin a step and 0.1 N m are the task.
SCHEMES = ("forward_euler", "backward_euler", "rkn4", "quat_em", "exact:4")
TURNS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)  # rad of spin in a step
TORQUES = (0.1, 0.3, 1.0)  # N m
MOMENTUM = 1.6 * SPIN  # kg m^2/s, of the spin
FEEDBACK = {"every step": 1, "every 4th step": 4, "open loop": 0}
SECONDS = 60.0
FINE = 0.02  # rad of spin in a step of the truth
POPULATION, ELITE, GENERATIONS, STARTS = 20, 5, 24, 16
JUDGED = range(2**32, 2**32 + 128)


def found() -> dict[str, Any]:
    """What has been measured: policies, idle and cells, by name."""
    empty: dict[str, Any] = {"policies": {}, "idle": {}, "cells": {}}
    return json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else empty


def note(part: str, name: str, value: Any) -> None:
    """Add a figure to the file, which another part of the study may have written to meanwhile."""
    every = found()
    every[part][name] = value
    write_json(RESULTS, every)
    print(part, name, value, flush=True)


# --- policies ---


def figures(policy: Any, **physics: Any) -> dict[str, Any]:
    """Of a policy, or a controller's name, on the test set."""
    one = evaluate(policy, TASK, **physics)
    return {
        "success": one.success_rate,
        "return": one.mean_return,
        "settling": one.settling_time,
        "effort": one.effort,
    }


def learned(scheme: str, seed: int) -> dict[str, Any]:
    """Train one policy, and judge it on its own physics and on the truth."""
    own = {"integrator": scheme, "substeps": 1}
    out = RUNS / f"{scheme.replace(':', '_')}-{seed}"
    train(TASK, out=out, seed=seed, env_kwargs=own, evaluate_every=0, progress=False)
    policy = load_policy(RunFolder(out))
    return {"own": figures(policy, **own), "truth": figures(policy, **TRUTH)}


def policies() -> None:
    """Train what is missing; and judge doing nothing, and the law."""
    for scheme in LEARNED_ON:
        for name in ("idle", "lqr"):
            if f"{name} {scheme}" not in found()["idle"]:
                own = figures(name, integrator=scheme, substeps=1)
                note("idle", f"{name} {scheme}", {"own": own, "truth": figures(name, **TRUTH)})
    for seed, scheme in itertools.product(SEEDS, LEARNED_ON):
        if f"{scheme} {seed}" not in found()["policies"]:
            note("policies", f"{scheme} {seed}", learned(scheme, seed))


# --- the map ---


def physics(scheme: str, turn: float, torque: float, hold: int) -> dict[str, Any]:
    """Arguments of the env: steps of `turn` [rad] of spin, commands held for `hold` of them."""
    dt = hold * turn / SPIN
    return {
        "integrator": scheme,
        "dt": dt,
        "substeps": hold,
        "torque_limit": torque,
        "max_episode_steps": round(SECONDS / dt),
        "success": {"seconds": 5.0},
    }


def truth(scheme: str, turn: float, torque: float, hold: int) -> dict[str, Any]:
    """The same control periods on the truth, whatever the scheme."""
    fine = hold * max(1, math.ceil(turn / FINE))
    return {**physics("exact", turn, torque, hold), "substeps": fine}


def law(gains: Array) -> Network:
    """commands = -gains (3, 3) (omega - spin), clipped, as a network of one layer."""
    weight = np.zeros((3, 7))
    weight[:, 4:] = -10.0 * gains  # observations are rates over 10 rad/s
    return Network(((weight, SPIN * gains[:, 2]),))  # type: ignore[arg-type]


def tuned(kwargs: dict[str, Any]) -> Network:
    """The linear law of the rates that the cross-entropy method finds for the mean return."""
    rng = np.random.default_rng(0)
    mean, spread = np.zeros(9), np.ones(9)
    for generation in range(GENERATIONS):
        tried = mean + spread * rng.standard_normal((POPULATION, 9))
        seeds = range(2**33 + generation * STARTS, 2**33 + (generation + 1) * STARTS)
        laws = [law(one.reshape(3, 3)) for one in tried]
        returns = rollout(laws, TASK, seeds=seeds, env_kwargs=kwargs).returns.mean(axis=1)
        best = tried[np.argsort(-returns)[:ELITE]]
        mean = 0.3 * mean + 0.7 * best.mean(axis=0)
        spread = 0.3 * spread + 0.7 * best.std(axis=0) + 0.01
    return law(mean.reshape(3, 3))


def judged(network: Network, kwargs: dict[str, Any]) -> dict[str, float]:
    """Success rate and mean reward of a step."""
    one: Rollout = rollout(network, TASK, seeds=JUDGED, env_kwargs=kwargs)
    steps = kwargs["max_episode_steps"]
    return {"success": float(one.success.mean()), "reward": float(one.returns.mean()) / steps}


def unseen(network: Network, own: dict[str, Any], real: dict[str, Any]) -> dict[str, float]:
    """The commands that a law gives on its own physics, carried out on the truth without a look;
    none, where its own physics ends the episode before the time."""
    n, steps = len(JUDGED), own["max_episode_steps"]
    plan, there = (gym.make_vec(TASK, num_envs=n, **kwargs) for kwargs in (own, real))
    seen, _ = plan.reset(seed=list(JUDGED))
    there.reset(seed=list(JUDGED))
    total, success, planned, alive = np.zeros(n), np.zeros(n), np.ones(n), np.ones(n)
    for _ in range(steps):
        commands = network.predict(seen)[0] * planned[:, None]
        seen, _, fallen, _, _ = plan.step(commands)
        _, reward, terminated, truncated, info = there.step(commands)
        total += alive * reward
        success += alive * (terminated | truncated) * info["is_success"]
        planned *= ~fallen
        alive *= ~(terminated | truncated)
    return {"success": float(success.mean()), "reward": float(total.mean()) / steps}


def cells() -> None:
    """Tune and judge what is missing."""
    for turn, torque, scheme in itertools.product(TURNS[::-1], TORQUES, SCHEMES):
        for how, hold in FEEDBACK.items():
            name = f"{scheme} {turn:g} {torque:g} {how}"
            if name in found()["cells"]:
                continue
            own, real = (where(scheme, turn, torque, hold or 1) for where in (physics, truth))
            network = tuned(own)
            carried = judged(network, real) if hold else unseen(network, own, real)
            note("cells", name, {"own": judged(network, own), "truth": carried})


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["policies", "map"]
    if "policies" in wanted:
        policies()
    if "map" in wanted:
        cells()
