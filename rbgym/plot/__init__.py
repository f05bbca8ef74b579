"""Plots of motions, invariants and results; needs `rbgym[plot]`. Each function takes a trajectory
or arrays and returns a matplotlib `Figure`: no window, no pyplot, no global setting."""

from rbgym.extras import naming_extra

with naming_extra():
    from rbgym.plot.figures import Errors, drifts, pointing, polhode, summary

__all__ = ["Errors", "drifts", "pointing", "polhode", "summary"]
