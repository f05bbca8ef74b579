"""Quaternions and vectors: scalar kernels on tuples, and public functions on arrays.

Convention, here and everywhere: scalar first (w, x, y, z), unit length, body to world,
x_world = q x_body q*. q and -q are the same attitude.

Schemes and other compiled classes call those of `Vector`, a tuple (x, y, z) of any unit, and
`Quaternion`, a tuple (w, x, y, z); `rbgym.integrators.rotations.exponential` gives them the
quaternion of a rotation vector of up to 4 rad.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.arguments import quietly, real
from rbgym.compiled.jit import inlined

Array = NDArray[np.float64]
Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

# Coefficients of the series of cos x and sin(x)/x in x^2, highest power first.
_LAST, *_REST = (
    ((-1.0) ** n / math.factorial(2 * n), (-1.0) ** n / math.factorial(2 * n + 1))
    for n in range(9, -1, -1)
)
_TAYLOR = tuple(_REST)


@inlined
def dot(a: Vector, b: Vector) -> float:
    """Scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross(a: Vector, b: Vector) -> Vector:
    """Vector product a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inlined
def add(a: Vector, b: Vector) -> Vector:
    """a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@inlined
def sub(a: Vector, b: Vector) -> Vector:
    """a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@inlined
def scale(s: float, a: Vector) -> Vector:
    """s a."""
    return (s * a[0], s * a[1], s * a[2])


@inlined
def times(a: Vector, b: Vector) -> Vector:
    """Product by components: a diagonal matrix times a vector."""
    return (a[0] * b[0], a[1] * b[1], a[2] * b[2])


@inlined
def qmul(p: Quaternion, q: Quaternion) -> Quaternion:
    """p o q."""
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )


@inlined
def qconj(q: Quaternion) -> Quaternion:
    """(w, -x, -y, -z): the inverse of a unit quaternion."""
    return (q[0], -q[1], -q[2], -q[3])


@inlined
def qdot(p: Quaternion, q: Quaternion) -> float:
    """Scalar product of four components."""
    return p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3]


@inlined
def qscale(s: float, q: Quaternion) -> Quaternion:
    """s q."""
    return (s * q[0], s * q[1], s * q[2], s * q[3])


@inlined
def polished(q: Quaternion) -> Quaternion:
    """q at unit length, if its length is wrong only by round-off (one Newton step)."""
    return qscale(1.5 - 0.5 * qdot(q, q), q)


@inlined
def to_world(q: Quaternion, v: Vector) -> Vector:
    """R(q) v: a vector in body axes, seen in world axes. q: of unit length."""
    u = (q[1], q[2], q[3])
    t = cross(u, v)
    t = add(t, t)
    return add(add(v, scale(q[0], t)), cross(u, t))


@inlined
def to_body(q: Quaternion, v: Vector) -> Vector:
    """R(q)^T v: a vector in world axes, seen in body axes. q: of unit length."""
    u = (q[1], q[2], q[3])
    t = cross(v, u)
    t = add(t, t)
    return add(add(v, scale(q[0], t)), cross(t, u))


@inlined
def matrix_of(q: Quaternion) -> tuple[Vector, Vector, Vector]:
    """The rows of R(q)."""
    w, x, y, z = q
    return (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    )


@inlined
def even_odd(y: float) -> tuple[float, float]:
    """cos x and sin(x)/x for y = x^2 <= 1, to round-off, by series without a branch or a root."""
    c, s = _LAST
    for of_cos, of_sinc in _TAYLOR:
        c, s = c * y + of_cos, s * y + of_sinc
    return c, s


@inlined
def cos_sin(x: float) -> tuple[float, float]:
    """cos x and sin x for |x| <= 4, from x/4 by doubling the angle twice."""
    c, s = even_odd(x * x / 16.0)
    s = 0.25 * x * s
    c, s = 1.0 - 2.0 * s * s, 2.0 * s * c
    return 1.0 - 2.0 * s * s, 2.0 * s * c


@inlined
def upward(q: Quaternion) -> Vector:
    """R(q)^T (0, 0, 1): the world's z axis, seen from the body."""
    return (
        2.0 * (q[1] * q[3] - q[0] * q[2]),
        2.0 * (q[2] * q[3] + q[0] * q[1]),
        1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2]),
    )


