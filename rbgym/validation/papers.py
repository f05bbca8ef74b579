"""Measures the claims of papers. One that fails contradicts no declaration of the catalogue."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from rbgym import integrators
from rbgym.engine.batch import Batch, IntegrationError
from rbgym.quaternion import Array, to_matrix
from rbgym.scalable import simulate_scalable
from rbgym.trajectory import Trajectory
from rbgym.validation.cases import NUTATION, PAPERS, PRECESSION, Case, Claim, above, below, near
from rbgym.validation.declarations import CONSERVED, DRIFTS, ROUNDOFF

KRYSL = ("trap", "imid", "trapm", "imidm", "akw", "bbtrap", "swc1")
NEW, OLD = KRYSL[:4], KRYSL[4:]
BETSCH = ("quat_em", "quat_vi", "dir_em", "swc1")


@cache
def converged(case: Case) -> tuple[Array, Array]:
    """Rotation matrix and body momentum at the horizon: exact if free, else of order six."""
    scheme, steps = "exact", 1
    if case.potential is not None:
        scheme, steps = "trapm:6", round(case.horizon / 2e-4)
    end = case.run(scheme, case.horizon / steps, steps)
    return to_matrix(end.quaternion[-1]), case.body.inertia @ end.angular_velocity[-1]


def _run(name: str, case: Case, dt: float) -> Trajectory | None:
    """The motion up to the horizon; None if a step of about `dt` cannot be solved."""
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
    seen = to_matrix(end.quaternion[-1])[:, 2]
    return float(np.linalg.norm(seen - steady_precession(end.time[-1])))


def slopes(name: str, kind: str, dt: float) -> list[float]:
    """Slopes of both errors between a step and its half."""
    coarse, fine = end_errors(name, kind, dt), end_errors(name, kind, dt / 2)
    return [math.log2(a / b) for a, b in zip(coarse, fine, strict=True)]


def lead(leaders: Sequence[str], kind: str, dt: float, shared: float = 0.0) -> list[Claim]:
    """Claims that both errors of each leader are below those of Krysl's other schemes. shared:
    relative excess of the leader's momentum error that counts as equal."""
    found, claims = {name: end_errors(name, kind, dt) for name in KRYSL}, []
    for k, (what, more) in enumerate((("attitude", 0.0), ("momentum", shared))):
        best = min(errors[k] for name, errors in found.items() if name not in leaders)
        label = f"{what} error over the best of the others"
        said = "at most 1" if more else "below 1"
        for name in leaders:
            claims.append(below(name, kind, label, said, found[name][k] / best, 1.0 + more))
    return claims


def conserve(name: str, case: Case, said: str, bound: float) -> list[Claim]:
    """Claims that a scheme conserves the invariants of a case over a thousand steps."""
    drift = case.run(name, case.dt, 1000, projection=False).drift()
    return [
        below(name, case.kind, f"{quantity}, dt = {case.dt}", said, drift[quantity]["max"], bound)
        for quantity in case.invariants
    ]


@cache
def wall_error(name: str) -> float:
    """Largest relative change of the Hamiltonian on the soft wall in 40,000 steps: the median over
    256 motions whose starts differ by a ten-millionth, since the motion is chaotic."""
    case, bodies = PAPERS["krysl_wall"], 256
    omega = np.array(case.omega) * (1.0 + 1e-7 * np.arange(bodies)[:, None])
    batch = Batch(case.body, name, case.potential, size=bodies, projection=False)
    batch.set_state(case.quaternion, omega)
    start = batch.measure()["energy"]
    worst = np.zeros(bodies)
    for _ in range(40_000):
        batch.advance(case.dt)
        worst = np.maximum(worst, np.abs(batch.measure()["energy"] / start - 1.0))
    # About one body in a thousand reaches a step of bbtrap that has no solution.
    worst[batch.failed] = math.inf
    return float(np.median(worst))


Measure = Callable[[], list[Claim]]


class Paper(NamedTuple):
    """One claim of a paper: a name, its place in the paper, and the function that measures it."""

    name: str
    source: str
    measure: Measure


PAPER_CLAIMS: list[Paper] = []


