"""What a task is made of: records whose methods are compiled into its kernel.

A part sees the user's body frame: q (w, x, y, z) body to world, omega [rad/s] in body axes. `rows`
is the task's `rbgym.envs.rows.TaskRows`: it knows where the numbers of the lane at i stand in the
buffer, and leads to `rows.physics` and the other `rows.parts`.
"""

from typing import Any, TypeVar

from rbgym.compiled.record import Record, missing_methods

P = TypeVar("P", bound="Part")


class Part(Record):
    """What all parts have."""

    def rows_needed(self, physics):
        """Number of rows of its own; known while compiling."""
        return 0

    def is_noisy(self):
        """Whether it takes numbers with the episode's key, `rows.noise_key`; known while compiling."""
        return False


def checked_part(argument: str, value: Any, kind: type[P]) -> P:
    """The part, or ValueError unless it is one of this kind with all its methods."""
    if not isinstance(value, kind):
        raise ValueError(f"{argument} must be a rbgym {kind.__name__}, got {value!r}")
    if missing := missing_methods(type(value)):
        raise ValueError(
            f"{argument} must be of a class with the methods {', '.join(missing)}, got {value!r}"
        )
    return value
