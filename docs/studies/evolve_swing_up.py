"""Policies by CMA-ES, beside classical laws, and how fast rollouts are: docs/rollouts.md.

python docs/studies/evolve_swing_up.py [--only ENTRY]

Writes docs/evolution.json (all of it, or one entry: throughput, TopSwingUp-v0, MagneticDetumble-v1,
or seeds, the swing-up from other seeds) and docs/pictures/evolution.png. Some six minutes.
"""

import os

# The matrices of CMA-ES are small: threads of a linear algebra library would only get in the way.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from stable_baselines3 import PPO

import rbgym
from rbgym.agents.judge import plots
from rbgym.agents.judge.evaluation import evaluate
from rbgym.agents.policies import Network, Normalizer
from rbgym.agents.run_folder import read_json
from rbgym.agents.train import make_sb3_env, rollout, search
from rbgym.agents.train.evolution.search import Generation, return_with_success
from rbgym.plot import style

DOCS = Path(__file__).resolve().parents[1]
RESULTS, PICTURE = DOCS / "evolution.json", DOCS / "pictures" / "evolution.png"
TOP, LANES, ROUNDS = "TopSwingUp-v0", 1024, 9
LAWS = {TOP: "swing_up", "MagneticDetumble-v1": "magnetic_rate"}
# Hidden layers, and arguments of the search.
SEARCHES: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    TOP: ((16, 16), {"population": 64, "episodes": 16, "sigma": 0.5, "generations": 300}),
    "MagneticDetumble-v1": (
        (16,),
        {"population": 32, "episodes": 8, "sigma": 0.3, "generations": 150},
    ),
}


def first_network(env_id: str, hidden: tuple[int, ...], seed: int) -> Network:
    """Random weights; rates, which are small beside their limit, are shown five times as large."""
    env = gym.make(env_id)
    width = env.observation_space.shape[0]  # type: ignore[index]
    variance = np.ones(width)
    variance[4:7] = 0.2**2
    normalizer = Normalizer(np.zeros(width), variance)
    return Network.random((width, *hidden, 3), seed, normalizer=normalizer)


def evolve(env_id: str, seed: int) -> dict[str, Any]:
    """Search, and judge what was found on the test set."""
    hidden, arguments = SEARCHES[env_id]
    began = time.process_time()

    def told(generation: Generation) -> None:
        if generation.number % 10 == 0:
            print(env_id, generation, flush=True)

    found = search(
        env_id,
        first_network(env_id, hidden, seed),
        seed=seed,
        objective=return_with_success,
        progress=told,
        **arguments,
    )
    used = time.process_time() - began
    judged, law = evaluate(found.network, env_id), evaluate(LAWS[env_id], env_id)
    last, best = found.history[-1], found.best
    return {
        "seed": seed,
        "parameters": len(found.network.parameters()),
        "generations": len(found.history),
        "best_generation": best.number,
        "episodes": last.episodes,
        "steps": last.steps,
        "seconds": round(last.seconds, 1),
        "processor_seconds": round(used, 1),
        "success": judged.success_rate,
        "by_category": judged.by_category,
        "settling": judged.settling_time,
        "return": round(judged.mean_return, 1),
        "law": LAWS[env_id],
        "law_success": law.success_rate,
        "law_settling": law.settling_time,
        "law_return": round(law.mean_return, 1),
        "curve": [[g.steps, round(g.centre, 2), g.success] for g in found.history],
        "error": _bands({"network": judged, "law": law}),
    }


def other_seeds() -> dict[str, Any]:
    """Success and return on the test set of the swing-up's search from the seeds 1 to 4."""
    names = ("success", "return", "seconds")
    found = {str(seed): evolve(TOP, seed) for seed in range(1, 5)}
    return {seed: {name: one[name] for name in names} for seed, one in found.items()}


