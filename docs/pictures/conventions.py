"""Draw the pictures of docs/conventions.md: frames, quaternion, and what stays where.

    python docs/pictures/conventions.py [FOLDER]

All that is turned is turned by rbgym.quaternion, and the motion is one of rbgym's.
"""

import itertools
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

import rbgym
from rbgym.quaternion import from_rotation_vector, rotate

BODY = "#b2182b", "#1b7837", "#2166ac"  # colours of the body's x, y and z axes
WORLD, MOMENTUM, RATE = "0.25", "#6a3d9a", "#e08214"
HALF = np.array([0.28, 0.42, 0.14])  # half the edges of the brick
TURN = np.array([-0.3, 0.5, 1.2])  # rotation vector [rad]


def axes_in_space(figure: Any, position: int = 1, of: int = 1, room: float = 0.8) -> Any:
    """Axes in which nothing but what is drawn is seen; room from the centre to each side."""
    axes = figure.add_subplot(1, of, position, projection="3d", computed_zorder=False)
    axes.set(xlim=(-room, room), ylim=(-room, room), zlim=(-room, room))
    axes.set_box_aspect((1, 1, 1))
    axes.view_init(elev=22, azim=38)
    axes.set_axis_off()
    return axes


def arrow(axes: Any, end: Any, colour: str, label: str = "", width: float = 2.0) -> None:
    """An arrow from the origin, with its name beyond its tip."""
    end = np.asarray(end)
    axes.quiver(0, 0, 0, *end, color=colour, linewidth=width, arrow_length_ratio=0.1, zorder=3)
    x, y, z = end + 0.13 * end / np.linalg.norm(end)
    axes.text(x, y, z, label, color=colour, fontsize=11, ha="center", va="center", zorder=4)


def world_axes(axes: Any) -> None:
    """The axes of the world."""
    for axis, name in zip(np.eye(3), "xyz", strict=True):
        arrow(axes, 0.95 * axis, WORLD, f"${name}_{{world}}$", 1.2)


def body_axes(axes: Any, q: Any, length: float = 0.8) -> None:
    """The axes of a body with the attitude q."""
    for axis, name, colour in zip(np.eye(3), "xyz", BODY, strict=True):
        arrow(axes, length * rotate(q, axis), colour, f"${name}_{{body}}$")


def brick(axes: Any, q: Any, alpha: float = 1.0) -> None:
    """The edges of a brick with the attitude q."""
    corners = np.array(list(itertools.product((-1, 1), repeat=3))) * HALF
    for a, b in itertools.combinations(corners, 2):
        if np.count_nonzero(a != b) == 1:
            ends = rotate(q, np.array([a, b]))
            axes.plot(*ends.T, color="0.55", linewidth=1.2, alpha=alpha, zorder=2)


def frames() -> Any:
    """World axes, and the axes of a body that is turned."""
    figure = plt.figure(figsize=(6.5, 6.5))
    axes = axes_in_space(figure)
    q = from_rotation_vector(TURN)
    brick(axes, q)
    world_axes(axes)
    body_axes(axes, q)
    return figure


def quaternion() -> Any:
    """The axis and the angle of a quaternion, and the way that a body axis goes."""
    figure = plt.figure(figsize=(6.5, 6.5))
    axes = axes_in_space(figure)
    q, n = from_rotation_vector(TURN), TURN / np.linalg.norm(TURN)
    world_axes(axes)
    arrow(axes, n, "black", "$n$", 2.4)
    for axis, colour in zip(np.eye(3), BODY, strict=True):
        way = rotate(from_rotation_vector(np.linspace(0, 1, 50)[:, None] * TURN), 0.75 * axis)
        axes.plot(*way.T, color=colour, linestyle=(0, (3, 2)), linewidth=1.4, zorder=2)
    body_axes(axes, q, 0.75)
    middle = rotate(from_rotation_vector(0.5 * TURN), np.array([0.95, 0.0, 0.0]))
    axes.text(*middle, r"$\theta$", color=BODY[0], fontsize=13, zorder=4)
    return figure


def momentum() -> Any:
    """A tumbling free body at three instants: its momentum stays in the world, its rates turn."""
    path = rbgym.simulate(
        rbgym.RigidBody(inertia=[6, 3, 8]), dt=0.05, steps=20, angular_velocity=(-0.9, 2.4, 0.7)
    )
    figure = plt.figure(figsize=(12, 4))
    for place, k in enumerate((0, 10, 20), start=1):
        axes = axes_in_space(figure, place, of=3, room=0.55)
        axes.text2D(0.5, 0.2, f"t = {path.time[k]:g} s", transform=axes.transAxes, ha="center")
        q, L = path.quaternion[k], path.angular_momentum[k]
        omega = rotate(q, path.angular_velocity[k])
        brick(axes, q)
        for axis, colour in zip(np.eye(3), BODY, strict=True):
            arrow(axes, 0.5 * rotate(q, axis), colour, "", 1.4)
        arrow(axes, 0.9 * L / np.linalg.norm(L), MOMENTUM, "$L$", 2.6)
        arrow(axes, 0.8 * omega / np.linalg.norm(omega), RATE, r"$\Omega$", 2.6)
    return figure


def save(figure: Any, file: Path) -> None:
    """Write the figure without the empty space around what is drawn."""
    figure.set_dpi(140)
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]
    rows, columns = (np.flatnonzero((pixels < 255).any(axis=(k, 2))) for k in (1, 0))
    shown = pixels[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    plt.imsave(file, np.pad(shown, ((14, 14), (14, 14), (0, 0)), constant_values=255))
    plt.close(figure)


def main(folder: Path) -> None:
    """Draw all three."""
    for make in (frames, quaternion, momentum):
        save(make(), folder / f"conventions_{make.__name__}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
