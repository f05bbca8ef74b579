"""Hypothesis strategies for rigid bodies: attitudes, inertias, rates and momenta.

Ordinary values alternate with the ones that break code: half turns, q against -q, bodies on the
edge of the triangle inequality, starts on the separatrix. Needs hypothesis (`rbgym[test]`), which
nothing else of rbgym imports.
"""

from typing import Literal

import numpy as np
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from rbgym.arguments import positive
from rbgym.body import RigidBody
from rbgym.quaternion import Array, normalized, to_matrix

__all__ = ["angular_velocities", "attitudes", "inertias", "momenta"]

Form = Literal["principal", "full"]

_SEEDS = st.integers(0, 2**32 - 1)
_SIGNS = st.sampled_from([1.0, -1.0])
_TINY = (1e-3, 1e-6, 1e-9, 1e-12)
_UNIT_VECTORS = st.one_of(
    st.sampled_from([*np.eye(3), *-np.eye(3)]), _SEEDS.map(lambda seed: _on_sphere(seed, 3))
)


def _on_sphere(seed: int, dimension: int) -> Array:
    """A point of the unit sphere, uniform over the seeds."""
    return normalized_any(np.random.default_rng(seed).normal(size=dimension))


def normalized_any(vector: Array) -> Array:
    """v / |v| for one vector of any dimension."""
    return np.asarray(vector / np.linalg.norm(vector))


def _turned(angle: float, axis: Array, sign: float) -> Array:
    """Unit quaternion (4,) of a rotation about a unit axis, w exactly 0 at a half turn."""
    w = 0.0 if angle == np.pi else np.cos(angle / 2)
    return sign * normalized(np.array([w, *(np.sin(angle / 2) * axis)]))


def attitudes() -> st.SearchStrategy[Array]:
    """Unit quaternions (4,), scalar first, of both signs.

    Uniform over all rotations (Haar); or the identity, a half turn (w = 0), or within 1e-3 to
    1e-12 rad of either, about a coordinate axis or any other.
    """
    angles = [0.0, np.pi, *_TINY, *(np.pi - tiny for tiny in _TINY), np.pi / 2, 2 * np.pi / 3]
    edges = st.builds(_turned, st.sampled_from(angles), _UNIT_VECTORS, _SIGNS)
    return st.one_of(edges, _SEEDS.map(lambda seed: _on_sphere(seed, 4)))


def inertias(form: Form | None = None) -> st.SearchStrategy[Array]:
    """Inertias that a rigid body can have: positive moments, each at most the sum of the others.

    form: "principal" (3,) moments [kg m^2], "full" (3, 3) tensors in any axes, None both.
    Generic bodies, symmetric ones, rods, discs (one moment equal to the sum of the other two),
    balls and nearly balls, in any order of the axes, from 1e-3 to 1e3 kg m^2.

    Raises ValueError for another form.
    """
    if form is not None and not (isinstance(form, str) and form in ("principal", "full")):
        raise ValueError(f"form must be 'principal', 'full' or None, got {form!r}")
    principal = st.builds(
        _moments, _SPREADS, st.permutations(range(3)), st.floats(-3, 3).map(lambda e: 10.0**e)
    )
    full = st.builds(_in_axes, principal, attitudes())
    return {"principal": principal, "full": full, None: st.one_of(principal, full)}[form]


_SIZES = st.floats(0.1, 1.0)
# Second moments of mass (a, b, c) along the axes, none negative: J = (b + c, c + a, a + b) then
# satisfies the triangle inequality.
_SPREADS = st.one_of(
    st.tuples(_SIZES, _SIZES, _SIZES),
    _SIZES.map(lambda a: (a, a, a)),  # ball
    st.tuples(_SIZES, _SIZES).map(lambda s: (s[0], s[0], s[1])),  # symmetric
    st.tuples(_SIZES, st.sampled_from(_TINY[:3])).map(lambda s: (s[0], s[1], s[1])),  # rod
    st.tuples(_SIZES, _SIZES).map(lambda s: (s[0], s[1], 0.0)),  # disc
    st.tuples(_SIZES, st.sampled_from(_TINY)).map(lambda s: (s[0], s[0], s[0] * (1 + s[1]))),
)


def _moments(spread: tuple[float, float, float], order: list[int], scale: float) -> Array:
    a, b, c = spread
    return scale * np.array([b + c, c + a, a + b])[order]


def _in_axes(moments: Array, attitude: Array) -> Array:
    turn = to_matrix(attitude)
    tensor = turn @ np.diag(moments) @ turn.T
    return np.asarray((tensor + tensor.T) / 2)


def angular_velocities(
    inertia: ArrayLike | None = None, *, largest: float = 20.0
) -> st.SearchStrategy[Array]:
    """Angular velocities (3,) [rad/s, body axes] up to `largest`.

    In any direction, slow or fast; zero; along the principal axes and 1e-3 to 1e-12 beside them; of
    an asymmetric body also on its separatrix, where the motion takes forever to turn over.
    inertia: (3,) or (3, 3) [kg m^2]; None: the axes of the body frame count as the principal ones.

    Raises ValueError for an inertia that is none, or a `largest` that is not positive.
    """
    largest = positive("largest", largest)
    body = RigidBody(np.ones(3) if inertia is None else inertia)
    axes = list(body.principal_rotation.T)
    directions = [
        _UNIT_VECTORS,
        st.sampled_from(axes),
        st.builds(_beside, st.sampled_from(axes), _UNIT_VECTORS, st.sampled_from(_TINY)),
    ]
    separatrices = separatrix_directions(body)
    if separatrices:
        directions.append(st.sampled_from(separatrices))
    speeds = st.floats(largest * 1e-6, largest)
    moving = st.builds(lambda u, s, g: g * s * u, st.one_of(directions), speeds, _SIGNS)
    return st.one_of(st.just(np.zeros(3)), moving).map(np.copy)


def _beside(axis: Array, other: Array, tiny: float) -> Array:
    return normalized_any(axis + tiny * other)


def separatrix_directions(body: RigidBody) -> list[Array]:
    """Unit angular velocities (3,), body axes, of |L|^2 = 2 E J_middle; none if two moments agree.

    They fill two planes through the middle axis; three are given of each.
    """
    low, middle, high = np.argsort(body.moments)
    a, b, c = body.moments[[low, middle, high]]
    if b - a <= 1e-6 * c or c - b <= 1e-6 * c:
        return []
    found = []
    for along in (0.0, 0.5, -0.9):
        for side in (1.0, -1.0):
            omega = np.zeros(3)
            omega[low], omega[high] = np.sqrt(c * (c - b)), side * np.sqrt(a * (b - a))
            omega = np.sqrt(1 - along**2) * normalized_any(omega)
            omega[middle] = along
            found.append(body.principal_rotation @ omega)
    return found


def momenta(inertia: ArrayLike | None = None, *, largest: float = 20.0) -> st.SearchStrategy[Array]:
    """Angular momenta (3,) [kg m^2/s, body axes], J omega of `angular_velocities`.

    inertia: as there; None: a unit ball.
    """
    tensor = np.eye(3) if inertia is None else RigidBody(inertia).inertia
    return angular_velocities(inertia, largest=largest).map(lambda omega: tensor @ omega)
