"""Attitude-control environments whose physics step is a structure-preserving integrator.

`import rbgym` registers the environments with Gymnasium: `gym.make("RigidTop-v0")`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rbgym.registration import register_environments

if TYPE_CHECKING:
    # Relative: compiled code depends on every module that an absolute import here would name.
    from . import integrators as integrators  # noqa: TID252
    from . import plot as plot  # noqa: TID252
    from . import potentials as potentials  # noqa: TID252
    from .body import Part, RigidBody, compound  # noqa: TID252
    from .engine.batch import Batch, IntegrationError  # noqa: TID252
    from .envs.derivatives import linearize  # noqa: TID252
    from .envs.planning import rollout_actions  # noqa: TID252
    from .identification import Identified, identify  # noqa: TID252
    from .potentials import (  # noqa: TID252
        CircularOrbit,
        GravityGradient,
        HeavyTop,
        KeplerOrbit,
        NoPotential,
        SoftWall,
    )
    from .scalable import ScalableState, ScalableTrajectory, simulate_scalable  # noqa: TID252
    from .threads import get_num_threads, set_num_threads  # noqa: TID252
    from .trajectory import Trajectory, simulate  # noqa: TID252

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "CircularOrbit",
    "GravityGradient",
    "HeavyTop",
    "Identified",
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
    "identify",
    "integrators",
    "linearize",
    "potentials",
    "rollout_actions",
    "set_num_threads",
    "simulate",
    "simulate_scalable",
]

register_environments()

# Where each name is, imported when first used: numba takes a second, which the list of the
# environments and a mistyped command need not wait for.
_HOMES = {
    "body": ("Part", "RigidBody", "compound"),
    "engine.batch": ("Batch", "IntegrationError"),
    "envs.derivatives": ("linearize",),
    "envs.planning": ("rollout_actions",),
    "identification": ("Identified", "identify"),
    "potentials": (
        "CircularOrbit", "GravityGradient", "HeavyTop", "KeplerOrbit", "NoPotential", "SoftWall"
    ),
    "scalable": ("ScalableState", "ScalableTrajectory", "simulate_scalable"),
    "trajectory": ("Trajectory", "simulate"),
    "threads": ("get_num_threads", "set_num_threads"),
}  # fmt: skip


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """A public name, imported when it is first used; `rbgym.plot` needs matplotlib."""
        if name in ("integrators", "plot", "potentials"):
            return import_module(f"rbgym.{name}")
        for module, names in _HOMES.items():
            if name in names:
                return getattr(import_module(f"rbgym.{module}"), name)
        raise AttributeError(f"module 'rbgym' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
