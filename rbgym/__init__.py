"""Attitude-control environments whose physics step is a structure-preserving integrator.

`import rbgym` registers the environments with Gymnasium: `gym.make("RigidTop-v0")`.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from rbgym import integrators, potentials
from rbgym.body import Part, RigidBody, compound
from rbgym.engine.batch import Batch, IntegrationError
from rbgym.potentials import (
    CircularOrbit,
    GravityGradient,
    HeavyTop,
    KeplerOrbit,
    NoPotential,
    SoftWall,
)
from rbgym.registration import register_environments
from rbgym.scalable import ScalableState, ScalableTrajectory, simulate_scalable
from rbgym.simulate import Trajectory, simulate
from rbgym.threads import get_num_threads, set_num_threads

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "CircularOrbit",
    "GravityGradient",
    "HeavyTop",
    "IntegrationError",
    "KeplerOrbit",
    "NoPotential",
    "Part",
    "RigidBody",
    "ScalableState",
    "ScalableTrajectory",
    "SoftWall",
    "Trajectory",
    "compound",
    "get_num_threads",
    "integrators",
    "potentials",
    "set_num_threads",
    "simulate",
    "simulate_scalable",
]

register_environments()

if TYPE_CHECKING:
    # Relative: compiled code depends on every module that an absolute import here would name.
    from . import plot as plot  # noqa: TID252
else:

    def __getattr__(name: str) -> ModuleType:
        """`rbgym.plot`, imported when it is first used: it needs matplotlib."""
        if name != "plot":
            raise AttributeError(f"module 'rbgym' has no attribute {name!r}")
        return import_module("rbgym.plot")
