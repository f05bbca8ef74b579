"""The steady top of Krenk & Nielsen (2013), section 5.2, in the engines that can hold a point.

A cone on its tip precesses without nutation, so that the place of its centre of mass is known for
all times. MuJoCo holds the tip by a ball joint, SciPy solves the equations about the tip.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import bodies, solvers
from benchmarks.bodies import GRAVITY, Motion, State
from rbgym import IntegrationError, integrators
from rbgym.quaternion import rotate
from rbgym.validation.cases import PAPERS
from rbgym.validation.papers import centre_of_mass, steady_precession

TOP = PAPERS["betsch_top"]
ARM = 0.075  # [m]
MOTION = Motion("steady top", tuple(TOP.body.moments.tolist()), TOP.omega, TOP.quaternion,
                TOP.potential, mass=TOP.body.mass, arm=(0.0, 0.0, ARM))  # fmt: skip
STEPS, LOOKS, DT = 100_000, 200, 0.01
UP = np.array([0.0, 0.0, 1.0])

Maker = Callable[[float], Any]
MAKERS: dict[str, tuple[Maker, int]] = {
    **{
        f"MuJoCo {name}": (partial(bodies.MuJoCo, MOTION, integrator=name), STEPS)
        for name in ("Euler", "implicit", "implicitfast", "discrete", "RK4")
    },
    "SciPy DOP853, rtol 1e-12": (partial(solvers.SciPy, MOTION, rtol=1e-12), 2_000),
    **{
        f"rbgym {name}": (partial(bodies.Ours, MOTION, scheme=name), STEPS)
        for name in integrators.names()
    },
}


def invariants(state: State) -> tuple[float, float]:
    """Total energy [J], and the vertical part of the angular momentum [kg m^2/s]."""
    q, omega = state[0] / np.linalg.norm(state[0]), state[1]
    height = ARM * rotate(q, UP)[2]
    energy = 0.5 * TOP.body.moments @ omega**2 + TOP.body.mass * GRAVITY * height
    return float(energy), float(rotate(q, TOP.body.moments * omega)[2])


def run(make: Maker, steps: int) -> dict[str, Any]:
    """Largest relative errors of both, or where it ended."""
    start = invariants((np.array(TOP.quaternion), np.array(TOP.omega)))
    engine, done, worst = make(DT), 0, [0.0, 0.0]
    while done < steps:
        count = min(max(1, steps // LOOKS), steps - done)
        try:
            engine.advance(count)
        except IntegrationError:
            return {"refused_at": done + count}
        done, now = done + count, invariants(engine.state())
        lacks = [abs(x / x_0 - 1.0) for x, x_0 in zip(now, start, strict=True)]
        if not max(lacks) < 100.0:
            return {"blown_up_at": done}
        worst = [max(pair) for pair in zip(worst, lacks, strict=True)]
    return {"steps": steps, "energy": worst[0], "momentum": worst[1]}


def place(make: Maker, dt: float, t: float = 1.0) -> float | None:
    """Relative error of the place of the centre of mass at time t; None if it did not get there."""
    engine = make(dt)
    try:
        engine.advance(round(t / dt))
    except IntegrationError:
        return None
    q = engine.state()[0]
    found = centre_of_mass((q / np.linalg.norm(q))[None])[0]
    error = float(np.linalg.norm(found - steady_precession(np.array([t]))[0]))
    return error if np.isfinite(error) else None