@inlined
def canonical(q: Quaternion) -> Quaternion:
    """q or -q: the one whose first non-zero component is positive."""
    lead = q[3]
    lead = q[2] if q[2] != 0.0 else lead
    lead = q[1] if q[1] != 0.0 else lead
    lead = q[0] if q[0] != 0.0 else lead
    return qscale(1.0 if lead >= 0.0 else -1.0, q)


_LEAST = 1e-140
_LOCKED = 0.5e-7  # half of the distance [rad] from a pitch of +-pi/2, below which yaw is undefined


def _array(name: str, value: ArrayLike, last: int) -> Array:
    array = real(name, value)
    if array.shape[-1:] != (last,):
        raise ValueError(f"{name} must have shape (..., {last}), got shape {array.shape}")
    return array


def _pair(
    name: str, value: ArrayLike, last: int, other: str, second: ArrayLike, width: int
) -> tuple[Array, Array]:
    """Two arrays whose leading axes broadcast."""
    a, b = _array(name, value, last), _array(other, second, width)
    try:
        np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    except ValueError:
        raise ValueError(
            f"{name} and {other} must have leading axes that broadcast, got shapes "
            f"{a.shape} and {b.shape}"
        ) from None
    return a, b


def multiply(p: ArrayLike, q: ArrayLike) -> Array:
    """Quaternion product p o q; arrays (..., 4) that broadcast, result (..., 4)."""
    p, q = np.broadcast_arrays(*_pair("p", p, 4, "q", q, 4))
    components = qmul(tuple(np.moveaxis(p, -1, 0)), tuple(np.moveaxis(q, -1, 0)))
    return np.asarray(np.stack(components, axis=-1))


def conjugate(q: ArrayLike) -> Array:
    """Conjugate (w, -x, -y, -z); for a unit quaternion the inverse. Shape (..., 4)."""
    return np.asarray(_array("q", q, 4) * np.array([1.0, -1.0, -1.0, -1.0]))


def normalized(q: ArrayLike) -> Array:
    """q / |q|, shape (..., 4). Raises ValueError where q is zero."""
    q = _array("q", q, 4)
    largest = np.max(np.abs(q), axis=-1, keepdims=True)
    if not largest.all():
        raise ValueError(f"q must not be zero, got {q!r}")
    if not ((largest > _LEAST) & (largest < 1.0 / _LEAST)).all():
        q = q / largest  # its squares would over- or underflow
    return np.asarray(q / np.linalg.norm(q, axis=-1, keepdims=True))


def canonicalized(q: ArrayLike) -> Array:
    """q or -q with w > 0 (if w = 0: with its first non-zero component positive), (..., 4)."""
    q = _array("q", q, 4)
    first = np.argmax(q != 0.0, axis=-1)
    lead = np.take_along_axis(q, first[..., None], axis=-1)
    return np.asarray(np.where(lead < 0.0, -q, q))


def to_matrix(q: ArrayLike) -> Array:
    """Rotation matrix R(q), body to world, of unit quaternions (..., 4); result (..., 3, 3)."""
    rows = matrix_of(tuple(np.moveaxis(_array("q", q, 4), -1, 0)))
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def from_matrix(matrix: ArrayLike) -> Array:
    """Unit quaternions (..., 4) with w >= 0 of rotation matrices (..., 3, 3) (Shepperd 1978)."""
    m = real("matrix", matrix)
    if m.shape[-2:] != (3, 3):
        raise ValueError(f"matrix must have shape (..., 3, 3), got shape {m.shape}")
    off = np.abs(m @ np.swapaxes(m, -2, -1) - np.eye(3))
    if not (off < 1e-6).all() or (np.linalg.det(m) < 0.0).any():
        raise ValueError(f"matrix must be orthogonal with determinant 1, got {m.tolist()}")
    # 4 q q^T, whose row with the largest diagonal entry is q without cancellation.
    t, back = np.trace(m, axis1=-2, axis2=-1)[..., None, None], np.swapaxes(m, -2, -1)
    outer, skew = np.empty((*m.shape[:-2], 4, 4)), m - back
    outer[..., :1, :1] = 1 + t
    turn = np.stack([skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]], axis=-1)
    outer[..., 0, 1:] = outer[..., 1:, 0] = turn
    outer[..., 1:, 1:] = m + back + (1 - t) * np.eye(3)
    largest = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    rows = np.take_along_axis(outer, largest[..., None, None], axis=-2)
    return canonicalized(normalized(rows[..., 0, :]))


