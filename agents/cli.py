"""The command line: `rbgym list | simulate | train | tune | evaluate | card | validate | bench`."""

import sys

from rbgym.agents.commands import judging, learning, measuring, physics
from rbgym.agents.commands.app import app

__all__ = ["app", "judging", "learning", "main", "measuring", "physics"]


def main() -> None:
    """Run the command line; modules of the working folder can be imported, as with `python -m`."""
    from rbgym.agents.terminal import styled

    sys.path.insert(0, "")
    app.rich_markup_mode = "rich" if styled() else None
    app()
