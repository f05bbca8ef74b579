"""What the engine asks of an actuator: how the commands of a body become torque.

`Direct` is all that the engine has of its own; the others are in `rbgym.envs.actuators`. Commands
are numbers in [-1, 1], one for each channel, held for a control period; a step of the integrator is
a part of it. The rows of an actuator begin at `physics.actuator_row()`, with the commands.
"""

from typing import Any, NamedTuple

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import Record, constant, known, place, required
from rbgym.quaternion import add, times
from rbgym.rows import FRESH, LANES, TORQUE, put_vector, vector


class Layout(NamedTuple):
    """Where rows of an actuator begin, see `Actuator`."""

    command: int
    disturbance: int
    rotor_rate: int
    own: int


class Actuator(Record):
    """Commands of one control period become torque.

    Rows, from `physics.actuator_row()` on: the commands, clipped, one a channel; the disturbance, a
    torque beside the commanded one in body axes [N m], where the actuator says that there is one;
    then its own.
    """

    @required
    def channels(self):
        """Number of commands, at most eight; known while compiling."""

    @required
    def is_disturbed(self):
        """Whether a torque acts beside the commanded one; known while compiling."""

    is_steady = constant(False, "Whether the torque is the same in all steps of a period.")
    turns_rotors = constant(False, "Whether rotor momentum changes, at `rotor_rate_row`.")
    has_limits = constant(
        False,
        "Whether its own rows begin with the torque of a full command about each body axis [N m].",
    )

    @required
    def hold(self, physics, buffer, i):
        """Take the commands in the rows as those of a new period."""

    def drive(self, physics, buffer, i, start, h, dt):
        """Set what acts in the step of h seconds from `start` seconds into a period of dt on."""

    def settle(self, physics, buffer, i, h, dt):
        """Book the step of h seconds that was taken, in a period of dt."""

    def more_energy(self, physics, buffer, i):
        """Energy [J] of the system beside that of the body's rotation and of its potential."""
        return 0.0

    def rebuild(self, physics, buffer, i):
        """Give the lane the inertia that its body has at the beginning of an episode. An actuator
        which changes that, here or later, defines this: by it others know."""

    def begin(self, physics, buffer, i, placed, given, mass, u, v, w):
        """Begin an episode: nothing is under way. placed: the state rows were set and stay. given:
        so do those of its parameters that are not NaN. mass: factor of the body's mass. u, v, w:
        four, eight and four uniform numbers."""

    def strike(self, physics, buffer, i, seed, episode):
        """Draw what fails in the episode that begins, and when."""

    def present(self, physics, buffer, i):
        """Write the rows that are shown, unless they are always there."""

    shown_rows = constant(0, "Number of rows that observations show.")

    @known
    def shown_row(self, physics):
        """The first of them."""
        return self.own_row(physics)

    def state_row(self, physics):
        """The first of the rows of what moves beside the attitude: they stand first of its own."""
        return self.own_row(physics)

    # Where its rows are, counted from the first of the lane.
    @known
    def layout(self, physics):
        """Where the rows that every actuator has begin, and its own behind them."""
        command = physics.actuator_row()
        disturbance = command + self.channels()
        rotor_rate = disturbance + (3 if self.is_disturbed() else 0)
        return Layout(
            command, disturbance, rotor_rate, rotor_rate + (3 if self.turns_rotors() else 0)
        )

    command_row = place("layout", "command")
    disturbance_row = place("layout", "disturbance")
    rotor_rate_row = place(
        "layout",
        "rotor_rate",
        "3 rows, if it turns rotors: the torque on them, principal axes [N m].",
    )
    own_row = place("layout", "own")

    def rows_needed(self, physics):
        """Number of all its rows; one that has rows of its own defines this."""
        return self.own_row(physics) - physics.actuator_row()


class Undisturbed(Record):
    """No torque acts beside the commanded one."""

    exists = constant(False)


class Disturbed(Record):
    """A torque acts beside the commanded one, set in the disturbance rows."""

    exists = constant(True)


class Direct(Actuator):
    """A torque about each body axis, at once: its own rows, torque of a full command [N m], times
    the command. Behind them comes this torque [N m], where it is not what `TORQUE` holds."""

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
        behind = 3 if self.applied_row(physics) == TORQUE else 6
        return self.own_row(physics) + behind - physics.actuator_row()

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
    """Hold this torque, body axes [N m], and the disturbance beside it."""
    actuator = physics.actuator
    if actuator.is_disturbed():
        torque = add(torque, vector(buffer, i, actuator.disturbance_row(physics)))
    put_vector(buffer, i, TORQUE, physics.frame.to_principal(physics, buffer, i, torque))
    if physics.scheme.memory_size() > 0:
        buffer[i + FRESH * LANES] = 1.0
