"""What the command line prints: tables for people, JSON for programs."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rbgym import integrators
from rbgym.agents import controllers
from rbgym.agents.comparison import Contender, shown_arguments, titled
from rbgym.agents.evaluation import Evaluation
from rbgym.agents.run_folder import replacing
from rbgym.agents.terminal import print_table, styled
from rbgym.registration import ENVIRONMENTS
from rbgym.simulate import Trajectory
from rbgym.validation import Claim

Drift = Mapping[str, Mapping[str, float]]


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
    columns = ("name", "title", "order", "conserves free", "conserves in gravity", "source")
    rows = (
        (i["name"], i["title"], str(i["order"]), *_conserved(i["conserves"]), i["source"])
        for i in content["integrators"]
    )
    dropped = ("source", "title", "conserves in gravity", "conserves free")
    print_table("Integrators", columns, rows, optional=dropped)
    print_table("Controllers", ("name",), ((c["name"],) for c in content["controllers"]))


def _conserved(conserves: Mapping[str, Iterable[str]]) -> Iterator[str]:
    for potential in ("none", "heavy_top"):
        yield ", ".join(conserves.get(potential, ())).replace("_", " ") or "-"


def drift_of(trajectory: Trajectory) -> Drift:
    """The drift of what the exact motion conserves."""
    drift = trajectory.drift()
    return {name: drift[name] for name in trajectory.conserved}


def print_drifts(trajectories: Mapping[str, Trajectory], drifts: Mapping[str, Drift]) -> None:
    """Write the errors of each invariant; of several integrators the largest, side by side."""
    name, first = next(iter(trajectories.items()))
    until = f"until t = {first.time[-1]:.6g} s, relative where it can be"
    if len(drifts) == 1:
        errors = [(key, f"{e['max']:.3g}", f"{e['final']:.3g}") for key, e in drifts[name].items()]
        title = f"Drift of {name} {until}; {first.redone} steps solved again"
        print_table(title, ("quantity", "max", "final"), errors)
        return
    quantities = [quantity.replace("_", " ") for quantity in drifts[name]]
    rows = [(key, *(f"{e['max']:.2g}" for e in drift.values())) for key, drift in drifts.items()]
    columns = ("integrator", *quantities)
    print_table(f"Largest drift {until}", columns, rows, optional=quantities[:0:-1])


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


def print_evaluations(
    evaluations: Mapping[str, Evaluation], env_id: str, contenders: Sequence[Contender]
) -> None:
    """Write one line for each policy, and beneath what is not the same for all of them."""
    dropped = ("length [steps]", "95 % interval [%]", "return", "final error [deg]")
    length, interval, mean_return, error = dropped
    columns = ("policy", "success [%]", interval, "settling [s]", error, mean_return, length)
    rows = (
        (
            name,
            f"{100 * e.success_rate:.1f}",
            "{:.1f} - {:.1f}".format(*(100 * bound for bound in e.success_interval)),
            "-" if e.settling_time is None else f"{e.settling_time:.2f}",
            f"{e.final_error:.3f}",
            f"{e.mean_return:.1f} ± {e.std_return:.1f}",
            f"{e.length:.1f}",
        )
        for name, e in evaluations.items()
    )
    kwargs = contenders[0].env_kwargs
    same = all(one.env_kwargs == kwargs for one in contenders)
    episodes = next(iter(evaluations.values())).episodes
    title = f"{titled(env_id, kwargs if same else {})}, {episodes} fixed start states"
    print_table(title, columns, rows, optional=dropped)
    for one in contenders:
        if not same:
            print(f"{one.name}: judged with {shown_arguments(one.env_kwargs) or 'no --env-arg'}")
        trained = getattr(one.policy, "config", {}).get("env_id", env_id)
        if trained.rpartition(":")[2] != env_id.rpartition(":")[2]:
            print(f"{one.name}: trained for {trained}")


def print_validation(
    claims: Sequence[Claim], papers: Sequence[tuple[str, str, list[Claim]]], as_json: bool
) -> None:
    """Write claims on what is declared; and name, source and claims of what the papers say."""
    if as_json:
        content = [
            {"name": name, "source": source, "claims": [claim._asdict() for claim in found]}
            for name, source, found in papers
        ]
        print_json({"declared": [claim._asdict() for claim in claims], "papers": content})
        return
    for name, source, found in papers:
        verdict = "reproduced" if all(c.passed for c in found) else "not reproduced in full"
        print_claims(f"{name} ({source}): {verdict}", found, otherwise="differs")
    broken = sum(not claim.passed for claim in claims)
    print_claims(f"{len(claims)} declarations, {broken} broken", claims)


def print_claims(title: str, claims: Iterable[Claim], otherwise: str = "BROKEN") -> None:
    """Write one line for each claim. otherwise: the word for what does not hold."""
    columns = ("integrator", "case", "quantity", "declared", "measured", "bound", "verdict")
    rows = (
        (*c[:4], f"{c.measured:.3g}", f"{c.bound:.3g}", "ok" if c.passed else otherwise)
        for c in claims
    )
    print_table(title, columns, rows, optional=("bound", "case"))


def print_card(content: Mapping[str, Any]) -> None:
    """Write what `Card.as_dict` returns: tables at a terminal, elsewhere Markdown."""
    from rbgym.agents import card_report

    if not styled():
        print(card_report.page(content))
        return
    (headings, merits), (of_starts, rates) = card_report.tables(content)
    dropped = (*headings[7:], "overshoot", "95 % interval", "effort")
    print_table(card_report.title(content), ("policy", *headings[1:]), merits, optional=dropped)
    print_table("Success by category", ("policy", *of_starts[1:]), rates)


def print_bench(result: Mapping[str, Any]) -> None:
    """Write what `rbgym.agents.bench.bench` returns."""
    columns = ("name", "speed [million env-steps/s]", "ratio to CartPole")
    rows = [
        (name, f"{one['steps_per_second'] / 1e6:.2f}", f"{one['ratio']:.2f}")
        for name, one in result["vector"].items()
    ]
    print_table(f"{result['lanes']} lanes, one thread", columns, rows)
    columns = ("name", "time [us]", "ratio to CartPole")
    rows = [
        (name, f"{one['microseconds']:.2f}", f"{one['ratio']:.2f}")
        for name, one in result["single"].items()
    ]
    print_table("One env.step, unwrapped", columns, rows)
