"""The commands of `rbgym`, some of one kind to a file, and the application that holds them."""
