"""How many steps are due: simulated time runs as wall time does, times a factor."""

_MOST_LATE = 0.2  # s of wall time that are made up for; what is later than that is dropped


class Clock:
    """Turns wall time into steps of dt."""

    def __init__(self) -> None:
        self._last: float | None = None
        self._owed = 0.0

    def stop(self) -> None:
        """Time that passes from now on does not count, until steps are asked for again."""
        self._last, self._owed = None, 0.0

    def due(self, now: float, dt: float, speed: float) -> int:
        """Whole steps of dt [s] due at wall time `now` [s]; speed: simulated seconds a second."""
        passed = 0.0 if self._last is None else min(max(now - self._last, 0.0), _MOST_LATE)
        self._last = now
        self._owed += passed * speed
        steps = int(self._owed / dt)
        self._owed -= steps * dt
        return steps