def _bands(judged: dict[str, Any]) -> dict[str, Any]:
    """Quantiles of how far off episodes are, over time: angle [deg], or rate where none counts."""
    bands: dict[str, Any] = {}
    for name, evaluation in judged.items():
        one = evaluation.played
        by_angle = np.nanmax(one.attitude_error) > 0
        values = np.degrees(one.attitude_error) if by_angle else np.degrees(one.rate_error)
        every = max(1, len(one.time) // 250)
        quantiles = np.nanpercentile(values[::every], [5, 50, 95], axis=1)
        bands[name] = [np.round(one.time[::every], 3).tolist(), np.round(quantiles, 3).tolist()]
    return bands


def throughput() -> dict[str, Any]:
    """Nanoseconds of one env-step of 1024 lanes of the swing-up, by several ways, on one thread:
    the least of rounds in which they take turns, as other work on the machine can only add."""
    torch.set_num_threads(1)
    rbgym.set_num_threads(1)
    model = PPO("MlpPolicy", make_sb3_env(TOP, 1), policy_kwargs={"net_arch": [64, 64]}, seed=0,
                device="cpu")  # fmt: skip
    network = Network.from_model(model)
    population = [Network.random((7, 16, 16, 3), seed) for seed in range(64)]
    small = population[0]
    env = gym.make_vec(TOP, num_envs=LANES, autoreset_mode=AutoresetMode.SAME_STEP)
    seen, _ = env.reset(seed=0)
    actions = network.predict(seen)[0]
    ways: dict[str, Callable[[], int]] = {
        "rollout, 64-64": lambda: rollout(network, TOP, episodes=LANES).steps,
        "rollout, 16-16": lambda: rollout(small, TOP, episodes=LANES).steps,
        "rollout, 64 networks 16-16": lambda: rollout(population, TOP, episodes=LANES // 64).steps,
        "vector env, predict of the Network": lambda: _driven(env, network.predict),
        "vector env, predict of the PPO model": lambda: _driven(env, _deterministic(model)),
        "part: vector env alone": lambda: _driven(env, lambda seen: (actions, None)),
        "part: network alone, 64-64": lambda: _repeated(network, seen),
        "part: network alone, 16-16": lambda: _repeated(small, seen),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(ROUNDS + 1):
        for name, way in ways.items():
            began = time.perf_counter()
            steps = way()
            if turn:  # the first is for compiling
                times[name].append(1e9 * (time.perf_counter() - began) / steps)
    return {name: round(min(values), 1) for name, values in times.items()}


def _deterministic(model: PPO) -> Callable[[Any], Any]:
    return lambda seen: model.predict(seen, deterministic=True)


def _driven(env: Any, predict: Callable[[Any], Any], steps: int = 500) -> int:
    """The usual loop, rewards added up."""
    seen, _ = env.reset(seed=0)
    returns = np.zeros(env.num_envs)
    for _ in range(steps):
        seen, rewards, *_ = env.step(predict(seen)[0])
        returns += rewards
    return steps * int(env.num_envs)


def _repeated(network: Network, seen: Any, steps: int = 100) -> int:
    for _ in range(steps):
        network.predict(seen)
    return steps * len(seen)


@style.context()
def draw(results: dict[str, Any]) -> None:
    """For each task the course of the search, and the episodes of the test set beside the law's."""
    found = {env_id: results[env_id] for env_id in SEARCHES if env_id in results}
    figure = style.picture(10.0, 3.2 * len(found))
    rows = figure.subplots(len(found), 2, squeeze=False)
    for (course, episodes), (env_id, one) in zip(rows, found.items(), strict=True):
        steps, objective, success = np.array(one["curve"]).T
        course.plot(steps / 1e6, objective / max(objective), label="objective, to its largest",
                    **style.line(0))  # fmt: skip
        course.plot(steps / 1e6, success, label="success, 64 other starts", **style.line(1))
        course.set_title(f"{env_id}: the centre of the search")
        course.set_xlabel("environment steps [millions]")
        course.set_ylim(0.0, 1.05)
        for k, (name, (seconds, bands)) in enumerate(one["error"].items()):
            label = "network" if name == "network" else f"law {one['law']!r}"
            episodes.plot(seconds, bands[1], label=label, **style.line(k))
            style.band(episodes, k, seconds, bands[0], bands[2])
        episodes.set_title(f"{env_id}: test set, median and 90 %")
        episodes.set_xlabel("time [s]")
        episodes.set_ylabel("tilt [deg]" if env_id == TOP else "rate [deg/s]")
        for ax in (course, episodes):
            ax.legend()
    plots.save(figure, PICTURE)


def main() -> None:
    """Measure all or one of the entries, and draw what there is."""
    parser = argparse.ArgumentParser()
    measures: dict[str, Callable[[], dict[str, Any]]] = {
        "throughput": throughput,
        **{env_id: partial(evolve, env_id, 0) for env_id in SEARCHES},
        "seeds": other_seeds,
    }
    parser.add_argument("--only", choices=list(measures))
    only = parser.parse_args().only
    results = read_json(RESULTS) if RESULTS.exists() else {}
    for name, measure in measures.items():
        if only in (None, name):
            results[name] = measure()
            print(name, {k: v for k, v in results[name].items() if k not in ("curve", "error")})
            RESULTS.write_text(json.dumps(results) + "\n", encoding="utf-8")
    if set(results) & set(SEARCHES):
        draw(results)


if __name__ == "__main__":
    main()
