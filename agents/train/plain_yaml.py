"""YAML as plain data: hyperparameters, and values of the command line."""

import re
from typing import Any

import yaml

_ALIASES = 40
# What PyYAML's constructors raise of themselves, as for 2026-13-45, !!bool x and !!timestamp x.
_SLIPS = (ValueError, LookupError, AttributeError, TypeError, RecursionError)


class _Loader(yaml.SafeLoader):
    """PyYAML's, but that 1e-3 is a number, as in YAML 1.2, and that aliases are few: of aliases in
    each other a short text can make an endless document."""

    aliases = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """The next node; yaml.YAMLError where it is one alias too many."""
        self.aliases += self.check_event(yaml.AliasEvent)
        if self.aliases > _ALIASES:
            raise yaml.YAMLError(f"more than {_ALIASES} aliases")
        node: yaml.Node | None = super().compose_node(parent, index)
        return node


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
