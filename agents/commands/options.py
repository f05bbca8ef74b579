"""Options that several commands have, and how their texts are read."""

from pathlib import Path
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Plot = Annotated[Path | None, typer.Option(help="Write a plot to this file.")]
Unpickle = Annotated[
    str | None, typer.Option(help="Algorithm of a model's zip whose author you trust (ppo).")
]
EnvArgs = Annotated[
    list[str] | None, typer.Option(help="KEY=VALUE, one argument of the environment.")
]

Ray = Annotated[
    str | None,
    typer.Option(help="Spread the work over this Ray cluster: host:port, auto or local."),
]


def pairs(name: str, texts: list[str] | None) -> dict[str, Any]:
    """KEY=VALUE of an option, VALUE read as YAML; ValueError for what is none."""
    import yaml

    from rbgym.agents.presets import read_yaml

    found = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise ValueError(f"--{name} must be KEY=VALUE, got {text!r}")
        try:
            found[key] = read_yaml(value)
        except yaml.YAMLError as error:
            raise ValueError(f"--{name} {key} must be YAML: {error}") from None
    return found


def numbers(name: str, text: str, counts: tuple[int, ...]) -> list[float]:
    """The comma-separated numbers of an option; ValueError unless there are so many."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) not in counts:
        wanted = " or ".join(map(str, counts))
        raise ValueError(f"{name} must be {wanted} comma-separated numbers, got {text!r}")
    return values
