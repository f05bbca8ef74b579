"""The papers' figures redrawn from runs, and figures of the whole catalogue, as plain data."""

from typing import NamedTuple

import numpy as np

from rbgym import integrators
from rbgym.plot import Line, Panel
from rbgym.validation import errors
from rbgym.validation.cases import CASES, CONE_ARM, PAPERS
from rbgym.validation.declarations import convergence
from rbgym.validation.summary import nanoseconds


class Figure(NamedTuple):
    """Panels side by side under one title."""

    name: str
    title: str
    panels: list[Panel]


# --- the papers' -----------------------------------------------------------------------------


def betsch_1() -> Figure:
    run = PAPERS["betsch_free"].run("quat_em", 0.05, 100, record_every=1)
    lines = [Line("energy", run.time, run.energy)]
    lines += [Line(f"L_{k + 1}", run.time, run.angular_momentum[:, k]) for k in range(3)]
    left = Panel("time [s]", "QUAT_EM, dt = 0.05: energy [J], momentum", lines)
    right = _errors("betsch_free", errors.BETSCH, (0.01, 0.005, 0.002, 0.001, 0.0005), 0)
    return Figure("betsch_1", "Betsch & Siebert (2009), figure 1: free body", [left, right])


def _errors(kind: str, names: tuple[str, ...], dts: tuple[float, ...], column: int) -> Panel:
    found = {name: [errors.end_errors(name, kind, dt)[column] for dt in dts] for name in names}
    what = ("attitude", "body momentum")[column]
    return Panel("dt [s]", f"error of the {what}", _lines(dts, found), log=True)


def _lines(x: tuple[float, ...], found: dict[str, list[float]]) -> list[Line]:
    return [Line(name, np.array(x), np.array(y)) for name, y in found.items()]


def betsch_3() -> Figure:
    run = PAPERS["betsch_top"].run("quat_em", 0.01, 100, record_every=1)
    L_3 = run.angular_momentum[:, 2]
    lines = [
        Line("energy", run.time, run.energy / run.energy[0] - 1.0),
        Line("L_3", run.time, L_3 / L_3[0] - 1.0),
    ]
    dts = (0.007, 0.005, 0.0025, 0.001, 0.0005)
    found = {name: [errors.top_error(name, dt) for dt in dts] for name in errors.BETSCH}
    return Figure(
        "betsch_3",
        "Betsch & Siebert (2009), figure 3: steady precession of a gyro top",
        [
            Panel("time [s]", "QUAT_EM, dt = 0.01: over the start - 1", lines),
            Panel("dt [s]", "relative error of the centre of mass", _lines(dts, found), log=True),
        ],
    )


def _tops(name: str, title: str, runs: tuple[tuple[str, float], ...]) -> Figure:
    panels = []
    for axis, label in ((0, "x"), (2, "z")):
        t = np.linspace(0.0, 1.0, 400)
        lines = [Line("analytical", t, CONE_ARM * errors.steady_precession(t)[:, axis])]
        for scheme, dt in runs:
            run = PAPERS["betsch_top"].run(scheme, dt, round(1.0 / dt), record_every=1)
            path = CONE_ARM * errors.centre_of_mass(run.quaternion)[:, axis]
            lines.append(Line(f"{scheme}, dt = {dt}", run.time, path))
        panels.append(Panel("time [s]", f"{label} of the centre of mass [m]", lines))
    return Figure(name, title, panels)


def betsch_4() -> Figure:
    title = "Betsch & Siebert (2009), figure 4: QUAT_EM and DIR_EM on the top"
    return _tops("betsch_4", title, (("quat_em", 0.01), ("dir_em", 0.01)))


def betsch_5() -> Figure:
    title = "Betsch & Siebert (2009), figure 5: QUAT_VI and ALGO_C1 on the top"
    return _tops("betsch_5", title, (("quat_vi", 0.007), ("swc1", 0.007)))


def _krysl(number: int, kind: str, title: str, dts: tuple[float, ...]) -> Figure:
    panels = [_errors(kind, errors.KRYSL, dts, column) for column in (1, 0)]
    return Figure(f"krysl_{number}", f"Krysl (2007), figure {number}: {title}", panels)


def krysl_1() -> Figure:
    return _krysl(1, "krysl_free", "free body", (1.0, 0.5, 0.2, 0.1, 0.05, 0.02))


def krysl_2() -> Figure:
    return _krysl(2, "krysl_slow_top", "slow Lagrangian top", (0.05, 0.02, 0.01, 0.005, 0.002))


def krysl_3() -> Figure:
    return _krysl(3, "krysl_fast_top", "fast Lagrangian top", (0.02, 0.01, 0.005, 0.002, 0.001))


def _wall(number: int, names: tuple[str, ...]) -> Figure:
    case, panels = PAPERS["krysl_wall"], []
    for name in names:
        run = case.run(name, case.dt, 40_000, projection=False, record_every=10)
        lines = [Line("", run.time, run.energy / run.energy[0])]
        panels.append(Panel("time [s]", f"{name.upper()}: H over its start", lines))
    title = f"Krysl (2007), figure {number}: soft wall, dt = 0.5, 40,000 steps"
    return Figure(f"krysl_{number}", title, panels)


def krysl_4() -> Figure:
    return _wall(4, errors.OLD)


def krysl_5() -> Figure:
    return _wall(5, errors.NEW)


def krenk_1() -> Figure:
    case = PAPERS["krenk_brick"]
    run = case.run("convected", case.dt, 1000, projection=False, record_every=1)
    rates = [Line(f"omega_{k + 1}", run.time, run.angular_velocity[:, k]) for k in range(3)]
    size = np.linalg.norm(run.angular_momentum, axis=1)
    panels = [Panel("time [s]", "rates [rad/s]", rates)]
    for name, values in (("energy", run.energy), ("|L|", size)):
        lines = [Line("", run.time, values / values[0] - 1)]
        panels.append(Panel("time [s]", f"{name} over its start - 1", lines))
    title = "Krenk & Nielsen (2013), figure 1: free rotation of a brick"
    return Figure("krenk_1", title, panels)


def krenk_2() -> Figure:
    title = "Krenk & Nielsen (2013), figure 2: convected scheme on the top"
    return _tops("krenk_2", title, (("convected", 0.01), ("convected", 0.005)))


# --- the catalogue's --------------------------------------------------------------------------


def converging(names: list[str]) -> Figure:
    """Attitude error against the step, one panel a case."""
    panels = []
    for case in CASES:
        found = {name: convergence(integrators.get(name), case) for name in names}
        lines = [
            Line(name, np.array(order.step_sizes), np.array(order.attitude_errors))
            for name, order in found.items()
        ]
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


PAPER_FIGURES = (
    betsch_1,
    betsch_3,
    betsch_4,
    betsch_5,
    krysl_1,
    krysl_2,
    krysl_3,
    krysl_4,
    krysl_5,
    krenk_1,
    krenk_2,
)
CATALOGUE_FIGURES = (converging, conserving, work_precision)
