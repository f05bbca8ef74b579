"""Inertia tensors: validity, principal frame (Mandre 2008, sections 3, 7.1) and URDF files."""

from collections import Counter
from decimal import Decimal
from itertools import permutations
from os import PathLike, fspath
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import ArrayLike

from rbgym.arguments import Array, finite, quietly
from rbgym.quaternion import from_roll_pitch_yaw, to_matrix

_SLACK = 1e-12  # tolerance for round-off in a valid tensor, relative to its largest entry
_EQUAL = 1e-14  # moments with a smaller relative difference are equal
_TENSOR = ("ixx", "ixy", "ixz"), ("ixy", "iyy", "iyz"), ("ixz", "iyz", "izz")


def point_inertia(r: Array) -> Array:
    """Inertia (r.r) 1 - r r^T of a unit mass at r [m^2]."""
    return np.asarray(r @ r * np.eye(3) - np.outer(r, r))


def _diagonalised(tensor: Array) -> tuple[Array, Array]:
    """Principal moments (3,) and the diagonalising rotation B (3, 3) closest to 1."""
    if not np.any(tensor - np.diag(np.diag(tensor))):
        return np.diag(tensor).copy(), np.eye(3)
    values, vectors = np.linalg.eigh(tensor)
    tolerance = _EQUAL * np.max(np.abs(values))
    low, high = np.diff(values) <= tolerance
    if low and high:
        return np.diag(tensor).copy(), np.eye(3)
    if low or high:
        single = 2 if low else 0
        return _axisymmetric(values, single, vectors[:, single])
    orders = (list(order) for order in permutations(range(3)))
    order = max(orders, key=lambda order: float(np.abs(np.diag(vectors[:, order])).sum()))
    axes = vectors[:, order]
    # A positive diagonal gives the largest trace. It belongs to a rotation: no reflection has a
    # trace above 1, and one of the 24 right-handed choices is within 63 degrees of 1 (trace 1.9).
    return values[order], axes * np.where(np.diag(axes) < 0, -1.0, 1.0)


def _axisymmetric(values: Array, single: int, axis: Array) -> tuple[Array, Array]:
    """As `_diagonalised` for two equal moments, whose axes from eigh are arbitrary."""
    k = int(np.argmax(np.abs(axis)))
    axis = axis * np.sign(axis[k])
    e = np.eye(3)[k]
    # The smallest rotation that takes e to the axis; axis[k] >= 1/sqrt(3) keeps it regular.
    swing = np.outer(axis, e) - np.outer(e, axis)
    moments = np.full(3, np.delete(values, single).mean())
    moments[k] = values[single]
    return moments, np.eye(3) + swing + swing @ swing / (1 + axis[k])


def full_tensor(inertia: ArrayLike) -> Array:
    """Tensor (3, 3) of principal moments (3,) or of a symmetric tensor."""
    array = finite("inertia", inertia, (3,), (3, 3))
    if array.ndim == 1:
        return np.diag(array)
    if np.max(np.abs(array - array.T)) > _SLACK * np.max(np.abs(array)):
        raise ValueError(f"inertia must be a symmetric tensor, got {array.tolist()}")
    return array / 2 + array.T / 2


def principal_axes(tensor: Array) -> tuple[Array, Array]:
    """Principal moments (3,) and the diagonalising rotation B (3, 3) closest to 1; ValueError for
    moments that no mass distribution in three dimensions has."""
    moments, rotation = _diagonalised(tensor)
    low, middle, high = np.sort(moments)
    if low <= 0:
        raise ValueError(f"inertia must have positive principal moments, got {moments.tolist()}")
    excess = high - middle - low
    if excess > _SLACK * high:
        raise ValueError(
            "inertia must satisfy the triangle inequality, each principal moment at most the sum "
            f"of the other two, got principal moments {moments.tolist()}"
            + _nearest(tensor, moments, rotation, excess)
        )
    return moments, rotation


def _nearest(tensor: Array, moments: Array, rotation: Array, excess: float) -> str:
    """The end of the message if rounding alone may have broken the inequality: the nearest tensor
    that satisfies it. Each moment may be wrong by half a unit of its last digit."""
    digits = [Decimal(repr(entry)).normalize().as_tuple() for entry in tensor.ravel().tolist()]
    unit = 10.0 ** min(int(entry.exponent) for entry in digits if any(entry.digits))
    if excess > 1.5 * unit * (1.0 + 1e-6) or unit > 0.1 * moments.max():
        return ""
    near = moments + np.where(moments == moments.max(), -excess, excess) / 3.0
    diagonal = not np.any(tensor - np.diag(np.diag(tensor)))
    found = near if diagonal else rotation @ np.diag(near) @ rotation.T
    return f"; if they are rounded, the nearest valid inertia is {found.tolist()}"


