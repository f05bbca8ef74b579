"""The memory layout: one flat buffer of blocks, (block, row, lane).

Bodies share a block, so a row of a block fills one wide register. All numbers are in one
buffer: with two, the compiler cannot exclude that they overlap, and does not vectorise. `i` is
always the index of a lane's first row in the buffer. The engine always works in principal axes.

Every body has the rows below. After them come the rows of the potential, scheme, actuator, frame
and task in use; `Physics` computes their places while compiling.
"""

from typing import Any

from rbgym.compiled.dual import unchanged
from rbgym.compiled.jit import MACHINE_CODE, inlined
from rbgym.compiled.record import Record, constant, known
from rbgym.quaternion import qconj, qmul, sub, times, to_body, to_world

# In a block. Machine code moves eight at once; Python would take eight times as long for one body.
LANES = 8 if MACHINE_CODE else 1

# The state.
E = 0  # 1: level of the rotational plus potential energy [J]
Q = 1  # 4: attitude, principal axes to world
L = 5  # 3: angular momentum with rotors, world axes [kg m^2/s]
ROTOR = 8  # 3: rotor momentum, principal axes [kg m^2/s]

# The body and what acts on it.
J = 11  # 3: principal moments [kg m^2]
J_INV = 14  # 3: their reciprocals
TORQUE = 17  # 3: held torque, principal axes [N m]
FRESH = 20  # 1: for schemes with memory: 1.0 until the first step under the torque

# The solver's report on the lane.
CORRECTION = 21  # 1: largest squared angle of energy projections and refused ones [rad^2]
REDONE = 22  # 1: how many steps needed the robust solver
FAILED = 23  # 1: 1.0 after a step that could not be solved, or WAITING
WAITING = 2.0  # until the thorough code finishes the period

# The current step; for schemes without unknowns what they prepare, then the new state. Between
# steps these rows are free: a task writes observations there.
SCRATCH = 24
PI_0 = 24  # 3: body momentum at its start
O_0 = 27  # 3: the potential's direction in the body at its start
X = 30  # 3: the unknowns
X_SIZE = 33  # 1: squared size of the prediction
SOLVED = 34  # 1: 1.0 once the last correction is round-off, -1.0 if the step must be redone
CORE = 35


class Physics(Record):
    """The records that a kernel is compiled for, and the places of their rows.

    scheme: `rbgym.integrators.interface.Scheme`. potential: `rbgym.potentials.Potential`. frame:
    `PrincipalFrame` or `TurnedFrame`. actuator: `rbgym.engine.actuation.Actuator`. rotors:
    `NoRotors` or `Rotors`.
    """

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
        """Number of rows; rows after these belong to the task."""
        return self.frame_row() + self.frame.row_count()


@inlined
def index(i: int) -> int:
    """The index i; tells the compiler that it does not count from the end of an array."""
    return i & 0xFFFFFFFFFF


@inlined
def vector(buffer, i, row):
    k = i + row * LANES
    return (buffer[k], buffer[k + LANES], buffer[k + 2 * LANES])


@unchanged
def parameter(buffer, k):
    """Number k of the buffer, which no step changes."""
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


# Most bodies have no rotors, so a class decides this, too.
class NoRotors(Record):
    """No body has rotors: nothing reads their rows, which are zero."""

    def rotor_momentum(self, buffer, i):
        """Momentum of the rotors, principal axes [kg m^2/s]."""
        return (0.0, 0.0, 0.0)


class Rotors(NoRotors):
    """Bodies may have rotors."""

    def rotor_momentum(self, buffer, i):
        return vector(buffer, i, ROTOR)


# The user sees the body frame; the engine works in principal axes.
class PrincipalFrame(Record):
    """The body frame is mostly that of the principal axes.

    One class stands for all bodies of a batch, so compiled code rotates only where it must.
    """

    is_principal = constant(True, "Whether the body frame is that of the principal axes.")
    row_count = constant(0, "Number of rows.")

    def to_principal(self, physics, buffer, i, v):
        """Components in principal axes of a body vector v."""
        return v

    def in_principal_axes(self, physics, buffer, i, q, omega):
        """Attitude and rates of the principal axes; q, omega: of the body frame."""
        return q, omega

    def in_body_frame(self, physics, buffer, i, q, omega):
        """Attitude and rates of the body frame; q, omega: of the principal axes."""
        return q, omega


class TurnedFrame(PrincipalFrame):
    """A rotation separates body frame and principal axes: the quaternion in the rows."""

    is_principal = constant(False)
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
