"""Write every command with its options and examples into docs/cli.md.

python docs/generate_cli.py          # write
python docs/generate_cli.py --check  # exit 1 if the page is not current
"""

import inspect
import sys
from pathlib import Path
from typing import Any

import typer
from typer.main import get_command

from rbgym.agents.commands.app import PANELS, examples_of
from rbgym.agents.commands.cli import app

PAGE = Path(__file__).resolve().parent / "cli.md"
BEGIN, END = "<!-- commands:begin -->", "<!-- commands:end -->"


def options(command: Any, ctx: Any) -> str:
    """Arguments and options as a Markdown table."""
    records = [p.get_help_record(ctx) for p in command.params]
    rows = [("option", "is"), ("---", "---")]
    rows += [(f"`{name.strip()}`", " ".join(text.split())) for name, text in filter(None, records)]
    return "\n".join(f"| {name} | {text.replace('|', chr(92) + '|')} |" for name, text in rows)


def described(name: str, command: Any, group: Any) -> str:
    """One command: what it does, its options, its examples."""
    ctx = command.make_context(name, [], parent=group, resilient_parsing=True)
    pieces = " ".join(command.collect_usage_pieces(ctx))
    copied = "\n".join(examples_of(command))
    return "\n\n".join(
        (
            f"### `rbgym {name}`",
            inspect.cleandoc(command.help),
            f"`rbgym {name} {pieces}`",
            options(command, ctx),
            f"```sh\n{copied}\n```",
        )
    )


def commands() -> str:
    """All commands, under the panels of the page that `rbgym` alone shows."""
    root = get_command(app)
    group = typer.Context(root, info_name="rbgym")
    sections = []
    for panel in PANELS:
        sections.append(f"## {panel}")
        for name in root.list_commands(group):  # type: ignore[attr-defined]
            command = root.get_command(group, name)  # type: ignore[attr-defined]
            if command.rich_help_panel == panel:
                sections.append(described(name, command, group))
    return "\n\n".join(sections)


def current(page: str) -> str:
    """The page with the text between its markers replaced."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{commands()}\n\n{END}{rest.split(END)[1]}"


def main(check: bool) -> int:
    """Write or check the page; the exit status."""
    page = PAGE.read_text("utf-8")
    stale = page != (new := current(page))
    if stale and check:
        print(f"{PAGE.name} is not current: run python docs/generate_cli.py")
    elif stale:
        PAGE.write_text(new, "utf-8")
    return int(check and stale)


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