def claimed(name: str, source: str) -> Callable[[Measure], Measure]:
    def add(measure: Measure) -> Measure:
        PAPER_CLAIMS.append(Paper(name, source, measure))
        return measure

    return add


@claimed(
    "QUAT_EM conserves energy and momentum at large steps", "Betsch & Siebert (2009), 5.1.1, 5.2.2"
)
def quat_em_conserves() -> list[Claim]:
    cases = PAPERS["betsch_free"], PAPERS["betsch_top"]
    return [claim for case in cases for claim in conserve("quat_em", case, "conserved", CONSERVED)]


@claimed("DIR_EM is the most accurate of four on the gyro top", "Betsch & Siebert (2009), 5.2.3")
def dir_em_is_the_most_accurate_on_the_top() -> list[Claim]:
    dt = 0.0025
    rest = min(top_error(name, dt) for name in BETSCH if name != "dir_em")
    label = f"error over the best of the others, dt = {dt}"
    return [below("dir_em", "betsch_top", label, "below 1", top_error("dir_em", dt) / rest, 1.0)]


@claimed("QUAT_VI needs the step 0.007 on the gyro top", "Betsch & Siebert (2009), 5.2.3")
def quat_vi_needs_a_smaller_step() -> list[Claim]:
    fails = float(math.isnan(top_error("quat_vi", 0.01)))
    solves = float(not math.isnan(top_error("quat_vi", 0.007)))
    return [
        above("quat_vi", "betsch_top", "no solution, dt = 0.01", "yes", fails, 0.5),
        above("quat_vi", "betsch_top", "solved, dt = 0.007", "yes", solves, 0.5),
    ]


@claimed("all four schemes are of second order", "Betsch & Siebert (2009), figure 1")
def all_four_are_of_second_order() -> list[Claim]:
    of = "betsch_free", "order of the attitude"
    return [near(name, *of, 2, slopes(name, "betsch_free", 0.001)[0], 0.1) for name in BETSCH]


@claimed("all seven schemes are of second order", "Krysl (2007), figures 1 to 3")
def all_seven_are_of_second_order() -> list[Claim]:
    steps = {"krysl_free": 0.1, "krysl_slow_top": 0.005, "krysl_fast_top": 0.001}
    return [
        near(name, kind, f"order of the {what}", 2, slope, 0.1)
        for kind, dt in steps.items()
        for name in KRYSL
        for what, slope in zip(("attitude", "momentum"), slopes(name, kind, dt), strict=True)
    ]


@claimed("IMID is the most accurate on the free body", "Krysl (2007), 5.1")
def imid_is_the_most_accurate_on_the_free_body() -> list[Claim]:
    return lead(["imid"], "krysl_free", 0.2, shared=1e-6)  # with AKW


@claimed("AKW matches IMID in momentum, not in attitude", "Krysl (2007), 5.1")
def akw_shares_the_momentum_of_imid_and_not_its_attitude() -> list[Claim]:
    case, dt = PAPERS["krysl_free"], 0.2
    akw, imid = (case.run(name, dt, 500, projection=False) for name in ("akw", "imid"))
    apart = np.linalg.norm(akw.angular_velocity - imid.angular_velocity, axis=1).max()
    ratio = end_errors("akw", case.kind, dt)[0] / end_errors("imid", case.kind, dt)[0]
    label = "distance of its rates to those of imid"
    return [
        below("akw", case.kind, label, "none", float(apart), 1e-12),
        above("akw", case.kind, "attitude error over that of imid", "ten times", ratio, 10.0),
    ]


@claimed("IMIDM and TRAPM lead on the fast top", "Krysl (2007), 5.3")
def imidm_and_trapm_lead_on_the_fast_top() -> list[Claim]:
    return lead(["imidm", "trapm"], "krysl_fast_top", 0.001)


@claimed("the new schemes keep the energy better on the soft wall", "Krysl (2007), 5.4")
def the_new_schemes_keep_the_energy_on_the_wall() -> list[Claim]:
    claims = []
    for name in NEW:
        share = 5 if name in ("imid", "imidm") else 3
        for old in OLD:
            ratio = wall_error(name) / wall_error(old)
            label = f"Hamiltonian error over that of {old}"
            claims.append(below(name, "krysl_wall", label, f"within 1/{share}", ratio, 1 / share))
    return claims


