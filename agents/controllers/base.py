"""What every classical controller shares: the interface of learned policies."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rbgym.agents.controllers.plant import Plant
from rbgym.arguments import count, real
from rbgym.quaternion import conjugate, multiply

Array = NDArray[np.float64]


class Controller:
    """Commands for observations; a subclass gives `commands`, or `act` where it has a memory.

    least: columns that an observation must have. must: what the error says of another one.
    """

    least = 0
    must = "have columns, got"

    @classmethod
    def for_env(cls, env: Any, **gains: Any) -> Self:
        """The controller for an env, single or vector. Raises ValueError where it does not fit."""
        plant = Plant(env)
        return cls(**cls.arguments(plant), **{**cls.usual_gains(plant), **gains})

    @classmethod
    def arguments(cls, plant: Plant) -> dict[str, Any]:
        """What the class takes of an env; ValueError, which says for which envs it is."""
        return {}

    @classmethod
    def usual_gains(cls, plant: Plant) -> dict[str, Any]:
        """Gains that suit an env better than the defaults of the class."""
        return {}

    def commands(self, rows: Array) -> Array:
        """Commands (n, channels) for observations (n, columns), without a memory."""
        raise NotImplementedError

    def act(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        """Commands (n, channels) for observations (n, columns), and the memory afterwards."""
        return self.commands(rows), None

    def fits(self, columns: int) -> bool:
        """Whether an observation may have so many columns."""
        return columns >= self.least

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.float32], Any]:
        """Actions for observations (n, columns) or (columns,), or for a dict of goals, and the
        memory for the next call, as Stable-Baselines3's models answer.

        state: the memory that the last call returned, None at first; most controllers have none.
        episode_start: (n,), where an episode begins and the memory with it. deterministic: plays
        no part, as there is no noise. Raises ValueError for an observation of another shape.
        """
        if isinstance(observation, dict):
            observation = relative(observation)
        seen = real("observation", observation)
        if seen.ndim not in (1, 2) or not self.fits(seen.shape[-1]):
            raise ValueError(f"observation must {self.must} {seen.shape}")
        if not np.isfinite(seen).all():
            raise ValueError(f"observation must be finite, got {observation!r}")
        commands, state = self.act(np.atleast_2d(seen), state, episode_start)
        actions = commands.astype(np.float32)
        return (actions if seen.ndim == 2 else actions[0]), state


def fresh(lanes: int, state: Any, episode_start: Any) -> NDArray[np.bool_]:
    """Which lanes begin, (lanes,): all of them without a memory."""
    if state is None:
        return np.ones(lanes, dtype=np.bool_)
    if episode_start is None:
        return np.zeros(lanes, dtype=np.bool_)
    begins = np.asarray(episode_start)
    if begins.dtype.kind != "b" or begins.shape not in ((), (1,), (lanes,)):
        raise ValueError(f"episode_start must be bools ({lanes},), got {episode_start!r}")
    return np.broadcast_to(begins, (lanes,))


def relative(goals: dict[str, Any]) -> Array:
    """The plain observation that goal-conditioned ones stand for."""
    if missing := {"observation", "desired_goal"} - set(goals):
        raise ValueError(f"observation must have {sorted(missing)}, got {sorted(map(str, goals))}")
    state = real("observation['observation']", goals["observation"])
    target = real("observation['desired_goal']", goals["desired_goal"])
    turned = multiply(conjugate(target), state[..., :4])
    return np.concatenate([turned, state[..., 4:]], axis=-1)


class Idle(Controller):
    """No torque, from as many commands as an env has."""

    def __init__(self, channels: int = 3) -> None:
        self.channels = count("channels", channels)

    @classmethod
    def arguments(cls, plant: Plant) -> dict[str, Any]:
        return {"channels": plant.channels}

    def commands(self, rows: Array) -> Array:
        return np.zeros((len(rows), self.channels))
