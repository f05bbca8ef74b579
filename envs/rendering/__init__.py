"""Pictures of environments: what is drawn, by NumPy alone, and the drawing, by pygame.

`scene_of` describes one lane of an env as a `Scene`: solids, arrows, curves and a caption, in
metres and world axes. The painter, and the interactive page, draw scenes. See docs/rendering.md.
"""

from rbgym.envs.rendering.free import scene_of_motion
from rbgym.envs.rendering.scene import Arrow, Caption, Curve, Part, Scene, Vector
from rbgym.envs.rendering.solids import Mesh, solid_of
from rbgym.envs.rendering.tasks import scene_of

__all__ = [
    "Arrow",
    "Caption",
    "Curve",
    "Mesh",
    "Part",
    "Scene",
    "Vector",
    "scene_of",
    "scene_of_motion",
    "solid_of",
]
