"""Controllers, trained policies, and what makes and judges them. Each room builds on those
before it: `controllers` and `policies` play, `judge` tells what they are worth, `campaigns`
whether satellites that differ meet requirements, `train` makes policies, `export` takes them
elsewhere, `view` and `commands` are for people. A room is imported at its first use."""

from importlib import import_module
from typing import Any

_ROOMS = ("campaigns", "controllers", "export", "judge", "policies", "train")
# What stands here too, and its room.
_FUNCTIONS = {"campaign": "campaigns", "load": "policies", "rollout": "train"}


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return getattr(import_module(f"{__name__}.{_FUNCTIONS[name]}"), name)
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
