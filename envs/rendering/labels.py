"""What is written on a picture: caption, legend, names of axes."""

from collections.abc import Iterator

import numpy as np

from rbgym.envs.rendering import colors
from rbgym.envs.rendering.camera import Camera
from rbgym.envs.rendering.canvas import Canvas
from rbgym.envs.rendering.colors import Color
from rbgym.envs.rendering.scene import Caption, Scene

_LEAST = 0.45  # of the usual size: on smaller pictures nothing can be read


def write(canvas: Canvas, scene: Scene, camera: Camera, unit: float) -> None:
    """Write all of it; `unit`: pixels for one of a picture 480 wide."""
    if unit < _LEAST:
        return
    _axis_names(canvas, scene, camera, unit)
    _caption(canvas, scene.caption, unit)
    _legend(canvas, scene, unit)
    _world(canvas, camera, unit)


def lines_of(caption: Caption) -> Iterator[str]:
    """The small print of a caption."""
    first = [caption.integrator] if caption.integrator else []
    yield " · ".join([*first, f"t = {caption.time:.2f} s"])
    off = []
    if caption.attitude_error is not None:
        off.append(f"{np.degrees(caption.attitude_error):.1f}°")
    if caption.rate_error is not None:
        off.append(f"{figures(caption.rate_error if caption.rate_error > 1e-6 else 0.0)} rad/s")
    if off:
        yield "off by " + ", ".join(off)
    if caption.energy_error is not None:
        yield f"energy error {caption.energy_error:.1e}"
    yield from caption.notes


def figures(value: float) -> str:
    """Three figures, without an exponent where none is needed."""
    return f"{value:.3g}" if abs(value) >= 1e-3 or value == 0 else f"{value:.1e}"


def _caption(canvas: Canvas, caption: Caption, unit: float) -> None:
    left, top = 14 * unit, 12 * unit
    canvas.word(caption.task, (left, top), round(25 * unit), colors.INK)
    top += 24 * unit
    for line in lines_of(caption):
        canvas.word(line, (left, top), round(19 * unit), colors.FAINT)
        top += 17 * unit
    if caption.success:
        canvas.badge("success", canvas.size[0] - left, 12 * unit, round(19 * unit), colors.GOAL)


def _entries(scene: Scene) -> Iterator[tuple[str, Color]]:
    for vector in scene.vectors:
        # What is nothing beside the limit is told as nothing.
        size = vector.size if vector.size > 1e-6 * vector.limit else 0.0
        yield f"{vector.name} {figures(size)} {vector.unit}", vector.color
    names = {curve.name: curve.color for curve in scene.curves}
    if "trace" in names:
        yield "path", names["trace"]
    if scene.goal is not None or "goal" in names:
        yield "goal", colors.GOAL
    if "forbidden" in names:
        yield "keep out", names["forbidden"]


def _legend(canvas: Canvas, scene: Scene, unit: float) -> None:
    entries = list(_entries(scene))
    size, step = 9 * unit, 17 * unit
    top = canvas.size[1] - 12 * unit - step * len(entries)
    for text, color in entries:
        canvas.mark((14 * unit, top + 2 * unit), size, color)
        canvas.word(text, (14 * unit + 1.7 * size, top), round(19 * unit), colors.INK)
        top += step


def _axis_names(canvas: Canvas, scene: Scene, camera: Camera, unit: float) -> None:
    for axis in scene.axes:
        end = axis.tail + 1.35 * axis.shaft
        place, _ = camera.project(end[None])
        x, y = place[0]
        canvas.word(axis.name, (x, y - 7 * unit), round(19 * unit), colors.AXES, align=0.5)


def _world(canvas: Canvas, camera: Camera, unit: float) -> None:
    """The world's axes, in the lower right corner."""
    corner = np.array(canvas.size) - 44 * unit
    for name, axis in zip("xyz", camera.axes[:2].T * (1.0, -1.0), strict=True):
        canvas.path(np.array([corner, corner + 24 * unit * axis]), colors.FAINT, 1.2 * unit)
        x, y = corner + 33 * unit * axis
        canvas.word(name, (x, y - 7 * unit), round(17 * unit), colors.FAINT, align=0.5)
