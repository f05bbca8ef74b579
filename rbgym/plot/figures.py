"""Figures of a motion over time, the drift of its invariants, its polhode, and control errors.

A polhode is the path of the angular momentum on its sphere, in body axes: a free body conserves
|L| and the energy, so L moves along the curve in which that sphere meets the ellipsoid sum
L_i^2/J_i = 2T. With u = L/|L| these curves, sum u_i^2/J_i = 2T/|L|^2, are the same for every |L|.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from rbgym.arguments import positives, real
from rbgym.body import RigidBody
from rbgym.plot import style
from rbgym.quaternion import Array, rotate_inverse
from rbgym.trajectory import Trajectory

UNIT = 2.0**-53  # unit round-off of float64
FLOOR = 1e-18  # height at which an error of exactly zero is drawn

_AZIMUTH, _ELEVATION = np.radians(42.0), np.radians(24.0)
_EQUAL = 1e-9  # moments closer than this, relatively, count as one
_POINTS = 400  # of a curve of constant energy
_LEVELS = (0.15, 0.45, 0.8)  # fractions of the way from a pole to the separatrix
_LEAST = 1e-3  # deg and rad/s: lower end of the axis
_LABEL = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.8}


@style.context()
def drifts(trajectories: Mapping[str, Trajectory], title: str = "") -> Figure:
    """Largest error so far of the invariants over time [s], of motions by name: energy, and the
    angular momentum or, if not all motions conserve it, its vertical part. The errors are those of
    `Trajectory.errors`; markers show the final ones; an error of zero is drawn at the bottom."""
    style.named("trajectories", trajectories, Trajectory)
    figure = style.picture(9.0, 3.6, title)
    panels = figure.subplots(1, 2, sharey=True)
    whole = all("angular_momentum" in one.conserved for one in trajectories.values())
    momentum = "angular_momentum" if whole else "vertical_momentum"
    for ax, quantity in zip(panels, ("energy", momentum), strict=True):
        for k, (name, one) in enumerate(trajectories.items()):
            _draw_error(ax, k, one.time, one.errors()[quantity], name)
        ax.set_title(quantity.replace("_", " "))
    for ax in panels:
        _frame_errors(ax)
    panels[0].set_ylabel("largest relative error so far")
    panels[0].legend()
    return figure


@style.context()
def summary(trajectory: Trajectory, title: str = "") -> Figure:
    """Motion, drift and polhode side by side; the polhode only if the trajectory has a body."""
    style.known("trajectory", trajectory, Trajectory)
    figure = style.picture(11.0, 6.4, title)
    halves: Any = figure.subfigures(1, 2)
    left, right = halves
    _draw_motion(style.rows(left, 2), trajectory)
    if trajectory.body is None or not np.all(np.any(trajectory.angular_momentum, axis=1)):
        _draw_drift(right.subplots(), trajectory)
        return figure
    globe, below = right.subplots(2, 1, height_ratios=(1.5, 1.0))
    _draw_polhode(globe, trajectory, trajectory.body)
    _draw_drift(below, trajectory)
    return figure


@style.context()
def polhode(trajectory: Trajectory, body: RigidBody | None = None, title: str = "") -> Figure:
    """The direction of the angular momentum in principal axes, on the globe of all directions.

    Grey curves have constant energy; the dashed one, the separatrix, passes through the unstable
    middle axis; the dotted one has the energy of the start. The far side is faint. The curves of a
    body with rotors differ and are not drawn. body: None for `trajectory.body`. Raises ValueError
    if neither is given, and for a motion whose angular momentum vanishes.
    """
    style.known("trajectory", trajectory, Trajectory)
    own: Any = trajectory.body if body is None else body
    style.known("body", own, RigidBody)
    figure = style.picture(5.6, 5.6, title)
    _draw_polhode(figure.subplots(), trajectory, own)
    return figure


def _draw_motion(axes: list[Axes], run: Trajectory) -> None:
    above, below = axes
    for k, name in enumerate("wxyz"):
        above.plot(run.time, run.quaternion[:, k], label=f"${name}$", **style.line(k))
    for k, name in enumerate("xyz"):
        below.plot(run.time, run.angular_velocity[:, k], label=rf"$\omega_{name}$", **style.line(k))
    above.set_ylabel("quaternion, body to world")
    below.set_ylabel("angular velocity, body [rad/s]")
    below.set_xlabel("time [s]")
    for ax in axes:
        ax.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0), borderaxespad=0.1)


def _draw_drift(ax: Axes, run: Trajectory) -> None:
    errors = run.errors()
    for k, name in enumerate(run.conserved):
        largest = f"{errors[name].max():.1e}" if errors[name].max() else "exactly 0"
        _draw_error(ax, k, run.time, errors[name], f"{name.replace('_', ' ')}: {largest}")
    _frame_errors(ax)
    ax.set_ylabel("largest relative error so far")
    ax.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0), borderaxespad=0.1)


def _draw_error(ax: Axes, number: int, time: Array, error: Array, label: str) -> None:
    look = style.marked(number)
    marker = look.pop("marker")
    ax.plot(time, np.maximum(np.maximum.accumulate(error), FLOOR), label=label, **look)
    ax.plot(time[-1:], np.maximum(error[-1:], FLOOR), marker, color=look["color"])


def _frame_errors(ax: Axes) -> None:
    """A logarithmic axis down to the height of zero, shaded below the unit round-off."""
    ax.set_yscale("log")
    ax.set_ylim(FLOOR / 2, max(1e-12, ax.get_ylim()[1]))
    ax.axhspan(FLOOR / 2, UNIT, color="0.93", zorder=0.5)
    ax.axhline(UNIT, color=style.FAINT, linewidth=0.8)
    ax.text(0.5, UNIT, "unit round-off, 1.1e-16", color="0.35", fontsize="small", va="top",
            ha="center", transform=ax.get_yaxis_transform())  # fmt: skip
    ax.set_xlabel("time [s]  (markers: error at the end)")


def _draw_polhode(ax: Axes, trajectory: Trajectory, body: RigidBody) -> None:
    to_principal = body.principal_rotation
    L = rotate_inverse(trajectory.quaternion, trajectory.angular_momentum) @ to_principal
    size = np.linalg.norm(L, axis=1)
    if not size.all():
        raise ValueError("trajectory must have an angular momentum at each instant, got zero")
    seen = view(body)
    ax.set_aspect("equal")
    ax.set_axis_off()
    turn = np.linspace(0.0, 2.0 * np.pi, _POINTS)
    ax.fill(np.cos(turn), np.sin(turn), facecolor="0.97", edgecolor=style.FAINT, linewidth=0.8)
    own = body.moments * (trajectory.angular_velocity[0] @ to_principal)  # without rotors
    if np.allclose(L[0], own, rtol=0.0, atol=1e-9 * size[0]):
        _draw_levels(ax, seen, body, float(np.sum(L[0] ** 2 / body.moments) / size[0] ** 2))
    path = L / size[:, None]
    _draw_curve(ax, seen, path, color=style.COLOURS[0], linewidth=2.0, label="the motion")
    x, y, depth = seen @ path[0]
    ax.plot(x, y, "o", color=style.COLOURS[0], mfc=style.COLOURS[0] if depth > 0 else "white",
            markersize=6.0, label="its start")  # fmt: skip
    _draw_poles(ax, seen, body)
    low, high = size.min(), size.max()
    shown = f"{low:.4g}" if high - low < 1e-4 * high else f"{low:.3g} to {high:.3g}"
    ax.set_title(f"angular momentum seen from the body, |L| = {shown} kg m²/s")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4, columnspacing=1.2)


def view(body: RigidBody) -> Array:
    """Rotation (3, 3) from principal axes to right, up and towards the eye: the middle axis points
    right and the axis of the largest moment up, both turned a little towards the eye."""
    axes = np.eye(3)[np.argsort(body.moments, kind="stable")]
    axes[0] *= np.linalg.det(axes)  # seen from the other side where the order is left-handed
    smallest, middle, largest = axes
    ca, sa, ce, se = np.cos(_AZIMUTH), np.sin(_AZIMUTH), np.cos(_ELEVATION), np.sin(_ELEVATION)
    right = ca * middle - sa * smallest
    away = ca * smallest + sa * middle
    return np.array([right, ce * largest - se * away, se * largest + ce * away])


def energy_curves(moments: Array, level: float) -> Iterator[Array]:
    """The closed curves (n, 3) of unit vectors u on which sum u_i^2/J_i is `level` [1/(kg m^2)]:
    around an axis, two circles at the separatrix, none if all directions or none have it."""
    low, middle, high = np.argsort(moments, kind="stable")
    inverse = 1.0 / moments
    pole, other = (low, high) if level >= inverse[middle] else (high, low)
    gap = inverse[pole] - level
    ratios = [gap / (inverse[pole] - inverse[k]) if inverse[pole] != inverse[k] else np.inf
              for k in (middle, other)]  # fmt: skip
    if min(ratios) < 0 or max(ratios) > 1 + 1e-12:
        return
    turn = np.linspace(0.0, 2.0 * np.pi, _POINTS)
    for side in (1.0, -1.0):
        u = np.empty((_POINTS, 3))
        u[:, middle] = np.sqrt(ratios[0]) * np.cos(turn)
        u[:, other] = np.sqrt(ratios[1]) * np.sin(turn)
        rest = 1.0 - u[:, middle] ** 2 - u[:, other] ** 2
        u[:, pole] = side * np.sqrt(np.maximum(rest, 0.0))
        yield u


def _draw_levels(ax: Axes, seen: Array, body: RigidBody, own: float) -> None:
    inverse = np.sort(1.0 / body.moments)
    if inverse[2] - inverse[0] < _EQUAL * inverse[2]:
        return  # a sphere: every direction has the same energy
    grey: dict[str, Any] = {"color": style.FAINT, "linewidth": 0.7}
    shown = [(pole + part * (inverse[1] - pole), grey)
             for pole in (inverse[0], inverse[2]) for part in _LEVELS]  # fmt: skip
    if np.all(np.diff(inverse) > _EQUAL * inverse[2]):
        dashed = {"color": "black", "linewidth": 0.9, "linestyle": "--", "label": "separatrix"}
        shown.append((inverse[1], dashed))
    start = {"color": style.COLOURS[3], "linestyle": ":", "label": "energy of the start"}
    for level, look in (*shown, (own, start)):
        for curve in energy_curves(body.moments, level):
            _draw_curve(ax, seen, curve, **look)
            look = look | {"label": "_other side"}


def _draw_curve(ax: Axes, seen: Array, points: Array, label: str = "_", **look: Any) -> None:
    """Draw the near side in full, the far side faint."""
    x, y, depth = seen @ points.T
    for near in (False, True):
        side = (depth >= 0) == near
        faint = {} if near else {"alpha": 0.3, "linewidth": 0.6 * look.get("linewidth", 1.5)}
        shown = np.where(side, x, np.nan), np.where(side, y, np.nan)
        ax.plot(*shown, label=label if near else "_far", **(look | faint))


def _draw_poles(ax: Axes, seen: Array, body: RigidBody) -> None:
    unstable = np.argsort(body.moments, kind="stable")[1]
    asymmetric = np.all(np.diff(np.sort(body.moments)) > _EQUAL * body.moments.max())
    for k, name in enumerate("123"):
        for sign in (1.0, -1.0):
            x, y, depth = sign * seen[:, k]
            ax.plot(x, y, "k+", markersize=8.0, alpha=1.0 if depth > 0 else 0.3)
            if depth > 0:
                kind = ", unstable" if asymmetric and k == unstable else ""
                text = f"{'' if sign > 0 else '-'}{name} ({body.moments[k]:.3g} kg m²{kind})"
                ax.annotate(text, (x, y), (5, 5), textcoords="offset points", fontsize="small",
                            bbox=_LABEL)  # fmt: skip


class Errors(NamedTuple):
    """Distance from the goal over time (instants,) [s], in one episode or n: attitude [rad] and
    rate [rad/s], each (instants,) or (instants, n), nan after the end of an episode."""

    time: Array
    attitude: Array
    rate: Array


def _checked(name: str, run: Errors) -> Errors:
    """The errors as arrays; ValueError unless they have the time's number of instants."""
    t, *errors = (real(f"{name}.{k}", one) for k, one in zip(run._fields, run, strict=True))
    if t.ndim != 1 or not all(e.size and e.ndim in (1, 2) and len(e) == len(t) for e in errors):
        raise ValueError(
            f"{name} must have time (instants,) and errors (instants,) or (instants, n), got "
            f"shapes {', '.join(str(np.shape(one)) for one in run)}"
        )
    return Errors(t, *errors)


