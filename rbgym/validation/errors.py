"""Errors of the papers' schemes on the papers' cases, as their figures show them."""

import math
from functools import cache

import numpy as np

from rbgym.engine import Batch, IntegrationError
from rbgym.quaternion import Array, to_matrix
from rbgym.simulate import Trajectory
from rbgym.validation.cases import NUTATION, PAPERS, PRECESSION, Case

KRYSL = ("trap", "imid", "trapm", "imidm", "akw", "bbtrap", "swc1")
NEW, OLD = KRYSL[:4], KRYSL[4:]
BETSCH = ("quat_em", "quat_vi", "dir_em", "swc1")


@cache
def converged(case: Case) -> tuple[Array, Array]:
    """Rotation matrix and body momentum at the horizon: exact if free, else of order six."""
    if case.potential is None:
        end = case.run("exact", case.horizon, 1)
    else:
        steps = round(case.horizon / 2e-4)
        end = case.run("trapm:6", case.horizon / steps, steps)
    return to_matrix(end.quaternion[-1]), case.body.inertia @ end.angular_velocity[-1]


def _run(name: str, case: Case, dt: float) -> Trajectory | None:
    """The motion up to the horizon, None where a step of about `dt` cannot be solved."""
    steps = round(case.horizon / dt)
    try:
        return case.run(name, case.horizon / steps, steps)
    except IntegrationError:
        return None


@cache
def end_errors(name: str, kind: str, dt: float) -> tuple[float, float]:
    """2-norms of the errors of attitude matrix and body momentum at the horizon, or NaN."""
    case = PAPERS[kind]
    end = _run(name, case, dt)
    if end is None:
        return math.nan, math.nan
    R, Pi = converged(case)
    attitude = np.linalg.norm(to_matrix(end.quaternion[-1]) - R, 2)
    return float(attitude), float(np.linalg.norm(case.body.inertia @ end.angular_velocity[-1] - Pi))


def centre_of_mass(quaternion: Array) -> Array:
    """Direction (n, 3) to the centre of mass of a top."""
    return to_matrix(quaternion)[..., 2]


def steady_precession(time: Array) -> Array:
    """Direction (n, 3) to the centre of mass in Betsch & Siebert's steady precession."""
    t = PRECESSION * np.asarray(time)
    across, up = math.sin(NUTATION), np.full_like(t, math.cos(NUTATION))
    return np.stack([across * np.sin(t), -across * np.cos(t), up], axis=-1)


@cache
def top_error(name: str, dt: float) -> float:
    """Relative error of the centre of mass of the steady top at t = 1 s, NaN if unsolved."""
    end = _run(name, PAPERS["betsch_top"], dt)
    if end is None:
        return math.nan
    lack = centre_of_mass(end.quaternion[-1:]) - steady_precession(end.time[-1:])
    return float(np.linalg.norm(lack))


def slopes(name: str, kind: str, dts: tuple[float, float]) -> list[float]:
    """Slopes of both errors between two steps."""
    coarse, fine = (end_errors(name, kind, dt) for dt in dts)
    ratio = math.log(dts[0] / dts[1])
    return [math.log(a / b) / ratio for a, b in zip(coarse, fine, strict=True)]


@cache
def wall_error(name: str) -> float:
    """Largest relative change of the Hamiltonian on the soft wall, median of 256 motions.

    The motion is chaotic: over 40,000 steps one of them says little. Their starts lie about a
    ten-millionth apart.
    """
    case, bodies = PAPERS["krysl_wall"], 256
    omega = np.array(case.omega) * (1.0 + 1e-7 * np.arange(bodies)[:, None])
    batch = Batch(case.body, name, case.potential, size=bodies, projection=False)
    batch.set_state(case.quaternion, omega)
    start = batch.measure()["energy"]
    worst = np.zeros(bodies)
    for _ in range(40_000):
        batch.advance(case.dt)
        worst = np.maximum(worst, np.abs(batch.measure()["energy"] / start - 1.0))
    return math.nan if batch.failed.any() else float(np.median(worst))
