"""The command line, `rbgym`, with all of its commands."""

import sys
from io import TextIOWrapper

try:
    from rbgym.agents.commands import judging, learning, measuring, seeing
    from rbgym.agents.commands.app import app
    from rbgym.agents.terminal import styled
except ModuleNotFoundError as error:
    if error.name not in ("rich", "typer"):
        raise
    print("rbgym: the command line needs pip install 'rbgym[cli]'", file=sys.stderr)
    raise SystemExit(2) from None

__all__ = ["app", "judging", "learning", "main", "measuring", "seeing"]


def main() -> None:
    """Run the command line. It can import modules of the working folder, as `python -m` can."""
    sys.path.insert(0, "")
    for stream in (sys.stdout, sys.stderr):  # the encoding of a pipe may lack signs such as ±
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    app.rich_markup_mode = "rich" if styled() else None
    app()
