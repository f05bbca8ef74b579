"""Pictures of environments: what is drawn, by NumPy alone, and the drawing, by pygame.

`scene_of` describes one lane of an env as a `Scene`: solids, arrows, curves and a caption, in
metres and world axes. The painter draws scenes. See docs/rendering.md.
"""

from rbgym.envs.rendering.instant import scene_of

__all__ = ["scene_of"]
