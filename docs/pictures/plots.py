"""Draw the gallery of docs/rendering.md: small pictures of what `rbgym.plot` offers.

python docs/pictures/plots.py [NAME ...]
"""

import io
import sys
from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

import rbgym
from rbgym.agents.judge import plots
from rbgym.agents.judge.evaluation import evaluate
from rbgym.agents.run_folder import replacing

HERE = Path(__file__).resolve().parent
WIDTH = 900  # pixels that a picture has at most
BODY = rbgym.RigidBody([6.0, 8.0, 3.0])
SCHEMES = ("quat_em", "imid", "rkn4")


def flip() -> rbgym.Trajectory:
    """A spin about the unstable middle axis, a little off."""
    start = (5.0, 0.02, 0.02)
    return rbgym.simulate(BODY, dt=0.01, steps=2000, angular_velocity=start)


def polhode() -> Figure:
    """The turns of the unstable axis."""
    return rbgym.plot.polhode(flip())


def drifts() -> Figure:
    """Three schemes from the same start."""
    start = (10.0, 20.0, 20.0)
    runs = {
        name: rbgym.simulate(BODY, integrator=name, dt=0.01, steps=5000, angular_velocity=start)
        for name in SCHEMES
    }
    return rbgym.plot.drifts(runs)


def leaving() -> Figure:
    """The polhode of a scheme that loses energy."""
    start = (10.0, 20.0, 20.0)
    run = rbgym.simulate(BODY, integrator="rkn4", dt=0.02, steps=4000, angular_velocity=start)
    return rbgym.plot.polhode(run)


def pointing() -> Figure:
    """Two laws on the test set."""
    laws = ("pd", "bang_bang")
    return plots.comparison({law: evaluate(law, "AttitudeSlew-v1", 64) for law in laws})


def card() -> Figure:
    """Three laws on the test set."""
    laws = ("pd", "bang_bang", "idle")
    found = {law: evaluate(law, "AttitudeSlew-v1", 64) for law in laws}
    return plots.card("AttitudeSlew-v1", found)


def whole() -> Figure:
    """What `rbgym simulate --plot` writes."""
    return rbgym.plot.summary(flip(), "quat_em, dt = 0.01 s")


PICTURES: dict[str, Callable[[], Figure]] = {
    "polhode": polhode,
    "drifts": drifts,
    "leaving": leaving,
    "pointing": pointing,
    "card": card,
    "summary": whole,
}


def small(figure: Figure) -> bytes:
    """The figure as a PNG of 256 colours, which looks the same at less than half the size."""
    drawn, reduced = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=min(100.0, WIDTH / figure.get_figwidth()))
    image = Image.open(drawn).convert("RGB")
    few = image.quantize(256, kmeans=2, dither=Image.Dither.NONE)
    few.save(reduced, format="png", optimize=True)
    return reduced.getvalue()


def main(folder: Path, wanted: list[str]) -> None:
    """Draw every picture, or those that are named."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in wanted or PICTURES:
        content = small(PICTURES[name]())
        with replacing(folder / f"{name}.png") as temporary:
            temporary.write_bytes(content)
        print(f"{name}: {len(content) / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main(HERE / "plots", sys.argv[1:])
