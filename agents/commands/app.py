"""The application that the commands join: its page, their order, and how it ends on bad input.

Only what a command needs is imported, when it runs: learning libraries belong to train and to the
evaluation of a trained policy. Bad input ends with one line on stderr and exit status 2.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

# What the commands are for, in the order of the page.
SEE, TRAIN, JUDGE, MEASURE = PANELS = ("See", "Train", "Judge", "Measure")
# What belongs to an extra, and to which.
_EXTRAS = {"matplotlib": "plot"} | dict.fromkeys(("rich", "typer"), "cli")
_EXTRAS |= dict.fromkeys(("sb3_contrib", "scipy", "stable_baselines3"), "agents")
_EXTRAS |= dict.fromkeys(("tensorboard", "torch", "tqdm", "yaml"), "agents")
_EXTRAS |= dict.fromkeys(("msgspec", "viser", "websockets"), "view")
_EXTRAS |= {"cma": "evolve", "optuna": "tune", "ray": "rllib"}
_EXTRAS |= {"moviepy": "render", "pygame": "render"}
# Of Click, which Typer may carry within itself: what its parser raises.
_UsageError: Any = typer.BadParameter.__mro__[1]
_RESUMABLE = ("train", "tune")
_LONGEST = 2000  # characters of a message


def examples(*lines: str) -> str:
    """The end of a command's help: commands to copy, each a line that is not wrapped."""
    return "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines)))


def examples_of(command: Any) -> list[str]:
    """The lines that a command was given as `examples`."""
    return [line.strip() for line in (command.epilog or "").splitlines()[2:]]


class _Commands(TyperGroup):
    """Commands in the order of the panels; what users can mend ends in one line on stderr."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=lambda name: self._place(ctx, name))

    def _place(self, ctx: Any, name: str) -> int:
        panel = getattr(self.get_command(ctx, name), "rich_help_panel", None)
        return PANELS.index(panel) if panel in PANELS else len(PANELS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The plain page, grouped as Typer groups the one in colours."""
        width = max(map(len, self.list_commands(ctx)))
        for k, panel in enumerate((*PANELS, "Commands")):
            names = [name for name in self.list_commands(ctx) if self._place(ctx, name) == k]
            found = [(name, self.get_command(ctx, name)) for name in names]
            lines = [(n.ljust(width), c.get_short_help_str(100)) for n, c in found if c]
            if lines:
                with formatter.section(panel):
                    formatter.write_dl(lines)

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
    except BrokenPipeError:
        raise  # the reader has seen enough; Click ends quietly
    except _UsageError as error:
        path = (error.ctx or ctx).command_path
        _fail(f"{error.format_message().removesuffix('.')} (see {path} --help)", 2)
    except (ValueError, OSError) as error:
        _fail(error, 2)
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        install = f"; this command needs pip install 'rbgym[{extra}]'" if extra else ""
        _fail(f"{error}{install}", 2)
    except KeyboardInterrupt:
        resumes = ctx.invoked_subcommand in _RESUMABLE
        goes_on = "; the same command goes on from the last checkpoint" if resumes else ""
        _fail(f"interrupted{goes_on}", 130)
    except MemoryError:
        _fail("this needs more memory than there is", 1)
    except Exception as error:
        from gymnasium.error import Error as GymnasiumError

        from rbgym import IntegrationError

        if not isinstance(error, GymnasiumError | IntegrationError):
            raise
        _fail(error, 2 if isinstance(error, GymnasiumError) else 1)


def _fail(message: object, status: int) -> None:
    text = " ".join(str(message).split())
    if len(text) > _LONGEST:  # as a value of thousands of digits is
        text = f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 2 :]}"
    typer.echo(f"rbgym: {text}", err=True)
    raise typer.Exit(status) from None


def _print_version(wanted: bool) -> None:
    if wanted:
        from rbgym import __version__

        typer.echo(f"rbgym {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=_Commands,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain, unless `rbgym.agents.commands.cli.main` finds a terminal
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(
    invoke_without_command=True,
    epilog=examples(
        "rbgym simulate -i quat_em -i rkn4 -i trap --dt 0.05 --steps 10000",
        "rbgym evaluate AttitudeSlew-v0 --policy pretrained --policy pd",
        "rbgym train RigidTop-v0 --timesteps 100000 --out runs/first",
    ),
)
def page(
    ctx: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Attitude control on structure-preserving rigid-body physics."""
    if ctx.invoked_subcommand is None and (text := ctx.get_help()):
        typer.echo(text)
