"""An actuator of the engine: a line for the commands, and an effector at its end."""

from typing import TYPE_CHECKING, Any

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import constant, required
from rbgym.engine.actuation import Actuator
from rbgym.quaternion import add, scale
from rbgym.rows import LANES, put_vector, vector

_ZERO = (0.0, 0.0, 0.0)


class Driven(Actuator):
    """Base of the records of effectors.

    Own rows: the torque of a full command, 3, if it has limits; the effector's, its state first;
    what acts on the body in the step, body axes, torque [N m] first, and its means of the period;
    those of the mounting and of faults; what is shown, of the effector, the lag and the delay; what
    else the delay has.
    """

    if TYPE_CHECKING:
        line: Any  # each subclass has this field: rbgym.envs.actuators.line.Line

    @required
    def exert(self, physics, buffer, i, c, h):
        """Act with the mean commands c, eight numbers, in the step of h seconds that begins; write
        what acts."""

    def book(self, physics, buffer, i, h):
        """Book the step of h seconds that was taken."""

    effector_rows = constant(0, "Number of rows of the effector.")
    effector_shows = constant(0, "Number of rows that the effector shows.")
    acting_rows = constant(3, "Number of components of torque, and force, on the body.")

    def ready(self, physics, buffer, i, placed, mass, u):
        """Begin an episode: draw or, if placed, leave the state. mass: factor of the body's mass.
        u: four uniform numbers. J and J_INV are those of the episode."""

    # --- of what can stand beside wheels ---

    def torque_of(self, physics, buffer, i, c, h):
        """Torque [N m] in body axes of three mean commands, in the step of h seconds."""

    def show_in(self, physics, buffer, i, shown):
        """Write the rows that are shown, from row `shown` on."""

    def is_disturbed(self):
        return self.line.disturbance.exists()

    # --- rows ---

    def effector_row(self, physics):
        return self.own_row(physics) + (3 if self.has_limits() else 0)

    def state_row(self, physics):
        return self.effector_row(physics)

    def acting_row(self, physics):
        return self.effector_row(physics) + self.effector_rows()

    def applied_row(self, physics):
        return self.acting_row(physics) + self.acting_rows()

    def mounting_row(self, physics):
        return self.applied_row(physics) + self.acting_rows()

    def fault_row(self, physics):
        return self.mounting_row(physics) + self.line.mounting.mounting_rows(self.channels())

    def shown_row(self, physics):
        return self.fault_row(physics) + self.line.faults.fault_rows()

    def lag_row(self, physics):
        return self.shown_row(physics) + self.effector_shows()

    def queue_row(self, physics):
        return self.lag_row(physics) + self.line.lag.lag_rows(self.channels())

    def own_rows(self):
        line, count = self.line, self.channels()
        shown = self.effector_shows() + line.lag.lag_rows(count) + line.delay.delay_rows(count)
        rows = 2 * self.acting_rows() + line.mounting.mounting_rows(count) + shown
        rows += line.faults.fault_rows() + self.effector_rows()
        return (3 if self.has_limits() else 0) + rows

    def shown_rows(self):
        count, line = self.channels(), self.line
        return self.effector_shows() + line.lag.lag_rows(count) + count * line.delay.slots()

    # --- a period ---

    def hold(self, physics, buffer, i):
        put_vector(buffer, i, self.applied_row(physics), _ZERO)
        if self.acting_rows() > 3:
            put_vector(buffer, i, self.applied_row(physics) + 3, _ZERO)
        self.line.delay.queue(physics, buffer, i)
        self.line.faults.count_period(physics, buffer, i)

    def arriving(self, physics, buffer, i, n, start, h, dt):
        """What the effector gets of command n, on average in the step; nothing of one that there is
        not."""
        if n >= self.channels():
            return 0.0
        c = self.line.delay.signal(physics, buffer, i, n, start, h, dt)
        c = self.line.lag.respond(buffer, i + (self.lag_row(physics) + n) * LANES, c)
        c = self.line.mounting.gain(physics, buffer, i, n) * c
        return self.line.faults.suffered(physics, buffer, i, n, c)

    def drive(self, physics, buffer, i, start, h, dt):
        c = (
            self.arriving(physics, buffer, i, 0, start, h, dt),
            self.arriving(physics, buffer, i, 1, start, h, dt),
            self.arriving(physics, buffer, i, 2, start, h, dt),
            self.arriving(physics, buffer, i, 3, start, h, dt),
            self.arriving(physics, buffer, i, 4, start, h, dt),
            self.arriving(physics, buffer, i, 5, start, h, dt),
            self.arriving(physics, buffer, i, 6, start, h, dt),
            self.arriving(physics, buffer, i, 7, start, h, dt),
        )
        self.exert(physics, buffer, i, c, h)

    def settle(self, physics, buffer, i, h, dt):
        acting, mean = self.acting_row(physics), self.applied_row(physics)
        _add(buffer, i, mean, h / dt, acting)
        if self.acting_rows() > 3:
            _add(buffer, i, mean + 3, h / dt, acting + 3)
        self.book(physics, buffer, i, h)

    def mounted(self, physics, buffer, i, v):
        """A vector of the effector, in body axes, as it is really mounted."""
        return self.line.mounting.turned(physics, buffer, i, v)

    # --- an episode ---

    def begin(self, physics, buffer, i, placed, mass, u, v, w):
        for row in range(self.acting_row(physics), self.own_row(physics) + self.own_rows()):
            buffer[i + row * LANES] = 0.0
        self.line.mounting.mount(physics, buffer, i, v, w)
        self.line.delay.set_delay(physics, buffer, i, self.line.mounting.delay_factor(w))
        self.ready(physics, buffer, i, placed, mass, u)

    def strike(self, physics, buffer, i, seed, episode):
        self.line.faults.strike(physics, buffer, i, seed, episode)


@inlined
def _add(buffer, i, mean, share, acting):
    now = scale(share, vector(buffer, i, acting))
    put_vector(buffer, i, mean, add(vector(buffer, i, mean), now))
