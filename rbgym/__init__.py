"""Attitude-control environments whose physics step is a structure-preserving integrator.

`import rbgym` registers the environments with Gymnasium: `gym.make("RigidTop-v0")`.
"""

from importlib import import_module
from types import ModuleType

from rbgym import integrators, potentials
from rbgym.body import Part, RigidBody, compound
from rbgym.engine import Batch, IntegrationError
from rbgym.flight import Flight, simulate_flight
from rbgym.potentials import CircularOrbit, GravityGradient, HeavyTop, NoPotential, SoftWall
from rbgym.registration import register_environments
from rbgym.scalable import ScalableState, ScalableTrajectory, simulate_scalable
from rbgym.simulate import Trajectory, simulate
from rbgym.threads import get_num_threads, set_num_threads

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "CircularOrbit",
    "Flight",
    "GravityGradient",
    "HeavyTop",
    "IntegrationError",
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
    "plot",
    "potentials",
    "set_num_threads",
    "simulate",
    "simulate_flight",
    "simulate_scalable",
]

register_environments()


def __getattr__(name: str) -> ModuleType:
    # `rbgym.plot` is imported when it is used, and by its name: compiled code depends on every
    # module that an import statement here would name.
    if name != "plot":
        raise AttributeError(f"module 'rbgym' has no attribute {name!r}")
    return import_module("rbgym.plot")
