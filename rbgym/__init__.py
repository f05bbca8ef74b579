"""Attitude-control environments whose physics step is a structure-preserving integrator.

`import rbgym` registers the environments with Gymnasium: `gym.make("RigidTop-v0")`.
"""

from rbgym import integrators
from rbgym.body import Part, RigidBody, compound
from rbgym.engine import Batch, IntegrationError
from rbgym.potentials import HeavyTop, NoPotential
from rbgym.registration import register_environments
from rbgym.simulate import Trajectory, simulate
from rbgym.threads import get_num_threads, set_num_threads

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "HeavyTop",
    "IntegrationError",
    "NoPotential",
    "Part",
    "RigidBody",
    "Trajectory",
    "compound",
    "get_num_threads",
    "integrators",
    "set_num_threads",
    "simulate",
]

register_environments()
