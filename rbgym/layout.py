"""Where a number lives in the batch: one flat buffer of blocks, (block, row, lane).

Eight bodies share a block, so that a row of a block is one wide register. The engine works in
principal axes throughout.
"""

LANES = 8

# The dynamic state; a scheme's own memory belongs to it too.
E = 0  # 1: level of the total energy [J]
ROTOR = 1  # 3: rotor momentum, principal axes [kg m^2/s]
PHASE = 4  # 1: of a potential that moves, in turns, from -1/2 to 1/2
Q = 5  # 4: attitude, principal axes to world
L = 9  # 3: angular momentum, world axes [kg m^2/s], rotors included
STATE = 12

# Left to whoever steps the batch, beside the state so that both are copied in one piece; see
# rbgym.envs.layout.
TASK = 12  # 64

# The body and what acts on it.
J = 76  # 3: principal moments [kg m^2]
J_INV = 79  # 3: their reciprocals
FRAME = 82  # 4: quaternion from principal axes to the user's body frame
TORQUE = 86  # 3: held torque, principal axes [N m]
COMMAND = 89  # 3: the command that it follows from, clipped, body axes
SCALE = 92  # 3: torque per unit of command, body axes [N m]
DISTURBANCE = 95  # 3: torque beside the commanded one, body axes [N m]

# What the solver says of the lane.
CORRECTION = 98  # 1: largest squared angle of the energy projection so far [rad^2]
REDONE = 99  # 1: how many steps needed the robust solver
FAILED = 100  # 1: 1.0 when a step could not be solved

# The step that is being solved.
PI_0 = 101  # 3: body momentum at its start
O_0 = 104  # 3: the potential's direction in the body at its start
X = 107  # 3: the unknowns
X_SIZE = 110  # 1: square of the predictor's size
SOLVED = 111  # 1: 1.0 once the last correction is round-off

POTENTIAL = 112  # 6: parameters of the potential
FRESH = 118  # 1: 1.0 until the first step under the torque
MEMORY = 119  # what the scheme keeps between steps
