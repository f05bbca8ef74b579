"""Draw tumble.gif: a body that turns over again and again, under two integrators.

    python docs/pictures/tumble.py [FILE]

The body of the picture of energies, moments 6, 8 and 3 kg m^2, spins about its intermediate axis:
Dzhanibekov's wing nut. Left forward Euler, right rbgym's default, the same step for both; below,
the energy of each against that at the start.
"""

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import rbgym
from rbgym.agents.judge.videos import write
from rbgym.envs.rendering import colors
from rbgym.envs.rendering.painter import Canvas, Painter
from rbgym.envs.rendering.scene import BodyPart, Caption, Curve, Framing, Scene, motion_of
from rbgym.envs.rendering.solids import solid_of
from rbgym.quaternion import rotate

BODY = rbgym.RigidBody([6.0, 8.0, 3.0])
START = (5.0, 0.1, 0.1)  # rad/s
DT, SECONDS, RATE = 0.04, 9.6, 12.5  # s, s, frames per second
SIZE, CHART = 300, 120  # pixels: edge of a picture, height of the chart
TITLES = {"forward_euler": "forward Euler", "quat_em": "rbgym, quat_em"}
LINES = {"forward_euler": colors.TORQUE, "quat_em": colors.FORCE}
MOST = 2.0  # times the energy at the start, upper end of the chart


def motion(integrator: str) -> rbgym.Trajectory:
    """The tumble."""
    steps = round(SECONDS / DT)
    return rbgym.simulate(
        BODY, integrator=integrator, dt=DT, steps=steps, angular_velocity=START, projection=True
    )


def chart(canvas: Canvas, paths: dict[str, rbgym.Trajectory], k: int) -> np.ndarray:
    """The energies up to the instant k."""
    width, height = canvas.size
    canvas.clear()
    left, right, top, bottom = 96.0, width - 14.0, 14.0, height - 16.0
    level = {1.0: "at the start", MOST: f"{MOST:g} times that"}
    for share, text in level.items():
        y = bottom - (bottom - top) * share / MOST
        canvas.lines(np.array([[[left, y], [right, y]]]), colors.FLOOR_INNER, 1.0)
        canvas.word(text, (left - 8, y - 6), 16, colors.FAINT, align=1.0)
    canvas.word("energy", (left - 8, bottom - 12), 19, colors.INK, align=1.0)
    for name, path in paths.items():
        share = path.energy[: k + 1] / path.energy[0]
        x = left + (right - left) * path.time[: k + 1] / SECONDS
        y = np.maximum(bottom - (bottom - top) * share / MOST, 2.0)
        if k > 0:
            canvas.path(np.stack([x, y], axis=1), LINES[name], 2.2)
        canvas.disc(np.array([x[-1], y[-1]]), 3.5, LINES[name])
    return canvas.frame()


def scene(path: rbgym.Trajectory, k: int, title: str) -> Scene:
    """The body at the instant k, and the path of the end of its x axis."""
    q, omega, L = path.quaternion[k], path.angular_velocity[k], path.angular_momentum[k]
    body = BodyPart("body", solid_of(BODY), quaternion=q)
    error = path.energy[k] / path.energy[0] - 1
    caption = Caption(title, "", path.time[k], notes=(f"energy error {error:.1e}",))
    shapes = [*motion_of(BODY, q, omega, L, 1.5 * START[0])]
    past = path.quaternion[max(k - 60, 0) : k + 1]
    if len(past) > 1:
        end = 1.2 * body.mesh.exit_of((1.0, 0.0, 0.0))[0] * np.array([1.0, 0.0, 0.0])
        shapes.append(
            Curve("trace", rotate(past, np.broadcast_to(end, (len(past), 3))), colors.TRACE)
        )
    return Scene.of(body, caption, Framing(np.zeros(3), 1.55 * body.mesh.radius), shapes)


def frames() -> Iterator[np.ndarray]:
    """The film."""
    paths = {name: motion(name) for name in TITLES}
    painter, canvas = Painter((SIZE, SIZE)), Canvas((2 * SIZE, CHART), colors.BELOW, colors.BELOW)
    stride = round(1 / (RATE * DT))
    for k in range(0, round(SECONDS / DT) + 1, stride):
        pictures = []
        for name, path in paths.items():
            pictures.append(painter.paint(scene(path, k, TITLES[name])))
        yield np.concatenate([np.concatenate(pictures, axis=1), chart(canvas, paths, k)])


def main(file: Path) -> None:
    """Write the film; the last picture stays for a second."""
    *film, last = frames()
    write(file, itertools.chain(film, [last] * round(RATE)), RATE)
    print(f"{file}: {len(film) + 1} pictures, {file.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".gif"))
