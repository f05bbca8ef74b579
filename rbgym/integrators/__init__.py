"""The catalogue of integrators: what each is, conserves and supports, stated once.

README and docs tables, tests, the validation suite, the command line and the environments all
iterate over it. Adding a scheme is one file, or one block in one, and one entry here.
"""

import difflib
from dataclasses import dataclass, field
from typing import Any

from rbgym.integrators import bottasso, krysl
from rbgym.integrators.akw import AKW
from rbgym.integrators.interface import memory_size
from rbgym.integrators.quat_em import QuatEM
from rbgym.integrators.rkn4 import RKN4

DEFAULT = "quat_em"


@dataclass(frozen=True)
class Integrator:
    """One scheme of the catalogue.

    conserves: for each potential ("none", "heavy_top") the invariants kept to round-off, out of
    "energy", "angular_momentum" (the world vector) and "vertical_momentum" (its component along
    gravity). Every scheme keeps the reported quaternion at unit length.
    supports: out of "potential", "torque" (held over the step), "rotors".
    """

    name: str
    title: str
    order: int
    symmetric: bool
    explicit: bool
    conserves: dict[str, tuple[str, ...]]
    source: str
    scheme: Any = field(repr=False)
    supports: tuple[str, ...] = ("potential", "torque", "rotors")

    @property
    def memory(self) -> int:
        """Number of values that a body carries besides attitude, momentum and energy level."""
        return memory_size(self.scheme)


_ALL = (
    Integrator(
        name="quat_em",
        title="quaternion energy-momentum",
        order=2,
        symmetric=True,
        explicit=False,
        conserves={
            "none": ("energy", "angular_momentum"),
            "heavy_top": ("energy", "vertical_momentum"),
        },
        source="Betsch & Siebert (2009), eq. (51)",
        scheme=QuatEM(),
    ),
    Integrator(
        name="akw",
        title="Austin-Krishnaprasad-Wang midpoint",
        order=2,
        symmetric=True,
        explicit=False,
        conserves={
            "none": ("energy", "angular_momentum"),
            "heavy_top": ("energy", "vertical_momentum"),
        },
        source="Krysl (2007), section 4, AKW",
        scheme=AKW(),
    ),
    Integrator(
        name="trap",
        title="trapezoidal",
        order=2,
        symmetric=True,
        explicit=False,
        conserves={"none": (), "heavy_top": ()},
        source="Krysl (2007), section 3.3, TRAP",
        scheme=krysl.Trap(),
    ),
    Integrator(
        name="imid",
        title="implicit midpoint",
        order=2,
        symmetric=True,
        explicit=False,
        conserves={"none": ("energy",), "heavy_top": ()},
        source="Krysl (2007), section 3.4, IMID",
        scheme=krysl.Imid(),
    ),
    Integrator(
        name="trapm",
        title="momentum-conserving trapezoidal",
        order=2,
        symmetric=True,
        explicit=False,
        conserves={"none": ("angular_momentum",), "heavy_top": ("vertical_momentum",)},
        source="Krysl (2007), section 3.6, TRAPM",
        scheme=krysl.Trapm(),
    ),
    Integrator(
        name="imidm",
        title="momentum-conserving implicit midpoint",
        order=2,
        symmetric=True,
        explicit=False,
        conserves={"none": ("angular_momentum",), "heavy_top": ("vertical_momentum",)},
        source="Krysl (2007), section 3.6, IMIDM",
        scheme=krysl.Imidm(),
    ),
    Integrator(
        name="forward_euler",
        title="forward Euler",
        order=1,
        symmetric=False,
        explicit=True,
        conserves={"none": (), "heavy_top": ()},
        source="Krysl (2007), eq. (11)",
        scheme=krysl.ForwardEuler(),
    ),
    Integrator(
        name="backward_euler",
        title="backward Euler",
        order=1,
        symmetric=False,
        explicit=False,
        conserves={"none": (), "heavy_top": ()},
        source="Krysl (2007), eq. (12)",
        scheme=krysl.BackwardEuler(),
    ),
    Integrator(
        name="forward_euler_m",
        title="momentum-conserving forward Euler",
        order=1,
        symmetric=False,
        explicit=True,
        conserves={"none": ("angular_momentum",), "heavy_top": ("vertical_momentum",)},
        source="Krysl (2007), eq. (18)",
        scheme=krysl.ForwardEulerM(),
    ),
    Integrator(
        name="backward_euler_m",
        title="momentum-conserving backward Euler",
        order=1,
        symmetric=False,
        explicit=False,
        conserves={"none": ("angular_momentum",), "heavy_top": ("vertical_momentum",)},
        source="Krysl (2007), eq. (19)",
        scheme=krysl.BackwardEulerM(),
    ),
    Integrator(
        name="swc1",
        title="Simo-Wong ALGO_C1",
        order=2,
        symmetric=True,
        explicit=False,
        conserves={"none": ("energy", "angular_momentum"), "heavy_top": ("vertical_momentum",)},
        source="Krysl (2007), section 4, SWC1",
        scheme=bottasso.SWC1(),
    ),
    Integrator(
        name="bbtrap",
        title="Bottasso-Borri trapezoidal, truncated",
        order=2,
        symmetric=True,
        explicit=False,
        conserves={"none": ("energy", "angular_momentum"), "heavy_top": ("vertical_momentum",)},
        source="Krysl (2007), section 4, BBTRAP",
        scheme=bottasso.BBTrap(),
    ),
    Integrator(
        name="bbtrapwd",
        title="Bottasso-Borri trapezoidal",
        order=2,
        symmetric=False,
        explicit=False,
        conserves={"none": ("angular_momentum",), "heavy_top": ("vertical_momentum",)},
        source="Krysl (2007), section 4, BBTRAPWD",
        scheme=bottasso.BBTrapWD(),
    ),
    Integrator(
        name="rkn4",
        title="quaternion Runge-Kutta-Nystroem",
        order=4,
        symmetric=False,
        explicit=True,
        conserves={"none": (), "heavy_top": ()},
        source="Mandre (2008), section 6",
        scheme=RKN4(),
    ),
)
_CATALOGUE = {entry.name: entry for entry in _ALL}


def names() -> list[str]:
    """Names of all integrators, in the catalogue's order."""
    return list(_CATALOGUE)


def get(name: str) -> Integrator:
    """The record of one integrator.

    Raises ValueError for an unknown name; the message suggests the near ones.
    """
    if not isinstance(name, str) or name not in _CATALOGUE:
        near = difflib.get_close_matches(str(name).lower(), names(), n=2, cutoff=0.4)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise ValueError(f"integrator must be one of {names()}, got {name!r}{hint}")
    return _CATALOGUE[name]
