"""Policies by evolution, and the compiled episodes that they are tried on."""
