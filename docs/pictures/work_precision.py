"""Draw the picture of docs/validation.md: what an accuracy costs, of every integrator.

    python docs/pictures/work_precision.py

The timings are those of the machine at hand; some minutes, more where kernels are compiled first.
"""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rbgym import integrators
from rbgym.plot import Panel, style

NAMED = "exact:4", "exact:6", "quat_em", "imidm", "pdmv", "mkrk_rk4", "rkn4", "forward_euler"


def measured(names: list[str]) -> list[Panel]:
    """Attitude error [rad] against time under a held torque: of a free body, of a heavy top."""
    from rbgym.validation.figures import work_precision as figure

    return figure(names).panels


@style.context()
def catalogue() -> Figure:
    """All integrators: some by name, the others grey."""
    figure = style.picture(9.0, 4.0)
    panels = measured([*integrators.names(), *integrators.KICKED])
    axes = figure.subplots(1, 2, sharey=True)
    for ax, panel, body in zip(axes, panels, ("free body", "heavy top"), strict=True):
        _named(ax, panel)
        ax.set(xscale="log", yscale="log", xlabel=panel.x, ylabel=f"{body}: attitude error [rad]")
        ax.yaxis.set_tick_params(labelleft=True)
    axes[0].legend(loc="lower left")
    return figure


def _named(ax: Axes, panel: Panel) -> None:
    lines = {line.label: line for line in panel.lines}
    for name in lines.keys() - set(NAMED):
        ax.plot(lines[name].x, lines[name].y, color="0.8", linewidth=1.0)
    for k, name in enumerate(NAMED):
        ax.plot(lines[name].x, lines[name].y, label=name, **style.marked(k))


if __name__ == "__main__":
    catalogue().savefig(Path(__file__).with_suffix(".png"))
