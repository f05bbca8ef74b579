"""Which schemes tests compile. All others run as Python; `make test-long` validates machine code
of each kind, and `rbgym validate` that of all."""

import pytest

# What solves its equation with a discrete gradient; by kicks, of stages.
COMPILED = ("quat_em", "exact:4")
# And in `make test-long`: of other equations, with memory, of other orders.
OF_EACH_KIND = (*COMPILED, "akw_dg", "dir_em", "exact", "exact:6", "rkn4")


def each(names):
    """The names, those that are not to be compiled marked as interpreted."""
    return [
        name if name in COMPILED else pytest.param(name, marks=pytest.mark.interpreted)
        for name in names
    ]
