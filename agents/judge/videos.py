"""Videos of one episode of the test set, as several policies and controllers play it."""

import errno
import itertools
import math
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rbgym.agents.cases import Starts
from rbgym.agents.judge.episodes import Contender, Player
from rbgym.agents.run_folder import replacing
from rbgym.agents.terminal import bar
from rbgym.envs.rendering import scene_of
from rbgym.envs.rendering.instant import Trail
from rbgym.envs.rendering.painter import Frame, Painter, load_pygame
from rbgym.envs.rendering.scene import Scene

FORMATS = (".mp4", ".gif")
_LONGEST, _SHORTEST = 30.0, 8.0  # film of a whole episode [s]; it is sped up or slowed down to fit
_RATE = 30.0  # least frames per second, if there are as many steps
_AFTER = 2.0  # film [s] after all have succeeded
_LEAST = 2  # hundredths of a second for a picture of a GIF: viewers slow down shorter ones


class Timing(NamedTuple):
    """stride: steps between frames; rate: frames per second; speed: episode over film time."""

    stride: int
    rate: float
    speed: float

    @classmethod
    def of(cls, dt: float, steps: int, kind: str = ".mp4") -> "Timing":
        """The timing of an episode of `steps` steps of dt seconds in a kind of file: in real time
        or nearly so, unless the episode is too long or too short to watch."""
        whole = dt * steps
        speed = max(whole / _LONGEST, 1.0) * min(whole / _SHORTEST, 1.0)
        stride = max(math.floor(speed / (_RATE * dt)), 1)
        rate = speed / (stride * dt)
        if kind == ".gif":  # shows each picture for whole hundredths of a second
            rate = 100 / _hundredths(rate)
        return cls(stride, rate, rate * stride * dt)


def film(
    path: Path, env_id: str, contenders: Sequence[Contender], start: Starts, size: int = 480
) -> None:
    """Write a video of the episode from one start, contenders side by side, until two seconds after
    all have succeeded or are over. path: .mp4 or .gif. size: of a contender's picture [pixels]."""
    plays = [_Play(one, env_id, start, alone=len(contenders) == 1) for one in contenders]
    try:
        longest = max(plays, key=lambda play: play.dt * play.steps)
        timing = Timing.of(longest.dt, longest.steps, path.suffix)
        with replacing(path) as temporary, bar() as shown:
            pictures = _frames(plays, timing, longest.dt, size)
            frames = shown.track(pictures, description=f"filming {path.name}")
            write(temporary, frames, timing.rate, kind=path.suffix)
    finally:
        for play in plays:
            play.env.close()


def require(path: Path, episode: int = 0, episodes: int = 1) -> None:
    """Raise the errors of a film, before anything is computed. episodes: number to choose from."""
    if path.suffix not in FORMATS:
        raise ValueError(f"--video must end in {' or '.join(FORMATS)}, got {str(path)!r}")
    if not 0 <= episode < episodes:
        raise ValueError(f"--video-episode must be from 0 to {episodes - 1}, got {episode!r}")
    load_pygame()
    if path.suffix == ".gif":
        import_module("PIL.Image")
    else:
        _encoder()


def _encoder() -> str:
    """The path of FFmpeg; an OSError if there is none."""
    from imageio_ffmpeg import get_ffmpeg_exe

    try:
        return str(get_ffmpeg_exe())
    except RuntimeError as error:
        raise FileNotFoundError(errno.ENOENT, f"FFmpeg is missing: {error}") from None


class _Play:
    def __init__(self, one: Contender, env_id: str, start: Starts, *, alone: bool) -> None:
        self.env = start.env(env_id, one.env_kwargs)
        self.title = f"{env_id}: {one.name}" if alone else one.name
        self.player, self.trail = Player(one.policy, self.env, start), Trail()
        self.over, self.taken, self.dt = False, 0, float(self.env.unwrapped.dt)
        self.steps = int(self.env.unwrapped.episodes.setup.limit)
        self.scene = scene_of(self.env, 0, self.trail)

    def go_on(self, until: float) -> None:
        while not self.over and (self.taken + 1) * self.dt <= until + 1e-9:
            self.player.step()
            self.taken += 1
            self.over = bool(self.player.start[0])
            self.scene = scene_of(self.env, 0, self.trail)

    def titled(self, speed: float) -> Scene:
        """The scene, under the contender's name and with the speed of the film."""
        caption, notes = self.scene.caption, self.scene.caption.notes
        if abs(speed - 1.0) > 0.01:
            notes = (*notes, f"shown at {speed:{'.0f' if speed > 10 else '.2g'}} times its speed")
        if self.over and not caption.success:
            notes = (*notes, "the episode is over")
        return replace(self.scene, caption=replace(caption, task=self.title, notes=notes))


def _frames(plays: Sequence[_Play], timing: Timing, dt: float, size: int) -> Iterator[Frame]:
    """Yield pictures of all plays at the same instants, `timing.stride` steps of dt [s] apart."""
    painter, idle = Painter((size, size)), 0
    for number in itertools.count(1):
        yield np.concatenate([painter.paint(play.titled(timing.speed)) for play in plays], axis=1)
        done = all(play.scene.caption.success or play.over for play in plays)
        idle = idle + 1 if done else 0
        if idle > _AFTER * timing.rate:
            return
        for play in plays:
            play.go_on(number * timing.stride * dt)


def _hundredths(rate: float) -> int:
    return max(round(100 / rate), _LEAST)


def write(path: Path, frames: Iterable[Frame], rate: float, kind: str | None = None) -> None:
    """Encode frames (height, width, 3) as they arrive, `rate` per second. kind: default by path."""
    if (kind or path.suffix) == ".gif":
        from PIL import Image

        pictures = (Image.fromarray(one).quantize(dither=Image.Dither.NONE) for one in frames)
        shown = {"duration": 10 * _hundredths(rate), "loop": 0}  # ms
        next(pictures).save(path, "GIF", save_all=True, append_images=pictures, **shown)
        return
    rest = iter(frames)
    first = next(rest)
    height, width, _ = first.shape
    taken = f"-f rawvideo -pix_fmt rgb24 -s {width}x{height} -r {rate} -i -"
    # Players want halved colours, and so sides of even length.
    given = "-vf pad=ceil(iw/2)*2:ceil(ih/2)*2 -c:v libx264 -pix_fmt yuv420p -f mp4"
    command = [_encoder(), "-y", "-loglevel", "quiet", *taken.split(), *given.split()]
    with subprocess.Popen([*command, str(path)], stdin=subprocess.PIPE) as encoder:
        pipe: Any = encoder.stdin
        with suppress(BrokenPipeError):  # the encoder has ended; its status is checked below
            for frame in itertools.chain([first], rest):
                pipe.write(frame.tobytes())
    if encoder.returncode:
        raise OSError(errno.EIO, "The film could not be written to its end, the disk may be full")
