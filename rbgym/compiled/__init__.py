"""Compilation by numba: options, records with compiled methods, machine code on disk."""
