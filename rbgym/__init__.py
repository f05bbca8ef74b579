"""Attitude-control environments whose physics step is a structure-preserving integrator.

`import rbgym` registers the environments with Gymnasium: `gym.make("RigidTop-v0")`.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rbgym.registration import register_environments

if TYPE_CHECKING:
    # Relative, because compiled code would depend on every module of an absolute import here.
    from . import integrators as integrators  # noqa: TID252
    from . import plot as plot  # noqa: TID252
    from . import potentials as potentials  # noqa: TID252
    from .body import PlacedBody, RigidBody, compound  # noqa: TID252
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
    "PlacedBody",
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

if not (Path(__file__).parent / "envs").exists():
    # In a checkout envs and agents are next to this folder; an installation may be of another one.
    __path__.append(str(Path(__file__).parents[1]))

# The module of each public name, imported on first use: importing numba takes a second, and neither
# the list of environments nor a mistyped command needs it.
_MODULES = {
    "body": ("PlacedBody", "RigidBody", "compound"),
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
        """Imports a public name on first use; `rbgym.plot` needs matplotlib."""
        if name in ("integrators", "plot", "potentials"):
            return import_module(f"rbgym.{name}")
        for module, names in _MODULES.items():
            if name in names:
                return getattr(import_module(f"rbgym.{module}"), name)
        raise AttributeError(f"module 'rbgym' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
