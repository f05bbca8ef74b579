"""Digests of what the package computes, to prove that a rewrite inside has changed nothing.

    python tests/digests.py [SECTION ...] [--only REGEX] --write    on the old code: digests.json
    python tests/digests.py [SECTION ...] [--only REGEX]            on the new code: compare with it

Sections: physics, envs. An entry has a sha256 over every bit of what came out, types and
shapes included, and a few numbers by which a difference can be judged. Only what is public is used.
The bits are those of one kind of processor and one set of versions: record and compare on the same.
"""

import argparse
import hashlib
import itertools
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import rbgym
from interpreted_runs import MORE
from rbgym import integrators

RECORD = Path(__file__).with_suffix(".json")
LANES, DT = 11, 0.01
FULL = np.array([[1.0, 0.1, 0.05], [0.1, 1.4, -0.12], [0.05, -0.12, 1.9]])
Entry = tuple[str, Callable[[], list[Any]]]


def digest(values: Any, *numbers: float) -> list[Any]:
    """An entry: the sha256, and the numbers as floats."""
    sha = hashlib.sha256()
    add(sha, values)
    return [sha.hexdigest()[:20], *(float(np.nan_to_num(n)) for n in numbers)]


def add(sha: Any, value: Any) -> None:
    """Feed every bit of a value to a hash, types and shapes included."""
    if isinstance(value, Mapping):
        value = [part for name in sorted(value) for part in (name, value[name])]
    if isinstance(value, list | tuple) or (np.ndim(value) and value.dtype == object):
        for one in value:
            add(sha, one)
        return
    array = np.asarray(value)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.full_like(array, np.nan), array)  # one kind of nan
    sha.update(f"{array.dtype.str}{array.shape}".encode())
    sha.update(str(value).encode() if array.dtype.kind in "OU" else array.tobytes())


POTENTIALS = {
    "none": None,
    "heavy_top": rbgym.HeavyTop(3.0, (0.0, 0.6, 0.8)),
    "wall_printed": rbgym.SoftWall("printed"),
    "wall_repulsive": rbgym.SoftWall("repulsive", (0.0, 0.6, 0.8)),
    "gravity_gradient": rbgym.GravityGradient(0.5, (0.6, 0.0, 0.8)),
    "circular_orbit": rbgym.CircularOrbit(0.4),
}


def schemes() -> dict[str, Any]:
    """The catalogue, options of its schemes, tableaux, and compositions of all that can be."""
    jumps, third, w = integrators.Lagrange(0.5), 1 / 3, 0.25 + 3**0.5 / 6
    found = [
        *map(integrators.get, integrators.names()),
        integrators.get("rkn4", renormalise_every=0),
        integrators.get("rkn4", renormalise_every=7, momentum_normalisation=True),
        integrators.get("rkn4", gyroscopic=False),
        integrators.get("rkn4", sampling=jumps),
        integrators.get("rkn4", sampling=jumps, momentum_normalisation=True, gyroscopic=False),
        integrators.get("pdmv", order=2),
        integrators.get("pdmv", order=4),
    ]
    named = {one.name.replace(" ", ""): one for one in found}
    eighths = [[0, 0, 0, 0], [third, 0, 0, 0], [-third, 1, 0, 0], [1, -1, 1, 0]]
    named["three_eighths"] = integrators.MuntheKaas(
        eighths, [1 / 8, 3 / 8, 3 / 8, 1 / 8], [0, third, 2 * third, 1]
    )
    gauss = [[0.25, 0.5 - w], [w, 0.25]]
    named["gauss"] = integrators.MuntheKaas(gauss, [0.5, 0.5], [0.75 - w, 0.25 + w])
    for (name, one), order in itertools.product([*named.items()], (4, 6)):
        if one.symmetric and one.order < order and (name, order) != ("dir_em", 6):
            named[f"{name}:{order}"] = integrators.compose(one, order)
    return named


