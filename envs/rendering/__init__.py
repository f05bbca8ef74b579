"""Pictures of environments: what is drawn, by NumPy alone, and the drawing, by pygame.

`scene_of` describes one lane of an env as a `Scene`: solids, arrows, curves and a caption, in
metres and world axes. The painter, and the interactive page, draw scenes. See docs/rendering.md.
"""

from rbgym.envs.rendering.instant import Instant, Trail, scene_of
from rbgym.envs.rendering.scene import (
    Arrow,
    Caption,
    Curve,
    Framing,
    Part,
    Scene,
    Vector,
    scene_of_motion,
)
from rbgym.envs.rendering.solids import Mesh, solid_of

__all__ = [
    "Arrow",
    "Caption",
    "Curve",
    "Framing",
    "Instant",
    "Mesh",
    "Part",
    "Scene",
    "Trail",
    "Vector",
    "scene_of",
    "scene_of_motion",
    "solid_of",
]
