"""What an actuator asks of its effector, which makes torque of commands.

An effector is a `NamedTuple` class with bodies registered for the functions below.
"""

from typing import Any

from rbgym.compiled.jit import choice, otherwise

# Rows of every actuator, from its first row a on.
APPLIED = 0  # 6: mean torque [N m] and force [N] of the period, body axes
ACTING = 6  # 6: those of this step
PRIVATE = 22  # what the effector keeps for itself


@choice
def commands_of(effector: Any) -> int:
    """Number of commands; known while compiling."""
    raise NotImplementedError


@choice
def private_rows(effector: Any) -> int:
    """Number of rows that it keeps for itself; known while compiling."""
    raise NotImplementedError


@otherwise(private_rows)
def _(effector):
    return 0


@choice
def effector_shows(effector: Any) -> int:
    """Number of rows that it shows; known while compiling."""
    raise NotImplementedError


@otherwise(effector_shows)
def _(effector):
    return 0


@choice
def ready(
    effector: Any,
    spread: Any,
    frame: Any,
    buffer: Any,
    i: int,
    a: int,
    placed: bool,
    mass: float,
    u: Any,
) -> None:
    """Begin an episode: draw or, if placed, leave the BEYOND rows; mass: factor of the body's.

    u: four uniform numbers. J and J_INV are those of the episode.
    """
    raise NotImplementedError


@otherwise(ready)
def _(effector, spread, frame, buffer, i, a, placed, mass, u):
    return None


@choice
def exert(
    effector: Any, spread: Any, frame: Any, buffer: Any, i: int, a: int, c: Any, h: float
) -> None:
    """Act with the mean commands c, six numbers, in the step of h seconds that begins."""
    raise NotImplementedError


@choice
def book(effector: Any, spread: Any, frame: Any, buffer: Any, i: int, a: int, h: float) -> None:
    """Book the step that was taken."""
    raise NotImplementedError


@otherwise(book)
def _(effector, spread, frame, buffer, i, a, h):
    return None


@choice
def show(effector: Any, frame: Any, buffer: Any, i: int, k: int) -> None:
    """Write what is shown from the row at k on, each number within its bounds."""
    raise NotImplementedError


@otherwise(show)
def _(effector, frame, buffer, i, k):
    return None


@choice
def has_rotors(effector: Any) -> bool:
    """Whether it moves rotors, at the ROTOR_RATE rows; known while compiling."""
    raise NotImplementedError


@otherwise(has_rotors)
def _(effector):
    return False


@choice
def energy_of(effector: Any, buffer: Any, i: int, a: int) -> float:
    """Energy [J] of what moves beside the attitude."""
    raise NotImplementedError


@otherwise(energy_of)
def _(effector, buffer, i, a):
    return 0.0


@choice
def rebuild(actuator: Any, buffer: Any, i: int) -> None:
    """Give the lane the inertia that its body has at the beginning; of an actuator, or effector."""
    raise NotImplementedError


@otherwise(rebuild)
def _(actuator, buffer, i):
    return None
