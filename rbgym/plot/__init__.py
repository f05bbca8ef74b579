"""Plots of motions, invariants and results, as matplotlib figures; needs `rbgym[plot]`.

Each function takes a trajectory or plain arrays and returns a matplotlib `Figure`, to be saved
(`figure.savefig("drifts.png")`) or shown by a notebook. No window, no pyplot, no global setting.
"""

from rbgym.plot.figures import Errors, drifts, pointing, polhode, summary

__all__ = ["Errors", "drifts", "pointing", "polhode", "summary"]
