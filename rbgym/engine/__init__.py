"""The engine: many bodies stepped together by compiled loops over lanes."""

from rbgym.engine.batch import Batch, IntegrationError

__all__ = ["Batch", "IntegrationError"]
