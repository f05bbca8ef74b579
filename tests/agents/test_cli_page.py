"""The page that `rbgym` alone shows, every command's examples, and what the shell completes."""

import re

import pytest

pytest.importorskip("typer")

import typer
from typer.main import get_command
from typer.testing import CliRunner

from rbgym.agents import controllers
from rbgym.agents.cases import SHIPPED
from rbgym.agents.commands.app import PANELS, examples_of
from rbgym.agents.commands.cli import app
from rbgym.registration import ENVIRONMENTS

pytestmark = pytest.mark.interpreted

ROOT = get_command(app)
GROUP = typer.Context(ROOT, info_name="rbgym")
NAMES = ROOT.list_commands(GROUP)
COMMANDS = {name: ROOT.get_command(GROUP, name) for name in NAMES}


def test_rbgym_alone_shows_the_commands_and_three_examples():
    page = CliRunner().invoke(app, [], prog_name="rbgym")
    assert page.exit_code == 0
    assert page.stdout == CliRunner().invoke(app, ["--help"], prog_name="rbgym").stdout
    lines = page.stdout.splitlines()
    first = [line.split()[0] for line in lines if line.startswith("  ")]
    assert [word for word in first if word in NAMES] == NAMES
    assert len(examples_of(ROOT)) == 3
    assert all(f"    {line}" in lines for line in examples_of(ROOT))
    assert len(lines) < 40


def test_every_command_stands_in_a_group_of_the_page():
    assert {command.rich_help_panel for command in COMMANDS.values()} == set(PANELS)


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_every_command_ends_with_two_or_three_examples(name):
    shown = CliRunner().invoke(app, [name, "--help"], prog_name="rbgym").stdout
    examples = examples_of(COMMANDS[name])
    assert len(examples) in (2, 3)
    assert all(line.startswith(f"rbgym {name}") for line in examples)
    assert shown.endswith("\n".join(["  Examples:", *(f"    {line}" for line in examples), ""]))


def completed(shell: str, line: str) -> list[str]:
    """What the shell offers for the last word of the line."""
    typed = line.split(" ")
    bash = {"COMP_WORDS": line, "COMP_CWORD": str(len(typed) - 1)}
    given = bash if shell == "bash" else {"_TYPER_COMPLETE_ARGS": line}
    environment = {"_RBGYM_COMPLETE": f"complete_{shell}", **given}
    done = CliRunner().invoke(app, [], env=environment, prog_name="rbgym")
    if shell == "bash":
        return done.stdout.split()
    return re.findall(r'^(?:_arg.*?\(\()?"(\S+?)"', done.stdout, re.MULTILINE)


@pytest.mark.parametrize("shell", ["bash", "zsh"])
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("rbgym ", NAMES),
        ("rbgym train Attitude", [e for e in ENVIRONMENTS if e.startswith("Attitude")]),
        ("rbgym simulate -i ak", ["akw", "akw_dg"]),
        ("rbgym validate quat_em r", ["rrr", "rkn4"]),
        ("rbgym validate --case s", ["soft_wall"]),
        ("rbgym train RigidTop-v0 --algo s", ["sac"]),
        ("rbgym evaluate RigidTop-v0 --policy ", [*controllers.names(), *SHIPPED]),
        ("rbgym evaluate RigidTop-v0 p", ["pd", "pid", *SHIPPED]),
    ],
)
def test_the_shell_completes_the_names_of_the_catalogues(
    shell, line, offered, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert completed(shell, line) == offered
