"""Draw slew.gif: one slew, flown by the best law and by the shipped policy.

    python docs/pictures/slew.py [FILE]

A start of the test set of AttitudeSlew-v1 on which both take the median of their settling times;
below, attitude error with the task's tolerance, and kinetic energy. Shown four times as fast.
"""

import itertools
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from rbgym.agents import controllers, load
from rbgym.agents.cases import start_of
from rbgym.agents.judge.videos import write
from rbgym.envs.rendering import scene_of
from rbgym.envs.rendering.instant import Trail
from rbgym.envs.rendering.painter import Painter
from rbgym.envs.rendering.scene import Scene
from rbgym.plot import style

TASK, EPISODE, LAW = "AttitudeSlew-v1", 37, "bang_bang"
PERIODS, DT, RATE, SIZE = 40, 0.5, 8, 300  # control periods [s], frames per second, pixels
ANGLE, TURNING = 0.0087, 0.00087  # rad, rad/s: tolerances of the task

Flight = tuple[list[Scene], np.ndarray]  # error [degrees] and energy [mJ] at each instant, (n, 2)


def fly(name: str) -> Flight:
    """The slew by the law, or by the policy."""
    start = start_of(TASK, EPISODE)
    env = start.env(TASK, {})
    pilot = controllers.make(LAW, env) if LAW in name else load(TASK)
    observations, infos = start.begin(env)
    scenes, rows, settled, trail, memory = [], [], 0, Trail(), None
    for k in range(PERIODS + 1):
        error, rate = infos["attitude_error"][0], infos["rate_error"][0]
        if error > ANGLE or rate > TURNING:
            settled = k + 1
        scenes.append(scene_of(env, 0, trail))
        rows.append((np.degrees(error), 1e3 * env.unwrapped.invariants()["energy"][0]))
        actions, memory = pilot.predict(observations, memory)
        observations, _, _, _, infos = env.step(actions)
    for k, scene in enumerate(scenes):
        notes = (f"settled after {settled * DT:.1f} s",) if k >= settled else ()
        scenes[k] = replace(scene, caption=replace(scene.caption, task=name, notes=notes))
    return scenes, np.array(rows)


@style.context()
def chart(flights: dict[str, Flight], k: int) -> np.ndarray:
    """Error and energy up to the instant k."""
    figure = style.picture(2 * SIZE / 100, 1.7)
    figure.set_dpi(100)
    errors, energies = figure.subplots(1, 2)
    time = DT * np.arange(PERIODS + 1)
    for number, (name, (_, rows)) in enumerate(flights.items()):
        for axes, column in zip((errors, energies), rows[: k + 1].T, strict=True):
            axes.plot(time[: k + 1], column, label=name, **style.line(number))
    errors.axhline(np.degrees(ANGLE), color="0.6", linewidth=0.8)
    errors.set(yscale="log", ylim=(0.02, 300), ylabel="error [deg]")
    most = max(rows[:, 1].max() for _, rows in flights.values())
    energies.set(ylim=(-0.05 * most, 1.1 * most), ylabel="energy [mJ]")
    for axes in (errors, energies):
        axes.set(xlim=(0, time[-1]), xlabel="time [s]")
    errors.legend(loc="lower left")
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3]


def frames() -> Iterator[np.ndarray]:
    """The film."""
    painter = Painter((SIZE, SIZE))
    flights = {name: fly(name) for name in (f"best law, {LAW}", "shipped policy")}
    for k in range(PERIODS + 1):
        pictures = [painter.paint(scenes[k]) for scenes, _ in flights.values()]
        above = np.concatenate(pictures, axis=1)
        yield np.concatenate([above, chart(flights, k)])


def main(file: Path) -> None:
    """Write the film; the last picture stays for two seconds."""
    *film, last = frames()
    write(file, itertools.chain(film, [last] * 2 * RATE), RATE)
    print(f"{file}: {len(film) + 1} pictures, {file.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".gif"))
