"""The interface of an actuator to the engine: how the commands of a body become torque.

The engine itself has only `Direct`; the others are in `rbgym.envs.actuators`. Commands are numbers
in [-1, 1], one for each channel, held for a control period of one or more steps of the integrator.
The rows of an actuator begin at `physics.actuator_row()`, with the commands.
"""

from typing import Any

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import Record, constant, known, places, required
from rbgym.quaternion import add, dot, times
from rbgym.rows import FRESH, LANES, TORQUE, put_vector, vector


class Actuator(Record):
    """Turns the commands of one control period into torque.

    Rows, from `physics.actuator_row()` on: the clipped commands, one a channel; if `is_disturbed`,
    the disturbance, a torque added to the commanded one, body axes [N m]; then the actuator's own
    rows, its state first.
    """

    @required
    def channels(self):
        """Number of commands, at most eight; a compile-time constant."""

    @required
    def is_disturbed(self):
        """Whether a disturbance adds to the commanded torque; a compile-time constant."""

    is_steady = constant(False, "Whether the torque is the same in all steps of a period.")
    turns_rotors = constant(False, "Whether it changes rotor momentum, at `rotor_rate_row`.")
    has_limits = constant(
        False,
        "Whether its own rows begin with the torque of a full command about each body axis [N m].",
    )

    @required
    def hold(self, physics, buffer, i):
        """Start a new period with the commands in the rows."""

    def drive(self, physics, buffer, i, start, h, dt):
        """Set the torque for the step of h seconds that begins `start` seconds into a period dt."""

    def settle(self, physics, buffer, i, h, dt):
        """Update the actuator's state after a step of h seconds in a period of dt."""

    def more_energy(self, physics, buffer, i):
        """Energy [J] in addition to the body's rotational energy and its potential."""
        return 0.0

    def held_square(self, physics, buffer, i):
        """Square of the momentum that rotors hold [kg m^2/s]."""
        h = physics.rotors.rotor_momentum(buffer, i)
        return dot(h, h)

    def rebuild(self, physics, buffer, i):
        """Give the lane the inertia that its body has when an episode begins. Every actuator that
        changes the inertia, here or later, defines this method: its presence tells the others."""

    def begin(self, physics, buffer, i, placed, given, mass, u, v, w):
        """Reset for a new episode. placed: whether the state rows are already set, and stay. given:
        parameters; those that are not NaN stay. mass: factor of the body's mass. u, v, w:
        four, eight and four uniform numbers."""

    def release(self, physics, buffer, i, omega):
        """Set what follows from its state and the body's rates, body frame: the momentum of its
        rotors, or the moments of a body that it scales."""

    def strike(self, physics, buffer, i, seed, episode):
        """Draw what fails in the new episode, and when."""

    def present(self, physics, buffer, i):
        """Write the rows that observations show, unless they are always up to date."""

    shown_rows = constant(0, "Number of rows that observations show.")

    @known
    def shown_row(self, physics):
        """First row that observations show."""
        return self.own_row(physics)

    def state_row(self, physics):
        """First row of the actuator's state, the first of its own rows."""
        return self.own_row(physics)

    # Its rows, counted from the first row of the lane.
    @known
    def layout(self, physics):
        """First rows of the parts that every actuator has, and of its own. rotor_rate: 3 rows if
        `turns_rotors`, the torque on the rotors, principal axes [N m]."""
        command = physics.actuator_row()
        disturbance = command + self.channels()
        rotor_rate = disturbance + (3 if self.is_disturbed() else 0)
        own = rotor_rate + (3 if self.turns_rotors() else 0)
        return command, disturbance, rotor_rate, own

    command_row, disturbance_row, rotor_rate_row, own_row = places(layout, 4)

    def rows_needed(self, physics):
        """Total number of rows; an actuator with rows of its own defines this."""
        return self.own_row(physics) - physics.actuator_row()


class Undisturbed(Record):
    """The commanded torque is the only one."""

    exists = constant(False)


class Disturbed(Record):
    """The torque in the disturbance rows adds to the commanded one."""

    exists = constant(True)


class Direct(Actuator):
    """Applies a torque about each body axis at once: the command times the torque of a full command
    [N m], its own first rows. The next rows are this torque [N m], unless `TORQUE` holds it."""

    disturbance: Any = Undisturbed()
    channels = constant(3)
    is_steady = constant(True)
    has_limits = constant(True)

    @known
    def is_disturbed(self):
        return self.disturbance.exists()

    @known
    def applied_row(self, physics):
        alone = physics.frame.is_principal() and not self.is_disturbed()
        return TORQUE if alone else self.own_row(physics) + 3

    def rows_needed(self, physics):
        own = 3 if self.applied_row(physics) == TORQUE else 6
        return self.own_row(physics) + own - physics.actuator_row()

    def hold(self, physics, buffer, i):
        full = vector(buffer, i, self.own_row(physics))
        torque = times(full, vector(buffer, i, self.command_row(physics)))
        if self.applied_row(physics) != TORQUE:
            put_vector(buffer, i, self.applied_row(physics), torque)
        act(physics, buffer, i, torque)

    def begin(self, physics, buffer, i, placed, given, mass, u, v, w):
        put_vector(buffer, i, self.applied_row(physics), (0.0, 0.0, 0.0))


@inlined
def act(physics, buffer, i, torque):
    """Hold this torque, body axes [N m], plus the disturbance."""
    actuator = physics.actuator
    if actuator.is_disturbed():
        torque = add(torque, vector(buffer, i, actuator.disturbance_row(physics)))
    put_vector(buffer, i, TORQUE, physics.frame.to_principal(physics, buffer, i, torque))
    if physics.scheme.memory_size() > 0:
        buffer[i + FRESH * LANES] = 1.0
