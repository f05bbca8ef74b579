"""What pyproject.toml declares is what the pinned files hold, down to the lowest versions."""

import runpy
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

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


@pytest.mark.parametrize("file", ["constraints.txt", "constraints-rllib.txt"])
def test_every_pinned_version_is_within_what_is_declared(file):
    pinned = pins(file)
    held = [(name, r) for name, r in declared() if name in pinned]
    assert {name for name, _ in declared("agents", "view", "test", "docs", "dev")} <= set(pinned)
    assert [str(r) for name, r in held if pinned[name] not in r.specifier] == []


def test_the_lowest_pins_are_the_declared_minimums():
    pinned = pins("constraints-lowest.txt")
    for name, requirement in declared(*LOWEST):
        (minimum,) = (s.version for s in requirement.specifier if s.operator == ">=")
        if name != "torch":  # one version for all: its CPU builds are on few indexes
            assert pinned[name] == Version(minimum), name


def test_whatever_the_extras_bring_is_pinned_and_its_licence_is_told():
    licences = runpy.run_path(str(ROOT / "docs" / "generate_licences.py"))
    here = {name for names in licences["brought_by"]().values() for name in names}
    assert "numpy" in here
    assert here <= set(pins("constraints.txt")) | set(pins("constraints-rllib.txt"))
    page = licences["PAGE"].read_text("utf-8")
    assert [name for name in sorted(here) if f"| {name} |" not in page] == []
