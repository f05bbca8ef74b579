"""Where a number lives: one flat buffer of blocks, (block, row, lane), of eight bodies, so that a
row of a block is one wide register. With two buffers, the compiler cannot rule out that they
overlap, and vectorises nothing. `i` is where a lane's first row lies. The engine works in principal
axes.

The rows below are those of every body; behind them come those that scheme, potential, actuator and
task declare, at places that are worked out while compiling (`Physics`).
"""

from typing import Any

from rbgym.compiled.dual import unchanged
from rbgym.compiled.jit import inlined
from rbgym.compiled.record import Record, constant, known, required
from rbgym.quaternion import qconj, qmul, sub, times, to_body, to_world

LANES = 8  # of a block

# The state.
E = 0  # 1: level of the energy of rotation and potential [J]
Q = 1  # 4: attitude, principal axes to world
L = 5  # 3: angular momentum, world axes [kg m^2/s], rotors included
ROTOR = 8  # 3: rotor momentum, principal axes [kg m^2/s]

# The body and what acts on it.
J = 11  # 3: principal moments [kg m^2]
J_INV = 14  # 3: their reciprocals
TORQUE = 17  # 3: held torque, principal axes [N m]
FRESH = 20  # 1: of schemes with memory, 1.0 until the first step under the torque

# What the solver says of the lane.
CORRECTION = 21  # 1: largest squared angle of the energy projection so far [rad^2]
REDONE = 22  # 1: how many steps needed the robust solver
FAILED = 23  # 1: 1.0 when a step could not be solved, or WAITING
WAITING = 2.0  # until the thorough code finishes the period

# The step that is being solved; of schemes without unknowns what they prepare, then the new state.
# Between steps these rows are free: a task shows observations there.
SCRATCH = 24
PI_0 = 24  # 3: body momentum at its start
O_0 = 27  # 3: the potential's direction in the body at its start
X = 30  # 3: the unknowns
X_SIZE = 33  # 1: square of the predictor's size
SOLVED = 34  # 1: 1.0 once the last correction is round-off, -1.0 if the step is to be redone
CORE = 35


class Physics(Record):
    """What the kernels are compiled for: a `Scheme`, a `Potential`, a `Frame`, an `Actuator`,
    `NoRotors` or `Rotors`; and where their rows are: those of every body, of the potential, the
    memory of the scheme, those of the actuator and of the frame."""

    scheme: Any
    potential: Any
    frame: Any
    actuator: Any
    rotors: Any
    potential_row = constant(CORE)

    @known
    def memory_row(self):
        return CORE + self.potential.row_count()

    @known
    def actuator_row(self):
        return self.memory_row() + self.scheme.memory_size()

    @known
    def frame_row(self):
        return self.actuator_row() + self.actuator.rows_needed(self)

    @known
    def row_count(self):
        """Number of rows; what is behind them is the task's."""
        return self.frame_row() + self.frame.row_count()


@inlined
def index(i: int) -> int:
    """The index i, which the compiler now knows not to count from the end of an array."""
    return i & 0xFFFFFFFFFF


@inlined
def vector(buffer, i, row):
    k = i + row * LANES
    return (buffer[k], buffer[k + LANES], buffer[k + 2 * LANES])


@unchanged
def parameter(buffer, k):
    """Number k, one that no step changes."""
    return buffer[k]


@inlined
def parameters(buffer, i, row):
    """A vector that no step changes."""
    k = i + row * LANES
    return (parameter(buffer, k), parameter(buffer, k + LANES), parameter(buffer, k + 2 * LANES))


@inlined
def quaternion(buffer, i, row):
    k = i + row * LANES
    return (buffer[k], buffer[k + LANES], buffer[k + 2 * LANES], buffer[k + 3 * LANES])


@inlined
def put_vector(buffer, i, row, v):
    k = i + row * LANES
    buffer[k] = v[0]
    buffer[k + LANES] = v[1]
    buffer[k + 2 * LANES] = v[2]


@inlined
def put_quaternion(buffer, i, row, q):
    k = i + row * LANES
    buffer[k] = q[0]
    buffer[k + LANES] = q[1]
    buffer[k + 2 * LANES] = q[2]
    buffer[k + 3 * LANES] = q[3]


@inlined
def vector_if(test, a, b):
    return (a[0] if test else b[0], a[1] if test else b[1], a[2] if test else b[2])


@inlined
def quaternion_if(test, a, b):
    return (
        a[0] if test else b[0],
        a[1] if test else b[1],
        a[2] if test else b[2],
        a[3] if test else b[3],
    )


# Bodies mostly have no rotors; whether one has is known by class as well.
class NoRotors(Record):
    """No body has rotors; their rows, all zero, are not looked at."""

    exist = constant(False)
    used_from = constant(J, "The first row in use of those from ROTOR on.")

    def rotor_momentum(self, buffer, i):
        """Of the rotors, principal axes [kg m^2/s]."""
        return (0.0, 0.0, 0.0)


class Rotors(NoRotors):
    """Bodies may have rotors."""

    exist = constant(True)
    used_from = constant(ROTOR)

    def rotor_momentum(self, buffer, i):
        return vector(buffer, i, ROTOR)


# The body frame is the user's, beside the principal axes in which the engine works.
class Frame(Record):
    """How the body frame lies in the principal axes, mostly alike; known by class for all bodies of
    a batch, so that compiled code rotates nothing in vain."""

    is_principal = constant(False, "Whether it is that of the principal axes.")

    @required
    def row_count(self):
        """Number of rows."""

    @required
    def to_principal(self, physics, buffer, i, v):
        """Components in principal axes of a vector given in the body frame."""

    @required
    def in_principal_axes(self, physics, buffer, i, q, omega):
        """Attitude and rates of the principal axes, from those of the body frame."""

    @required
    def in_body_frame(self, physics, buffer, i, q, omega):
        """Attitude and rates of the body frame, from those of the principal axes."""


class Principal(Frame):
    """The body frame is that of the principal axes."""

    is_principal = constant(True)
    row_count = constant(0)

    def to_principal(self, physics, buffer, i, v):
        return v

    def in_principal_axes(self, physics, buffer, i, q, omega):
        return q, omega

    def in_body_frame(self, physics, buffer, i, q, omega):
        return q, omega


class Turned(Frame):
    """The body frame is turned against the principal axes, by a quaternion in its rows."""

    row_count = constant(4)

    def to_principal(self, physics, buffer, i, v):
        return to_body(quaternion(buffer, i, physics.frame_row()), v)

    def in_principal_axes(self, physics, buffer, i, q, omega):
        turn = quaternion(buffer, i, physics.frame_row())
        return qmul(q, turn), to_body(turn, omega)

    def in_body_frame(self, physics, buffer, i, q, omega):
        turn = quaternion(buffer, i, physics.frame_row())
        return qmul(q, qconj(turn)), to_world(turn, omega)


@inlined
def view(physics, buffer, i):
    """Attitude and angular velocity of one lane in the body frame."""
    q = quaternion(buffer, i, Q)
    Pi = to_body(q, vector(buffer, i, L))
    omega = times(parameters(buffer, i, J_INV), sub(Pi, physics.rotors.rotor_momentum(buffer, i)))
    return physics.frame.in_body_frame(physics, buffer, i, q, omega)