@quietly
def from_rotation_vector(rotation_vector: ArrayLike) -> Array:
    """Unit quaternions (..., 4) of rotation vectors (..., 3) [rad]; NaN if a length overflows."""
    v = _array("rotation_vector", rotation_vector, 3)
    half = 0.5 * np.linalg.norm(v, axis=-1, keepdims=True)
    far = np.sin(half) / np.maximum(half, 8.0)  # of many turns, of which `sinc` loses digits
    sinc = np.where(half < 8.0, np.sinc(half / np.pi), far)
    return np.concatenate([np.cos(half), 0.5 * v * sinc], axis=-1)


def from_roll_pitch_yaw(angles: ArrayLike) -> Array:
    """Unit quaternions (..., 4), w >= 0, of roll, pitch and yaw (..., 3) [rad].

    Turns about the fixed x, y and z axes, in that order: about the body's own z, y and x axes, yaw
    first. SciPy's `Rotation.from_euler("xyz", angles)`; the rpy of URDF.
    """
    half = 0.5 * _array("angles", angles, 3)
    about_x, about_y, about_z = (
        np.stack([np.cos(half[..., k]), *(np.sin(half[..., k]) * axis for axis in e)], axis=-1)
        for k, e in enumerate(np.eye(3))
    )
    return canonicalized(multiply(multiply(about_z, about_y), about_x))


def to_roll_pitch_yaw(q: ArrayLike) -> Array:
    """Roll, pitch and yaw (..., 3) [rad] of unit quaternions (..., 4), pitch in [-pi/2, pi/2].

    The inverse of `from_roll_pitch_yaw`. At a pitch of a quarter turn, where only the sum or the
    difference of roll and yaw is defined, yaw is 0, as in SciPy. Bernardes and Viollet (2022).
    """
    w, x, y, z = np.moveaxis(_array("q", q, 4), -1, 0)
    half_sum, half_difference = np.arctan2(x + z, w - y), np.arctan2(z - x, w + y)
    twice = np.arctan2(np.hypot(w + y, z - x), np.hypot(w - y, x + z))
    down, up = twice < _LOCKED, np.pi / 2.0 - twice < _LOCKED
    roll = np.where(up, -2.0 * half_difference, half_sum - half_difference)
    roll = np.where(down, 2.0 * half_sum, roll)
    yaw = np.where(down | up, 0.0, half_sum + half_difference)
    return np.stack([_wrap(roll), 2.0 * twice - np.pi / 2.0, _wrap(yaw)], axis=-1)


def _wrap(angle: Array) -> Array:
    """The angle [rad] between -pi and pi."""
    return np.asarray(angle - 2.0 * np.pi * np.round(angle / (2.0 * np.pi)))


def rotate(q: ArrayLike, v: ArrayLike) -> Array:
    """Body vectors v (..., 3) in world axes, R(q) v. q: (..., 4), of unit length, not checked."""
    q, v = _pair("q", q, 4, "v", v, 3)
    return _times_columns(np.swapaxes(to_matrix(q), -1, -2), v)


def rotate_inverse(q: ArrayLike, v: ArrayLike) -> Array:
    """World vectors v (..., 3) in body axes, R(q)^T v. q: (..., 4), of unit length, not checked."""
    q, v = _pair("q", q, 4, "v", v, 3)
    return _times_columns(to_matrix(q), v)


def _times_columns(m: Array, v: Array) -> Array:
    """m^T v. Written out so that the bits do not depend on how many vectors there are."""
    terms = (m[..., k, :] * v[..., k, None] for k in range(3))
    return np.asarray(sum(terms, start=np.zeros(3)))


def angle_between(p: ArrayLike, q: ArrayLike) -> Array:
    """Rotation angle [rad] in [0, pi] between attitudes p and q (..., 4), whatever their signs."""
    p, q = _pair("p", p, 4, "q", q, 4)
    d = multiply(conjugate(p), q)
    return np.asarray(2 * np.arctan2(np.linalg.norm(d[..., 1:], axis=-1), np.abs(d[..., 0])))
