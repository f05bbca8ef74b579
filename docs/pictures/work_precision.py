"""Draw the picture of docs/validation.md: what an accuracy costs, of every integrator.

    python docs/pictures/work_precision.py

The timings are those of the machine at hand; some minutes, more where kernels are compiled first.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rbgym import integrators
from rbgym.plot import style
from rbgym.validation.cases import CASES, Case
from rbgym.validation.declarations import convergence

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from generate import nanoseconds

NAMED = "exact:4", "exact:6", "quat_em", "imidm", "pdmv", "mkrk_rk4", "rkn4", "forward_euler"


Curves = dict[str, tuple[np.ndarray, np.ndarray]]


def measured(names: list[str], case: Case) -> Curves:
    """Time of a body and simulated second [us], and attitude error [rad] under a held torque."""
    curves = {}
    for name in names:
        order = convergence(integrators.get(name), case)
        work = 1e-3 * nanoseconds(name, case) / np.array(order.step_sizes)
        error = np.array(order.attitude_errors)
        curves[name] = work[error > 0], error[error > 0]
    return curves


@style.context()
def catalogue() -> Figure:
    """All integrators: some by name, the others grey."""
    figure = style.picture(9.0, 4.0)
    names = [*integrators.names(), *integrators.KICKED]
    axes = figure.subplots(1, 2, sharey=True)
    for ax, case, body in zip(axes, CASES[:2], ("free body", "heavy top"), strict=True):
        _named(ax, measured(names, case))
        ax.set(xscale="log", yscale="log", xlabel="time per body and simulated second [us]")
        ax.set_ylabel(f"{body}: attitude error [rad]")
        ax.yaxis.set_tick_params(labelleft=True)
    axes[0].legend(loc="lower left")
    return figure


def _named(ax: Axes, curves: Curves) -> None:
    for name in curves.keys() - set(NAMED):
        ax.plot(*curves[name], color="0.8", linewidth=1.0)
    for k, name in enumerate(NAMED):
        ax.plot(*curves[name], label=name, **style.marked(k))


if __name__ == "__main__":
    catalogue().savefig(Path(__file__).with_suffix(".png"))
