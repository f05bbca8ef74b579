"""Rigid bodies: inertia tensor, principal frame, uniform solids and compounds of bodies.

Source: Mandre (2008), sections 3 and 7.1. SI units; vectors and tensors are in the body frame.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from importlib import import_module
from os import PathLike, fspath
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from rbgym.arguments import Array, finite, positives, quietly, unit
from rbgym.inertia import check_center, full_tensor, inertials, point_inertia, principal_axes
from rbgym.quaternion import from_matrix, normalized, to_matrix

_ORTHOGONAL = 1e-9  # how far a given matrix may be from an orthogonal one


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RigidBody:
    """Immutable rigid body: inertia about the origin of its body frame, mass, centre of mass.

    inertia: (3,) principal moments or (3, 3) symmetric tensor [kg m^2], about the pivot or centre
    of mass; mass [kg]; center_of_mass: (3,) from that same point [m]. Derived: `moments` (3,),
    `principal_rotation` B (3, 3) and its quaternion (4,), w >= 0, with
    inertia = B diag(moments) B^T, det B = +1. A diagonal tensor keeps its order and has B = 1, any
    other the B closest to 1. Raises ValueError if no mass distribution has these values.
    """

    inertia: Array
    mass: float
    center_of_mass: Array
    moments: Array = field(init=False)
    principal_rotation: Array = field(init=False)
    principal_quaternion: Array = field(init=False)

    def __init__(
        self, inertia: ArrayLike, mass: float = 1.0, center_of_mass: ArrayLike = (0.0, 0.0, 0.0)
    ) -> None:
        tensor = full_tensor(inertia)
        moments, rotation = principal_axes(tensor)
        mass = float(positives("mass", mass, ()))
        center = finite("center_of_mass", center_of_mass, (3,))
        check_center(tensor, mass, center)
        values = (tensor, mass, center, moments, rotation, from_matrix(rotation))
        for member, value in zip(fields(self), values, strict=True):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, member.name, value)

    @property
    def _key(self) -> tuple[float, ...]:
        return (self.mass, *self.inertia.ravel().tolist(), *self.center_of_mass.tolist())

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, RigidBody) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> tuple[Any, ...]:
        # Copied NumPy arrays are writeable; a new construction makes copies of the body immutable.
        return type(self), (self.inertia, self.mass, self.center_of_mass)

    def __repr__(self) -> str:
        diagonal = np.array_equal(self.inertia, np.diag(self.moments))
        shown = f"inertia={(self.moments if diagonal else self.inertia).tolist()}, mass={self.mass}"
        if np.any(self.center_of_mass):
            shown = f"{shown}, center_of_mass={self.center_of_mass.tolist()}"
        return f"RigidBody({shown})"

    @quietly
    def about(self, point: ArrayLike) -> Self:
        """The same body about another point (3,) of the body frame [m], with the same axes."""
        center = self.center_of_mass - finite("point", point, (3,))
        moved = point_inertia(center) - point_inertia(self.center_of_mass)
        return type(self)(self.inertia + self.mass * moved, self.mass, center)

    @quietly
    def gravity_moment(self, g: float = 9.81) -> float:
        """Largest moment of the weight about the reference point, m g |center_of_mass| [N m]."""
        moment = self.mass * finite("g", g, ()) * np.linalg.norm(self.center_of_mass)
        if not np.isfinite(moment):
            raise ValueError(f"g must give a finite moment, got {g!r}")
        return float(moment)

    # Uniform solids about their centre of mass, lengths in metres, z the axis of symmetry.

    @classmethod
    def box(cls, mass: float, size: ArrayLike) -> Self:
        """Box with full edge lengths size (3,)."""
        return cls._from_squares(mass, 1 / 12, positives("size", size, (3,)))

    @classmethod
    def ellipsoid(cls, mass: float, semi_axes: ArrayLike) -> Self:
        """Ellipsoid with semi-axes (3,)."""
        return cls._from_squares(mass, 1 / 5, positives("semi_axes", semi_axes, (3,)))

    @classmethod
    def sphere(cls, mass: float, radius: float) -> Self:
        """Ball."""
        return cls._from_squares(mass, 1 / 5, np.full(3, positives("radius", radius, ())))

    @classmethod
    @quietly
    def cylinder(cls, mass: float, radius: float, height: float) -> Self:
        """Cylinder."""
        r, h = positives("radius", radius, ()), positives("height", height, ())
        mass = float(positives("mass", mass, ()))
        across = mass * (3 * r**2 + h**2) / 12
        return cls(np.array([across, across, mass * r**2 / 2]), mass)

    @classmethod
    @quietly
    def cone(cls, mass: float, radius: float, height: float) -> Self:
        """Cone with its tip at z = -3/4 height and its base at z = +1/4 height."""
        r, h = positives("radius", radius, ()), positives("height", height, ())
        mass = float(positives("mass", mass, ()))
        across = 3 * mass * (4 * r**2 + h**2) / 80
        return cls(np.array([across, across, 3 * mass * r**2 / 10]), mass)

    @classmethod
    def rod(cls, mass: float, length: float, radius: float | None = None) -> Self:
        """Slender cylinder; radius None is length / 1000, 3e-6 above the ideal m length^2 / 12."""
        length = float(positives("length", length, ()))
        return cls.cylinder(mass, length / 1000 if radius is None else radius, length)

    @classmethod
    @quietly
    def cone_top(cls, radius: float, height: float, density: float) -> Self:
        """Cone on its tip, density [kg/m^3], centre on +z (Betsch and Siebert 2009, 5.2)."""
        r, h = positives("radius", radius, ()), positives("height", height, ())
        mass = positives("density", density, ()) * np.pi * r**2 * h / 3
        return cls.cone(float(mass), radius, height).about((0.0, 0.0, -3 * float(h) / 4))

    # Bodies from simulators' files, in the body frame of the file, about its origin.

    @classmethod
    def from_mjcf(cls, path: str | PathLike[str], body: str | None = None) -> Self:
        """A body of a MuJoCo model, with mass, centre and tensor from MuJoCo's compiler.

        body: its name; None if it is the only one. Does not include its child bodies, welded or
        not, unless the file sets `fusestatic`. Needs `rbgym[mujoco]`. Raises ValueError for a file
        that MuJoCo rejects, and unless exactly one body fits.
        """
        mujoco = _mujoco()
        try:
            model = mujoco.MjModel.from_xml_path(fspath(path))
        except (TypeError, ValueError) as error:
            raise ValueError(f"path must be a file for MuJoCo, got {path!r}: {error}") from None
        known = [model.body(k).name for k in range(1, model.nbody)]
        if known.count(body) != 1 and not (body is None and len(known) == 1):
            raise ValueError(f"body must name one of {known}, got {body!r}")
        k = 1 if body is None else 1 + known.index(body)
        try:
            principal = cls(model.body_inertia[k], model.body_mass[k])
        except ValueError as error:
            raise ValueError(f"body must have a mass, got {known[k - 1]!r}: {error}") from None
        return cls._weld([PlacedBody(principal, model.body_ipos[k], model.body_iquat[k])])

    @classmethod
    def from_urdf(cls, path: str | PathLike[str], link: str | None = None) -> Self:
        """A link of a URDF robot, with all links that fixed joints attach to it.

        link: its name; None if only one link remains after merging. Mass comes only from
        `<inertial>` elements: a link without one has no mass, whatever its geometry. Needs no
        MuJoCo. Raises ValueError for an invalid file or inertial, and unless exactly one link with
        a mass fits.
        """
        parts = []
        for one in inertials(path, link):
            try:
                parts.append(PlacedBody(cls(one.tensor, one.mass), one.position, one.rotation))
            except ValueError as error:
                raise ValueError(
                    f"path must have valid inertials, got {path!r}: link {one.link!r}: {error}"
                ) from None
        return cls._weld(parts)

    @classmethod
    def _weld(cls, parts: list["PlacedBody"]) -> Self:
        """The compound of these parts about the origin."""
        found = compound(parts, about=np.zeros(3))
        return cls(found.inertia, found.mass, found.center_of_mass)

    @classmethod
    @quietly
    def _from_squares(cls, mass: float, factor: float, lengths: Array) -> Self:
        a, b, c = lengths**2
        mass = float(positives("mass", mass, ()))
        return cls(factor * mass * np.array([b + c, c + a, a + b]), mass)


def _mujoco() -> Any:
    """The MuJoCo module; a ModuleNotFoundError says which version to install."""
    try:
        mujoco = import_module("mujoco")
        found = mujoco.__version__
    except ModuleNotFoundError:
        found = "none"
    if found == "none" or tuple(map(int, found.split(".")[:2])) < (3, 14):
        # Earlier versions lose rotations: 3.3 to 3.10 with fusestatic, up to 3.13 in URDF files.
        raise ModuleNotFoundError(
            f"from_mjcf needs MuJoCo 3.14 or later, got {found}: pip install 'rbgym[mujoco]'",
            name="mujoco",
        )
    return mujoco


class PlacedBody(NamedTuple):
    """A body in an assembly, with the position (3,) [m] of its origin and its rotation.

    rotation: body to assembly; None, a unit quaternion (4,), scalar first, or a rotation matrix
    (3, 3).
    """

    body: RigidBody
    position: ArrayLike = (0.0, 0.0, 0.0)
    rotation: ArrayLike | None = None


@quietly
def compound(parts: Iterable[tuple[Any, ...]], about: ArrayLike | None = None) -> RigidBody:
    """One body welded from parts, in the axes of the assembly (Mandre 2008, section 3).

    parts: each a `PlacedBody`, or a tuple (body, position, rotation). about: reference point (3,)
    of the result in the assembly frame [m]; None is the common centre of mass.
    Raises ValueError for no parts, and for an invalid position or rotation.
    """
    placed = _parts(parts)
    turns = [_rotation_matrix(part.rotation) for part in placed]
    masses = np.array([part.body.mass for part in placed])
    origins = np.array([finite("position", part.position, (3,)) for part in placed])
    arms = [turn @ part.body.center_of_mass for part, turn in zip(placed, turns, strict=True)]
    centers = origins + np.array(arms)
    center = masses @ centers / masses.sum()
    tensor = np.zeros((3, 3))
    for part, turn, r in zip(placed, turns, centers - center, strict=True):
        body = part.body
        own = body.inertia - body.mass * point_inertia(body.center_of_mass)
        tensor += turn @ own @ turn.T + body.mass * point_inertia(r)
    body = RigidBody((tensor + tensor.T) / 2, float(masses.sum()))
    return body if about is None else body.about(finite("about", about, (3,)) - center)


def _parts(given: Any) -> list[PlacedBody]:
    try:
        each = list(given)
    except TypeError:
        each = [given]
    for part in each:
        if not (isinstance(part, tuple) and 1 <= len(part) <= 3 and isinstance(part[0], RigidBody)):
            raise ValueError(f"parts must be tuples (body, position, rotation), got {part!r}")
    if not each:
        raise ValueError("parts must hold at least one body, got none")
    return [PlacedBody(*part) for part in each]


def _rotation_matrix(rotation: ArrayLike | None) -> Array:
    if rotation is None:
        return np.eye(3)
    array = finite("rotation", rotation, (4,), (3, 3))
    if array.ndim == 1:
        return to_matrix(normalized(unit("rotation", array)))
    if np.max(np.abs(array @ array.T - np.eye(3))) > _ORTHOGONAL or np.linalg.det(array) < 0:
        raise ValueError(f"rotation must be a proper rotation matrix, got {array.tolist()}")
    return array
