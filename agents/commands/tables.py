"""The tables that the command line prints, and the CSV files of motions."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rbgym import integrators
from rbgym.agents.catalogue import CONTROLLERS
from rbgym.agents.run_folder import replacing
from rbgym.agents.terminal import print_json, print_table
from rbgym.registration import ENVIRONMENTS
from rbgym.trajectory import Trajectory
from rbgym.validation import Claim

Drift = Mapping[str, Mapping[str, float]]


def catalogue() -> dict[str, list[dict[str, Any]]]:
    """Environments, integrators and controllers by name, ready for JSON."""
    fields = ("name", "title", "order", "symmetric", "explicit", "conserves", "supports", "source")
    records = [integrators.get(name) for name in integrators.names()]
    return {
        "environments": [{"env": k, "max_episode_steps": v[2]} for k, v in ENVIRONMENTS.items()],
        "integrators": [{f: getattr(record, f) for f in fields} for record in records],
        "controllers": [{"name": name} for name in CONTROLLERS],
    }


def print_catalogue(content: Mapping[str, list[dict[str, Any]]]) -> None:
    envs = ((e["env"], str(e["max_episode_steps"])) for e in content["environments"])
    print_table("Environments", ("env", "longest episode [steps]"), envs)
    columns = ("name", "title", "order", "conserves free", "conserves in gravity", "source")
    rows = (
        (i["name"], i["title"], str(i["order"]), *_conserved(i["conserves"]), i["source"])
        for i in content["integrators"]
    )
    print_table("Integrators", columns, rows)
    print_table("Controllers", ("name",), ((c["name"],) for c in content["controllers"]))


def _conserved(conserves: Mapping[str, Iterable[str]]) -> Iterator[str]:
    for potential in ("none", "heavy_top"):
        quantities = ", ".join(conserves.get(potential, ())).replace("angular_", "")
        yield quantities.replace("_", " ") or "-"


def print_resolved(env_id: str, env_kwargs: Mapping[str, Any], as_json: bool) -> None:
    """Print every number of an env for training or judging, and its source."""
    from rbgym.agents.cases import resolved
    from rbgym.agents.judge.tables import title
    from rbgym.envs.layers import lines

    tree = resolved(env_id, env_kwargs)
    if as_json:
        print_json(tree)
        return
    heading = title({"env_id": env_id, "env_kwargs": env_kwargs})
    print_table(heading, ("name", "value", "source"), lines(tree))


def print_drifts(trajectories: Mapping[str, Trajectory], drifts: Mapping[str, Drift]) -> None:
    """Print the drift of each invariant; for several integrators, a row of largest drifts each."""
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
    print_table(f"Largest drift {until}", columns, rows)


def write_trajectories(trajectories: Mapping[str, Trajectory], path: Path) -> None:
    """Write a CSV file, a line for each instant; of several motions a column names each scheme."""
    header = ["time", "qw", "qx", "qy", "qz", "wx", "wy", "wz", "Lx", "Ly", "Lz", "energy"]
    several = len(trajectories) > 1
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*(["integrator"] if several else []), *header])
        for name, one in trajectories.items():
            motion = (one.quaternion, one.angular_velocity, one.angular_momentum, one.energy)
            lines = np.column_stack((one.time, *motion)).tolist()
            writer.writerows([name, *line] if several else line for line in lines)


def print_validation(
    claims: Sequence[Claim],
    papers: Sequence[tuple[str, str, list[Claim]]],
    truths: Sequence[Claim],
    as_json: bool,
) -> None:
    """Print claims on declarations; name, source and claims of each paper; and claims on the ends
    that others published (truths)."""
    if as_json:
        content = [
            {"name": name, "source": source, "claims": [claim._asdict() for claim in found]}
            for name, source, found in papers
        ]
        parts = {"declared": claims, "external": truths}
        ours = {key: [claim._asdict() for claim in each] for key, each in parts.items()}
        print_json({**ours, "papers": content})
        return
    for name, source, found in papers:
        verdict = "reproduced" if all(c.passed for c in found) else "not reproduced in full"
        print_claims(f"{name} ({source}): {verdict}", found, otherwise="differs")
    for what, those in (("known ends", truths), ("declarations", claims)):
        if those:
            broken = sum(not claim.passed for claim in those)
            print_claims(f"{len(those)} {what}, {broken} broken", those)


def print_claims(title: str, claims: Iterable[Claim], otherwise: str = "BROKEN") -> None:
    """Print a row for each claim. otherwise: the verdict on a claim that does not hold."""
    columns = ("integrator", "case", "quantity", "declared", "measured", "bound", "verdict")
    rows = (
        (*c[:4], f"{c.measured:.3g}", f"{c.bound:.3g}", "ok" if c.passed else otherwise)
        for c in claims
    )
    print_table(title, columns, rows)
