"""Attitude-control environments whose physics step is a structure-preserving integrator.

`import rbgym` registers the environments with Gymnasium: `gym.make("RigidTop-v0")`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    from .envs.planning import rollout_actions as rollout_actions  # noqa: TID252
else:

    def __getattr__(name: str) -> Any:
        """What is imported when it is first used: `plot` needs matplotlib."""
        if name == "rollout_actions":
            return import_module("rbgym.envs.planning").rollout_actions
        if name != "plot":
            raise AttributeError(f"module 'rbgym' has no attribute {name!r}")
        return import_module("rbgym.plot")
