"""The interactive page of `rbgym view`: what is simulated, how it is shown, and the server."""

from typing import Literal

# Simulated seconds a second; here, as it is known without the page's libraries.
Speed = Literal["1/100", "1/10", "1/4", "1/2", "1", "2", "5", "10", "100"]
