"""The application that the commands join, and how it ends on bad input.

Only what a command needs is imported, when it runs: learning libraries belong to train and to the
evaluation of a trained policy. Bad input ends with one line on stderr and exit status 2.
"""

from typing import Any

import typer
from typer.core import TyperGroup

# What belongs to an extra, and to which.
_EXTRAS = dict.fromkeys(("matplotlib", "rich", "typer"), "cli")
_EXTRAS |= dict.fromkeys(("safetensors", "sb3_contrib", "scipy", "stable_baselines3"), "agents")
_EXTRAS |= dict.fromkeys(("tensorboard", "torch", "tqdm", "yaml"), "agents")
_EXTRAS |= dict.fromkeys(("msgspec", "viser", "websockets"), "view")
_EXTRAS |= {"cma": "evolve", "optuna": "tune", "ray": "rllib"}
_EXTRAS |= {"moviepy": "render", "pygame": "render"}


class _CleanErrors(TyperGroup):
    """Turns what users can mend into one line on stderr and an exit status."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (ValueError, OSError) as error:
            _fail(error, 2)
        except ModuleNotFoundError as error:
            extra = _EXTRAS.get((error.name or "").partition(".")[0])
            install = f"; this command needs pip install 'rbgym[{extra}]'" if extra else ""
            _fail(f"{error}{install}", 2)
        except KeyboardInterrupt:
            _fail("interrupted; the same command goes on from the last checkpoint", 130)
        except Exception as error:
            from gymnasium.error import Error as GymnasiumError

            from rbgym import IntegrationError

            if not isinstance(error, GymnasiumError | IntegrationError):
                raise
            _fail(error, 2 if isinstance(error, GymnasiumError) else 1)


def _fail(message: object, status: int) -> None:
    typer.echo(f"rbgym: {message}", err=True)
    raise typer.Exit(status) from None


app = typer.Typer(
    cls=_CleanErrors,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Attitude control on structure-preserving rigid-body physics.",
)
