"""The command line, `rbgym`, with all of its commands."""

import os
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
    """Run the command line. It can import modules of the working folder; they replace no others."""
    sys.path.append("")
    for stream in (sys.stdout, sys.stderr):  # the encoding of a pipe may lack signs such as ±
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    app.rich_markup_mode = "rich" if styled() else None
    try:
        app()
    finally:  # Python itself would fail with status 120 to write what is still in the buffer
        try:
            if sys.stdout:
                sys.stdout.flush()
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if not isinstance(error, BrokenPipeError):  # the reader of a pipe may stop reading
                print(f"rbgym: {error}", file=sys.stderr)
                raise SystemExit(2) from None
