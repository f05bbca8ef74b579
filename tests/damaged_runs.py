"""What a training and a search leave behind, damaged at random, and what reads it."""

import contextlib
import shutil

import numpy as np
from gymnasium.error import Error as GymnasiumError
from stable_baselines3.common.callbacks import BaseCallback

from damage import DAMAGES, twisted
from rbgym.agents.judge import contenders
from rbgym.agents.policies import load
from rbgym.agents.train import train
from rbgym.agents.train.evolution.evolving import evolve

SMALL = {"n_envs": 2, "n_steps": 32, "batch_size": 32, "n_epochs": 1, "normalize": True}
SMALL |= {"policy_kwargs": {"net_arch": [4]}}
EVOLVED = {"net_arch": [4], "generations": 2, "population": 4, "episodes": 1}


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


def evolved(out, **others):
    return evolve("RigidTop-v0", out=out, changes=EVOLVED, progress=False, **others)


def make_runs(folder):
    """Runs of each kind: done, interrupted, by evolution, and an evolution interrupted."""
    trained(folder / "done", evaluate_every=256)
    with contextlib.suppress(KeyboardInterrupt):
        trained(folder / "cut", callbacks=[InterruptAt(200)])
    evolved(folder / "evolved")
    shutil.copytree(folder / "evolved", folder / "evolving")
    for name in ("results.json", "policy.json"):
        (folder / "evolving" / name).unlink()
    return folder


def judged(folder):
    """Read the policy and let it act once in the env that it says it is for."""
    env_id, (one,) = contenders.contenders([str(folder)])
    contenders.observation_space(env_id, one.env_kwargs)
    shape = load(folder).observation_space.shape
    actions, _ = one.policy.predict(np.zeros((2, *shape), np.float32))
    assert np.isfinite(actions).all()


# Run, file of it, and what reads the file.
READ = [
    ("done", "policy.json", judged),
    ("done", "policy.safetensors", judged),
    ("evolved", "policy.json", judged),
    ("evolved", "policy.safetensors", judged),
    ("done", "results.json", trained),
    ("done", "config.json", trained),
    ("cut", "checkpoint.zip", trained),
    ("evolving", "search.pkl", evolved),
]


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
