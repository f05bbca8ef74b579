"""Plots of motions, invariants and results; needs `rbgym[plot]`. Each function takes a trajectory
or arrays and returns a matplotlib `Figure`: no window, no pyplot, no global setting."""

from rbgym.plot.figures import Errors, drifts, pointing, polhode, summary

__all__ = ["Errors", "drifts", "pointing", "polhode", "summary"]
