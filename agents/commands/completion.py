"""What the shell offers for a value: names from the catalogues, without any learning library.

Each function takes what has been typed of the value; Typer leaves out what does not begin with it.
"""

from importlib import resources
from pathlib import Path


def environments(incomplete: str) -> list[str]:
    """Ids of the registered environments."""
    from rbgym.registration import ENVIRONMENTS

    return list(ENVIRONMENTS)


def integrators(incomplete: str) -> list[str]:
    """Names of the schemes."""
    from rbgym import integrators

    return integrators.names()


def algorithms(incomplete: str) -> list[str]:
    """Names of the algorithms: of the files of their hyperparameters, which import nothing."""
    files = (resources.files("rbgym.agents") / "hyperparameters").iterdir()
    names = sorted(Path(file.name).stem for file in files)
    return [name for name in names if not name.startswith("rllib_")]


def engines(incomplete: str) -> list[str]:
    """Who trains."""
    from rbgym.agents.train.engines import ENGINES

    return list(ENGINES)


def policies(incomplete: str) -> list[str]:
    """Controllers, the package's policy, and the finished runs below the folder `runs`."""
    from rbgym.agents import controllers
    from rbgym.agents.judge.cases import PRETRAINED

    runs = sorted(str(file.parent) for file in Path("runs").glob("*/policy.json"))
    return [*controllers.names(), PRETRAINED, *runs]


def targets(incomplete: str) -> list[str]:
    """What `rbgym evaluate` takes: an environment, and policies."""
    return [*environments(incomplete), *policies(incomplete)]


def cases(incomplete: str) -> list[str]:
    """The potentials in which integrators are measured."""
    from rbgym.validation.cases import CASES

    return [case.kind for case in CASES]
