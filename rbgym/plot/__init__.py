"""Plots of motions, invariants and results, as matplotlib figures; needs `rbgym[plot]`.

Each function takes a trajectory or plain arrays and returns a matplotlib `Figure`, to be saved
(`figure.savefig("drift.png")`) or shown by a notebook. No window, no pyplot, no global setting.
"""

from rbgym.plot.charts import Line, Panel, panels, work_precision
from rbgym.plot.curves import learning
from rbgym.plot.errors import Errors, Settled, card, pointing
from rbgym.plot.globe import polhode
from rbgym.plot.trajectories import drift, drifts, invariants, motion, summary

__all__ = [
    "Errors",
    "Line",
    "Panel",
    "Settled",
    "card",
    "drift",
    "drifts",
    "invariants",
    "learning",
    "motion",
    "panels",
    "pointing",
    "polhode",
    "summary",
    "work_precision",
]
