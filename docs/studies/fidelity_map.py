"""Where does the physics decide? The tables and the picture of docs/records/learning_study.md.

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
from matplotlib.patches import Rectangle

from rbgym.agents.judge import plots
from rbgym.agents.judge.evaluation import evaluate
from rbgym.agents.policies import Network
from rbgym.agents.run_folder import RunFolder, write_json
from rbgym.agents.train import Rollout, load_policy, rollout, train
from rbgym.envs.tasks.nutation import SPIN
from rbgym.plot import style
from rbgym.quaternion import Array

DOCS = Path(__file__).resolve().parents[1]
RESULTS, PAGE = DOCS / "fidelity_map.json", DOCS / "records" / "learning_study.md"
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
    """The measurements: policies, idle and cells, by name."""
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
    train(TASK, "ppo", out=out, seed=seed, env_kwargs=own, evaluate_every=0, progress=False)
    policy = load_policy(RunFolder(out))
    return {"own": figures(policy, **own), "truth": figures(policy, **TRUTH)}


def policies() -> None:
    """Train missing policies; evaluate no action and the law."""
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
    """The same control periods on exact physics, for every scheme."""
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
    """Tune and evaluate missing cells."""
    for turn, torque, scheme in itertools.product(TURNS[::-1], TORQUES, SCHEMES):
        for how, hold in FEEDBACK.items():
            name = f"{scheme} {turn:g} {torque:g} {how}"
            if name in found()["cells"]:
                continue
            own, real = (where(scheme, turn, torque, hold or 1) for where in (physics, truth))
            network = tuned(own)
            carried = judged(network, real) if hold else unseen(network, own, real)
            note("cells", name, {"own": judged(network, own), "truth": carried})


# --- the page ---


def percent(values: list[float]) -> str:
    """Mean and, where they differ, range."""
    mean, *each = (f"{round(100 * x, 1):g}" for x in (np.mean(values), *sorted({*values})))
    return f"{mean} %" + (f" ({each[0]} to {each[-1]})" if each[1:] else "")


def table(heads: list[str], rows: list[list[str]]) -> str:
    """In Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows))


def both(runs: list[dict[str, Any]]) -> list[str]:
    """Success there and on the truth, return there and on the truth, over runs."""
    places = "own", "truth"
    success = [percent([run[place]["success"] for run in runs]) for place in places]
    returns = [f"{np.mean([run[place]['return'] for run in runs]):.0f}" for place in places]
    return success + returns


def of_policies(every: dict[str, Any]) -> str:
    """The policies of all seeds, then the law and doing nothing."""
    rows = []
    for scheme in LEARNED_ON:
        runs = [every["policies"][f"{scheme} {seed}"] for seed in SEEDS]
        rows.append([f"PPO, trained on `{scheme}`", *both(runs)])
    for name, what in (("lqr", "`lqr`, not trained,"), ("idle", "doing nothing,")):
        rows += [[f"{what} on `{s}`", *both([every["idle"][f"{name} {s}"]])] for s in LEARNED_ON]
    return table(["", "success there", "success, exact", "return there", "return, exact"], rows)


def of_map(every: dict[str, Any], torque: float = TORQUES[0]) -> str:
    """Success there and on the truth, with one torque."""
    rows = []
    for how, scheme in itertools.product(FEEDBACK, SCHEMES):
        found_there = [every["cells"][f"{scheme} {turn:g} {torque:g} {how}"] for turn in TURNS]
        rates = [[100 * cell[at]["success"] for at in ("own", "truth")] for cell in found_there]
        cells = [f"{own:.0f}&nbsp;→&nbsp;{real:.0f}" for own, real in rates]
        cells = [f"**{c}**" if o - r >= 50 else c for c, (o, r) in zip(cells, rates, strict=True)]
        rows.append([how, f"`{scheme}`", *cells])
    return table(["acts", "made on", *(f"{turn:g} rad" for turn in TURNS)], rows)


