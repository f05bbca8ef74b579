"""What engines make of a free body in the long run: `python -m benchmarks.fidelity`.

Each engine is first shown to follow the exact motion with small steps: the start, the frames and
the inertia are then those that we mean, and what is left is the engine's own error.
"""

import math
from typing import Any

import numpy as np

from benchmarks import engines
from benchmarks.bodies import BETSCH, KRENK, Array, Motion, State
from benchmarks.engines import Maker
from benchmarks.record import Missing, Say, main
from rbgym import IntegrationError
from rbgym.quaternion import conjugate, multiply, rotate

STEPS = 100_000
LOOKS = 200  # at a run, after every step of its beginning
BEGINNING = 300
BLOWN = 100.0  # relative energy error at which a run has blown up
CASES = (BETSCH, 0.01, 1.0), (BETSCH, 0.05, 1.0), (KRENK, 0.01, 10.0)
SMALL, HORIZON = (1e-4, 1e-5), 0.5


def energy(motion: Motion, state: State) -> float:
    """Energy of rotation [J]."""
    return float(0.5 * np.dot(motion.J, state[1] ** 2))


def momentum(motion: Motion, state: State) -> Array:
    """Angular momentum, world axes [kg m^2/s]."""
    return np.asarray(rotate(state[0] / np.linalg.norm(state[0]), motion.J * state[1]))


def angle(p: Array, q: Array) -> float:
    """Between two attitudes [rad]."""
    turn = multiply(conjugate(p), q)
    return 2.0 * math.atan2(float(np.linalg.norm(turn[1:])), abs(float(turn[0])))


def run(make: Maker, motion: Motion, dt: float, steps: int) -> dict[str, Any]:
    """Largest errors, relative to the start, seen in the run; or by when it blew up, or when a
    step had no solution."""
    start = (np.array([1.0, 0.0, 0.0, 0.0]), np.array(motion.omega))
    E, L = energy(motion, start), momentum(motion, start)
    engine, done, worst = make(motion, dt), 0, [0.0, 0.0]
    while done < steps:
        count = 1 if done < BEGINNING else min(max(1, steps // LOOKS), steps - done)
        try:
            engine.advance(count)
        except IntegrationError:
            return {"refused_at": done + count}
        done, state = done + count, engine.state()
        lack = abs(energy(motion, state) / E - 1.0)
        turn = float(np.linalg.norm(momentum(motion, state) - L) / np.linalg.norm(L))
        if not (lack < BLOWN and math.isfinite(turn)):
            return {"blown_up_at": done}
        worst = [max(worst[0], lack), max(worst[1], turn)]
    return {"steps": steps, "energy": worst[0], "momentum": worst[1]}


def attitude(make: Maker, motion: Motion, dt: float, t: float) -> float | None:
    """Error [rad] at time t against the closed form; None if it did not get there."""
    engine = make(motion, dt)
    try:
        engine.advance(round(t / dt))
    except IntegrationError:
        return None
    q, omega = engine.state()
    if not (np.isfinite(q).all() and np.isfinite(omega).all()):
        return None
    return angle(q / np.linalg.norm(q), motion.exact(t)[0])


def agreement(make: Maker) -> dict[str, Any]:
    """Errors [rad] with small steps, and whether they go to zero with the step."""
    found = (attitude(make, BETSCH, dt, HORIZON) for dt in SMALL)
    errors = [math.inf if one is None else max(one, 1e-16) for one in found]
    slope = math.log10(errors[0]) - math.log10(errors[1])
    agrees = errors[1] < 1e-9 or 0.9 < slope < math.inf
    return {"errors": errors, "slope": slope, "agrees": agrees}


def measure(quick: bool, say: Say) -> dict[str, Any]:
    """Rows by engine: agreement, and one entry for each case."""
    rows: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    for name, make in (engines.OTHERS | engines.ours()).items():
        say(name)
        most = 1000 if quick else engines.FEWER.get(name, STEPS)
        try:
            rows[name] = {"agreement": agreement(make)} | {
                f"{motion.name}, {dt}": run(make, motion, dt, most)
                | {"attitude": attitude(make, motion, dt, t)}
                for motion, dt, t in CASES
            }
        except Missing as error:
            skipped[name] = str(error)
    return {"rows": rows, "skipped": skipped}


if __name__ == "__main__":
    main("fidelity", measure)
