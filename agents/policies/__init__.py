"""What plays: networks as plain arrays, trained policies and the files that hold them."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rbgym.agents.policies.trained import TrainedPolicy as TrainedPolicy


def __getattr__(name: str) -> Any:
    """The class `TrainedPolicy`, imported when it is first used: it needs rbgym[agents]."""
    if name != "TrainedPolicy":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rbgym.agents.policies.trained import TrainedPolicy

    return TrainedPolicy
