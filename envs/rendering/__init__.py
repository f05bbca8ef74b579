"""Pictures of environments. `scene_of` describes one lane as a `Scene` in metres and world axes and
needs only NumPy; the painter draws scenes with pygame. See docs/rendering.md."""

from rbgym.envs.rendering.instant import scene_of

__all__ = ["scene_of"]
