"""Rows of a task, in the part of the batch's buffer that the physics leaves free.

One buffer for both: with two, the compiler cannot rule out that they overlap, and gives up
vectorising.
"""

from rbgym.layout import TASK

ELAPSED = TASK  # steps since the start
STREAK = TASK + 1  # steps in a row that ended inside the success region
DONE = TASK + 2  # 1.0 when the episode has ended
EPISODE = TASK + 3  # how many episodes this lane has begun
SEED = TASK + 4  # 2: lower and upper 32 bits of the lane's seed
TERMS = TASK + 6  # 4: named parts of the reward
KEPT = TASK + 10  # rows before this one are what `info` needs
REWARD = TASK + 10
TERMINATED = TASK + 11
TRUNCATED = TASK + 12
OBSERVATION = TASK + 13  # 16 at most
