"""Draw energy.png: a tumbling free body under rbgym's default integrator and two general schemes.

    python docs/pictures/energy.py [FILE]

The two schemes are plain implementations of what general-purpose engines do: semi-implicit Euler
with an explicit gyroscopic term, and the classical Runge-Kutta method on quaternion and body
rates, the quaternion normalised after each step. The markers are MuJoCo itself.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

import rbgym
from rbgym.plot import style

J = np.array([6.0, 8.0, 3.0])
OMEGA = np.array([10.0, 20.0, 20.0])
STEPS = 100_000
STEP_SIZES = 0.01, 0.05
FLOOR = 1e-18  # where an error of exactly zero is drawn
UNIT = 2.0**-53
BLOWN = 1e2  # relative energy at which a run counts as blown up
# Engines themselves, as `make bench` measured them on the same body: largest relative energy error
# in STEPS steps, and the step by which MuJoCo's Euler blows up.
RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "fidelity.json"
ENGINES = "MuJoCo RK4", "MuJoCo implicitfast"
MARKERS = ("o", 9), ("x", 7)

State = np.ndarray  # quaternion (4,) and body rates (3,)


def rates(omega: np.ndarray) -> np.ndarray:
    """Angular acceleration of the free body, Euler's equations."""
    (a, b, c), (x, y, z) = J, omega
    return np.array([(b - c) * y * z / a, (c - a) * z * x / b, (a - b) * x * y / c])


def derivative(state: State) -> State:
    """Rates of quaternion and body rates."""
    w, x, y, z, a, b, c = state
    turn = (
        -x * a - y * b - z * c,
        w * a + y * c - z * b,
        w * b + z * a - x * c,
        w * c + x * b - y * a,
    )
    return np.array([*(0.5 * np.array(turn)), *rates(state[4:])])


def normalised(state: State) -> State:
    """The state with a quaternion of unit length."""
    state[:4] /= np.linalg.norm(state[:4])
    return state


def semi_implicit_euler(state: State, h: float) -> State:
    """Rates first, with the gyroscopic term of the old ones, then the attitude with the new."""
    omega = state[4:] + h * rates(state[4:])
    return normalised(
        np.array([*(state[:4] + h * derivative(np.array([*state[:4], *omega]))[:4]), *omega])
    )


def runge_kutta_4(state: State, h: float) -> State:
    """The classical Runge-Kutta method."""
    k_1 = derivative(state)
    k_2 = derivative(state + h / 2 * k_1)
    k_3 = derivative(state + h / 2 * k_2)
    k_4 = derivative(state + h * k_3)
    return normalised(state + h / 6 * (k_1 + 2 * k_2 + 2 * k_3 + k_4))


def general(step: Callable[[State, float], State], h: float) -> np.ndarray:
    """Relative energy error after each step, up to a blow-up."""
    state, start = np.array([1.0, 0.0, 0.0, 0.0, *OMEGA]), J @ OMEGA**2
    errors: list[float] = []
    for _ in range(STEPS):
        state = step(state, h)
        errors.append(abs(J @ state[4:] ** 2 / start - 1))
        if errors[-1] > BLOWN:
            break
    return np.array(errors)


def ours(h: float) -> np.ndarray:
    """Relative energy error after each step of rbgym's default integrator."""
    path = rbgym.simulate(rbgym.RigidBody(J), dt=h, steps=STEPS, angular_velocity=OMEGA)
    return np.abs(path.energy[1:] / path.energy[0] - 1)


def envelope(error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Largest error so far, at steps evenly spread on a logarithmic axis, and the last."""
    at = np.unique(np.geomspace(1, len(error), 300).astype(int))
    return at, np.maximum(np.maximum.accumulate(error)[at - 1], FLOOR)


def panel(axes: Axes, h: float) -> None:
    """One step size: our curve below, the general schemes and engines above."""
    measured, case = json.loads(RESULTS.read_text("utf-8"))["rows"], f"betsch_free, {h}"
    curves = (
        ("rbgym (exact:4, the default)", ours(h)),
        ("semi-implicit Euler", general(semi_implicit_euler, h)),
        ("classical RK4", general(runge_kutta_4, h)),
    )
    for k, (label, error) in enumerate(curves):
        at, worst = envelope(error)
        axes.plot(at, worst, label=label, linewidth=1.6 if k else 3.0, **style.line(k))
        print(f"step {h} s, {label}: {worst[-1]:.1e} after {len(error)} steps")
    blown = len(curves[1][1])
    by = measured["MuJoCo Euler"][case]["blown_up_at"]
    text = f"blows up at step {blown}\n(MuJoCo Euler: step {by})"
    axes.plot(blown, BLOWN, "^", color=style.COLOURS[1], markersize=8, clip_on=False)
    axes.annotate(text, (blown, BLOWN), (9, -20), textcoords="offset points", fontsize=9)
    for (marker, size), label in zip(MARKERS, ENGINES, strict=True):
        value = measured[label][case]["energy"]
        axes.plot(STEPS, value, marker, color="black", ms=size, mfc="none", mew=1.4, label=label)
    axes.axhline(UNIT, color="0.5", linewidth=0.9, linestyle=":")
    axes.text(1.3, UNIT / 2, "half a unit in the last place", color="0.3", fontsize=8, va="top")
    axes.set(xscale="log", yscale="log", xlim=(1, 2 * STEPS), ylim=(1e-18, BLOWN), xlabel="steps")
    axes.set_yticks([10.0**k for k in range(-18, 3, 4)])
    axes.set_title(f"step {h} s ({h * np.linalg.norm(OMEGA):.1f} rad)", fontsize=11)
    axes.minorticks_off()


@style.context()
def main(file: Path) -> None:
    """Draw the picture."""
    figure = style.picture(9.6, 4.6)
    both = figure.subplots(1, 2, sharey=True)
    for axes, h in zip(both, STEP_SIZES, strict=True):
        panel(axes, h)
    both[0].set_ylabel("largest relative energy error so far")
    title = f"rbgym keeps a tumbling body's energy to round-off over {STEPS:,} steps"
    figure.suptitle(title, fontsize=13, fontweight="bold")
    handles, labels = both[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, columnspacing=1.4)
    figure.savefig(file, dpi=150, metadata={"Software": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".png"))
