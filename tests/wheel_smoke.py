"""Check an installed wheel: nothing left out of it, and an env steps. `make wheel-test` runs it."""

import sys
import zipfile
from pathlib import Path

FOLDERS = {"rbgym": "rbgym", "envs": "rbgym/envs", "agents": "rbgym/agents"}


def files_of_the_tree(root: Path) -> set[str]:
    """Return the path inside the wheel of each file in the three folders."""
    return {
        f"{inside}/{path.relative_to(root / folder).as_posix()}"
        for folder, inside in FOLDERS.items()
        for path in (root / folder).rglob("*")
        if path.is_file() and is_source(path.relative_to(root))
    }


def is_source(path: Path) -> bool:
    """Return whether a file belongs to the product: no cache and no hidden file."""
    return not any(part == "__pycache__" or part.startswith(".") for part in path.parts)


def files_of_the_wheel(wheel: Path) -> set[str]:
    """Return the paths of the package's files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if name.startswith("rbgym/")}


def step_an_env() -> str:
    """Make RigidTop-v0 from the installed copy, take a step, and return where it was found."""
    import gymnasium as gym

    import rbgym
    import rbgym.envs

    for module in (rbgym, rbgym.envs):
        if "site-packages" not in str(module.__file__):
            raise SystemExit(f"{module.__name__} came from {module.__file__}, not from the wheel")
    env = gym.make("RigidTop-v0")
    env.reset(seed=0)
    observation, *_ = env.step(env.action_space.sample())
    if observation not in env.observation_space:
        raise SystemExit(f"RigidTop-v0 returned an observation outside its space: {observation}")
    env.close()
    return str(rbgym.__file__)


def main(wheel: Path, root: Path) -> None:
    """Compare the wheel with the tree it was built from, then use the installed copy."""
    packed, wanted = files_of_the_wheel(wheel), files_of_the_tree(root)
    for name in sorted(wanted - packed):
        print(f"not in the wheel, see [tool.setuptools] in pyproject.toml: {name}")
    for name in sorted(packed - wanted):
        print(f"in the wheel but not in the tree: {name}")
    if packed != wanted:
        raise SystemExit(1)
    print(f"{wheel.name}: {len(packed)} files, imported from {step_an_env()}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
