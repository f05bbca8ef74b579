"""Polhodes: the path of the angular momentum on its sphere, seen from the body.

A free body keeps both |L| and the energy: in body axes L runs along the curve in which the sphere
of its size meets the ellipsoid of the energy, sum L_i^2/J_i = 2T. With u = L/|L| these curves,
sum u_i^2/J_i = 2T/|L|^2, are the same for every |L|.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rbgym.body import RigidBody
from rbgym.flight import Flight
from rbgym.plot import style
from rbgym.quaternion import Array, conjugate, rotate
from rbgym.simulate import Trajectory

_AZIMUTH, _ELEVATION = np.radians(42.0), np.radians(24.0)
_EQUAL = 1e-9  # moments closer than this, relatively, count as one
_POINTS = 400  # of a curve of constant energy
_LEVELS = (0.15, 0.45, 0.8)  # of the way from a pole to the separatrix
_LABEL = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.8}


@style.styled
def polhode(
    trajectory: Trajectory | Flight, body: RigidBody | None = None, title: str = ""
) -> Figure:
    """The direction of the angular momentum in principal axes, on the globe of all directions.

    Grey curves have constant energy; the dashed one, the separatrix, runs through the unstable
    middle axis. The dotted one has the energy of the start: a free body stays on it, and the path
    leaves it as far as a scheme fails to. The far side is drawn faint. A body with rotors has other
    curves: none are drawn.
    body: what moves; None for `trajectory.body`. Raises ValueError where neither is known, and for
    a motion in which the angular momentum vanishes.
    """
    style.known("trajectory", trajectory, Trajectory | Flight)
    style.known("body", body, RigidBody | None)
    body = body or getattr(trajectory, "body", None)
    if body is None:
        raise ValueError("body must be given for a trajectory that does not name its own, got None")
    figure = style.picture(5.6, 5.6, title)
    draw_polhode(figure.subplots(), trajectory, body)
    return figure


def draw_polhode(ax: Axes, trajectory: Trajectory | Flight, body: RigidBody) -> None:
    """What `polhode` shows, on these axes."""
    m = principal_momentum(trajectory, body)
    size = np.linalg.norm(m, axis=1)
    if not size.all():
        raise ValueError("trajectory must have an angular momentum at each instant, got zero")
    seen = view(body)
    ax.set_aspect("equal")
    ax.set_axis_off()
    turn = np.linspace(0.0, 2.0 * np.pi, _POINTS)
    ax.fill(np.cos(turn), np.sin(turn), facecolor="0.97", edgecolor=style.FAINT, linewidth=0.8)
    free = np.allclose(m[0], body.moments * _principal_rates(trajectory, body)[0],
                       rtol=0.0, atol=1e-9 * size[0])  # fmt: skip
    if free:
        _draw_levels(ax, seen, body, float(np.sum(m[0] ** 2 / body.moments) / size[0] ** 2))
    path = m / size[:, None]
    _draw_curve(ax, seen, path, color=style.COLOURS[0], linewidth=2.0, label="the motion")
    x, y, depth = seen @ path[0]
    ax.plot(x, y, "o", color=style.COLOURS[0], mfc=style.COLOURS[0] if depth > 0 else "white",
            markersize=6.0, label="its start")  # fmt: skip
    _draw_poles(ax, seen, body)
    low, high = size.min(), size.max()
    shown = f"{low:.4g}" if high - low < 1e-4 * high else f"{low:.3g} to {high:.3g}"
    ax.set_title(f"angular momentum seen from the body, |L| = {shown} kg m²/s")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4, columnspacing=1.2)


def principal_momentum(trajectory: Trajectory | Flight, body: RigidBody) -> Array:
    """Angular momentum (n+1, 3) in the body's principal axes [kg m^2/s]."""
    m = rotate(conjugate(trajectory.quaternion), trajectory.angular_momentum)
    return np.asarray(m @ body.principal_rotation)


def view(body: RigidBody) -> Array:
    """Rotation (3, 3) from principal axes to right, up and towards the eye.

    The middle axis points to the right and the one of the largest moment up, both somewhat turned
    to the eye.
    """
    axes = np.eye(3)[np.argsort(body.moments, kind="stable")]
    axes[0] *= np.linalg.det(axes)  # seen from the other side where the order is left-handed
    smallest, middle, largest = axes
    ca, sa, ce, se = np.cos(_AZIMUTH), np.sin(_AZIMUTH), np.cos(_ELEVATION), np.sin(_ELEVATION)
    right = ca * middle - sa * smallest
    away = ca * smallest + sa * middle
    return np.array([right, ce * largest - se * away, se * largest + ce * away])


def energy_curves(moments: Array, level: float) -> Iterator[Array]:
    """The closed curves (n, 3) of unit vectors u on which sum u_i^2/J_i is `level` [1/(kg m^2)].

    Around an axis, the two other components run through an ellipse. At the separatrix these are two
    circles; nothing where all directions or none have that level.
    """
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


def _principal_rates(trajectory: Trajectory | Flight, body: RigidBody) -> Array:
    return np.asarray(trajectory.angular_velocity @ body.principal_rotation)


def _draw_levels(ax: Axes, seen: Array, body: RigidBody, own: float) -> None:
    inverse = np.sort(1.0 / body.moments)
    if inverse[2] - inverse[0] < _EQUAL * inverse[2]:
        return  # a sphere: every direction has the same energy
    grey: dict[str, Any] = {"color": style.FAINT, "linewidth": 0.7}
    for pole in (inverse[0], inverse[2]):
        for part in _LEVELS:
            for curve in energy_curves(body.moments, pole + part * (inverse[1] - pole)):
                _draw_curve(ax, seen, curve, **grey)
    if np.all(np.diff(inverse) > _EQUAL * inverse[2]):
        name = "separatrix"
        for curve in energy_curves(body.moments, float(inverse[1])):
            look = grey | {"color": "black", "linewidth": 0.9, "linestyle": "--"}
            _draw_curve(ax, seen, curve, label=name, **look)
            name = "_again"
    name = "energy of the start"
    for curve in energy_curves(body.moments, own):
        _draw_curve(ax, seen, curve, color=style.COLOURS[3], linestyle=":", label=name)
        name = "_again"


def _draw_curve(ax: Axes, seen: Array, points: Array, label: str = "_", **look: Any) -> None:
    """The near side as it is, the far side faint."""
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
            near = depth > 0
            ax.plot(x, y, "k+", markersize=8.0, alpha=1.0 if near else 0.3)
            if near:
                kind = ", unstable" if asymmetric and k == unstable else ""
                text = f"{'' if sign > 0 else '-'}{name} ({body.moments[k]:.3g} kg m²{kind})"
                ax.annotate(text, (x, y), (5, 5), textcoords="offset points", fontsize="small",
                            bbox=_LABEL)  # fmt: skip
