"""The parts that a task is made of, compiled into its kernel."""
