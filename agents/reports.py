"""What the command line prints: tables for people, JSON for programs."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from rbgym import integrators
from rbgym.agents import controllers
from rbgym.agents.evaluation import Evaluation
from rbgym.registration import ENVIRONMENTS
from rbgym.simulate import Trajectory
from rbgym.validation import Claim

_LEFT_COLUMNS = frozenset({"name", "title", "env", "policy", "integrator", "potential", "quantity"})


def print_json(content: Any) -> None:
    """Write JSON to the standard output; NumPy numbers included."""
    print(json.dumps(content, indent=2, default=lambda value: value.item()))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a table to the standard output, in full width where that is no terminal."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=140)
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="left" if column in _LEFT_COLUMNS else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def catalogue() -> dict[str, list[dict[str, Any]]]:
    """Environments, integrators and controllers by name, ready for JSON."""
    fields = ("name", "title", "order", "symmetric", "explicit", "conserves", "supports", "source")
    records = [integrators.get(name) for name in integrators.names()]
    return {
        "environments": [{"env": k, "max_episode_steps": v[2]} for k, v in ENVIRONMENTS.items()],
        "integrators": [{f: getattr(record, f) for f in fields} for record in records],
        "controllers": [{"name": name} for name in controllers.names()],
    }


def print_catalogue(content: Mapping[str, list[dict[str, Any]]]) -> None:
    """Write what `catalogue` returns as tables."""
    envs = ((e["env"], str(e["max_episode_steps"])) for e in content["environments"])
    print_table("Environments", ("env", "steps"), envs)
    rows = (
        (
            i["name"],
            i["title"],
            str(i["order"]),
            *("; ".join(i["conserves"].get(p, ())) or "-" for p in ("none", "heavy_top")),
            i["source"],
        )
        for i in content["integrators"]
    )
    columns = ("name", "title", "order", "conserves free", "conserves in gravity", "source")
    print_table("Integrators", columns, rows)
    print_table("Controllers", ("name",), ((c["name"],) for c in content["controllers"]))


def print_drift(trajectory: Trajectory) -> None:
    """Write the largest and the final error of each invariant."""
    drift = trajectory.drift()
    rows = ((name, f"{e['max']:.3g}", f"{e['final']:.3g}") for name, e in drift.items())
    steps = f"t = {trajectory.time[-1]:.6g} s, {trajectory.redone} steps solved again"
    print_table(f"Drift until {steps}", ("quantity", "max", "final"), rows)


def write_trajectory(trajectory: Trajectory, path: Path) -> None:
    """Write a CSV file with one line for each recorded instant."""
    header = ["time", "qw", "qx", "qy", "qz", "wx", "wy", "wz", "Lx", "Ly", "Lz", "energy"]
    columns = (
        trajectory.time,
        trajectory.quaternion,
        trajectory.angular_velocity,
        trajectory.angular_momentum,
        trajectory.energy,
    )
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(np.column_stack(columns).tolist())


def print_evaluations(evaluations: Mapping[str, Evaluation]) -> None:
    """Write one line for each policy."""
    columns = ("policy", "return", "success", "95 % interval", "final error", "settling", "length")
    rows = (
        (
            name,
            f"{e.mean_return:.1f} ± {e.std_return:.1f}",
            f"{100 * e.success_rate:.1f} %",
            "{:.1f} - {:.1f} %".format(*(100 * bound for bound in e.success_interval)),
            f"{e.final_error:.3f}°",
            "-" if e.settling_time is None else f"{e.settling_time:.2f} s",
            f"{e.length:.1f}",
        )
        for name, e in evaluations.items()
    )
    episodes = next(iter(evaluations.values())).episodes
    print_table(f"{episodes} fixed start states", columns, rows)


def claims_as_dicts(claims: Iterable[Claim]) -> list[dict[str, Any]]:
    """The claims, ready for JSON."""
    return [claim._asdict() for claim in claims]


def print_bench(result: Mapping[str, Any]) -> None:
    """Write what `rbgym.agents.bench.bench` returns."""
    vector = (
        (name, f"{v['steps_per_second'] / 1e6:.2f} M/s", f"{v['ratio']:.2f}")
        for name, v in result["vector"].items()
    )
    title = f"{result['lanes']} lanes, one thread, env-steps"
    print_table(title, ("name", "speed", "ratio to CartPole"), vector)
    single = (
        (name, f"{s['microseconds']:.2f} us", f"{s['ratio']:.2f}")
        for name, s in result["single"].items()
    )
    print_table("One env.step, unwrapped", ("name", "time", "ratio to CartPole"), single)
