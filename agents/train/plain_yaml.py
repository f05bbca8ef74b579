"""YAML as plain data: nothing in it is executed, and a small document stays small."""

import re
from collections import Counter
from typing import Any

import yaml

_MOST = 100_000  # nodes of a document, an alias counted as all that it stands for
_DEEPEST = 50  # lists and mappings one in the other
# What PyYAML's constructors raise of themselves, as for 2026-13-45, !!bool x and !!timestamp x.
_SLIPS = (ValueError, LookupError, AttributeError, TypeError, OverflowError, RecursionError)


class _Loader(yaml.SafeLoader):
    """PyYAML's, but that 1e-3 is a number, as in YAML 1.2, and that nothing is nested endlessly."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """The next node; yaml.YAMLError where too many are one in the other."""
        self._depth = getattr(self, "_depth", 0) + 1
        if self._depth > _DEEPEST:
            raise yaml.YAMLError(f"more than {_DEEPEST} lists and mappings stand in each other")
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)


def read_yaml(text: str) -> Any:
    """What a YAML document says.

    Raises yaml.YAMLError for text that is none, a key that stands in a mapping twice, a node that
    holds itself, and aliases that stand for more than a hundred thousand nodes.
    """
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _count(node, {})
        return loader.construct_document(node)
    except _SLIPS as error:
        raise yaml.YAMLError(f"{type(error).__name__}: {error}") from None
    finally:
        loader.dispose()


def _count(node: yaml.Node, sizes: dict[int, int]) -> int:
    """Nodes that a node stands for; sizes: of those that were counted, 0 while they are."""
    if sizes.setdefault(id(node), 0):
        return sizes[id(node)]
    size = 1
    for part in _parts(node):
        if sizes.get(id(part)) == 0:
            raise yaml.YAMLError("a list or mapping holds itself")
        size += _count(part, sizes)
    if size > _MOST:
        raise yaml.YAMLError(f"its aliases stand for more than {_MOST:,} nodes")
    sizes[id(node)] = size
    return size


def _parts(node: yaml.Node) -> list[yaml.Node]:
    """The nodes within a node; yaml.YAMLError where a key is there twice."""
    if isinstance(node, yaml.MappingNode):
        keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        for key, count in keys.items():
            if count > 1:
                raise yaml.YAMLError(f"{key!r} stands there twice")
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []
