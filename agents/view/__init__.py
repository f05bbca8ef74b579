"""The interactive page of `rbgym view`: what is simulated, how it is shown, and the server."""
