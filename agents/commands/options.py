"""Options that several commands share: parsers, checks and shell completion."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

import rbgym
from rbgym.agents import catalogue
from rbgym.agents.cases import SHIPPED, SPLITS, by_name, check_policy, resolved, spec_of
from rbgym.agents.run_folder import file_at
from rbgym.agents.terminal import print_json, print_table
from rbgym.envs.arguments import Arguments, named
from rbgym.registration import ENVIRONMENTS


def numbers(*counts: int) -> Callable[[str], list[float]]:
    """A parser of comma-separated numbers in one of these counts, whose squares do not overflow."""

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
    """Parse KEY=VALUE into key and value; the value is YAML."""
    from rbgym.agents.train.presets import read_yaml

    key, equals, value = text.partition("=")
    if not (key and equals):
        raise typer.BadParameter(f"must be KEY=VALUE, got {text!r}")
    try:
        return key, read_yaml(value)
    except ValueError as error:
        raise typer.BadParameter(f"{key} must be YAML: {error}") from None


def once(given: Sequence[tuple[str, Any]] | None) -> Any:
    """Return the pairs, unless a key is there twice: one of its values would be lost."""
    keys = [key for key, _ in given or ()]
    if len({*keys}) < len(keys):
        raise typer.BadParameter(f"must name each key once, got {keys}")
    return given


def whole(text: str) -> int:
    """Parse a number of steps, which may be written as 1e6."""
    with suppress(ValueError, OverflowError):
        value = float(text)
        if value == int(value) >= 0:
            return int(value)
    raise typer.BadParameter(f"must be a whole number from 0 on, got {text!r}")


def refusing(check: Callable[[Any], object]) -> Callable[[Any], Any]:
    """A callback that returns its argument, one value or several, unless `check` raises."""

    def refuse(given: Any) -> Any:
        for one in [given] if isinstance(given, str | Path) else given or ():
            check(one)
        return given

    return refuse


def one_of(argument: str, names: Callable[[], list[str]]) -> Any:
    """Completion of an option by these names, and its check."""
    check = refusing(lambda name: named(argument, name, names()))
    return {"autocompletion": names, "callback": check}


# These refuse a path that cannot be written, before the work.
@refusing
def file_to_write(path: Path) -> None:
    with suppress(OSError):
        if os.access(file_at(path).parent, os.W_OK):
            return
    raise typer.BadParameter(f"must be a writable file in an existing folder, got {str(path)!r}")


@refusing
def plot_to_write(path: Path) -> None:
    file_to_write(path)
    from matplotlib.backend_bases import FigureCanvasBase

    known = sorted(FigureCanvasBase.get_supported_filetypes().keys() - {"pgf"})  # it needs TeX
    if path.suffix and path.suffix[1:].lower() not in known:
        raise typer.BadParameter(f"must end in one of {known}, got {str(path)!r}")


@refusing
def folder_to_make(path: Path) -> None:
    there = next(p for p in (path.absolute(), *path.absolute().parents) if p.exists())
    if not (there.is_dir() and os.access(there, os.W_OK)):
        raise typer.BadParameter(f"must be a writable folder, got {str(path)!r}")
    if not str(path).isprintable():  # TensorBoard and JSON take UTF-8
        raise typer.BadParameter(f"must be a printable name, got {str(path)!r}")


@refusing
def files_beside(path: Path) -> None:
    """Of a path to which endings are added."""
    folder_to_make(path.parent)
    if not path.name or any(
        path.with_name(f"{path.name}.{e}").is_dir() for e in ("md", "json", "png")
    ):
        raise typer.BadParameter(f"must be a name to which endings can be added, got {str(path)!r}")


def algorithms() -> list[str]:
    """Names of the algorithms, from their files of hyperparameters, so that nothing is imported."""
    files = (resources.files("rbgym.agents") / "hyperparameters").iterdir()
    return sorted(Path(file.name).stem for file in files)


def policies() -> list[str]:
    """Names of controllers, those of `SHIPPED`, and the runs in `runs` that have a policy."""
    runs = sorted(str(file.parent) for file in Path("runs").glob("*/policy.json"))
    return [*catalogue.names(), *SHIPPED, *runs]


# These refuse mistyped names before kernels, or the module of an id, are imported.
known_environments = refusing(lambda env_id: ":" in env_id or spec_of(env_id))
known_policies = refusing(check_policy)


def check_env_args(env_id: str, env_kwargs: dict[str, Any]) -> None:
    """Raise ValueError for arguments that the environment refuses."""
    given = by_name("env_kwargs", env_kwargs, must_end=True)
    if env_id.rpartition(":")[2] in ENVIRONMENTS:  # first their names, which needs no kernels
        Arguments.check_names(given.keys() - {"max_episode_steps"})
    from rbgym.agents.judge.episodes import readable_in

    readable_in(env_id, given)


def use_only(context: typer.Context, what: str, *names: str) -> None:
    """Raise ValueError for a given option other than these and --json. what: what takes them."""
    for one in context.command.params:
        source = context.get_parameter_source(str(one.name))
        allowed = one.name in (*names, "as_json") or not one.opts[0].startswith("-")
        if source and source.name == "COMMANDLINE" and not allowed:
            raise ValueError(f"{one.opts[0]} plays no part with {what}")


Json = Annotated[bool, Option("--json", help="Print JSON instead of a table.")]
Explain = Annotated[bool, Option("--explain", help="Print every number and its source, then exit.")]
Video = Annotated[
    Path | None, Option(help="Film one episode: OUT.mp4 or OUT.gif.", callback=file_to_write)
]
Plot = Annotated[Path | None, Option(help="Write a plot to this file.", callback=plot_to_write)]
# Completion and checks of names, shared by all commands.
ENV: Any = {
    "help": "Environment, see rbgym list.",
    "autocompletion": lambda: [*ENVIRONMENTS],
    "callback": known_environments,
}
Env = Annotated[str, Argument(**ENV)]
EnvOption = Annotated[str | None, Option(**ENV)]
INTEGRATORS: Any = {
    "autocompletion": lambda: rbgym.integrators.names(),
    "callback": refusing(lambda name: rbgym.integrators.known(name)),
}
POLICIES: Any = {"autocompletion": policies, "callback": known_policies}
PAIRS: Any = {"parser": pair, "metavar": "KEY=VALUE", "callback": once}
EnvArgs = Annotated[list[Any] | None, Option(help="An argument of the env.", **PAIRS)]
Integrators = Annotated[
    list[str] | None,
    Option("--integrator", "-i", help="See rbgym list; repeat to compare several.", **INTEGRATORS),
]
Policies = Annotated[
    list[str] | None,
    Option(help="Controller, 'pretrained' or folder; repeat to compare several.", **POLICIES),
]
Algorithm = Annotated[
    str, Option(help="auto, ppo, sac, tqc, recurrent_ppo or apg.", **one_of("algo", algorithms))
]
Episodes = Annotated[int, Option(help="Number of start states.", min=1)]
Estimator = Annotated[
    bool, Option("--estimator", help="Put an estimator in front of every policy.")
]
Split = Annotated[
    str,
    Option(
        help="Set of start states: test, validation or fresh.",
        **one_of("split", lambda: [*SPLITS]),
    ),
]
Inertia = Annotated[
    Any, Option(parser=numbers(3, 9), metavar="J,...", help="3 moments or 9 entries, in kg m^2.")
]
Rates = Annotated[
    Any, Option(parser=numbers(3), metavar="X,Y,Z", help="Start rates, body axes, in rad/s.")
]
TimeStep = Annotated[float, Option(help="Time step, in s.")]
Weight = Annotated[float, Option(help="Heavy top: m g l, in N m; 0 for none.")]


def print_resolved(
    env_id: str, env_kwargs: Mapping[str, Any], as_json: bool, more: Mapping[str, Any] | None = None
) -> None:
    """Print every number of an env for training or judging, and its source; more: further ones."""
    from rbgym.agents.judge.tables import title
    from rbgym.envs.layers import leaves

    tree = {**resolved(env_id, env_kwargs), **(more or {})}
    if as_json:
        print_json(tree)
        return
    heading = title({"env_id": env_id, "env_kwargs": env_kwargs})
    rows = [(name, str(one["value"]), str(one["source"])) for name, one in leaves(tree)]
    print_table(heading, ("name", "value", "source"), rows)
