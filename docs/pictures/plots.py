"""Draw the gallery of docs/plots.md: small pictures of what `rbgym.plot` offers.

python docs/pictures/plots.py [FOLDER]

Everything is made here, in about a minute, but the learning curve, which is that of the study of
integrators and learning, and the timings: those are of the machine at hand.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import rbgym
from rbgym.agents import plots
from rbgym.agents.cases import play
from rbgym.agents.evaluation import summary

HERE = Path(__file__).resolve().parent
BODY = rbgym.RigidBody([6.0, 8.0, 3.0])
SCHEMES = ("quat_em", "imid", "rkn4")


def flip() -> rbgym.Trajectory:
    """A spin about the unstable middle axis, a little off."""
    start = (5.0, 0.02, 0.02)
    return rbgym.simulate(BODY, dt=0.01, steps=3000, angular_velocity=start)


def motion() -> Figure:
    """Quaternion and rates."""
    return rbgym.plot.motion(flip())


def polhode() -> Figure:
    """The turns of the unstable axis."""
    return rbgym.plot.polhode(flip())


def invariants() -> Figure:
    """Of a heavy top: the vertical momentum stays, the horizontal does not."""
    top = rbgym.simulate(
        BODY,
        dt=0.01,
        steps=600,
        angular_velocity=(1.0, 2.0, 20.0),
        potential=rbgym.HeavyTop(20.0),
    )
    return rbgym.plot.invariants(top)


def drift() -> Figure:
    """The four errors of one motion."""
    return rbgym.plot.drift(flip())


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
    return plots.comparison({law: summary(play(law, "AttitudeSlew-v0", 64)) for law in laws})


def card() -> Figure:
    """Three laws on the test set."""
    laws = ("pd", "bang_bang", "idle")
    return plots.card("AttitudeSlew-v0", {law: play(law, "AttitudeSlew-v0", 64) for law in laws})


def learning() -> Figure:
    """PPO on RigidTop-v0 from three seeds, two sizes of its network."""
    curves = np.load(HERE / "learning_curves.npz")
    named: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for key in curves.files:
        steps, returns = curves[key]
        named.setdefault(key.rpartition("-")[0], []).append((steps, returns))
    return rbgym.plot.learning(named, "mean return on the test set", "RigidTop-v0")


def work_precision() -> Figure:
    """Attitude error against time, of a free body under a held torque."""
    from rbgym.validation.figures import work_precision as measured

    panel = measured(["quat_em", "imidm", "pdmv", "mkrk_rk4", "rkn4"]).panels[0]
    curves = {line.label: (line.x, line.y) for line in panel.lines}
    return rbgym.plot.work_precision(curves, work=panel.x, error="attitude error [rad]")


def summary_of_a_motion() -> Figure:
    """What `rbgym simulate --plot` writes."""
    return rbgym.plot.summary(flip(), "quat_em, dt = 0.01 s")


PICTURES: dict[str, Callable[[], Figure]] = {
    "motion": motion,
    "polhode": polhode,
    "invariants": invariants,
    "drift": drift,
    "drifts": drifts,
    "leaving": leaving,
    "pointing": pointing,
    "card": card,
    "learning": learning,
    "work_precision": work_precision,
    "summary": summary_of_a_motion,
}


def main(folder: Path) -> None:
    """Draw every picture."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        plots.save(draw(), folder / f"{name}.png")
        print(name, (folder / f"{name}.png").stat().st_size, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "plots")
