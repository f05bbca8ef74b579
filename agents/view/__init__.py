"""The interactive page of `rbgym view`: the world that it shows, the page, and its server."""
