"""An actuator of the engine: a line for the commands, and an effector at its end."""

from typing import TYPE_CHECKING, Any, NamedTuple

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import Record, constant, known, place, required
from rbgym.engine.actuation import Actuator
from rbgym.quaternion import add, scale
from rbgym.rows import LANES, put_vector, vector

_ZERO = (0.0, 0.0, 0.0)


class Line(Record):
    """What a command passes on its way: a `Stage` of each kind, and the disturbance, one of
    `rbgym.engine.actuation`."""

    pulses: Any
    delay: Any
    lag: Any
    mounting: Any
    disturbance: Any
    faults: Any


class Stage(Record):
    """Base of the stages of a line: pulses, delay, lag, mounting and faults. By itself it is any of
    them where there is none: a command acts at once, at its own strength, as it is."""

    slots = constant(0, "How many numbers of each channel are shown: what is on its way.")

    def rows_needed(self, physics):
        """Number of rows of its own; known while compiling."""
        return 0

    def integral(self, n, c, start, end, dt):
        """Integral of the signal of command n over a part of its period of dt seconds."""
        return c * (end - start)

    def set_delay(self, physics, buffer, i, factor):
        """Begin an episode with the delay times a factor."""

    def queue(self, physics, buffer, i):
        """Take the commands of a new period."""

    def signal(self, physics, buffer, i, n, start, h, dt):
        """Mean signal of command n in the step from `start` seconds into the period on."""
        actuator = physics.actuator
        c = buffer[i + (actuator.command_row(physics) + n) * LANES]
        return actuator.line.pulses.integral(n, c, start, start + h, dt) / h

    def respond(self, buffer, k, c):
        """Mean of the response at k to a signal held for a step; the response moves on."""
        return c

    def mount(self, physics, buffer, i, given, v, w):
        """Draw what was not given, and set the delay; v, w: eight and four uniform numbers."""
        physics.actuator.line.delay.set_delay(physics, buffer, i, 1.0)

    def gain(self, physics, buffer, i, n):
        """Factor of command n."""
        return 1.0

    differs_in_friction = constant(False, "Whether `rubbing` is to be asked.")

    def rubbing(self, physics, buffer, i):
        """Factor of the friction of bearings."""
        return 1.0

    def turned(self, physics, buffer, i, v):
        """A vector of the effector, in body axes, as it is really mounted."""
        return v

    def strike(self, physics, buffer, i, seed, episode):
        """Draw what fails in the episode that begins, and when."""

    def count_period(self, physics, buffer, i):
        """A control period begins."""

    def suffered(self, physics, buffer, i, n, c):
        """What the effector gets of the command n, of which c arrives."""
        return c


class DrivenLayout(NamedTuple):
    """Where own rows of a driven effector begin, see `Driven`; last: the first that is not its."""

    effector: int
    acting: int
    applied: int
    mounting: int
    fault: int
    shown: int
    lag: int
    waiting: int
    last: int


class Driven(Actuator):
    """Base of the records of effectors.

    Own rows: the torque of a full command, 3, if it has limits; the effector's, its state first;
    what acts on the body in the step, body axes, torque [N m] first, and its means of the period;
    those of the mounting and of faults; what is shown, of the effector, the lag and the delay; what
    else the delay has.
    """

    if TYPE_CHECKING:
        line: Any  # each subclass has this field: a `Line`

    @required
    def exert(self, physics, buffer, i, c, h):
        """Act with the mean commands c, eight numbers, in a step of h seconds; write what acts."""

    def book(self, physics, buffer, i, h):
        """Book the step of h seconds that was taken."""

    effector_rows = constant(0, "Number of rows of the effector.")
    effector_shows = constant(0, "Number of rows that the effector shows.")
    acting_rows = constant(3, "Number of components of torque, and force, on the body.")

    def ready(self, physics, buffer, i, placed, mass, u):
        """Begin an episode: draw or, if placed, leave the state. mass: factor of the body's mass.
        u: four uniform numbers. J and J_INV are those of the episode."""

    def torque_of(self, physics, buffer, i, c, h):
        """Torque [N m] in body axes of three mean commands, in the step of h seconds."""

    def show_in(self, physics, buffer, i, shown):
        """Write the rows that are shown, from row `shown` on."""

    @known
    def is_disturbed(self):
        return self.line.disturbance.exists()

    @known
    def driven_layout(self, physics):
        line = self.line
        effector = self.own_row(physics) + (3 if self.has_limits() else 0)
        acting = effector + self.effector_rows()
        applied = acting + self.acting_rows()
        mounting = applied + self.acting_rows()
        fault = mounting + line.mounting.rows_needed(physics)
        shown = fault + line.faults.rows_needed(physics)
        lag = shown + self.effector_shows()
        waiting = lag + line.lag.rows_needed(physics)
        last = waiting + line.delay.rows_needed(physics)
        return DrivenLayout(effector, acting, applied, mounting, fault, shown, lag, waiting, last)

    effector_row = place("driven_layout", "effector")
    state_row = place("driven_layout", "effector")
    acting_row = place("driven_layout", "acting")
    applied_row = place("driven_layout", "applied")
    mounting_row = place("driven_layout", "mounting")
    fault_row = place("driven_layout", "fault")
    shown_row = place("driven_layout", "shown")
    lag_row = place("driven_layout", "lag")
    queue_row = place("driven_layout", "waiting")
    last_row = place("driven_layout", "last", "The first row that is another's.")

    def rows_needed(self, physics):
        return self.last_row(physics) - physics.actuator_row()

    @known
    def shown_rows(self):
        count, line = self.channels(), self.line
        return self.effector_shows() + count * (line.lag.slots() + line.delay.slots())

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

    def begin(self, physics, buffer, i, placed, given, mass, u, v, w):
        for row in range(self.acting_row(physics), self.mounting_row(physics)):
            buffer[i + row * LANES] = 0.0
        for row in range(self.fault_row(physics), self.last_row(physics)):
            buffer[i + row * LANES] = 0.0
        self.line.mounting.mount(physics, buffer, i, given, v, w)
        self.ready(physics, buffer, i, placed, mass, u)

    def strike(self, physics, buffer, i, seed, episode):
        self.line.faults.strike(physics, buffer, i, seed, episode)


@inlined
def _add(buffer, i, mean, share, acting):
    now = scale(share, vector(buffer, i, acting))
    put_vector(buffer, i, mean, add(vector(buffer, i, mean), now))
