"""The commands in the pages are those that there are: options, make targets, extras, files."""

import re
import shlex
import tomllib

import pytest

import pages

pytest.importorskip("typer")

import typer

from rbgym.agents.commands.app import examples_of
from rbgym.agents.commands.cli import app
from rbgym.registration import ENVIRONMENTS

pytestmark = pytest.mark.interpreted

# What a page says in brackets or capitals stands for something else.
_STANDS_FOR_ANOTHER = re.compile(r"\[OPTIONS\]|\bENV\b|\bNAME\b")
COMMANDS = [
    (pages.name(page), line)
    for page in pages.PAGES
    for line in pages.commands(page)
    if not _STANDS_FOR_ANOTHER.search(line)
] + [("rbgym", line) for line in examples_of(typer.main.get_command(app))]
TARGETS = re.findall(r"^([a-z-]+):", (pages.ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
PROJECT = tomllib.loads((pages.ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
# What is neither ours nor pip's.
OTHERS = {"export", "gcc", "git", "grep", "pip-audit", "pytest", "source", "twine"}
QUICK = {"list", "simulate"}


def parse(words):
    """A usage error for a command of rbgym that there is not, or arguments that it does not take.

    A command by itself is only named, and so is an option of no command: to parse
    --install-completion is to install it.
    """
    group = typer.main.get_command(app)
    if words[:1] and words[0].startswith("-"):
        assert words[0] in [name for option in group.params for name in option.opts]
        return
    context = group.make_context("rbgym", list(words))
    ids = {word for word in words if re.fullmatch(r"[A-Z]\w+-v\d", word)}
    assert "--module" in words or ids <= set(ENVIRONMENTS)
    name, command, rest = group.resolve_command(context, list(words))
    if rest and rest != ["--help"]:
        command.make_context(name, rest, parent=context)


def check(words):
    """Raise for a command that cannot be."""
    program, *rest = [word for word in words if not re.fullmatch(r"[A-Z_]+=\S*", word)]
    tool = program.rpartition("/")[2]
    if tool == "rbgym":
        parse(rest)
    elif tool == "make":
        wanted = [word for word in rest if "=" not in word]
        assert set(wanted) <= set(TARGETS), wanted
    elif tool == "pip":
        asked = re.findall(r"(?:rbgym|\.)\[([a-z,]+)\]", " ".join(rest))
        assert all(extra in EXTRAS for one in asked for extra in one.split(","))
    elif tool.startswith("python"):
        script = next((word for word in rest if word.endswith(".py")), None)
        assert script is None or (pages.ROOT / script).is_file(), script
    else:
        assert tool in OTHERS, f"{tool} is not known here"


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_a_command_in_a_page_is_one_that_there_is(page, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.yml").touch()  # what the pages call a file of the user's
    words = shlex.split(line, comments=True)
    for run in [word for word in words if word.startswith("runs/")]:
        (tmp_path / run).mkdir(parents=True, exist_ok=True)
    while words:
        end = next((k for k, word in enumerate(words) if word in ("&&", ";", "|")), len(words))
        check(words[:end])
        words = words[end + 1 :]


def test_the_page_of_the_commands_is_current(capsys):
    assert pages.loaded("generate_cli").main(check=True) == 0, capsys.readouterr().out


@pytest.mark.parametrize("line", ["train --seed 1", "train RigidTop-v0 --sed 1", "trian"])
def test_a_command_that_cannot_be_is_found(line):
    with pytest.raises(Exception, match=r"Missing parameter|No such (option|command)"):
        check(["rbgym", *line.split()])


def is_quick(line):
    words = shlex.split(line, comments=True)
    steps = int(words[words.index("--steps") + 1]) if "--steps" in words else 0
    alone = not {"|", "--module"} & set(words)
    return words[0] == "rbgym" and words[1] in QUICK and steps <= 2000 and alone


@pytest.mark.parametrize("line", sorted({line for _, line in COMMANDS if is_quick(line)}))
def test_a_quick_command_runs(line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    app(shlex.split(line, comments=True)[1:], standalone_mode=False)
    assert capsys.readouterr().out
