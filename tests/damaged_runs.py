"""What a training leaves behind, damaged at random or to do harm, and what reads it."""

import contextlib
import json
import os
import pickle
import shutil

import numpy as np
from gymnasium.error import Error as GymnasiumError
from stable_baselines3.common.callbacks import BaseCallback

from rbgym.agents.judge import episodes
from rbgym.agents.policies import load
from rbgym.agents.train import train

SMALL = {"n_envs": 2, "n_steps": 32, "batch_size": 32, "n_epochs": 1, "normalize": True}
SMALL |= {"policy_kwargs": {"net_arch": [4]}}


class InterruptAt(BaseCallback):
    """What Ctrl-C does, at a chosen step."""

    def __init__(self, step):
        super().__init__()
        self.step = step

    def _on_step(self):
        if self.num_timesteps >= self.step:
            raise KeyboardInterrupt
        return True


def trained(out, **others):
    usual = {"timesteps": 256, "changes": SMALL, "checkpoint_every": 64, "evaluate_every": 0}
    return train("RigidTop-v0", "ppo", out=out, progress=False, **(usual | others))


def make_runs(folder):
    """Runs of each kind: done, and interrupted."""
    trained(folder / "done", evaluate_every=256)
    with contextlib.suppress(KeyboardInterrupt):
        trained(folder / "cut", callbacks=[InterruptAt(200)])
    return folder


def judged(folder):
    """Read the policy and let it act once in the env that it says it is for."""
    env_id, (one,) = episodes.contenders([str(folder)])
    episodes.readable_in(env_id, one.env_kwargs)
    shape = load(folder).observation_space.shape
    actions, _ = one.policy.predict(np.zeros((2, *shape), np.float32))
    assert np.isfinite(actions).all()


# Run, file of it, and what reads the file.
READ = [("done", "policy.json", judged), ("done", "policy.safetensors", judged),
        ("done", "results.json", trained), ("done", "config.json", trained),
        ("cut", "checkpoint.zip", trained)]  # fmt: skip


def damaged(content, name, draw):
    """The content of a file of this name after something has happened to it."""
    if name.endswith(".json") and draw.random() < 0.5:
        return twisted(content.decode(), draw).encode()
    return draw.choice(DAMAGES)(content, draw)


def attack(runs, run, name, read, draw, work):
    """Read a damaged file: it is read, or refused with a clear error, and left as it is.

    Returns whether it was refused.
    """
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(runs / run, work)
    file = work / name
    content = damaged(file.read_bytes(), name, draw)
    file.write_bytes(content)
    why = ""
    try:
        read(work)
    except (ValueError, OSError, GymnasiumError) as error:
        why = str(error) or "nothing is said"
    assert why != "nothing is said"
    assert not why or file.read_bytes() == content
    assert not list(work.rglob("*.tmp"))
    return bool(why)


def cut(content, draw):
    """The file as far as it was written."""
    return content[: draw.randrange(len(content))]


def flipped(content, draw):
    """One to eight bits are others."""
    changed = bytearray(content)
    for _ in range(draw.randint(1, 8)):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def zeroed(content, draw):
    """A block of zeros, as after a crash of the machine."""
    first = draw.randrange(len(content))
    return content[:first] + bytes(len(content[first : first + 512])) + content[first + 512 :]


def spliced(content, draw):
    """A piece of the file stands at another place of it."""
    piece = content[draw.randrange(len(content)) :][: draw.randint(1, 64)]
    first = draw.randrange(len(content))
    return content[:first] + piece + content[first + draw.randint(0, 64) :]


def noise(content, draw):
    return draw.randbytes(draw.randint(0, 300))


DAMAGES = (cut, flipped, zeroed, spliced, noise)

# What stands in a value's place: other types, numbers out of range, depth, and names.
OTHERS = [None, True, -1, 0, 1.5, 10**40, 1e308, float("nan"), float("inf"), "", "nan", "x" * 5000]
OTHERS += [[], {}, [[]], {"a": 1}, [1, 2], [None], "os.system", "../../x", "Sequential", "Lambda"]


def deep(levels=100_000):
    """JSON of so many lists, each in the one before."""
    return "[" * levels + "]" * levels


def twisted(text, draw):
    """A JSON document, one value of which is another."""
    content = json.loads(text)
    place = content
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = draw.choice(keys)
        inner = place[key]
        if not (isinstance(inner, dict | list) and inner and draw.random() < 0.7):
            break
        place = inner
    if isinstance(place, dict) and draw.random() < 0.2:
        del place[key]
    else:
        place[key] = draw.choice(OTHERS)
    return json.dumps(content)


class Payload:
    """Makes a file where it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.open, (self.path, os.O_CREAT | os.O_WRONLY)


def payload(path):
    """A pickle which makes a file when it is loaded."""
    return pickle.dumps(Payload(path))
