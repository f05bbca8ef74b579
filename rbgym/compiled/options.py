"""The options with which everything is compiled."""

from typing import Any

# Contraction, reassociation and reciprocals change the last bit only, `nsz` the sign of a zero.
# `nnan` and `ninf` would let the compiler delete the tests that notice a state which is no longer
# finite.
FAST: Any = {
    "fastmath": {"contract", "reassoc", "arcp", "nsz"},
    "error_model": "numpy",
    "nogil": True,
}
OUTLINED: Any = {"error_model": "numpy", "nogil": True}
# What is inlined is never called: no time is spent on wrappers for Python and C.
INLINED: Any = {
    **FAST,
    "forceinline": True,
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
}
