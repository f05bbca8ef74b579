"""Frames written to video files and animated pictures, as they come."""

import errno
import functools
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbgym.envs.rendering import colors

Frame = NDArray[np.uint8]
FORMATS = (".mp4", ".gif")
_LEAST = 2  # hundredths of a second that a picture of a GIF stands: less is not shown as told


def possible_rate(rate: float, kind: str) -> float:
    """The frame rate that a kind of file can have nearest to `rate`: pictures of a GIF stand whole
    hundredths of a second."""
    return 100 / _hundredths(rate) if kind == ".gif" else rate


def _hundredths(rate: float) -> int:
    return max(round(100 / rate), _LEAST)


def write(path: Path, frames: Iterable[Frame], rate: float, kind: str | None = None) -> None:
    """Write frames, (height, width, 3) each, as they come. rate: of them in a second. kind: one of
    FORMATS, default the ending of `path`; a GIF has the `possible_rate`."""
    (_write_gif if (kind or path.suffix) == ".gif" else _write_mp4)(path, iter(frames), rate)


def require_writer(kind: str) -> None:
    """ModuleNotFoundError where what writes a kind of file is not installed."""
    import_module("PIL.Image" if kind == ".gif" else "moviepy.video.io.ffmpeg_writer")


def _write_mp4(path: Path, frames: Iterator[Frame], rate: float) -> None:
    from moviepy.video.io.ffmpeg_writer import FFMPEG_VideoWriter

    first = next(frames)
    size = first.shape[1], first.shape[0]
    writer = FFMPEG_VideoWriter(str(path), size, rate, ffmpeg_params=["-f", "mp4"])
    encoder = writer.proc
    with writer:
        writer.write_frame(first)
        for frame in frames:
            writer.write_frame(frame)
    if encoder.returncode:  # the end of the file could not be written: MoviePy does not look
        raise OSError(errno.EIO, "The film could not be written to its end, the disk may be full")


def _write_gif(path: Path, frames: Iterator[Frame], rate: float) -> None:
    first = few_colors(next(frames))
    rest = (few_colors(frame) for frame in frames)
    shown = 10 * _hundredths(rate)  # ms
    first.save(path, "GIF", save_all=True, append_images=rest, duration=shown, loop=0)


def few_colors(frame: Frame) -> Any:
    """The frame (height, width, 3) as a Pillow image of 256 colours: those that scenes are drawn
    in, and shades of them; small, and without noise."""
    from PIL import Image

    return Image.fromarray(frame).quantize(palette=_palette(), dither=Image.Dither.NONE)


@functools.cache
def _palette() -> Any:
    from PIL import Image

    image = Image.new("P", (1, 1))
    image.putpalette([value for color in colors.shades() for value in color])
    return image