def by_engine(measured: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The runs trained in MuJoCo, by integrator and step."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for name, run in measured["learned"].items():
        runs.setdefault(name.rpartition(" ")[0], []).append(run)
    return runs


def of_engine(measured: dict[str, Any]) -> str:
    """MuJoCo: no action with each integrator and step, and the policies trained with some."""
    rows, runs = [], by_engine(measured)
    for name, free in measured["free"].items():
        engine, _, period = name.partition(" ")
        learning = both(runs[name])[:2] if name in runs else ["", ""]
        step = f"{1000 * float(period):g} ms" if period else ""
        left = "none lasts" if math.isnan(free["rate"]) else f"{free['rate']:.2f}"
        rows.append([engine, step, left, f"{100 * free['success']:.0f} %", *learning])
    heads = ["integrator", "step", "left after 60 s [rad/s]", "doing nothing succeeds"]
    return table([*heads, "PPO: success there", "success, exact"], rows)


def page(text: str, every: dict[str, Any], measured: dict[str, Any]) -> str:
    """A page with its tables replaced."""
    made = {
        "policies": of_policies(every),
        "map": of_map(every),
        "engine": of_engine(measured),
    }
    for name, content in made.items():
        if f"<!-- {name}:begin -->" not in text:
            continue
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{content}\n{end}{rest.split(end)[1]}"
    return text


@style.context()
def draw(every: dict[str, Any]) -> None:
    """A row of panels for each feedback, a column for each scheme; success on the truth."""
    figure = style.picture(11.5, 5.4)
    axes = figure.subplots(len(FEEDBACK), len(SCHEMES), sharex=True, sharey=True)
    image = None
    for (i, how), (j, scheme) in itertools.product(enumerate(FEEDBACK), enumerate(SCHEMES)):
        ax = axes[i, j]
        cells = [[every["cells"][f"{scheme} {turn:g} {torque:g} {how}"] for turn in TURNS]
                 for torque in TORQUES]  # fmt: skip
        own, real = (
            100 * np.array([[cell[at]["success"] for cell in row] for row in cells])
            for at in ("own", "truth")
        )
        image = ax.imshow(real, cmap="RdYlBu", vmin=0, vmax=100, origin="lower", aspect="auto")
        for y, x in np.ndindex(real.shape):
            dark = real[y, x] < 15 or real[y, x] > 85
            fell = own[y, x] - real[y, x] >= 50
            mark = "" if own[y, x] >= 50 else "*"
            ax.text(x, y, f"{real[y, x]:.0f}{mark}", ha="center", va="center", fontsize=7.5,
                    color="white" if dark else "black",
                    fontweight="bold" if fell else "normal")  # fmt: skip
            if fell:
                box = (x - 0.46, y - 0.44), 0.92, 0.88
                ax.add_patch(Rectangle(*box, fill=False, edgecolor="black", linewidth=1.3))
        ax.grid(visible=False)
        ax.tick_params(length=0)
        ax.set_xticks(range(len(TURNS)), [f"{turn:g}" for turn in TURNS])
        ax.set_yticks(range(len(TORQUES)), [f"{t / MOMENTUM / SPIN:g}" for t in TORQUES])
        if i == 0:
            ax.set_title(f"made on {scheme}")
        if j == 0:
            ax.set_ylabel(how, fontsize="medium")
    figure.supxlabel("spin in a step of the integrator [rad]")
    figure.supylabel("torque / (spin x its momentum)", fontsize="medium")
    figure.colorbar(image, ax=axes, label="success on exact physics [%]", shrink=0.7)
    plots.save(figure, PICTURE)


def main() -> None:
    """Measure the requested parts that are missing, then write the page and the picture."""
    wanted = sys.argv[1:] or ["policies", "map", "draw"]
    if "policies" in wanted:
        policies()
    if "map" in wanted:
        cells()
    if "draw" in wanted:
        every, measured = found(), json.loads(ENGINE.read_text("utf-8"))
        PAGE.write_text(page(PAGE.read_text("utf-8"), every, measured), "utf-8")
        draw(every)


if __name__ == "__main__":
    main()
