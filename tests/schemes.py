"""Which schemes tests compile: one or two of each kind. All others run as Python."""

import pytest

# What solves its equation, with a discrete gradient, with memory; by kicks, of stages.
COMPILED = ("quat_em", "akw_dg", "dir_em", "exact", "exact:4", "exact:6", "rkn4")


def each(names):
    """The names, those that are not to be compiled marked as interpreted."""
    return [
        name if name in COMPILED else pytest.param(name, marks=pytest.mark.interpreted)
        for name in names
    ]
