"""Rows of a task, in the part of the batch's buffer that the physics leaves free.

One buffer for both: with two, the compiler cannot rule out that they overlap, and gives up
vectorising.
"""

from rbgym.layout import BEYOND, PHASE, TASK, E

# Next to attitude and momentum, because `info` needs them together; of the terms only those that
# the reward has.
STREAK = TASK  # steps in a row that ended inside the success region
ERROR = TASK + 1  # square of 2 sin(angle / 2), the angle that the attitude is off
RATE_ERROR = TASK + 2  # square of the angular velocity that is off [rad^2/s^2]
TERMS = TASK + 3  # 8: weighted terms of the reward
# First of the rows that `info` needs: of a body that has but its attitude, and of any.
KEPT, KEPT_ALL = PHASE, E

ELAPSED = TASK + 11  # steps since the start
EPISODE = TASK + 12  # number of the lane's episode since its seed was given
SEED = TASK + 13  # 2: lower and upper 32 bits of the lane's seed
BEGUN = TASK + 15  # while an episode begins, where: one of these two; else 0.0
DRAWN, PLACED = 1.0, 2.0
REWARD = TASK + 16
TERMINATED = TASK + 17
TRUNCATED = TASK + 18
TARGET = TASK + 19  # 4: attitude to be reached, target frame to world
TARGET_RATE = TASK + 23  # 3: its angular velocity, target frame [rad/s]
LAST_COMMAND = TASK + 26  # 6: the commands before the present ones
LAST_POTENTIAL = TASK + 32  # of the shaping term
REFERENCE = TASK + 33  # 10: what the reference was drawn with
BIAS = TASK + 43  # 3: of the rate sensor, body axes [rad/s]
NOISE = TASK + 46  # key of the episode's noise, an integer below 2**53
OBSERVATION = TASK + 47  # 20 at most, the actuator's own not among them

# Among what moves beside the attitude.
POSITION, VELOCITY = BEYOND, BEYOND + 3  # 3 each: of the centre of mass, world axes [m, m/s]
TARGET_SPIN = BEYOND + 3  # of a body that scales [rad/s]
CONTACTS, TOUCHING = BEYOND + 4, BEYOND + 5  # with a wall so far; 1.0 while it lasts
