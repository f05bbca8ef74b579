"""YAML as plain data: hyperparameters, and values of the command line."""

import re
from typing import Any

import yaml

# What PyYAML's constructors raise of themselves, as for 2026-13-45, !!bool x and !!timestamp x.
_SLIPS = (ValueError, LookupError, AttributeError, TypeError, RecursionError)


class _Loader(yaml.SafeLoader):
    """PyYAML's, but that 1e-3 is a number, as in YAML 1.2."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)


def read_yaml(text: str) -> Any:
    """What a YAML document says, of which nothing is executed; yaml.YAMLError if it is none."""
    try:
        return yaml.load(text, _Loader)
    except _SLIPS as error:
        raise yaml.YAMLError(f"{type(error).__name__}: {error}") from None
