"""The house: arrows one way, no circles, no folder that is too full, over the installed tree; what
pyproject.toml declares is what the pinned files hold."""

import ast
import importlib
import os
import re
import runpy
import subprocess
import sys
import tomllib
from collections import Counter
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import rbgym
import rbgym.agents
import rbgym.envs
from rbgym import integrators
from rbgym.compiled import record
from rbgym.compiled.cache import compiled_modules

# Each may import only what stands before it.
FLOORS = {one.__name__: Path(one.__file__).parent for one in (rbgym, rbgym.envs, rbgym.agents)}
# The same within agents: controllers and policies know nothing of each other.
ROOMS = {
    "controllers": set(),
    "policies": {"controllers"},
    "judge": {"controllers", "policies"},
    "campaigns": {"controllers", "policies", "judge"},
    "train": {"controllers", "policies", "judge"},
    "export": {"controllers", "policies", "judge"},
    "view": {"controllers", "policies", "judge", "train"},
    "commands": {"controllers", "policies", "judge", "campaigns", "train", "export", "view"},
}


def modules():
    """The source of each module, by name."""
    found = {}
    for package, folder in FLOORS.items():
        for path in folder.rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join((package, *parts)).removesuffix(".__init__")] = path
    # Where one folder lies in another, the longest name wins.
    return {n: p for n, p in found.items() if "rbgym.rbgym" not in n}


SOURCES = modules()


@cache
def trees():
    """The syntax tree of each module, by name."""
    return {name: ast.parse(path.read_text("utf-8")) for name, path in SOURCES.items()}


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


@cache
def graph():
    """The modules that each module imports when it is imported."""
    return {name: set(imported(at_import(tree.body))) - {name} for name, tree in trees().items()}


def test_no_module_is_imported_in_a_circle():
    done, circles = set(), []

    def visit(name, path):
        if name in path:
            circles.append([*path[path.index(name) :], name])
        elif name not in done:
            for other in sorted(graph()[name]):
                visit(other, [*path, name])
            done.add(name)

    for name in sorted(graph()):
        visit(name, [])
    assert circles == []


def classes_of(tree):
    return [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def floor(name):
    return max(i for i, package in enumerate(FLOORS) if f"{name}.".startswith(f"{package}."))


# Inside rbgym, from the ground floor up: each builds only on those before it.
STOREYS = [
    ["compiled"],
    ["quaternion", "matrix", "rows", "arguments", "inertia", "body", "eigenaxis"],
    ["potentials"],
    ["integrators"],
    ["engine"],
]


def storey(name):
    parts = [*name.split("."), ""]
    found = [k for k, names in enumerate(STOREYS) if parts[0] == "rbgym" and parts[1] in names]
    return found[0] if found else None


HARDWARE = [f"rbgym.envs.actuators.{n}" for n in ("coils", "combined", "flexible", "forces", "line",
            "scaling", "wheels")] + ["rbgym.envs.parts.sensors"]  # fmt: skip
# Besides their own package: hardware listed as data, the laws that command or read it, and what of
# a line has no derivative.
KNOW_HARDWARE = (
    "rbgym.envs.satellites", "rbgym.envs.tasks.*", "rbgym.agents.controllers.actuators",
    "rbgym.agents.controllers.filtering", "rbgym.agents.controllers.acquiring",
    "rbgym.envs.derivatives",
)  # fmt: skip


def hardware_named(tree):
    """Classes of actuators and sensors that a module imports, or takes of a module of theirs."""
    classes = {name for module in HARDWARE for name in classes_of(trees()[module])}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in (*HARDWARE, "rbgym.envs.actuators"):
            yield from classes.intersection(alias.name for alias in node.names)
        if isinstance(node, ast.Attribute) and node.attr in classes:
            module = ast.unparse(node.value).rpartition(".")[2]
            yield from {node.attr} if module in ("actuators", "sensors") else ()


def test_only_data_and_the_laws_that_command_it_know_hardware_by_its_class():
    own = ("rbgym.envs.actuators", "rbgym.envs.actuators.*", "rbgym.envs.parts.sensors")
    named = {name: sorted(hardware_named(tree)) for name, tree in trees().items()}
    wrong = {
        name: classes
        for name, classes in named.items()
        if classes and not any(fnmatch(name, one) for one in (*own, *KNOW_HARDWARE))
    }
    assert wrong == {}
    for one in KNOW_HARDWARE:  # as long as it is so
        assert any(classes for name, classes in named.items() if fnmatch(name, one)), one


def room(name):
    parts = name.split(".")
    return parts[2] if parts[:2] == ["rbgym", "agents"] and len(parts) > 2 else ""


def beneath(name, other):
    """Physics knows no environments, and these know no agents."""
    return floor(other) <= floor(name)


def below(name, other):
    """The storeys of the physics build only on those below."""
    return None in (storey(name), storey(other)) or storey(other) <= storey(name)


def before(name, other):
    """Each room of agents builds only on those before it."""
    one, two = room(name), room(other)
    return one not in ROOMS or two not in ROOMS or two in ROOMS[one] | {one}


@pytest.mark.parametrize("may", [beneath, below, before])
def test_each_part_builds_only_on_those_before_it(may):
    wrong = set()
    for name, tree in trees().items():
        statements = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
        wrong |= {(name, other) for other in imported(statements) if not may(name, other)}
    assert wrong == set()


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in SOURCES.values()}), ids=lambda folder: folder.name
)
def test_no_folder_holds_more_than_fifteen_modules(folder):
    assert len(list(folder.glob("*.py"))) <= 15


