"""The actuator of the engine: a line that the commands pass through, and an effector at its end."""

from typing import TYPE_CHECKING, Any

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import Record, constant, known, places, required
from rbgym.engine.actuation import Actuator, act
from rbgym.quaternion import add, scale
from rbgym.rows import LANES, ROTOR, put_vector, vector

_ZERO = (0.0, 0.0, 0.0)


class Line(Record):
    """The line that a command passes through: a `LineStage` of each kind, and the disturbance, a
    class of `rbgym.engine.actuation`; and the flexible modes beside it."""

    pulses: Any
    delay: Any
    lag: Any
    mounting: Any
    disturbance: Any
    faults: Any
    modes: Any


class LineStage(Record):
    """Base of the stages of a line: pulses, delay, lag, mounting and faults; and of flexible modes.
    By itself it stands for an absent stage: a command acts at once and unchanged."""

    slots = constant(0, "Number of columns that it shows for each channel.")

    def rows_needed(self, physics):
        """Number of rows of its own; known while compiling."""
        return 0

    def integral(self, n, c, start, end, dt):
        """Integral of the signal of command n from start to end in its period of dt [s]."""
        return c * (end - start)

    def set_delay(self, physics, buffer, i, factor):
        """Set the delay of an episode: the nominal one times a factor."""

    def queue(self, physics, buffer, i):
        """Add the commands of a new period to the queue."""

    def signal(self, physics, buffer, i, n, start, h, dt):
        """Mean signal of command n in the step of h seconds that starts at `start` [s] in the
        period of dt seconds."""
        actuator = physics.actuator
        c = buffer[i + (actuator.command_row(physics) + n) * LANES]
        return actuator.line.pulses.integral(n, c, start, start + h, dt) / h

    def respond(self, buffer, k, c):
        """Advance the response at k by a step under the held signal c; returns its mean."""
        return c

    def mount(self, physics, buffer, i, given, v, w):
        """Draw the episode's parameters that were not given, and set the delay; v, w: eight and
        four uniform numbers."""
        physics.actuator.line.delay.set_delay(physics, buffer, i, 1.0)

    def gain(self, physics, buffer, i, n):
        """Factor of command n."""
        return 1.0

    differs_in_friction = constant(False, "Whether `friction_factor` differs from 1.")

    def friction_factor(self, physics, buffer, i):
        """Factor of the friction of bearings."""
        return 1.0

    def misalign(self, physics, buffer, i, v):
        """Rotate a vector of the effector, body axes, by the error of its mounting."""
        return v

    def strike(self, physics, buffer, i, seed, episode):
        """Draw the fault of the episode that begins, and its time."""

    def count_period(self, physics, buffer, i):
        """Count the control period that begins."""

    def apply_fault(self, physics, buffer, i, n, c):
        """The command n that the effector gets when c arrives."""
        return c

    exist = constant(False, "Whether there are flexible modes.")

    def swing(self, physics, buffer, i, h):
        """Move the modes for h seconds, before a step."""

    def swing_back(self, physics, buffer, i, h):
        """Move the modes for h seconds, in reverse order, after a step."""

    def straighten(self, physics, buffer, i):
        """Begin an episode without deflections."""

    def carry(self, physics, buffer, i, omega):
        """Set the momenta of the modes from their rates and the body's."""

    def mode_momentum(self, physics, buffer, i):
        """Momentum of the modes, principal axes [kg m^2/s]."""
        return _ZERO

    def mode_energy(self, physics, buffer, i):
        """Energy of the modes [J]."""
        return 0.0


