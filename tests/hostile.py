"""Command lines that mean no good: for every command and option that there is, hostile values.

Commands and options are read off the application, so that a new one is attacked by itself. `START`
says what a command needs to be cheap where a hostile value happens to be a good one, and `bounded`
ends a command where its work would begin.
"""

import contextlib
import inspect
import os
import resource
import shutil
import unicodedata
from pathlib import Path
from unittest.mock import patch

import gymnasium as gym
import typer
from gymnasium.envs.registration import load_env_creator
from hypothesis import strategies as st
from typer.main import get_command
from typer.testing import CliRunner

import rbgym
from fuzzing.contract import within
from hostile_values import HYPERPARAMETERS, LISTS, NUMBERS, PATHS, PLAIN, WORDS
from rbgym import validation
from rbgym.agents.campaigns import Campaign
from rbgym.agents.commands.cli import app
from rbgym.agents.train.sb3 import training
from rbgym.agents.view import page
from rbgym.registration import ENVIRONMENTS

ROOT = get_command(app)
GROUP = typer.Context(ROOT, info_name="rbgym")
COMMANDS = {name: ROOT.get_command(GROUP, name) for name in ROOT.list_commands(GROUP)}
SECONDS = 120  # in which any of them must have ended

# What each command is given beside what is hostile: as little work as there can be.
START = {
    "list": [],
    "simulate": ["--steps", "3"],
    "view": ["--no-open", "--port", "0"],
    "export": ["pd", "--c", "out"],
    "train": ["RigidTop-v0", "--algo", "ppo", "--no-progress", "--set", "n_envs=2",
              "--set", "n_steps=32"],
    "evaluate": ["pd", "--episodes", "1"],
    "card": ["RigidTop-v0", "--policy", "pd", "--episodes", "1"],
    "campaign": ["RigidTop-v0", "--policy", "pd", "--out", "out"],
    "validate": ["akw", "--case", "none"],
    "warm": ["RigidTop-v0"],
}  # fmt: skip


def parameters(name):
    """Arguments and options of a command, without --help."""
    return [one for one in COMMANDS[name].params if one.name != "help"]


def pairs(name):
    """KEY=VALUE with keys that are there and others."""
    env = load_env_creator(gym.spec("RigidTop-v0").entry_point)
    known = [*inspect.signature(env).parameters, *HYPERPARAMETERS]
    others = ["", " ", "__class__", "self", "=", "x" * 300, "render_mode", "ü"]
    odd = st.sampled_from(known + others)
    return st.tuples(odd, st.sampled_from(PLAIN)).map("=".join) | st.sampled_from(PLAIN)


@st.composite
def command_lines(draw, names=tuple(COMMANDS)):
    """Arguments of one of the commands: one to three hostile ones among those of START."""
    name = draw(st.sampled_from(names))
    given, anything = [], st.sampled_from(NUMBERS + LISTS + WORDS + PATHS + PLAIN)
    count = draw(st.sampled_from([1, 1, 1, 2, 3]))
    for one in draw(st.lists(st.sampled_from(parameters(name)), min_size=count, max_size=count)):
        value = draw(_values(one) if draw(st.integers(0, 3)) else anything)
        if one.param_type_name == "argument":
            given += [value]
        elif one.is_flag:
            given += [draw(st.sampled_from([*one.opts, *one.secondary_opts, f"{one.opts[0]}=1"]))]
        else:
            option = draw(st.sampled_from(one.opts))
            forms = [[option, value]] * 8 + [[f"{option}={value}"], [option]]
            given += draw(st.sampled_from(forms))
    start = START[name]
    takes_arguments = any(one.param_type_name == "argument" for one in parameters(name))
    if takes_arguments and not draw(st.integers(0, 3)):
        start = [part for part in start if part not in ("RigidTop-v0", "pd", "akw")]
    return [name, *(start + given if draw(st.booleans()) else given + start)]


