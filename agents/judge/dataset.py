"""Data sets for offline learning, in the format of Minari: episodes as a policy plays them."""

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from rbgym.agents.judge.cases import TEST_SEEDS, task_of
from rbgym.agents.judge.contenders import contenders
from rbgym.agents.judge.episodes import Player
from rbgym.arguments import count
from rbgym.envs.reset import checked_seed

LANES = 256  # episodes that are played side by side, and kept in memory
_ROOT = "MINARI_DATASETS_PATH"  # where Minari writes, by its identifier


def record(
    env_id: str,
    policy: str,
    *,
    episodes: int,
    out: str | Path,
    seed: int = 0,
    unpickle: str | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """Write a Minari data set of whole episodes into the new folder `out`; its figures.

    policy: a controller's name, "pretrained" or a folder. Episode n has the seed seed + n, which
    its metadata tell; it is bit for bit what the single environment gives. The folder's name is
    the identifier of the data set, the folder above it what MINARI_DATASETS_PATH is to be.
    Raises ValueError for bad arguments, and where `out` is there; nothing is left then.
    """
    import minari

    path, total, first = Path(os.path.abspath(out)), count("episodes", episodes), checked_seed(seed)
    if path.exists():
        raise ValueError(f"out must be a folder that is not there yet, got {str(out)!r}")
    if first + total > TEST_SEEDS.start:
        raise ValueError(
            f"seed must be at most {TEST_SEEDS.start - total} for {total} episodes, got {seed!r}: "
            "the seeds beyond belong to the test set"
        )
    minari.dataset.minari_dataset.parse_dataset_id(path.name)  # raises ValueError for no name
    task_of(env_id)
    env_id, (one,) = contenders([policy], env_id, unpickle, env_kwargs)
    path.parent.mkdir(parents=True, exist_ok=True)
    made: Any = None
    before = os.environ.get(_ROOT)
    with (
        tempfile.TemporaryDirectory(dir=path.parent) as folder,
        closing(gym.make(env_id, **one.env_kwargs)) as env,
    ):
        os.environ[_ROOT] = folder
        try:
            for done in range(0, total, LANES):
                seeds = [*range(first + done, first + min(done + LANES, total))]
                buffers = [*_episodes(env_id, one, seeds)]
                if made is None:
                    with warnings.catch_warnings():  # of Minari, which asks for an author
                        warnings.simplefilter("ignore", UserWarning)
                        made = minari.create_dataset_from_buffers(
                            path.name, buffers, env, algorithm_name=one.name, requirements=["rbgym"]
                        )
                else:
                    made.update_dataset_from_buffer(buffers)
                progress(done + len(seeds), total)
        finally:
            os.environ.pop(_ROOT)
            if before is not None:
                os.environ[_ROOT] = before
        steps = int(made.total_steps)
        os.rename(Path(folder) / path.name, path)
    return {"episodes": total, "steps": steps, "first_seed": first}


def _episodes(env_id: str, one: Any, seeds: list[int]) -> Iterator[Any]:
    """The first episode of each seed, as Minari's buffers."""
    from minari.data_collector import EpisodeBuffer

    mode = AutoresetMode.DISABLED
    with closing(gym.make_vec(env_id, len(seeds), autoreset_mode=mode, **one.env_kwargs)) as env:
        player = Player(one.policy, env, seeds)
        seen: list[Any] = [player.observation]
        steps: list[tuple[NDArray[Any], ...]] = []
        lengths = np.zeros(len(seeds), np.int64)
        while not lengths.all():
            actions, rewards = player.step()
            seen.append(player.observation)
            steps.append((actions, rewards, *player.ended))
            lengths[player.start & (lengths == 0)] = len(steps)
            if player.start.any():  # such lanes go on, unrecorded
                player.observation, _ = env.reset(options={"reset_mask": player.start.copy()})
    acted = [np.stack(values) for values in zip(*steps, strict=True)]
    for lane, seed in enumerate(seeds):
        length = lengths[lane]
        actions, rewards, terminated, truncated = (x[:length, lane] for x in acted)
        yield EpisodeBuffer(
            seed=seed,
            observations=_of_lane(seen[: length + 1], lane),
            actions=actions.astype(np.float32),
            rewards=rewards,
            terminations=terminated,
            truncations=truncated,
        )


def _of_lane(seen: list[Any], lane: int) -> Any:
    """What one lane was shown, (instants, width); of a dict of goals, each part."""
    if isinstance(seen[0], dict):
        return {name: np.stack([one[name][lane] for one in seen]) for name in seen[0]}
    return np.stack([one[lane] for one in seen])
