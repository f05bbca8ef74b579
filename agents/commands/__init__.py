"""The commands of `rbgym`, a file for each kind, and the application that holds them."""
