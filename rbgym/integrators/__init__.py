"""The catalogue of integrators: what each is, conserves and supports, stated once.

README and docs tables, tests, the validation suite, the command line and the environments all
iterate over it. Adding a scheme is one file, or one block in one, with its entry at the end; a new
file is named here.
"""

import difflib
from typing import Any

from rbgym.integrators import (
    bottasso,
    cayley,
    composition,
    director,
    krysl,
    moser_veselov,
    munthe_kaas,
    quat_em,
    rkn4,
    splitting,
)
from rbgym.integrators.interface import Explicit, Implicit, Integrator
from rbgym.integrators.munthe_kaas import MuntheKaas
from rbgym.integrators.rkn4 import Held, Lagrange

__all__ = [
    "DEFAULT",
    "KICKED",
    "Explicit",
    "Held",
    "Implicit",
    "Integrator",
    "Lagrange",
    "MuntheKaas",
    "compose",
    "get",
    "names",
]

DEFAULT = "exact:4"
KICKED = ("exact:4", "exact:6")  # compositions of their own coefficients, measured as schemes are

_FAMILIES = (
    quat_em,
    cayley,
    krysl,
    bottasso,
    director,
    moser_veselov,
    munthe_kaas,
    splitting,
    rkn4,
)
_CATALOGUE = {entry.name: entry for family in _FAMILIES for entry in family.INTEGRATORS}


def names() -> list[str]:
    """Names of all integrators, in the catalogue's order; see also `compose`."""
    return list(_CATALOGUE)


def get(name: str | Integrator, **options: Any) -> Integrator:
    """The record of one integrator: of a name, or of a composition such as "imidm:4".

    A record is returned as it is. options: fields of the scheme, where it has any, such as
    `get("rkn4", renormalise_every=100)` or `get("pdmv", order=4)`.

    Raises ValueError for an unknown name, suggesting the near ones, and for unknown options.
    """
    if isinstance(name, Integrator):
        return name.revised(**options)
    base, colon, order = name.partition(":") if isinstance(name, str) else (name, "", "")
    if not isinstance(base, str) or base not in _CATALOGUE:
        near = difflib.get_close_matches(str(base).lower(), names(), n=2)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise ValueError(f"integrator must be one of {names()}, got {name!r}{hint}")
    record: Integrator = _CATALOGUE[base].revised(**options)
    if not colon:
        return record
    if not order.isdecimal():
        raise ValueError(f"integrator must end in an order, as in '{base}:4', got {name!r}")
    return composition.compose(record, int(order))


def compose(base: str | Integrator, order: int) -> Integrator:
    """The symmetric composition of a base scheme to order 4 or 6; `get("imidm:4")` is the same.

    Raises ValueError if there is none.
    """
    return composition.compose(get(base), order)
