"""The command line: `rbgym list | simulate | train | tune | evaluate | card | validate | bench |
view`."""

import sys

from rbgym.agents.commands import judging, learning, measuring, physics, view
from rbgym.agents.commands.app import app

__all__ = ["app", "judging", "learning", "main", "measuring", "physics", "view"]


def main() -> None:
    """Run the command line; modules of the working folder can be imported, as with `python -m`."""
    sys.path.insert(0, "")
    app()
