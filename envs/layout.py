"""Rows of a task, in the part of the batch's buffer that the physics leaves free.

One buffer for both: with two, the compiler cannot rule out that they overlap, and gives up
vectorising.
"""

from rbgym.layout import PHASE, TASK

# Next to attitude and momentum, because `info` needs them together.
STREAK = TASK  # steps in a row that ended inside the success region
TERMS = TASK + 1  # 4: named parts of the reward
KEPT, KEPT_ROWS = PHASE, TASK + 5 - PHASE

ELAPSED = TASK + 5  # steps since the start
EPISODE = TASK + 6  # number of the lane's episode since its seed was given
SEED = TASK + 7  # 2: lower and upper 32 bits of the lane's seed
BEGUN = TASK + 9  # 1.0 while an episode begins
REWARD = TASK + 10
TERMINATED = TASK + 11
TRUNCATED = TASK + 12
OBSERVATION = TASK + 13  # 16 at most
