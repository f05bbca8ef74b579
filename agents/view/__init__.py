"""The interactive page of `rbgym view`: its simulation, its scene and controls, and its server."""

from typing import Literal

# Simulated seconds per second; defined here, where it does not need the page's libraries.
Speed = Literal["1/100", "1/10", "1/4", "1/2", "1", "2", "5", "10", "100"]
