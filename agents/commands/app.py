"""The application of the commands: its help page, the order of commands, and the end on bad input,
which is one line on stderr and exit status 2. A command imports what it needs when it runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any

import typer
from gymnasium.error import Error as GymnasiumError
from typer import Option
from typer.core import TyperGroup

import rbgym
from rbgym.agents.extras import naming_extra
from rbgym.agents.terminal import plain

# The panels of commands, in the order of the help page.
SEE, TRAIN, JUDGE, MEASURE = PANELS = ("See", "Train", "Judge", "Measure")
# The base of all errors of Click's parser; a Typer may bundle its own Click.
_UsageError: Any = typer.BadParameter.__mro__[1]
_LONGEST = 2000  # characters of a message


class _Commands(TyperGroup):
    """Lists commands in the order of the panels; turns user errors into one line on stderr."""

    def list_commands(self, ctx: Any) -> list[str]:
        commands: Any = self.commands
        return sorted(commands, key=lambda name: PANELS.index(commands[name].rich_help_panel))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _clean_errors(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with _clean_errors(ctx):
            return super().invoke(ctx)


@contextmanager
def _clean_errors(ctx: Any) -> Iterator[None]:
    try:
        yield
    except (BrokenPipeError, typer.Exit):
        raise  # the reader has closed the pipe, and Click ends quietly; or the help was shown
    except _UsageError as error:
        path = (error.ctx or ctx).command_path
        _fail(f"{error.format_message().removesuffix('.')} (see {path} --help)", 2)
    except (ValueError, OSError, GymnasiumError) as error:
        _fail(error, 2)
    except ModuleNotFoundError as error:
        with suppress(ModuleNotFoundError), naming_extra(ctx.invoked_subcommand):
            raise
        _fail(error, 2)
    except KeyboardInterrupt:
        work = {
            "train": "from the last checkpoint, if there is one, without --overwrite",
            "campaign": "with the runs that are left",
        }
        left = work.get(ctx.invoked_subcommand)
        resume = f"; the same command continues {left}" if left else ""
        _fail(f"interrupted{resume}", 130)
    except MemoryError:
        _fail("this needs more memory than there is", 1)
    except rbgym.IntegrationError as error:  # last: to name it imports kernels
        _fail(error, 1)


def _fail(message: object, status: int) -> None:
    """Print one line and exit. The line is cut: a value in it may have thousands of digits."""
    typer.echo(f"rbgym: {plain(' '.join(str(message).split()))[:_LONGEST]}", err=True)
    raise typer.Exit(status) from None


app = typer.Typer(
    cls=_Commands,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain, unless `rbgym.agents.commands.cli.main` finds a terminal
    context_settings={"help_option_names": ["-h", "--help"]},
)


def command(panel: str, *examples: str, name: str | None = None) -> Callable[..., Any]:
    """Register a command in a panel; its help ends with the examples."""
    return app.command(name, rich_help_panel=panel, epilog=_epilog(*examples))


def examples_of(command: Any) -> list[str]:
    return [line.strip() for line in (command.epilog or "").splitlines()[2:]]


def _epilog(*examples: str) -> str:
    """The examples as an epilog whose lines Click does not wrap."""
    return "\n".join(("\b", "Examples:", *(f"  {line}" for line in examples)))


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rbgym {rbgym.__version__}")
        raise typer.Exit


@app.callback(
    invoke_without_command=True,
    epilog=_epilog(
        "rbgym simulate -i quat_em -i rkn4 -i trap --dt 0.05 --steps 10000",
        "rbgym evaluate AttitudeSlew-v1 --policy pretrained --policy pd",
        "rbgym train RigidTop-v0 --timesteps 100000 --out runs/first",
    ),
)
def page(
    ctx: typer.Context,
    version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Attitude control on structure-preserving rigid-body physics."""
    if ctx.invoked_subcommand is None and (text := ctx.get_help()):
        typer.echo(text)