@quietly
def check_center(tensor: Array, mass: float, center: Array) -> None:
    """Raise ValueError if the mass at `center` alone has more inertia than the body."""
    # The second moment of mass, integral r r^T dm, about the centre of mass is never negative.
    spread = np.trace(tensor) / 2 * np.eye(3) - tensor - mass * np.outer(center, center)
    far = not np.isfinite(spread).all()
    if np.any(center) and (far or np.linalg.eigvalsh(spread)[0] < -_SLACK * np.abs(tensor).max()):
        raise ValueError(
            f"center_of_mass must be within reach of inertia {tensor.tolist()} about the origin "
            f"and mass {mass}, got {center.tolist()}: no mass distribution has all three"
        )


class Inertial(NamedTuple):
    """Mass [kg] and tensor (3, 3) [kg m^2] about its centre of mass, which is at `position` (3,)
    [m]; `rotation` (3, 3) takes its axes to those of the link that it belongs to."""

    link: str
    mass: float
    tensor: Array
    position: Array
    rotation: Array


def inertials(path: str | PathLike[str], link: str | None) -> list[Inertial]:
    """Inertials of a link, None for the only one, and of all links that fixed joints attach to it.

    Raises ValueError for an invalid file, and if no such link has a mass.
    """
    try:
        own, fixed = _read(ElementTree.parse(fspath(path)).getroot())
        found: dict[str, list[Inertial]] = {}
        for one in own:
            base, placed = _attach(one, fixed)
            found.setdefault(base, []).append(placed)
    except (OSError, TypeError, ValueError, LookupError, ElementTree.ParseError) as error:
        raise ValueError(f"path must be a URDF file, got {path!r}: {error}") from None
    known = list(found)
    name = known[0] if link is None and len(known) == 1 else link
    if not isinstance(name, str) or name not in found:
        raise ValueError(f"link must name one of {known}, got {link!r}")
    return found[name]


def _read(robot: Element) -> tuple[list[Inertial], dict[str, Element]]:
    """All non-zero inertials, and the fixed joint by child link."""
    if robot.tag != "robot":
        raise ValueError(f"its root is <{robot.tag}>, not <robot>")
    links = [(_text(link, "name"), link.find("inertial")) for link in robot.findall("link")]
    joints = [(_text(joint.find("child"), "link"), joint) for joint in robot.findall("joint")]
    defined, children = (Counter(name for name, _ in pairs) for pairs in (links, joints))
    for name, times in (defined | children).items():
        if times > 1:
            raise ValueError(f"link {name!r} is defined, or is a joint's child, {times} times")
    own = [_inertial(name, element) for name, element in links if element is not None]
    fixed = {
        child: joint
        for child, joint in joints
        if joint.get("type") == "fixed" and _text(joint.find("parent"), "link") != "world"
    }
    return [one for one in own if one.mass or one.tensor.any()], fixed


def _attach(own: Inertial, fixed: dict[str, Element]) -> tuple[str, Inertial]:
    """The last link in its chain of fixed joints, and the inertial in the axes of that link."""
    p, R, passed = own.position, own.rotation, [own.link]
    while (joint := fixed.get(passed[-1])) is not None:
        offset, turn = _origin(joint)
        p, R = offset + turn @ p, turn @ R
        passed.append(_text(joint.find("parent"), "link"))
        if passed[-1] in passed[:-1]:
            raise ValueError(f"its fixed joints form a loop, {passed}")
    return passed[-1], own._replace(position=p, rotation=R)


def _inertial(link: str, element: Element) -> Inertial:
    where, inertia = f"inertial of link {link!r}", element.find("inertia")
    (mass,) = _numbers(element.find("mass"), "value", 1, where)
    tensor = [[_numbers(inertia, name, 1, where)[0] for name in row] for row in _TENSOR]
    return Inertial(link, float(mass), np.array(tensor), *_origin(element))


def _origin(element: Element) -> tuple[Array, Array]:
    """Position and rotation from the element's <origin>."""
    origin = element.find("origin")
    if origin is None:
        return np.zeros(3), np.eye(3)
    xyz, rpy = (_numbers(origin, name, 3, "origin", "0 0 0") for name in ("xyz", "rpy"))
    return xyz, to_matrix(from_roll_pitch_yaw(rpy))


def _numbers(
    element: Element | None, name: str, size: int, where: str, default: str | None = None
) -> Array:
    text = default if element is None else element.get(name, default)
    try:
        found = np.array((text or "").split(), dtype=np.float64)
    except ValueError:
        found = np.empty(0)
    if found.shape != (size,) or not np.isfinite(found).all():
        raise ValueError(f"{name} of the {where} must be {size} finite number(s), got {text!r}")
    return found


def _text(element: Element | None, name: str) -> str:
    text = None if element is None else element.get(name)
    if text is None:
        raise ValueError(f"a {'link or joint' if element is None else element.tag} has no {name!r}")
    return str(text)
