"""What a task is made of: records whose methods are compiled into its kernel.

They see the user's body frame: q (w, x, y, z) body to world, omega [rad/s] in body axes. `rows` is
the task's `rbgym.envs.rows.TaskRows`: it knows where the numbers of the lane at i stand in the
buffer, and leads to `rows.physics` and the other `rows.parts`.
"""
