"""The catalogue of integrators: the one place that says what each is, conserves and supports.

README and docs tables, tests, the validation suite, the command line and the environments all
iterate over it. To add a scheme, write it in its family's file or the nearest one, add its entry at
the end of that file, and add its name here.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rbgym.arguments import hint

if TYPE_CHECKING:
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
    "known",
    "names",
]

DEFAULT = "exact:4"
KICKED = ("exact:4", "exact:6")  # have coefficients of their own, so they are measured like schemes

# The schemes of each module. A module, and numba with it, is imported when a scheme of it is first
# used; the names need no import.
_SCHEMES = {
    "quat_em": ("quat_em", "scalable_em"),
    "cayley": ("akw", "akw_dg", "convected"),
    "krysl": (
        "trap", "imid", "trapm", "imidm",
        "forward_euler", "backward_euler", "forward_euler_m", "backward_euler_m",
    ),
    "bottasso": ("swc1", "bbtrap", "bbtrapwd"),
    "director": ("dir_em",),
    "moser_veselov": ("quat_vi", "pdmv"),
    "munthe_kaas": ("mkrk_rk4", "mkrk_gauss4"),
    "splitting": ("rrr", "exact"),
    "rkn4": ("rkn4",),
}  # fmt: skip
_MODULES = {name: module for module, names in _SCHEMES.items() for name in names}
_TYPES = {
    "Explicit": "interface", "Implicit": "interface", "Integrator": "interface",
    "Held": "rkn4", "Lagrange": "rkn4", "MuntheKaas": "munthe_kaas",
}  # fmt: skip


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Imports a class of the catalogue on first use."""
        if name not in _TYPES:
            raise AttributeError(f"module 'rbgym.integrators' has no attribute {name!r}")
        return getattr(import_module(f"rbgym.integrators.{_TYPES[name]}"), name)


def names() -> list[str]:
    """Names of all integrators, in the order of the catalogue; see also `compose`."""
    return list(_MODULES)


def known(name: str) -> tuple[str, int | None]:
    """Scheme and order of composition of a name: "akw" and None, or "imidm" and 4 for "imidm:4".

    Raises ValueError for an unknown name, with the closest known one.
    """
    base, colon, order = name.partition(":") if isinstance(name, str) else (name, "", "")
    if not isinstance(base, str) or base not in _MODULES:
        raise ValueError(
            f"integrator must be one of {names()}, a composition such as 'exact:4', or the "
            f"Integrator of your own scheme, got {name!r}{hint(base, [*names(), 'exact:4'])}"
        )
    if colon and not order.isdecimal():
        raise ValueError(f"integrator must end in an order, such as '{base}:4', got {name!r}")
    return base, int(order) if colon else None


def get(name: "str | Integrator", **options: Any) -> "Integrator":
    """The catalogue entry of a name such as "imidm", or of a composition such as "imidm:4".

    Returns an `Integrator` unchanged. options: fields of the scheme, if it has any, such as
    `get("rkn4", renormalise_every=100)` or `get("pdmv", order=4)`.

    Raises ValueError for an unknown name, with the closest known one, and for unknown options.
    """
    if not isinstance(name, str):
        from rbgym.integrators.interface import Integrator

        if isinstance(name, Integrator):
            return name.revised(**options)
    base, order = known(name)
    module = import_module(f"rbgym.integrators.{_MODULES[base]}")
    record: Integrator = next(entry for entry in module.INTEGRATORS if entry.name == base)
    record = record.revised(**options)
    try:
        return record if order is None else compose(record, order)
    except ValueError as error:
        raise ValueError(f"integrator {name!r}: {error}") from None


def supporting(feature: str, user: str, integrator: "str | Integrator") -> "Integrator":
    """The scheme; ValueError if it does not support the feature that `user`, in words, needs."""
    found = get(integrator)
    if feature not in found.supports:
        able = [name for name in names() if feature in get(name).supports]
        raise ValueError(
            f"integrator must support {feature!r} for {user}, got {found.name!r}, which supports "
            f"{found.supports}; it works with {able}"
        )
    return found


def compose(base: "str | Integrator", order: int) -> "Integrator":
    """The symmetric composition of a base scheme to order 4 or 6; same as `get("imidm:4")`.

    Raises ValueError if the base is not symmetric, is composed already, or has none of that order.
    """
    from rbgym.integrators import composition

    return composition.compose(get(base), order)
