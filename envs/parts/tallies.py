"""What is counted in an episode."""

from rbgym.engine.rows import LANES
from rbgym.envs.parts import Part
from rbgym.quaternion import upward


class Tally(Part):
    """What is counted; as it stands, nothing. counted: names of its first rows, in `info`."""

    counted = ()

    def count(self, rows, buffer, i, q, begins):
        """Count what is to be seen at the attitude q, from zero where an episode begins."""


class NoTally(Tally):
    """Nothing is counted."""


class Contacts(Tally):
    """How often the body z axis came below a height above the horizontal, cosine of the tilt."""

    height: float
    counted = ("contacts",)

    def rows_needed(self, physics):
        return 2  # contacts so far; 1.0 while one lasts

    def count(self, rows, buffer, i, q, begins):
        k = i + rows.tally_row() * LANES
        before = 0.0 if begins else buffer[k + LANES]
        touching = 1.0 if upward(q)[2] < self.height else 0.0
        buffer[k] = (0.0 if begins else buffer[k]) + max(touching - before, 0.0)
        buffer[k + LANES] = touching
