"""All that is attacked, by part of the package."""

from fuzzing import core, engine, environments, policies, tools

PARTS = {
    "physics": core.targets,
    "engine": engine.targets,
    "environments": environments.targets,
    "policies": policies.targets,
    "tools": tools.targets,
}


def attack(targets, examples):
    """Judge so many calls of each target, and return how many there were."""
    return sum(target.attack(examples, number) for number, target in enumerate(targets))
