"""Options that several commands have: how texts are read, and what the shell completes."""

import math
import os
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

import rbgym
from rbgym.agents import catalogue
from rbgym.agents.cases import PRETRAINED, SPLITS, by_name, check_policy, spec_of
from rbgym.envs.arguments import Arguments, named
from rbgym.registration import ENVIRONMENTS


def numbers(*counts: int) -> Callable[[str], list[float]]:
    """A parser of so many numbers between commas, that can be squared, added and divided by."""

    def parse(text: str) -> list[float]:
        try:
            values = [float(part) for part in text.split(",")]
        except ValueError:
            values = []
        if len(values) not in counts:
            wanted = " or ".join(map(str, counts))
            raise typer.BadParameter(f"must be {wanted} comma-separated numbers, got {text!r}")
        if any(not 1e-100 <= abs(x) <= 1e100 for x in values if x and math.isfinite(x)):
            raise typer.BadParameter(f"must be 0 or from 1e-100 to 1e100 in size, got {text!r}")
        return values

    return parse


def pair(text: str) -> tuple[str, Any]:
    """Key and value of KEY=VALUE, which is read as YAML."""
    from rbgym.agents.train.presets import read_yaml

    key, equals, value = text.partition("=")
    if not (key and equals):
        raise typer.BadParameter(f"must be KEY=VALUE, got {text!r}")
    try:
        return key, read_yaml(value)
    except ValueError as error:
        raise typer.BadParameter(f"{key} must be YAML: {error}") from None


def whole(text: str) -> int:
    """A number of steps, which may be written as 1e6."""
    try:
        value = float(text)
        if value == int(value) >= 0:
            return int(value)
    except (ValueError, OverflowError):
        pass
    raise typer.BadParameter(f"must be a whole number from 0 on, got {text!r}")


def refusing(check: Callable[[Any], object]) -> Callable[[Any], Any]:
    """A callback that gives back what was given, one or several, unless `check` raises for it."""

    def refuse(given: Any) -> Any:
        for one in [given] if isinstance(given, str | Path) else given or ():
            check(one)
        return given

    return refuse


# Paths that cannot be written are refused before the work.


@refusing
def file_to_write(path: Path) -> None:
    target = Path(os.path.realpath(path))  # a link stays, what it leads to is written
    taken = os.path.lexists(target) and not target.is_file()
    if taken or not os.access(target.parent, os.W_OK):
        raise typer.BadParameter(
            f"must be a file that can be written, in a folder that is there, got {str(path)!r}"
        )


@refusing
def folder_to_make(path: Path) -> None:
    there = next(p for p in (path.absolute(), *path.absolute().parents) if p.exists())
    if not (there.is_dir() and os.access(there, os.W_OK)):
        raise typer.BadParameter(f"must be a folder that can be written, got {str(path)!r}")
    if not str(path).isprintable():  # TensorBoard and JSON take UTF-8
        raise typer.BadParameter(f"must be a printable name, got {str(path)!r}")


files_beside = refusing(lambda path: folder_to_make(path.parent))  # endings are added to the path


def algorithms() -> list[str]:
    """Names of the algorithms: of the files of their hyperparameters, which import nothing."""
    files = (resources.files("rbgym.agents") / "hyperparameters").iterdir()
    return sorted(Path(file.name).stem for file in files)


def policies() -> list[str]:
    """Controllers, the package's policy, and the finished runs below the folder `runs`."""
    runs = sorted(str(file.parent) for file in Path("runs").glob("*/policy.json"))
    return [*catalogue.names(), PRETRAINED, *runs]


# What is mistyped is refused before anything is imported that computes, or that an id names.
known_environments = refusing(lambda env_id: ":" in env_id or spec_of(env_id))
known_integrators = refusing(lambda name: rbgym.integrators.known(name))
known_algorithm = refusing(lambda name: named("algo", name, algorithms()))
known_policies = refusing(check_policy)


def check_env_args(env_id: str, env_kwargs: dict[str, Any]) -> None:
    """Raise ValueError for arguments that the environment does not take."""
    given = by_name("env_kwargs", env_kwargs, must_end=True)
    if env_id.rpartition(":")[2] in ENVIRONMENTS:
        # Their names, before anything is imported that computes.
        Arguments.check_names(given.keys() - {"max_episode_steps"})
    from rbgym.agents.judge.episodes import observation_space

    observation_space(env_id, given)


Json = Annotated[bool, Option("--json", help="Print JSON instead of a table.")]
Explain = Annotated[bool, Option("--explain", help="Print every number and its source, and end.")]
Video = Annotated[Path | None, Option(help="Film it: OUT.mp4 or OUT.gif.", callback=file_to_write)]
Plot = Annotated[Path | None, Option(help="Write a plot to this file.", callback=file_to_write)]
# Of what is named, once for all commands: what the shell completes, and what is refused.
ENV: Any = {
    "help": "Environment, see rbgym list.",
    "autocompletion": lambda: [*ENVIRONMENTS],
    "callback": known_environments,
}
Env = Annotated[str, Argument(**ENV)]
EnvOption = Annotated[str | None, Option(**ENV)]
INTEGRATORS: Any = {
    "autocompletion": lambda: rbgym.integrators.names(),
    "callback": known_integrators,
}
POLICIES: Any = {"autocompletion": policies, "callback": known_policies}
EnvArgs = Annotated[
    list[Any] | None, Option(parser=pair, metavar="KEY=VALUE", help="An argument of the env.")
]
Integrators = Annotated[
    list[str] | None,
    Option("--integrator", "-i", help="See rbgym list; again to compare several.", **INTEGRATORS),
]
Policies = Annotated[
    list[str] | None,
    Option(help="Controller, 'pretrained' or folder; again for each one to compare.", **POLICIES),
]
Algorithm = Annotated[
    str,
    Option(
        help="auto, ppo, sac, tqc, recurrent_ppo or apg.",
        autocompletion=algorithms,
        callback=known_algorithm,
    ),
]
Episodes = Annotated[int, Option(help="Start states.", min=1)]
Split = Annotated[
    str,
    Option(
        help="Which: test, validation or fresh.",
        autocompletion=lambda: list(SPLITS),
        callback=refusing(lambda name: named("split", name, SPLITS)),
    ),
]
Inertia = Annotated[
    Any,
    Option(parser=numbers(3, 9), metavar="J,...", help="3 moments or 9 entries, in kg m^2."),
]
Rates = Annotated[
    Any, Option(parser=numbers(3), metavar="X,Y,Z", help="Start rates, body axes, in rad/s.")
]
TimeStep = Annotated[float, Option(help="Time step of a free body, in s.")]
Weight = Annotated[float, Option(help="Heavy top: m g l, in N m; 0 for none.")]
