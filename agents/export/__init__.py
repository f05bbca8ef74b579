"""Policies for a flight computer: C99 without dependencies, or ONNX, with their contract."""

from rbgym.agents.export.network_graph import export_onnx
from rbgym.agents.export.source import export_c

__all__ = ["export_c", "export_onnx"]