def run(scheme: Any, potential: Any, way: str) -> list[Any]:
    """2000 steps of a batch of different bodies under a torque that changes every 50 and is held on
    at times, two of them begun anew half-way; and some steps back."""
    rng = np.random.default_rng(12345)
    inertia = FULL if way == "full" else np.diag(np.diag(FULL))
    bodies = [rbgym.RigidBody(inertia=inertia * (1 + 0.05 * n)) for n in range(LANES)]
    batch = rbgym.Batch(bodies, scheme, potential, size=LANES, projection=way != "unprojected")
    q = np.array([1.0, 0.0, 0.0, 0.0]) + 0.25 * rng.standard_normal((LANES, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    omega, rotor = 0.7 * rng.standard_normal((LANES, 3)), 0.3 * rng.standard_normal((LANES, 3))
    batch.set_state(q, omega, rotor_momentum=rotor if way == "rotors" else None)
    seen = [batch.measure()]
    for piece in range(40):
        if piece % 5 != 4:
            batch.set_torque(0.3 * rng.standard_normal((LANES, 3)))
        if piece == 20:
            batch.set_state(q[3], angular_momentum=(0.3, -0.5, 0.4), lanes=[2, 8])
        batch.advance(DT, 50)
        if piece % 10 == 9:
            seen.append(batch.measure())
    last, redone, failed = seen[-1], batch.redone, batch.failed
    batch.advance(-DT, 20)
    values = [seen, batch.measure(), redone, failed, batch.largest_correction]
    total = sum(abs(value[~failed]).sum() for value in last.values())
    return digest(
        values, *last["quaternion"][0], last["energy"][0], total, redone.sum(), failed.sum()
    )


def spinning(scheme: str, weight: float, h: float) -> list[Any]:
    """Bodies whose first two moments are equal, free or in gravity; of long steps, some are solved
    by more than the first attempt."""
    rng = np.random.default_rng(8)
    bodies = [rbgym.RigidBody(inertia=(1.0 + n, 1.0 + n, 0.5 + n)) for n in range(LANES)]
    potential = rbgym.HeavyTop(weight) if weight else None
    batch = rbgym.Batch(bodies, scheme, potential, size=LANES)
    q = rng.standard_normal((LANES, 4))
    batch.set_state(q / np.linalg.norm(q, axis=1, keepdims=True), rng.standard_normal((LANES, 3)))
    for _ in range(10):
        batch.set_torque(0.1 * rng.standard_normal((LANES, 3)))
        batch.advance(h, 20)
    seen = batch.measure()
    return digest([seen, batch.redone, batch.failed], *seen["energy"], batch.redone.sum())


def slopes(scheme: Any, potential: Any, of: tuple[str, ...]) -> list[Any]:
    """Derivatives of a few steps."""
    rng = np.random.default_rng(4)
    batch = rbgym.Batch(rbgym.RigidBody(inertia=FULL), scheme, potential, size=LANES)
    q = rng.standard_normal((LANES, 4))
    batch.set_state(q / np.linalg.norm(q, axis=1, keepdims=True), rng.standard_normal((LANES, 3)))
    batch.set_torque(0.2 * rng.standard_normal((LANES, 3)))
    found = vars(batch.jacobian(0.05, 3, of=of))
    return digest(found, *found["state"][0, 0], *found["torque"][0, 0])


def single(scheme: Any, potential: Any) -> list[Any]:
    """`rbgym.simulate` under a feedback."""
    torque = lambda t, q, omega: -0.2 * omega + 0.1 * q[1:] + 0.05 * t  # noqa: E731
    body, start = rbgym.RigidBody(inertia=FULL), {"angular_velocity": (0.5, -0.8, 0.3), "dt": DT}
    way = {"integrator": scheme, "potential": potential, "torque": torque, "record_every": 30}
    return trajectory(rbgym.simulate(body, steps=100, **start, **way))


def trajectory(motion: Any) -> list[Any]:
    """What a simulation of one body returns."""
    values = {k: v for k, v in vars(motion).items() if k != "body" and v is not None}
    return digest(values, *motion.quaternion[-1], *motion.angular_velocity[-1])


def physics() -> Iterator[Entry]:
    """Every scheme in every potential."""
    for (name, scheme), field in itertools.product(schemes().items(), POTENTIALS):
        ways = ["plain"] if scheme.composition else ["plain", "unprojected", "simulate"]
        if "rotors" in scheme.supports and not scheme.composition:
            ways.append("rotors")
        if field in ("none", "heavy_top", "circular_orbit"):
            ways.append("full")
        for way in ways:
            which = single if way == "simulate" else partial(run, way=way)
            yield f"{name}/{field}/{way}", partial(which, scheme, POTENTIALS[field])
    for name in ("akw", "akw_dg", "convected", "exact", "exact:4", "quat_em"):
        for weight, h in itertools.product((0.0, 2.0), (0.01, 0.6)):
            yield f"{name}/spinning/{weight}/{h}", partial(spinning, name, weight, h)
    for (name, scheme), field in itertools.product(schemes().items(), ("none", "heavy_top")):
        if not scheme.composition or name in ("exact:4", "exact:6", "imidm:4"):
            of = ("state", "torque", "inertia") + (("mgl",) if field == "heavy_top" else ())
            yield f"{name}/{field}/slopes", partial(slopes, scheme, POTENTIALS[field], of)


# Hooks that interpreted_runs.MORE does not have.
HOOKS: list[dict[str, Any]] = [
    {"termination": lambda state: state["time"] > 5.0, "reward": {"margin": 1.0}},
    {"reward": lambda state, action: state["energy"] - (action**2).sum(axis=1)},
    {"observation": lambda state: state["quaternion"]},
    {"disturbance": lambda state: -0.01 * state["angular_velocity"]},
]


def play(env_id: str, lanes: int, options: Any = None, **kwargs: Any) -> list[Any]:
    """A hundred steps with random actions; lanes 0: a single environment."""
    rng = np.random.default_rng(99)
    try:
        env: Any = gym.make_vec(env_id, lanes, **kwargs) if lanes else gym.make(env_id, **kwargs)
    except ValueError as error:
        return digest(["refused", str(error)])
    masked = lanes and env.metadata["autoreset_mode"] is gym.vector.AutoresetMode.DISABLED
    observation, info = env.reset(seed=7, options=options)
    seen, total, ends = [observation, dict(info), env.observation_space.shape], 0.0, 0
    for step in range(100):
        action = rng.uniform(-1.0, 1.0, env.action_space.shape).astype(np.float32)
        *result, info = env.step(action)
        done = np.logical_or(result[2], result[3])
        total, ends = total + np.sum(result[1]), ends + np.sum(done)
        seen.append([result, dict(info) if step % 25 == 24 or "final_info" in info else None])
        if np.any(done) and (masked or not lanes):
            seen.append(env.reset(options={"reset_mask": done} if masked else None)[0])
    state, invariants = env.unwrapped.state, env.unwrapped.invariants()
    seen += [state, invariants, env.render() if env.render_mode else None]
    env.close()
    q, energy = np.reshape(state["quaternion"], (-1, 4))[0], np.sum(invariants["energy"])
    return digest(seen, *q, energy, total, ends)


def tried(env_id: str, **kwargs: Any) -> list[Any]:
    """Sequences of actions from one state, and the derivatives of a period there."""
    rng = np.random.default_rng(17)
    env: Any = gym.make(env_id, **kwargs)
    env.reset(seed=3)
    for _ in range(4):
        env.step(rng.uniform(-1.0, 1.0, env.action_space.shape))
    actions = rng.uniform(-1.0, 1.0, (13, 20, *env.action_space.shape))
    rewards, states = rbgym.rollout_actions(env, env.unwrapped.get_state(), actions)
    try:
        slopes: Any = rbgym.linearize(env, action=actions[0, 0])._asdict()
    except (ValueError, rbgym.IntegrationError) as error:
        slopes = ["refused", type(error).__name__]
    return digest([rewards, states, slopes], *rewards[:, -1])


def shown(value: Any) -> str:
    """A name for arguments: as they are written, without addresses and classes."""
    plain = str(value).replace(" ", "").replace("'", "")
    return re.sub(r"<function.*?at0x\w+>", "callable", plain)


def envs() -> Iterator[Entry]:
    """Every task, and every hook and actuator on some."""
    ids = [i for i, spec in gym.registry.items() if str(spec.entry_point).startswith("rbgym.")]
    placed = {"state": {"quaternion": (0.8, 0.6, 0.0, 0.0), "angular_velocity": (0.01, 0.02, 0.03)}}
    short = {"max_episode_steps": 37}
    modes = {m: {**short, "autoreset_mode": m} for m in ("NextStep", "SameStep", "Disabled")}
    same: list[tuple[str, int, dict[str, Any]]] = [
        ("single", 0, {}),
        ("single,short", 0, short),
        ("picture", 0, {"render_mode": "rgb_array"}),
        ("vector", LANES, {}),
        *((f"vector,{mode}", LANES, kwargs) for mode, kwargs in modes.items()),
        ("placed", 3, {"options": placed}),
        *((f"difficulty={d}", 5, {"difficulty": d}) for d in ("easy", "hard")),
        *((f"reward={r}", 5, {"reward": r}) for r in ("dense", "sparse")),
    ]
    asked = [(i, *one) for i in sorted(ids) for one in same]
    asked += [
        (i, f"{name}, {n}", n, kwargs) for name, (i, kwargs) in MORE.items() for n in (0, LANES)
    ]
    asked += [("AttitudeSlew-v1", f"{shown(h)}, {n}", n, h) for h in HOOKS for n in (0, LANES)]
    long = {"dt": 0.4, "integrator": "quat_em", "substeps": 3}  # steps that some lanes cannot solve
    late = {"delay": {"seconds": 0.03}, "lag": {"time_constant": 0.04}}
    for i in sorted(ids):
        yield f"{i}/tried", partial(tried, i)
    for i, kwargs in (("RigidTop-v0", long), ("AttitudeSlew-v1", {"actuator": late})):
        yield f"{i}/{shown(kwargs)}/tried", partial(tried, i, **kwargs)
    for i, name, lanes, kwargs in asked:
        yield f"{i}/{name}", partial(play, i, lanes, **kwargs)


SECTIONS: dict[str, Callable[[], Iterator[Entry]]] = {"physics": physics, "envs": envs}


def computed(sections: list[str], only: str = "") -> dict[str, list[Any]]:
    """The entries of some sections whose names match; tells how long each section takes."""
    found: dict[str, list[Any]] = {}
    for section in sections:
        start, before = time.perf_counter(), len(found)
        for name, compute in ((f"{section}/{name}", do) for name, do in SECTIONS[section]()):
            if re.search(only, name):
                if name in found:
                    raise ValueError(f"two entries are named {name}")
                try:
                    found[name] = compute()
                except (ValueError, rbgym.IntegrationError) as error:
                    found[name] = digest(["refused", type(error).__name__])
        took = time.perf_counter() - start
        print(f"{section}: {len(found) - before} entries in {took:.1f} s", flush=True)
    return found


def difference(old: list[Any] | None, new: list[Any] | None) -> str:
    """What is different, "" if nothing is."""
    if old is None or new is None:
        return "is not in the record" if old is None else "is not computed any more"
    if len(old) != len(new):
        return f"has {len(new)} values, not {len(old)}: another outcome"
    most = max((abs(a - b) for a, b in zip(old[1:], new[1:], strict=True)), default=0.0)
    bits = "" if old == new else "differs in bits that its numbers do not show"
    return f"differs by {most:.3g}" if most else bits


def main() -> int:
    """Compare or record; the exit status."""
    parser = argparse.ArgumentParser(description="compare with the recorded digests")
    parser.add_argument("sections", nargs="*", help=f"of {[*SECTIONS]}, default all")
    parser.add_argument("--only", default="", help="regular expression for names of entries")
    parser.add_argument("--write", action="store_true", help=f"write {RECORD.name}")
    given = parser.parse_args()
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    sections = given.sections or [*SECTIONS]
    new = computed(sections, given.only)
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    mine = {n for n in record if n.split("/")[0] in sections and re.search(given.only, n)}
    if given.write:
        whole = {name: record[name] for name in record.keys() - mine} | new
        lines = [f"{json.dumps(name)}: {json.dumps(whole[name])}" for name in sorted(whole)]
        RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        return 0
    told = {n: difference(record.get(n), new.get(n)) for n in sorted(mine | new.keys())}
    for name in filter(told.get, told):
        print(name, told[name])
    print(f"{sum(map(bool, told.values()))} of {len(told)} entries differ")
    return int(any(told.values()))


if __name__ == "__main__":
    sys.exit(main())