class Driven(Actuator):
    """Base of the records of effectors.

    Rows, in this order: the torque of a full command, 3, if it has limits; the effector's rows, its
    state first; those of flexible modes; torque [N m], then force, on the body in the step, body
    axes, and their means over the period; rows of the mounting and of faults; columns of the
    observation, of the effector, the modes, the lag and the delay; the other rows of the delay.
    """

    if TYPE_CHECKING:
        line: Any  # each subclass has this field: a `Line`

    @required
    def exert(self, physics, buffer, i, c, h):
        """Act with the mean commands c, eight numbers, in the step of h seconds that begins; write
        torque and force on the body."""

    def book(self, physics, buffer, i, h):
        """Update the state after the step of h seconds."""

    effector_rows = constant(0, "Number of rows of the effector.")
    effector_shows = constant(0, "Number of columns that the effector shows.")
    acting_rows = constant(3, "Number of components of torque, and force, on the body.")

    def ready(self, physics, buffer, i, placed, mass, u):
        """Begin an episode: draw the state, or leave it if placed. mass: factor of the body's mass.
        u: four uniform numbers. J and J_INV are already the episode's."""

    def gather(self, physics, buffer, i):
        """Set the momentum of the rotors from the state, so that the two do not drift apart."""
        if self.line.modes.exist():
            put_vector(buffer, i, ROTOR, self.line.modes.mode_momentum(physics, buffer, i))

    def release(self, physics, buffer, i, omega):
        self.line.modes.carry(physics, buffer, i, omega)
        self.gather(physics, buffer, i)

    def more_energy(self, physics, buffer, i):
        return self.line.modes.mode_energy(physics, buffer, i)

    @known
    def turns_rotors(self):
        return self.line.modes.exist()

    @known
    def is_disturbed(self):
        return self.line.disturbance.exists()

    @known
    def driven_layout(self, physics):
        """First rows of its parts; last: the first row after them."""
        line = self.line
        effector = self.own_row(physics) + (3 if self.has_limits() else 0)
        modes = effector + self.effector_rows()
        acting = modes + line.modes.rows_needed(physics)
        applied = acting + self.acting_rows()
        mounting = applied + self.acting_rows()
        fault = mounting + line.mounting.rows_needed(physics)
        shown = fault + line.faults.rows_needed(physics)
        shown_modes = shown + self.effector_shows()
        lag = shown_modes + line.modes.slots()
        waiting = lag + line.lag.rows_needed(physics)
        last = waiting + line.delay.rows_needed(physics)
        return (
            effector, modes, acting, applied, mounting, fault, shown, shown_modes, lag, waiting,
            last,
        )  # fmt: skip

    (
        effector_row, modes_row, acting_row, applied_row, mounting_row, fault_row, shown_row,
        shown_modes_row, lag_row, queue_row, last_row,
    ) = places(driven_layout, 11)  # fmt: skip
    state_row = effector_row

    def rows_needed(self, physics):
        return self.last_row(physics) - physics.actuator_row()

    @known
    def shown_rows(self):
        count, line = self.channels(), self.line
        own = self.effector_shows() + line.modes.slots()
        return own + count * (line.lag.slots() + line.delay.slots())

    def hold(self, physics, buffer, i):
        put_vector(buffer, i, self.applied_row(physics), _ZERO)
        if self.acting_rows() > 3:
            put_vector(buffer, i, self.applied_row(physics) + 3, _ZERO)
        self.line.delay.queue(physics, buffer, i)
        self.line.faults.count_period(physics, buffer, i)

    def arriving(self, physics, buffer, i, n, start, h, dt):
        """Mean command n that reaches the effector in the step; 0.0 if it has no channel n."""
        if n >= self.channels():
            return 0.0
        c = self.line.delay.signal(physics, buffer, i, n, start, h, dt)
        c = self.line.lag.respond(buffer, i + (self.lag_row(physics) + n) * LANES, c)
        c = self.line.mounting.gain(physics, buffer, i, n) * c
        return self.line.faults.apply_fault(physics, buffer, i, n, c)

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
        self.line.modes.swing(physics, buffer, i, 0.5 * h)
        self.exert(physics, buffer, i, c, h)

    def settle(self, physics, buffer, i, h, dt):
        acting, mean = self.acting_row(physics), self.applied_row(physics)
        _add(buffer, i, mean, h / dt, acting)
        if self.acting_rows() > 3:
            _add(buffer, i, mean + 3, h / dt, acting + 3)
        self.book(physics, buffer, i, h)
        self.line.modes.swing_back(physics, buffer, i, 0.5 * h)

    def mounted(self, physics, buffer, i, v):
        """A vector of the effector, body axes, rotated by the error of its mounting."""
        return self.line.mounting.misalign(physics, buffer, i, v)

    def begin(self, physics, buffer, i, placed, given, mass, u, v, w):
        for row in range(self.acting_row(physics), self.mounting_row(physics)):
            buffer[i + row * LANES] = 0.0
        for row in range(self.fault_row(physics), self.last_row(physics)):
            buffer[i + row * LANES] = 0.0
        self.line.mounting.mount(physics, buffer, i, given, v, w)
        self.ready(physics, buffer, i, placed, mass, u)
        if not placed:
            self.line.modes.straighten(physics, buffer, i)

    def strike(self, physics, buffer, i, seed, episode):
        self.line.faults.strike(physics, buffer, i, seed, episode)


class Torquing(Driven):
    """Base of the records of effectors that give a torque from outside, alone or beside wheels."""

    channels = constant(3)

    @required
    def torque_of(self, physics, buffer, i, c, h):
        """Torque [N m], body axes, of three mean commands in the step of h seconds."""

    def show_in(self, physics, buffer, i, shown):
        """Write its columns of the observation from row `shown` on."""

    def exert(self, physics, buffer, i, c, h):
        torque = self.torque_of(physics, buffer, i, (c[0], c[1], c[2]), h)
        put_vector(buffer, i, self.acting_row(physics), torque)
        act(physics, buffer, i, torque)


@inlined
def _add(buffer, i, mean, share, acting):
    now = scale(share, vector(buffer, i, acting))
    put_vector(buffer, i, mean, add(vector(buffer, i, mean), now))
