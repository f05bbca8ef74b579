"""Runs and controllers by name, measured on the same cases."""

from collections.abc import Sequence
from pathlib import Path

from rbgym.agents import controllers
from rbgym.agents.controllers import Policy
from rbgym.agents.evaluation import Evaluation, evaluate
from rbgym.agents.run_folder import RunFolder
from rbgym.registration import ENVIRONMENTS


def compare(
    targets: Sequence[str], env_id: str | None = None, episodes: int = 256
) -> dict[str, Evaluation]:
    """Each target's evaluation, by its name.

    targets: folders of runs or names of controllers. env_id: None for that of the first run, with
    its arguments, or RigidTop-v0 without any run. Raises ValueError for what is neither.
    """
    folders = {name: RunFolder(Path(name)) for name in targets if name not in controllers.names()}
    for name, folder in folders.items():
        if not folder.path.is_dir():
            raise ValueError(
                f"target {name!r} is neither a folder nor one of the controllers "
                f"{controllers.names()}"
            )
    configs = [folder.read_config() for folder in folders.values()]
    env_kwargs = configs[0]["env_kwargs"] if configs and env_id is None else {}
    env_id = env_id or (configs[0]["env_id"] if configs else next(iter(ENVIRONMENTS)))
    policies = {name: _policy(name, folders.get(name)) for name in targets}
    return {n: evaluate(p, env_id, episodes, **env_kwargs) for n, p in policies.items()}


def _policy(name: str, folder: RunFolder | None) -> Policy | str:
    if folder is None:
        return name
    if folder.read_config().get("engine") == "rllib":
        from rbgym.agents.rllib import policy

        return policy.load_policy(folder)
    from rbgym.agents.training import load_policy

    return load_policy(folder)
