"""Where a number lives in the batch: one flat buffer of blocks, (block, row, lane).

Eight bodies share a block, so that a row of a block is one wide register. The engine works in
principal axes throughout.
"""

LANES = 8

# The dynamic state; memory and actuator rows belong to it too.
E = 0  # 1: level of the energy of rotation and potential [J]
ROTOR = 1  # 3: rotor momentum, principal axes [kg m^2/s]
BEYOND = 4  # 6: what moves beside the attitude, see rbgym.envs.actuators
PHASE = 10  # 1: of a potential that moves, in turns, from -1/2 to 1/2
Q = 11  # 4: attitude, principal axes to world
L = 15  # 3: angular momentum, world axes [kg m^2/s], rotors included
STATE = 18

# Left to whoever steps the batch, beside the state so that both are copied in one piece; see
# rbgym.envs.layout.
TASK = 18  # 67

# The body and what acts on it.
J = 85  # 3: principal moments [kg m^2]
J_INV = 88  # 3: their reciprocals
FRAME = 91  # 4: quaternion from principal axes to the user's body frame
TORQUE = 95  # 3: held torque, principal axes [N m]
COMMAND = 98  # 6: the commands that it follows from, clipped, as many as the actuator has channels
SCALE = 104  # 3: torque per unit of command, body axes [N m]
DISTURBANCE = 107  # 3: torque beside the commanded one, body axes [N m]
ROTOR_RATE = 110  # 3: torque on the rotors, principal axes [N m]

# What the solver says of the lane.
CORRECTION = 113  # 1: largest squared angle of the energy projection so far [rad^2]
REDONE = 114  # 1: how many steps needed the robust solver
FAILED = 115  # 1: 1.0 when a step could not be solved

# The step that is being solved.
PI_0 = 116  # 3: body momentum at its start
O_0 = 119  # 3: the potential's direction in the body at its start
X = 122  # 3: the unknowns
X_SIZE = 125  # 1: square of the predictor's size
SOLVED = 126  # 1: 1.0 once the last correction is round-off

POTENTIAL = 127  # 6: parameters of the potential
FRESH = 133  # 1: 1.0 until the first step under the torque
MEMORY = 134  # what the scheme keeps between steps; then what the actuator keeps