def test_no_two_classes_share_a_name_and_every_function_has_one():
    classes = Counter(name for tree in trees().values() for name in classes_of(tree))
    assert [name for name, count in classes.items() if count > 1] == []
    nodes = [(name, node) for name, tree in trees().items() for node in ast.walk(tree)]
    functions = [(name, node) for name, node in nodes if isinstance(node, ast.FunctionDef)]
    assert [(name, node.lineno) for name, node in functions if node.name == "_"] == []


def test_every_line_of_the_long_tests_names_one():
    for line in Path("tests/long.txt").read_text().splitlines():
        file, _, name = line.partition("::")
        assert f"def {name.partition('[')[0]}" in Path(file).read_text(), line


WALK = """
import sys
from pathlib import Path
import gymnasium as gym
import rbgym, rbgym.envs
FOLDERS = {"rbgym": Path(rbgym.__file__).parent, "envs": Path(rbgym.envs.__file__).parent}
env = gym.make(sys.argv[1]).unwrapped
env.reset(seed=0)
action = env.action_space.sample()
env.step(action), env.step(action)
passed = {}
def note(frame, event, argument):
    if event == "call":
        code = frame.f_code
        passed.setdefault(code.co_filename, set()).add((code.co_qualname, code.co_firstlineno))
sys.setprofile(note)
env.step(action)
sys.setprofile(None)
for file, functions in passed.items():
    for name, folder in sorted(FOLDERS.items(), reverse=True):
        if Path(file).is_relative_to(folder):
            inside = Path(file).relative_to(folder).as_posix().removeprefix("envs/")
            print(f"{name}/{inside}", len(functions))
            break
"""


# What a reader meets. To grow it takes a reason.
@pytest.mark.parametrize(
    ("env_id", "files", "functions"),
    [("AttitudeSlew-v1", 18, 110), ("ReactionWheelSlew-v1", 20, 131)],
)
def test_a_step_passes_no_more_files_and_functions_and_contributing_names_them(
    env_id, files, functions
):
    """The third step. Without compiling, the functions that would be compiled are Python's own."""
    command, env = [sys.executable, "-c", WALK, env_id], {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    how = {"capture_output": True, "text": True, "check": True, "timeout": 300}
    done = subprocess.run(command, env=env, **how)
    passed = dict(line.split() for line in done.stdout.splitlines())
    assert "envs/base.py" in passed
    assert len(passed) <= files, passed
    assert sum(map(int, passed.values())) <= functions, passed
    if env_id == "AttitudeSlew-v1":
        page = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text("utf-8")
        assert re.findall(r"^\d+\. `([\w/]+\.py)`", page, re.MULTILINE) == [*passed]


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
    for path in (FLOORS["rbgym"] / "integrators").glob("*.py"):
        module = importlib.import_module(f"rbgym.integrators.{path.stem}")
        if hasattr(module, "INTEGRATORS"):
            held[path.stem] = tuple(entry.name for entry in module.INTEGRATORS)
    assert held == integrators._SCHEMES


ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
# What `make test-lowest` installs.
LOWEST = ("agents", "plot", "cli", "render", "mujoco", "onnx", "test", "view")


def declared(*extras):
    """Requirements of the core and of extras (all of them where none is named), by name."""
    lists = PROJECT["optional-dependencies"]
    lines = PROJECT["dependencies"] + [line for e in extras or lists for line in lists[e]]
    found = [Requirement(line) for line in lines]
    return [(canonicalize_name(r.name), r) for r in found if r.name != "rbgym"]


def pins(file):
    """Version of each package that a constraints file names."""
    lines = [line for line in (ROOT / file).read_text("utf-8").splitlines() if "==" in line]
    return {name: Version(version) for name, version in (line.split("==") for line in lines)}


@pytest.mark.parametrize("whose", ["", "-rllib", "-clients"])
def test_every_pinned_version_is_within_what_is_declared(whose):
    pinned = pins(f"constraints{whose}.txt")
    held = [(name, r) for name, r in declared() if name in pinned]
    further = ("render",) if whose == "-clients" else ("view", "test", "docs", "dev")
    assert {name for name, _ in declared("agents", "cli", *further)} <= set(pinned)
    assert [str(r) for name, r in held if pinned[name] not in r.specifier] == []


def test_the_lowest_pins_are_the_declared_minimums():
    pinned = pins("constraints-lowest.txt")
    for name, requirement in declared(*LOWEST):
        (minimum,) = (s.version for s in requirement.specifier if s.operator == ">=")
        if name != "torch":  # one version for all: its CPU builds are on few indexes
            assert pinned[name] == Version(minimum), name


def test_whatever_the_extras_bring_is_pinned_and_its_licence_is_told():
    licences = runpy.run_path(str(ROOT / "docs" / "generate_licences.py"))
    brought = licences["brought_by"]()
    assert brought["agents"] <= set(pins("constraints-clients.txt"))
    here = set().union(*brought.values())
    assert "numpy" in here
    assert here <= set(pins("constraints.txt")) | set(pins("constraints-rllib.txt"))
    page = licences["PAGE"].read_text("utf-8")
    assert [name for name in sorted(here) if f"| {name} |" not in page] == []
