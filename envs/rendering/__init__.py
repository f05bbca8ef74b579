"""Pictures of environments: `scene_of` describes one lane as a `Scene`, by NumPy alone, in
metres and world axes; the painter draws scenes, by pygame. See docs/rendering.md."""

from rbgym.envs.rendering.instant import scene_of

__all__ = ["scene_of"]
