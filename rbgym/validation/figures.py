"""The papers' figures redrawn from runs, and figures of the whole catalogue, as plain data."""

import timeit
from collections.abc import Sequence
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from rbgym import integrators, threads
from rbgym.engine.batch import Batch
from rbgym.plot import Line, Panel
from rbgym.validation import papers
from rbgym.validation.cases import CASES, CONE_ARM, PAPERS, Case
from rbgym.validation.declarations import convergence

BODIES = 256
_ROUNDS, _SECONDS = 15, 0.004


class Figure(NamedTuple):
    """Panels side by side under one title."""

    name: str
    title: str
    panels: list[Panel]


# --- the papers' -----------------------------------------------------------------------------

_SOURCES = {
    "betsch": "Betsch & Siebert (2009)",
    "krysl": "Krysl (2007)",
    "krenk": "Krenk & Nielsen (2013)",
}


def _figure(name: str, title: str, panels: list[Panel]) -> Figure:
    paper, number = name.split("_")
    return Figure(name, f"{_SOURCES[paper]}, figure {number}: {title}", panels)


def betsch_1() -> Figure:
    run = PAPERS["betsch_free"].run("quat_em", 0.05, 100, record_every=1)
    lines = [Line("energy", run.time, run.energy)]
    lines += [Line(f"L_{k + 1}", run.time, run.angular_momentum[:, k]) for k in range(3)]
    left = Panel("time [s]", "QUAT_EM, dt = 0.05: energy [J], momentum", lines)
    right = _errors("betsch_free", papers.BETSCH, (0.01, 0.005, 0.002, 0.001, 0.0005), 0)
    return _figure("betsch_1", "free body", [left, right])


def betsch_3() -> Figure:
    run = PAPERS["betsch_top"].run("quat_em", 0.01, 100, record_every=1)
    conserved = {"energy": run.energy, "L_3": run.angular_momentum[:, 2]}
    lines = [Line(name, run.time, values / values[0] - 1.0) for name, values in conserved.items()]
    left = Panel("time [s]", "QUAT_EM, dt = 0.01: over the start - 1", lines)
    dts = (0.007, 0.005, 0.0025, 0.001, 0.0005)
    found = {name: [papers.top_error(name, dt) for dt in dts] for name in papers.BETSCH}
    right = Panel("dt [s]", "relative error of the centre of mass", _lines(dts, found), log=True)
    return _figure("betsch_3", "steady precession of a gyro top", [left, right])


def _lines(x: Sequence[float], found: dict[str, list[float]]) -> list[Line]:
    return [Line(name, np.array(x), np.array(y)) for name, y in found.items()]


def _errors(kind: str, names: Sequence[str], dts: Sequence[float], column: int) -> Panel:
    found = {name: [papers.end_errors(name, kind, dt)[column] for dt in dts] for name in names}
    what = ("attitude", "body momentum")[column]
    return Panel("dt [s]", f"error of the {what}", _lines(dts, found), log=True)


def tops(name: str, title: str, *runs: tuple[str, float]) -> Figure:
    """Paths of the steady top's centre of mass, by scheme and step, beside the analytical one."""
    panels, t = [], np.linspace(0.0, 1.0, 400)
    for axis, label in ((0, "x"), (2, "z")):
        lines = [Line("analytical", t, CONE_ARM * papers.steady_precession(t)[:, axis])]
        for scheme, dt in runs:
            run = PAPERS["betsch_top"].run(scheme, dt, round(1.0 / dt), record_every=1)
            path = CONE_ARM * papers.centre_of_mass(run.quaternion)[:, axis]
            lines.append(Line(f"{scheme}, dt = {dt}", run.time, path))
        panels.append(Panel("time [s]", f"{label} of the centre of mass [m]", lines))
    return _figure(name, f"{title} on the top", panels)


def krysl(name: str, kind: str, title: str, *dts: float) -> Figure:
    """Errors of Krysl's schemes against the step."""
    panels = [_errors(kind, papers.KRYSL, dts, column) for column in (1, 0)]
    return _figure(name, title, panels)


def wall(figure: str, names: Sequence[str]) -> Figure:
    """The Hamiltonian on Krysl's soft wall, one panel a scheme."""
    case, panels = PAPERS["krysl_wall"], []
    for name in names:
        run = case.run(name, case.dt, 40_000, projection=False, record_every=10)
        lines = [Line("", run.time, run.energy / run.energy[0])]
        panels.append(Panel("time [s]", f"{name.upper()}: H over its start", lines))
    return _figure(figure, "soft wall, dt = 0.5, 40,000 steps", panels)


