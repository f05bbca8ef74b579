"""What the command line prints: tables for people, JSON for programs."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rbgym import integrators
from rbgym.agents import controllers
from rbgym.agents.run_folder import replacing
from rbgym.agents.terminal import print_table
from rbgym.registration import ENVIRONMENTS
from rbgym.simulate import Trajectory
from rbgym.validation import Claim


def print_json(content: Any) -> None:
    """Write JSON to the standard output; NumPy numbers included."""
    print(json.dumps(content, indent=2, default=lambda value: value.item()))


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
    print_table("Environments", ("env", "longest episode [steps]"), envs)
    rows = ((i["name"], i["title"], str(i["order"]), *_conserved(i), i["source"])
            for i in content["integrators"])  # fmt: skip
    columns = ("name", "title", "order", "conserves free", "conserves in gravity", "source")
    dropped = ("source", "title", "conserves in gravity", "conserves free")
    print_table("Integrators", columns, rows, optional=dropped)
    print_table("Controllers", ("name",), ((c["name"],) for c in content["controllers"]))


def _conserved(record: Mapping[str, Any]) -> Iterator[str]:
    for potential in ("none", "heavy_top"):
        names = record["conserves"].get(potential, ())
        yield ", ".join(name.replace("_", " ") for name in names) or "-"


Drift = Mapping[str, Mapping[str, float]]


def drift_of(trajectory: Trajectory) -> Drift:
    """The drift of what the exact motion conserves: the weight of a top turns its momentum, but for
    the vertical part."""
    drift = trajectory.drift()
    return {name: drift[name] for name in trajectory.conserved}


def print_drift(trajectory: Trajectory, drift: Drift) -> None:
    """Write the largest and the final error of each invariant."""
    rows = ((name, f"{e['max']:.3g}", f"{e['final']:.3g}") for name, e in drift.items())
    title = f"Drift {_until(trajectory)}; {trajectory.redone} steps solved again"
    print_table(title, ("quantity", "max", "final"), rows)


def print_drifts(trajectory: Trajectory, drifts: Mapping[str, Drift]) -> None:
    """Write the largest errors of several integrators, side by side; trajectory: one of theirs."""
    quantities = [quantity.replace("_", " ") for quantity in next(iter(drifts.values()))]
    rows = (
        (name, *(f"{error['max']:.2g}" for error in drift.values()))
        for name, drift in drifts.items()
    )
    title = f"Largest drift {_until(trajectory)}"
    print_table(title, ("integrator", *quantities), rows, optional=quantities[:0:-1])


def _until(trajectory: Trajectory) -> str:
    return f"until t = {trajectory.time[-1]:.6g} s, relative where it can be"


def write_trajectories(trajectories: Mapping[str, Trajectory], path: Path) -> None:
    """Write a CSV file with one line for each recorded instant; of several, with their names."""
    header = ["time", "qw", "qx", "qy", "qz", "wx", "wy", "wz", "Lx", "Ly", "Lz", "energy"]
    several = len(trajectories) > 1
    with (
        replacing(path) as temporary,
        temporary.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file)
        writer.writerow([*(["integrator"] if several else []), *header])
        for name, one in trajectories.items():
            motion = (one.quaternion, one.angular_velocity, one.angular_momentum, one.energy)
            lines = np.column_stack((one.time, *motion)).tolist()
            writer.writerows([name, *line] if several else line for line in lines)


def claims_as_dicts(claims: Iterable[Claim]) -> list[dict[str, Any]]:
    """The claims, ready for JSON."""
    return [claim._asdict() for claim in claims]


def print_claims(title: str, claims: Iterable[Claim], otherwise: str = "BROKEN") -> None:
    """Write one line for each claim. otherwise: the word for what does not hold."""
    columns = ("integrator", "case", "quantity", "declared", "measured", "bound", "verdict")
    rows = (
        (*c[:4], f"{c.measured:.3g}", f"{c.bound:.3g}", "ok" if c.passed else otherwise)
        for c in claims
    )
    print_table(title, columns, rows, optional=("bound", "case"))


def print_bench(result: Mapping[str, Any]) -> None:
    """Write what `rbgym.agents.commands.bench.bench` returns."""
    ratio = "ratio to CartPole"
    vector = (
        (name, f"{v['steps_per_second'] / 1e6:.2f}", f"{v['ratio']:.2f}")
        for name, v in result["vector"].items()
    )
    title = f"{result['lanes']} lanes, one thread"
    print_table(title, ("name", "speed [million env-steps/s]", ratio), vector)
    single = (
        (name, f"{s['microseconds']:.2f}", f"{s['ratio']:.2f}")
        for name, s in result["single"].items()
    )
    print_table("One env.step, unwrapped", ("name", "time [us]", ratio), single)
