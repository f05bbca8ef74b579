"""The house: arrows one way, no circles, no folder that is too full, over the installed tree."""

import ast
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rbgym
import rbgym.agents
import rbgym.envs
from rbgym import integrators
from rbgym.compiled import record
from rbgym.compiled.cache import compiled_modules

FOLDERS = {
    name: Path(package.__file__).parent
    for name, package in (
        ("rbgym", rbgym),
        ("rbgym.envs", rbgym.envs),
        ("rbgym.agents", rbgym.agents),
    )
}
# What may import only what stands before it.
FLOORS = ("rbgym", "rbgym.envs", "rbgym.agents")
# The same within agents: controllers and policies know nothing of each other.
ROOMS = {
    "controllers": set(),
    "policies": {"controllers"},
    "judge": {"controllers", "policies"},
    "train": {"controllers", "policies", "judge"},
    "export": {"controllers", "policies"},
    "view": {"controllers", "policies", "judge", "train"},
    "commands": {"controllers", "policies", "judge", "train", "export", "view"},
}


def module_name(package, folder, path):
    parts = path.relative_to(folder).with_suffix("").parts
    return ".".join((package, *(parts[:-1] if parts[-1] == "__init__" else parts)))


def modules():
    """The source of each module, by name."""
    found = {}
    for package, folder in FOLDERS.items():
        for path in folder.rglob("*.py"):
            found[module_name(package, folder, path)] = path
    # Where one folder lies in another, the longest name wins.
    return {n: p for n, p in found.items() if "rbgym.rbgym" not in n}


SOURCES = modules()
TREES = {name: ast.parse(path.read_text("utf-8")) for name, path in SOURCES.items()}


def at_import(nodes):
    """Import statements that run when the module is imported."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If):
            if ast.unparse(node.test) != "TYPE_CHECKING":
                yield from at_import(node.body)
            yield from at_import(node.orelse)
        elif isinstance(node, ast.Try | ast.With | ast.ClassDef):
            yield from at_import(node.body)


def imported(nodes):
    """Modules of ours that these statements import, or import something from."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in SOURCES)
        elif node.module in SOURCES:
            inside = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in SOURCES else node.module for name in inside)


GRAPH = {name: set(imported(at_import(tree.body))) - {name} for name, tree in TREES.items()}


def test_no_module_is_imported_in_a_circle():
    done, circles = set(), []

    def visit(name, path):
        if name in path:
            circles.append([*path[path.index(name) :], name])
        elif name not in done:
            for other in sorted(GRAPH[name]):
                visit(other, [*path, name])
            done.add(name)

    for name in sorted(GRAPH):
        visit(name, [])
    assert circles == []


def floor(name):
    return max(i for i, package in enumerate(FLOORS) if f"{name}.".startswith(f"{package}."))


def every_import(name):
    statements = [n for n in ast.walk(TREES[name]) if isinstance(n, ast.Import | ast.ImportFrom)]
    return set(imported(statements)) - {name}


def test_physics_knows_no_environments_and_these_know_no_agents():
    wrong = [
        (name, other)
        for name in SOURCES
        for other in every_import(name)
        if floor(other) > floor(name)
    ]
    assert wrong == []


def room(name):
    parts = name.split(".")
    return parts[2] if parts[:2] == ["rbgym", "agents"] and len(parts) > 2 else ""


def test_each_room_of_agents_builds_only_on_those_before_it():
    wrong = [
        (name, other)
        for name in SOURCES
        for other in every_import(name)
        if room(name) in ROOMS
        and room(other) in ROOMS
        and room(other) not in ROOMS[room(name)] | {room(name)}
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in SOURCES.values()}), ids=lambda folder: folder.name
)
def test_no_folder_holds_more_than_fifteen_modules(folder):
    assert len(list(folder.glob("*.py"))) <= 15


def test_every_function_has_a_name():
    named = [
        (name, node.lineno)
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "_"
    ]
    assert named == []


# --- one step, door by door ---------------------------------------------------------------------

WALK = """
import sys
from pathlib import Path
import gymnasium as gym
import rbgym, rbgym.envs
FOLDERS = {"rbgym": Path(rbgym.__file__).parent, "envs": Path(rbgym.envs.__file__).parent}
env = gym.make("AttitudeSlew-v0").unwrapped
env.reset(seed=0)
action = env.action_space.sample()
env.step(action)
passed = {}
def note(frame, event, argument):
    if event == "call":
        passed.setdefault(frame.f_code.co_filename)
sys.setprofile(note)
env.step(action)
sys.setprofile(None)
for file in map(Path, passed):
    if file.parent.name == "compiled":  # what chooses while compiling takes no part in a step
        continue
    for name, folder in sorted(FOLDERS.items(), reverse=True):
        if file.is_relative_to(folder):
            print(name + "/" + file.relative_to(folder).as_posix().removeprefix("envs/"))
            break
"""


def test_a_step_passes_at_most_twenty_two_files_and_contributing_names_them_in_order():
    """Without compiling, the functions that would be compiled are Python's own."""
    done = subprocess.run(
        [sys.executable, "-c", WALK],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    passed = done.stdout.split()
    assert "envs/base.py" in passed
    assert "rbgym/integrators/splitting.py" in passed
    assert len(passed) <= 22, passed
    page = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text("utf-8")
    named = re.findall(r"^\d+\. `([\w/]+\.py)`", page, re.MULTILINE)
    assert named == passed


def test_no_named_tuple_of_the_kernels_has_a_field_that_is_a_method_of_a_record():
    """Numba would take the method of any record for the field of any named tuple."""
    import rbgym.envs.base  # noqa: F401

    clashes = [
        (name, field)
        for module in [importlib.import_module(one) for one in compiled_modules()]
        for name, cls in vars(module).items()
        if isinstance(cls, type) and issubclass(cls, tuple) and not issubclass(cls, record.Record)
        if cls.__module__ == module.__name__ and cls.__name__ != "Key"  # Python's alone
        for field in set(cls._fields) & set(record._METHODS)
    ]
    assert clashes == []


def test_the_index_of_integrators_names_what_their_modules_hold():
    held = {}
    for path in (FOLDERS["rbgym"] / "integrators").glob("*.py"):
        module = importlib.import_module(f"rbgym.integrators.{path.stem}")
        if hasattr(module, "INTEGRATORS"):
            held[path.stem] = tuple(entry.name for entry in module.INTEGRATORS)
    assert held == integrators._SCHEMES
