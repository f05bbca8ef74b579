"""Plots of motions, invariants and results; needs `rbgym[plot]`. Each function takes a trajectory
or arrays and returns a matplotlib `Figure`: no window, no pyplot, no global setting."""

try:
    from rbgym.plot.figures import Errors, drifts, pointing, polhode, summary
except ModuleNotFoundError as error:
    if (error.name or "").startswith("matplotlib"):
        error.msg += "; this needs pip install 'rbgym[plot]'"
    raise

__all__ = ["Errors", "drifts", "pointing", "polhode", "summary"]
