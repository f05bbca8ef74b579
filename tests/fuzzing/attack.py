"""Examples drawn for each target, the same ones every time."""

from collections.abc import Callable, Iterable
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from fuzzing import core, engine, environments, policies, tools
from fuzzing.contract import Target

PARTS: dict[str, Callable[[], list[Target]]] = {
    "physics": core.targets,
    "engine": engine.targets,
    "environments": environments.targets,
    "policies": policies.targets,
    "tools": tools.targets,
}


def attack(targets: Iterable[Target], examples: int) -> int:
    """Judge so many calls of each target, and return how many there were."""
    return sum(_attacked(target, number, examples) for number, target in enumerate(targets))


def _attacked(target: Target, number: int, examples: int) -> int:
    made = 0

    @seed(number)
    @settings(max_examples=examples, deadline=None, database=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(target.calls())
    def judge(call: tuple[dict[str, Any], list[str]]) -> None:
        nonlocal made
        made += 1
        target.judge(*call)

    judge()
    return made
