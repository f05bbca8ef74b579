"""The parts of a task: records whose methods are compiled into its kernel.

They work in the user's body frame: q (w, x, y, z) body to world, omega [rad/s] in body axes. `rows`
is the task's `rbgym.envs.rows.TaskRows`: it gives the place of every number of the lane at i in the
buffer, and access to `rows.physics` and the other `rows.parts`.
"""
