"""How faithful a motion is: drift of its invariants, order of convergence, symmetries.

Each is measured here once: `rbgym.validation` applies it to the catalogue of integrators, and
`rbgym.testing` to anybody's simulator.
"""
