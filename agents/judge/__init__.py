"""What a policy or a controller is worth: test sets, evaluations, cards, videos and plots.

Public is what is listed here; each is imported when it is first used: `cases`, which checks names,
does without the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rbgym.agents.judge.card import Card, make_card
    from rbgym.agents.judge.evaluation import Evaluation, evaluate

__all__ = ["Card", "Evaluation", "evaluate", "make_card"]

_MODULES = {"card": ("Card", "make_card"), "evaluation": ("Evaluation", "evaluate")}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