@claimed("TRAP conserves the energy pushed half a step", "Krysl (2007), 3.5")
def trap_conserves_the_energy_half_a_step_later() -> list[Claim]:
    """Half a forward Euler step leads to Pi + (h/2) Pi x Omega."""
    case, dt = PAPERS["betsch_free"], 0.01
    run = case.run("trap", dt, 1000, record_every=1)
    J = case.body.moments
    Pi = run.angular_velocity * J
    pushed = Pi + 0.5 * dt * np.cross(Pi, run.angular_velocity)
    energy = 0.5 * np.sum(pushed**2 / J, axis=1)
    drift = float(np.abs(energy / energy[0] - 1.0).max())
    own = run.drift()["energy"]["max"]
    loose = ROUNDOFF[0] + 1000 * ROUNDOFF[1]
    return [
        below("trap", case.kind, "energy half a step later", "conserved", drift, loose),
        above("trap", case.kind, "energy at the nodes", "drifts", own, DRIFTS),
    ]


@claimed("the convected scheme conserves to 1e-15", "Krenk & Nielsen (2013), 5.1")
def convected_conserves_to_round_off() -> list[Claim]:
    return conserve("convected", PAPERS["krenk_brick"], "1e-15", 5e-15)


@claimed("the convected scheme improves by four", "Krenk & Nielsen (2013), 5.2")
def convected_improves_by_four() -> list[Claim]:
    # At the paper's steps the body turns by a radian, too far for the leading term of the error.
    claims = []
    for dt, bound in ((0.01, 1.0), (0.001, 0.2)):
        ratio = top_error("convected", dt) / top_error("convected", dt / 2)
        label = f"error at {dt} over that at {dt / 2}"
        claims.append(near("convected", "betsch_top", label, 4, ratio, bound))
    return claims


def _rkn4(dt: float, steps: int, **options: Any) -> tuple[Trajectory, float]:
    """The motion of Krysl's free body by RKN4 with these options, and its attitude error."""
    case = PAPERS["krysl_free"]
    end = case.run(integrators.get("rkn4", **options), dt, steps)
    return end, float(np.linalg.norm(to_matrix(end.quaternion[-1]) - converged(case)[0]))


@claimed("momentum normalisation increases accuracy", "Mandre (2008), 7.2")
def momentum_normalisation_helps() -> list[Claim]:
    (_, plain), (end, error) = (_rkn4(0.2, 500, momentum_normalisation=on) for on in (False, True))
    of, drift = ("rkn4", "krysl_free"), end.drift()["angular_momentum"]["max"]
    return [
        below(*of, "momentum, normalised", "conserved", drift, 0.0),
        below(*of, "attitude error over that without it", "below 1", error / plain, 1.0),
    ]


@claimed("normalising every 1000 steps is good enough", "Mandre (2008), 6")
def seldom_normalisation_is_good_enough() -> list[Claim]:
    (_, often), (_, seldom) = (_rkn4(0.05, 2000, renormalise_every=every) for every in (1, 1000))
    label = "attitude error, normalised every 1000 steps, over that of every step"
    return [below("rkn4", "krysl_free", label, "about 1", seldom / often, 2.0)]


@claimed("the multiplier is the force that keeps the size", "Moller & Glocker (2012), (96)")
def the_multiplier_is_the_force_that_keeps_the_size() -> list[Claim]:
    case = PAPERS["betsch_free"]
    batch = Batch(case.body, "scalable_em", None, projection=False)
    batch.set_state(case.quaternion, case.omega)
    force = np.empty(200)
    for k in range(len(force)):
        batch.advance(case.dt)
        force[k] = batch.memory()[0, 0]
    free = simulate_scalable(
        case.body, dt=case.dt, steps=len(force), quaternion=case.quaternion,
        angular_velocity=case.omega, scaling_force=force,
    )  # fmt: skip
    worst = float(np.abs(free.scale - 1.0).max())
    return [below("scalable_em", case.kind, "change of size of a free body", "0", worst, 1e-13)]
