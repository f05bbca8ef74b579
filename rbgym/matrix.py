"""Scalar kernels on 3 x 3 matrices, which are tuples of rows.

The derivatives of the schemes are sums of a few kinds of matrices, written out here entry by entry:
the compiler must not drop a product with zero, which could be NaN. [v]x is the matrix of the cross
product with v.
"""

from rbgym.compiled.jit import inlined
from rbgym.quaternion import Vector, add, cross, dot, scale, sub

Matrix = tuple[Vector, Vector, Vector]


@inlined
def _row_times(a: Vector, B: Matrix) -> Vector:
    return add(add(scale(a[0], B[0]), scale(a[1], B[1])), scale(a[2], B[2]))


@inlined
def plus(A: Matrix, B: Matrix) -> Matrix:
    return (add(A[0], B[0]), add(A[1], B[1]), add(A[2], B[2]))


@inlined
def multiple(s: float, A: Matrix) -> Matrix:
    return (scale(s, A[0]), scale(s, A[1]), scale(s, A[2]))


@inlined
def crossed(v: Vector, A: Matrix) -> Matrix:
    """[v]x A."""
    return (
        sub(scale(v[1], A[2]), scale(v[2], A[1])),
        sub(scale(v[2], A[0]), scale(v[0], A[2])),
        sub(scale(v[0], A[1]), scale(v[1], A[0])),
    )


@inlined
def outer(a: Vector, b: Vector) -> Matrix:
    """a b^T."""
    return (scale(a[0], b), scale(a[1], b), scale(a[2], b))


@inlined
def transposed(A: Matrix) -> Matrix:
    """A^T."""
    return (
        (A[0][0], A[1][0], A[2][0]),
        (A[0][1], A[1][1], A[2][1]),
        (A[0][2], A[1][2], A[2][2]),
    )


@inlined
def product(A: Matrix, B: Matrix) -> Matrix:
    """A B."""
    return (_row_times(A[0], B), _row_times(A[1], B), _row_times(A[2], B))


@inlined
def turning(d: Vector, x: Vector, D: Vector, P: Vector) -> Matrix:
    """diag(d) + [x]x diag(D) - [P]x; for d = D the derivative of P + x x P if dP = D dx."""
    return (
        (d[0], P[2] - x[2] * D[1], x[1] * D[2] - P[1]),
        (x[2] * D[0] - P[2], d[1], P[0] - x[0] * D[2]),
        (P[1] - x[1] * D[0], x[0] * D[1] - P[0], d[2]),
    )


@inlined
def skewed(s: float, v: Vector) -> Matrix:
    """s 1 + [v]x."""
    return ((s, -v[2], v[1]), (v[2], s, -v[0]), (-v[1], v[0], s))


@inlined
def with_diagonal(d: Vector, A: Matrix) -> Matrix:
    """diag(d) + A."""
    return (
        (d[0] + A[0][0], A[0][1], A[0][2]),
        (A[1][0], d[1] + A[1][1], A[1][2]),
        (A[2][0], A[2][1], d[2] + A[2][2]),
    )


@inlined
def solve(A: Matrix, b: Vector) -> Vector:
    """Solution x of A x = b."""
    c0, c1, c2 = cross(A[1], A[2]), cross(A[2], A[0]), cross(A[0], A[1])
    x = add(add(scale(b[0], c0), scale(b[1], c1)), scale(b[2], c2))
    return scale(1.0 / dot(A[0], c0), x)
