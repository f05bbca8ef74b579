"""Options that several commands have, and how their texts are read."""

import math
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from rbgym.agents.commands import completion

_LARGEST = 1e100


def to_write(path: Path | None) -> Path | None:
    """The file that an option names, or BadParameter where none can be written: before the work."""
    if path is None:
        return None
    target = Path(os.path.realpath(path))  # a link stays, what it leads to is written
    folder = target.parent
    if target.is_dir():
        raise typer.BadParameter(f"must be a file, got the folder {str(path)!r}")
    if os.path.lexists(target) and not target.is_file():
        raise typer.BadParameter(f"must be a file, got a device or the like, {str(path)!r}")
    if not folder.is_dir():
        raise typer.BadParameter(f"must be a file in a folder that is there, got {str(path)!r}")
    if not os.access(target if target.exists() else folder, os.W_OK):
        raise typer.BadParameter(f"must be a file that can be written, got {str(path)!r}")
    return path


def to_draw(path: Path | None) -> Path | None:
    """The same of a plot, whose ending says in which format."""
    if path is not None:
        from matplotlib.backend_bases import FigureCanvasBase

        known = sorted(FigureCanvasBase.filetypes)
        if path.suffix and path.suffix[1:] not in known:
            raise typer.BadParameter(f"must end in one of {known}, got {str(path)!r}")
    return to_write(path)


def beside(path: Path | None) -> Path | None:
    """A path that files with its name and endings are written beside: in a folder to be made."""
    folder_to_make(None if path is None else path.parent)
    return path


def folder_to_make(path: Path | None) -> Path | None:
    """The folder that an option names, or BadParameter where none can be made: before the work."""
    if path is None:
        return None
    try:
        str(path).encode()
    except UnicodeEncodeError:  # TensorBoard and JSON could not tell it
        raise typer.BadParameter(f"must be a name in UTF-8, got {str(path)!r}") from None
    there = next(p for p in (path.absolute(), *path.absolute().parents) if p.exists())
    if not there.is_dir():
        raise typer.BadParameter(f"must be a folder, got {str(path)!r}: {str(there)!r} is a file")
    if not os.access(there, os.W_OK):
        raise typer.BadParameter(f"must be a folder that can be written, got {str(path)!r}")
    return path


def say(message: str) -> None:
    """Tell something beside the result: on stderr, above a bar if there is one.

    A bar catches what is printed there, but not what Click's `echo` writes.
    """
    print(message, file=sys.stderr)


Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Plot = Annotated[Path | None, typer.Option(help="Write a plot to this file.", callback=to_draw)]
Env = Annotated[
    str,
    typer.Argument(help="Environment, see rbgym list.", autocompletion=completion.environments),
]
Unpickle = Annotated[
    str | None, typer.Option(help="Algorithm of a model's zip whose author you trust (ppo).")
]
EnvArgs = Annotated[
    list[str] | None, typer.Option(help="KEY=VALUE, one argument of the environment.")
]


def pairs(name: str, texts: list[str] | None) -> dict[str, Any]:
    """KEY=VALUE of an option, VALUE read as YAML; ValueError for what is none."""
    import yaml

    from rbgym.agents.train.plain_yaml import read_yaml

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


def env_args(texts: list[str] | None) -> dict[str, Any]:
    """Arguments of an environment, which is stepped without being looked at; or ValueError."""
    if not texts:
        return {}
    from rbgym.agents.judge.cases import by_name

    found = pairs("env-arg", texts)
    if "render_mode" in found:
        raise ValueError("--env-arg must not name render_mode: evaluate --video makes a film")
    return by_name("--env-arg", found)


def numbers(name: str, text: str, counts: tuple[int, ...]) -> list[float]:
    """The comma-separated numbers of an option; ValueError unless there are so many, and for one
    beyond what can be squared, added and divided by."""
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if len(values) not in counts:
        wanted = " or ".join(map(str, counts))
        raise ValueError(f"{name} must be {wanted} comma-separated numbers, got {text!r}")
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    if not all(1 / _LARGEST <= size <= _LARGEST for size in sizes):
        raise ValueError(f"{name} must be 0 or from 1e-100 to 1e100 in size, got {text!r}")
    return values
