"""What the package writes, over and over, in a process that is there to be killed."""

from pathlib import Path

import numpy as np

from rbgym import RigidBody, simulate
from rbgym.agents.commands.seeing import write_trajectories
from rbgym.agents.judge import plots, videos
from rbgym.agents.judge.card import make_card
from rbgym.agents.run_folder import replacing, write_json
from rbgym.plot import summary


def _motion(steps):
    body = RigidBody([6, 8, 3])
    return simulate(body, dt=0.01, steps=steps, angular_velocity=(1.0, 2.0, 3.0))


def csv(folder):
    """Motions of two lengths in turn, as `rbgym simulate --csv` writes them."""
    made = [_motion(500), _motion(3000)]
    return lambda turn: write_trajectories({"akw": made[turn % 2]}, folder / "a.csv")


def plot(folder):
    """Two plots in turn."""
    made = [summary(_motion(50)), summary(_motion(500))]
    return lambda turn: plots.save(made[turn % 2], folder / "a.png")


def film(folder):
    """Animated pictures of two lengths in turn."""
    frames = np.random.default_rng(0).integers(0, 256, (6, 64, 64, 3), dtype=np.uint8)

    def write(turn):
        with replacing(folder / "a.gif") as temporary:
            videos.write(temporary, frames[: 3 + 3 * (turn % 2)], 10.0, kind=".gif")

    return write


def card(folder):
    """Benchmark cards of two sets of episodes in turn."""
    made = [make_card("RigidTop-v0", ["pd"], episodes=n) for n in (1, 2)]
    return lambda turn: made[turn % 2].write(folder / "card")


def results(folder):
    """JSON of two sizes in turn."""
    return lambda turn: write_json(folder / "a.json", {"n": [turn % 2] * (100 + 9900 * (turn % 2))})


WRITERS = {one.__name__: one for one in (csv, plot, film, card, results)}


def once(name: str, folder: str, turn: int) -> None:
    WRITERS[name](Path(folder))(turn)


def forever(name: str, folder: str) -> None:
    """Write in turn, and never end; the file `writing` says that it has begun."""
    write, turn = WRITERS[name](Path(folder)), 0
    (Path(folder).parent / "writing").touch()
    while True:
        write(turn)
        turn += 1
