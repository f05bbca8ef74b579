"""Rows of the episode buffer, (block, row, lane) like the physics one beside it."""

ELAPSED = 0  # steps since the start
STREAK = 1  # steps in a row that ended inside the success region
DONE = 2  # 1.0 when the episode has ended
EPISODE = 3  # how many episodes this lane has begun
SEED = 4  # 2: lower and upper 32 bits of the lane's seed
REWARD = 6
TERMINATED = 7
TRUNCATED = 8
TERMS = 9  # 4: named parts of the reward
OBSERVATION = 13  # 16 at most
ROWS = 29
MOST_TERMS = 4
MOST_OBSERVATION = 16