def krenk_1() -> Figure:
    case = PAPERS["krenk_brick"]
    run = case.run("convected", case.dt, 1000, projection=False, record_every=1)
    rates = [Line(f"omega_{k + 1}", run.time, run.angular_velocity[:, k]) for k in range(3)]
    panels = [Panel("time [s]", "rates [rad/s]", rates)]
    size = np.linalg.norm(run.angular_momentum, axis=1)
    for name, values in (("energy", run.energy), ("|L|", size)):
        lines = [Line("", run.time, values / values[0] - 1)]
        panels.append(Panel("time [s]", f"{name} over its start - 1", lines))
    return _figure("krenk_1", "free rotation of a brick", panels)


PAPER_FIGURES = (
    betsch_1,
    betsch_3,
    partial(tops, "betsch_4", "QUAT_EM and DIR_EM", ("quat_em", 0.01), ("dir_em", 0.01)),
    partial(tops, "betsch_5", "QUAT_VI and ALGO_C1", ("quat_vi", 0.007), ("swc1", 0.007)),
    partial(krysl, "krysl_1", "krysl_free", "free body", 1.0, 0.5, 0.2, 0.1, 0.05, 0.02),
    partial(krysl, "krysl_2", "krysl_slow_top", "slow top", 0.05, 0.02, 0.01, 0.005, 0.002),
    partial(krysl, "krysl_3", "krysl_fast_top", "fast top", 0.02, 0.01, 0.005, 0.002, 0.001),
    partial(wall, "krysl_4", papers.OLD),
    partial(wall, "krysl_5", papers.NEW),
    krenk_1,
    partial(tops, "krenk_2", "convected scheme", ("convected", 0.01), ("convected", 0.005)),
)


# --- the catalogue's --------------------------------------------------------------------------


def converging(names: list[str]) -> Figure:
    """Attitude error against the step, one panel a case."""
    panels = []
    for case in CASES:
        orders = [convergence(integrators.get(name), case) for name in names]
        found = [(np.array(order.step_sizes), np.array(order.attitude_errors)) for order in orders]
        lines = [Line(name, *xy) for name, xy in zip(names, found, strict=True)]
        panels.append(Panel("dt [s]", f"{case.kind}: attitude error [rad]", lines, log=True))
    return Figure("convergence", "Convergence under a held torque", panels)


def work_precision(names: list[str]) -> Figure:
    """Attitude error against measured time per simulated second, one panel a case."""
    panels = []
    for case in CASES[:2]:
        lines = []
        for name in names:
            order = convergence(integrators.get(name), case)
            work = 1e-3 * nanoseconds(name, case) / np.array(order.step_sizes)
            lines.append(Line(name, work, np.array(order.attitude_errors)))
        x = "time per body and simulated second [us]"
        panels.append(Panel(x, f"{case.kind}: attitude error [rad]", lines, log=True))
    return Figure("work_precision", "Work and precision, 256 bodies on one core", panels)


def conserving(names: list[str]) -> Figure:
    """Energy error along a run in each case, for the schemes as delivered."""
    panels = []
    for case in CASES:
        lines = []
        for name in names:
            if integrators.get(name).order > 1:
                run = case.run(name, case.dt, 5000, record_every=50)
                error = np.abs(run.energy / run.energy[0] - 1.0) + 1e-17
                lines.append(Line(name, run.time[1:], error[1:]))
        panels.append(Panel("time [s]", f"{case.kind}: energy error", lines, log=True))
    return Figure("conservation", "Energy error of the torque-free motion", panels)


CATALOGUE_FIGURES = (converging, conserving, work_precision)


@cache
def nanoseconds(name: str, case: Case) -> float:
    """Time of one step of one body [ns]: best of several rounds of 256 bodies on one core."""
    batch = Batch(case.body, name, case.potential, size=BODIES)
    rng = np.random.default_rng(0)
    batch.set_state(case.quaternion, case.omega * (1.0 + 0.01 * rng.standard_normal((BODIES, 3))))
    before = threads.get_num_threads()
    threads.set_num_threads(1)
    try:
        batch.advance(case.dt)
        once = timeit.timeit(lambda: batch.advance(case.dt), number=1)
        steps = max(1, int(_SECONDS / once))
        best = min(timeit.repeat(lambda: batch.advance(case.dt, steps), repeat=_ROUNDS, number=1))
    finally:
        threads.set_num_threads(before)
    return 1e9 * best / steps / BODIES