def _values(one):
    """Values that are hostile to this very option, or nearly good."""
    kind = str(getattr(one, "type_descriptor", getattr(one, "type", ""))).lower()
    if one.name in ("env_arg", "change"):
        return pairs(one.name)
    if "int'" in kind or "float'" in kind:
        return st.sampled_from(NUMBERS)
    if "path" in kind:
        return st.sampled_from(PATHS)
    if isinstance(one.default, str) and "," in one.default:
        return st.sampled_from(LISTS)
    return st.sampled_from(WORDS) | st.sampled_from([*ENVIRONMENTS]) | st.sampled_from(PATHS)


def furnish(folder):
    """Files and folders of every kind, to be asked for where others belong."""
    (folder / "folder").mkdir()
    (folder / "folder" / "inside").write_text("inside")
    (folder / "file").write_text("whole")
    for name, target in (("loop", "loop"), ("dangling", "nowhere/at/all"), ("link", "file")):
        (folder / name).symlink_to(target)
    (folder / "full").symlink_to("/dev/full")
    (folder / "bad.yml").write_text("RigidTop-v0: {n_envs: 2, n_envs: 3}\ndefault: [")
    (folder / "deep.yml").write_text("[" * 5000)
    (folder / "torn.zip").write_bytes(b"PK\x03\x04torn")
    for name in ("torn", "run"):
        (folder / name).mkdir()
        (folder / name / "config.json").write_text('{"env_id": "RigidTop-v0"')
        (folder / name / "policy.json").write_text('{"format": 1, "env_kwargs": 7}')
        (folder / name / "policy.safetensors").write_bytes(b"\xff" * 16)


def contents(folder):
    """What there is in a folder, by path: a file's bytes, a link's target."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = os.readlink(path)
        else:
            found[name] = path.read_bytes() if path.is_file() else path.stat().st_mode
    return found


def _end(*args, **kwargs):
    raise typer.Exit(0)


def _small(function, of, most):
    """The function, but that a call that asks for more than `most` ends the command."""

    def guarded(*args, **kwargs):
        asked = inspect.signature(function).bind(*args, **kwargs).arguments.get(of)
        if isinstance(asked, int) and asked > most:
            _end()
        return function(*args, **kwargs)

    return guarded


@contextlib.contextmanager
def bounded():
    """Where the work of a command would begin, the command ends; small simulations are made."""
    with contextlib.ExitStack() as stack:
        for owner, name, made in (
            (rbgym, "simulate", _small(rbgym.simulate, "steps", 1000)),
            (training, "bar", _end),
            (validation, "get_context", _end),
            (Campaign, "fly", _end),
            (page, "Page", _end),
        ):
            stack.enter_context(patch.object(owner, name, made))
        yield


@contextlib.contextmanager
def little_memory():
    """This process may take two GB more than it has; what needs more gets a MemoryError."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    has = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (has + 2 * 2**30, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def attack(arguments, folder):
    """Run a command in a furnished folder of its own, and see what must always hold of it."""
    here = Path.cwd()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    furnish(folder)
    os.chdir(folder)
    before = contents(folder)
    try:
        with bounded(), little_memory(), within(SECONDS):
            done = CliRunner().invoke(app, arguments, prog_name="rbgym")
    finally:
        os.chdir(here)
    after = contents(folder)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code in (0, 1, 2), done.output
    assert "Traceback" not in done.output
    if done.exit_code:
        lines = done.stderr.splitlines()
        assert len(lines) == 1, done.stderr
        assert lines[0].startswith("rbgym: "), done.stderr
        assert not [c for c in lines[0] if unicodedata.category(c) == "Cc"], done.stderr
        assert len(lines[0]) < 2100
        assert after.keys() == before.keys(), done.stderr
    named = {part for text in arguments for part in text.replace("=", "/").split("/")}
    named |= {"file"} if "link" in named else set()
    made = after.keys() - before.keys()
    assert all(any(n and name.startswith(n) for n in named | {"runs"}) for name in made), made
    for name, content in before.items():
        written = done.exit_code == 0 and name in named and isinstance(content, bytes)
        assert written or after.get(name) == content, f"{name} is another: {done.output}"
    return done
