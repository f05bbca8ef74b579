"""The picture of docs/records/performance.md: attitude error over cost."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks.record import ROOT, Results
from rbgym.plot import style

FOLDER = ROOT / "docs" / "pictures" / "performance"


@style.context()
def work_precision(found: dict[str, Any]) -> Figure:
    """Error against CPU time, a panel a case: what conserves in colour, what does not in grey."""
    figure = style.picture(8.6, 9.6)
    axes = figure.subplots(3, 2).ravel()
    shown: dict[str, Any] = {}
    for ax, (case, measured) in zip(axes, found["cases"].items(), strict=False):
        for name, points in measured["lines"].items():
            x, y = np.array(points).T
            look = style.marked(_number(name, found)) | {"linewidth": 1.8, "markersize": 3.0}
            if name not in measured["conserving"]:
                look |= {"color": "0.6", "linewidth": 1.0}
            (line,) = ax.plot(x, np.maximum(y, 1e-16), label=name, **look)
            if name not in shown or name in measured["conserving"]:
                shown[name] = line
        ax.set(xscale="log", yscale="log", title=case)
        ax.set(xlabel="CPU time of a body [us]", ylabel="attitude error [rad]")
    for ax in axes[len(found["cases"]) :]:
        ax.axis("off")
    axes[-1].legend(list(shown.values()), list(shown), loc="center", ncols=2)
    return figure


def _number(name: str, found: dict[str, Any]) -> int:
    """The same in all panels, schemes of ours first."""
    names = {name for measured in found["cases"].values() for name in measured["lines"]}
    return sorted(names, key=lambda one: (one[0].isupper() or " " in one, one)).index(name)


def draw(found: Results) -> None:
    """Draw it, if it was measured."""
    if "work_precision" in found:
        FOLDER.mkdir(parents=True, exist_ok=True)
        figure = work_precision(found["work_precision"])
        figure.savefig(FOLDER / "work_precision.png", dpi=130, metadata={"Software": None})
