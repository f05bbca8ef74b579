"""The state of an environment, read once for the pictures of all its lanes."""

from typing import Any, NamedTuple

from rbgym.envs.episodes import Episodes
from rbgym.quaternion import Array


class Reading(NamedTuple):
    """The state of all lanes at one instant: as hooks get it, with what `info` tells."""

    state: dict[str, Array]
    told: dict[str, Any]

    @classmethod
    def of(cls, episodes: Episodes) -> "Reading":
        snapshot = episodes.snapshot()
        names = ("attitude_error", "rate_error", "applied_torque", "is_success")
        return cls(episodes.state(), {name: snapshot[name] for name in names})
