"""The pictures of docs/performance.md."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks.record import ROOT
from benchmarks.targets import Results
from rbgym.plot import style

FOLDER = ROOT / "docs" / "pictures" / "performance"
OURS = "rbgym "


@style.context()
def throughput(found: dict[str, Any]) -> Figure:
    """Steps per CPU-second by number of environments, with quartiles."""
    figure = style.picture(8.6, 4.6)
    ax = figure.subplots()
    for k, (name, row) in enumerate(found["by_count"].items()):
        n = sorted(map(int, row))
        low, middle, high = (
            np.array([row[str(one)][key] for one in n]) for key in ("low", "median", "high")
        )
        look = style.marked(k) | {"linewidth": 2.4 if name.startswith(OURS) else 1.2}
        ax.errorbar(n, middle, (middle - low, high - middle), label=name, elinewidth=1.0, **look)
    ax.set(xlabel="environments at once", ylabel="steps per CPU-second", yscale="log")
    ax.set_xscale("log", base=4)
    ax.set_xticks([1, 4, 16, 64, 256, 1024, 4096, 16384, 65536])
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    figure.legend(loc="outside right upper")
    return figure


@style.context()
def work_precision(found: dict[str, Any]) -> Figure:
    """Error against CPU time, a panel a case: what conserves in colour, what does not in grey."""
    figure = style.picture(8.6, 9.6)
    axes = figure.subplots(3, 2).ravel()
    shown: dict[str, Any] = {}
    for ax, (case, told) in zip(axes, found["cases"].items(), strict=False):
        for name, points in told["lines"].items():
            x, y = np.array(points).T
            look = style.marked(_number(name, found)) | {"linewidth": 1.8, "markersize": 3.0}
            if name not in told["conserving"]:
                look |= {"color": "0.6", "linewidth": 1.0}
            (line,) = ax.plot(x, np.maximum(y, 1e-16), label=name, **look)
            if name not in shown or name in told["conserving"]:
                shown[name] = line
        ax.set(xscale="log", yscale="log", title=case)
        ax.set(xlabel="CPU time of a body [us]", ylabel="attitude error [rad]")
    for ax in axes[len(found["cases"]) :]:
        ax.axis("off")
    axes[-1].legend(list(shown.values()), list(shown), loc="center", ncols=2)
    return figure


def _number(name: str, found: dict[str, Any]) -> int:
    """The same in all panels, schemes of ours first."""
    names = {name for told in found["cases"].values() for name in told["lines"]}
    return sorted(names, key=lambda one: (one[0].isupper() or " " in one, one)).index(name)


@style.context()
def roofline(found: dict[str, Any]) -> Figure:
    """Arithmetic against bytes, below what the core can do."""
    figure = style.picture(8.6, 5.4)
    ax = figure.subplots()
    core = found["core"]
    x, peak = np.geomspace(0.5, 30.0, 200), core["fused"] / 1e9
    for name, dash in (("L2", "-"), ("L3", "--"), ("memory", ":")):
        slope = np.minimum(x * core["bytes"][name] / 1e9, peak)
        ax.plot(x, slope, dash, color="0.3", linewidth=1.2, label=f"roof, bytes from {name}")
    ax.axhline(peak / 2, color=style.FAINT, linewidth=1.0)
    ax.text(29.0, peak / 2, "nothing fused", va="bottom", ha="right", color="0.3", fontsize=8)
    for k, (name, row) in enumerate(found["schemes"].items()):
        count = row["counts"]
        flops = sum(count[key] for key in ("add", "multiply", "divide", "root"))
        at = flops / (count["bytes_read"] + count["bytes_written"]), flops / row["nanoseconds"]
        ax.plot(*at, label=name, **style.marked(k) | {"linestyle": "", "markersize": 6.5})
    ax.set(xscale="log", yscale="log", xlabel="flops per byte of a step", ylabel="GFLOP/s, float64")
    ax.set(xlim=(0.5, 30.0), ylim=(5.0, 1.5 * peak))
    figure.legend(loc="outside right upper")
    return figure


DRAWN = {"throughput": throughput, "work_precision": work_precision, "roofline": roofline}


def draw(found: Results) -> None:
    """Draw all that was measured."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, made in DRAWN.items():
        if found.get(name, {}).get("core", True) is not None and name in found:
            figure = made(found[name])
            figure.savefig(FOLDER / f"{name}.png", dpi=130, metadata={"Software": None})
