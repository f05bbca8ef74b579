"""The extras of the package, and the modules that each installs."""

from collections.abc import Iterator
from contextlib import contextmanager

_EXTRAS = {
    "plot": ("matplotlib",),
    "cli": ("rich", "safetensors", "typer"),
    "agents": ("sb3_contrib", "scipy", "stable_baselines3", "tensorboard", "torch", "yaml"),
    "campaign": ("joblib", "pyarrow", "scipy", "yaml"),
    "view": ("msgspec", "viser", "websockets"),
    "mujoco": ("mujoco",),
    "onnx": ("onnx",),
    "render": ("PIL", "imageio_ffmpeg", "pygame"),
}  # fmt: skip


@contextmanager
def naming_extra(own: str | None = None) -> Iterator[None]:
    """A context or decorator: a ModuleNotFoundError says which extra to install, the first that
    has the module, or `own` if that has it too."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        extras = [name for name, modules in _EXTRAS.items() if missing in modules]
        if extras and "pip install" not in error.msg:
            extra = own if own in extras else extras[0]
            error.msg += f"; this needs pip install 'rbgym[{extra}]'"
        raise
