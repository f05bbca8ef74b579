"""What a picture shows of the past of an episode."""

import numpy as np

from rbgym.quaternion import Array


class Trail:
    """Points of one lane at the instants at which it was drawn, in one episode.

    points: (k, 3) [m, world]; rates: (k, 3) [rad/s, body]; turns: (wheels,) [rad], how far the
    wheels have been drawn to turn. A new episode, or an earlier time, begins anew; an instant that
    was drawn before adds nothing, so that the same picture can be had twice.
    """

    def __init__(self, longest: int = 240) -> None:
        self.longest = longest
        self._episode: tuple[float, ...] = ()
        self._time = -1.0
        self._points: list[Array] = []
        self._rates: list[Array] = []
        self.turns: Array = np.zeros(0)

    def record(
        self,
        episode: tuple[float, ...],
        time: float,
        point: Array,
        rate: Array,
        wheel_speed: Array | None = None,
    ) -> None:
        """Add an instant. episode: what tells it from others. wheel_speed: as drawn [rad/s]."""
        if episode != self._episode or time < self._time:
            self._points, self._rates, self.turns = [], [], np.zeros(0)
            self._episode, self._time = episode, -1.0
        if time == self._time:
            return
        if wheel_speed is not None:
            before = self.turns if len(self.turns) else np.zeros(len(wheel_speed))
            self.turns = before + wheel_speed * max(time - max(self._time, 0.0), 0.0)
        self._time = time
        self._points = [*self._points[1 - self.longest :], point.copy()]
        self._rates = [*self._rates[1 - self.longest :], rate.copy()]

    @property
    def points(self) -> Array:
        """(k, 3)."""
        return np.array(self._points).reshape(-1, 3)

    @property
    def rates(self) -> Array:
        """(k, 3)."""
        return np.array(self._rates).reshape(-1, 3)
