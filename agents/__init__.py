"""Controllers and trained policies, and the tools that make and judge them. Each package builds on
those before it: `controllers` and `policies` act, `judge` measures them, `campaigns` checks
requirements on dispersed satellites, `train` makes policies, `export` writes them for flight
computers, `view` and `commands` are the user interfaces. A package is imported at its first use."""

from importlib import import_module
from typing import Any

from rbgym.agents.extras import naming_extra

_PACKAGES = ("campaigns", "controllers", "export", "judge", "policies", "train")
# Functions that are available here too -> the package that defines each.
_FUNCTIONS = {"campaign": "campaigns", "load": "policies", "rollout": "train"}


@naming_extra("campaign")
def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return getattr(import_module(f"{__name__}.{_FUNCTIONS[name]}"), name)
    if name not in _PACKAGES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
