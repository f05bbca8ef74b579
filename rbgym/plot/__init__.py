"""Plots of motions, invariants and results, as matplotlib figures; needs `rbgym[plot]`.

Each function takes a trajectory or plain arrays and returns a matplotlib `Figure`, to be saved
(`figure.savefig("drift.png")`) or shown by a notebook. No window, no pyplot, no global setting.
"""

from rbgym.plot.motions import drift, drifts, invariants, motion, polhode, summary
from rbgym.plot.results import (
    Errors,
    Line,
    Panel,
    Settled,
    card,
    learning,
    panels,
    pointing,
    work_precision,
)

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
