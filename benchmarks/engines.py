"""The engines of which fidelity and cost are compared, by name."""

from collections.abc import Callable
from functools import partial

from benchmarks import bodies, solvers
from benchmarks.bodies import Engine, Motion
from rbgym import integrators

Maker = Callable[[Motion, float], Engine]

OTHERS: dict[str, Maker] = {
    "MuJoCo Euler": partial(bodies.MuJoCo, integrator="Euler"),
    "MuJoCo implicit": partial(bodies.MuJoCo, integrator="implicit"),
    "MuJoCo implicitfast": partial(bodies.MuJoCo, integrator="implicitfast"),
    "MuJoCo discrete": partial(bodies.MuJoCo, integrator="discrete"),
    "MuJoCo RK4": partial(bodies.MuJoCo, integrator="RK4"),
    "PyBullet": bodies.PyBullet,
    "PyBullet, maximal coordinates": partial(bodies.PyBullet, maximal=True),
    "Basilisk RK4": bodies.Basilisk,
    "Basilisk RKF78": partial(bodies.Basilisk, integrator="RKF78"),
    "diffrax Dopri8": solvers.Diffrax,
    "SciPy DOP853, rtol 1e-13": solvers.SciPy,
}
# What a step, or a look, of them costs allows fewer steps.
FEWER = {"SciPy DOP853, rtol 1e-13": 20_000, "Basilisk RKF78": 20_000}


def ours() -> dict[str, Maker]:
    """Every scheme of the catalogue."""
    return {f"rbgym {name}": partial(bodies.Ours, scheme=name) for name in integrators.names()}