def quantiles(values: Array) -> Array:
    """Percentiles 5, 50, 95 (3, instants) of values (instants, n), without nan; nan if all are."""
    values = values[:, None] if values.ndim == 1 else values
    some = ~np.isnan(values).all(axis=1)
    found = np.full((3, len(values)), np.nan)
    found[:, some] = np.nanpercentile(values[some], (5.0, 50.0, 95.0), axis=1)
    return found


@style.context()
def pointing(
    runs: Mapping[str, Errors], settled: tuple[float, float] | None = None, title: str = ""
) -> Figure:
    """Attitude error [deg], if the goal has an attitude, and rate error [rad/s] over time [s], by
    name: the median, and a band of 90 % of the episodes. settled: limits of angle [rad] and rate
    [rad/s] at success, as thin lines. The axes begin at 1e-3, or below a smaller limit. ValueError
    if there is no run."""
    style.named("runs", runs, Errors)
    runs = {name: _checked(f"runs[{name!r}]", run) for name, run in runs.items()}
    turning = an_attitude_counts(runs.values())
    figure = style.picture(7.0, 4.8 if turning else 2.8, title)
    axes = style.rows(figure, 2 if turning else 1)
    for k, (name, run) in enumerate(runs.items()):
        if turning:
            _draw_errors(axes[0], k, run.time, np.degrees(run.attitude), name)
        _draw_errors(axes[-1], k, run.time, run.rate, name)
    angle, rate = (np.nan, np.nan) if settled is None else positives("settled", settled, (2,))
    for ax, limit in zip(axes[::-1], (rate, np.degrees(angle)), strict=False):
        log_errors(ax, limit)
    axes[0].set_ylabel("attitude error [deg]")
    axes[-1].set_ylabel("rate error [rad/s]")
    thin = "" if settled is None else "  (thin lines: limits of success)"
    axes[-1].set_xlabel(f"time [s]{thin}")
    axes[0].legend()
    return figure


def _draw_errors(ax: Axes, number: int, time: Array, values: Array, name: str) -> None:
    low, median, high = quantiles(values)
    ax.plot(time, median, label=name, **style.line(number))
    if values.ndim == 2 and values.shape[1] > 1:
        style.band(ax, number, time, low, high)


def an_attitude_counts(errors: Iterable[Errors]) -> bool:
    """Whether the goal has an attitude: without one, the attitude error is always zero."""
    return any(np.nanmax(one.attitude) > 0 for one in errors)


def log_errors(ax: Axes, limit: float) -> None:
    """Make the axis of an error logarithmic, with a thin line at its limit unless that is nan."""
    ax.axhline(limit, color="black", linewidth=0.6)
    ax.set_yscale("log")
    least = min(_LEAST, 0.5 * limit) if limit > 0.0 else _LEAST
    ax.set_ylim(least, max(ax.get_ylim()[1], 10 * _LEAST))
    ax.yaxis.set_minor_formatter(NullFormatter())
