"""Matrices given as tuples of rows, against numpy; and the derivatives that are built of them."""

import math
from fractions import Fraction

import numpy as np
import pytest

from rbgym import matrix
from rbgym.integrators import bottasso, interface, krysl
from rbgym.integrators.akw import AKW
from rbgym.integrators.interface import Body, Step
from rbgym.integrators.quat_em import QuatEM
from rbgym.potentials import HeavyTop, NoPotential

RNG = np.random.default_rng(5)
A, B = RNG.standard_normal((2, 3, 3))
U, V, D, P = RNG.standard_normal((4, 3))


def skew(v):
    return np.cross(v, np.eye(3), axisb=0).T


def rows(M):
    return tuple(map(tuple, M))


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (matrix.plus(rows(A), rows(B)), A + B),
        (matrix.multiple(1.5, rows(A)), 1.5 * A),
        (matrix.crossed(tuple(V), rows(A)), skew(V) @ A),
        (matrix.product(rows(A), rows(B)), A @ B),
        (matrix.outer(tuple(U), tuple(V)), np.outer(U, V)),
        (matrix.skewed(1.5, tuple(V)), 1.5 * np.eye(3) + skew(V)),
        (matrix.with_diagonal(tuple(D), rows(A)), np.diag(D) + A),
        (
            matrix.turning(tuple(U), tuple(V), tuple(D), tuple(P)),
            np.diag(U) + skew(V) @ np.diag(D) - skew(P),
        ),
    ],
)
def test_kernels_are_the_matrices_they_are_named_for(result, expected):
    assert np.array(result) == pytest.approx(expected, abs=1e-15)


def test_solve_solves_three_linear_equations():
    assert matrix.solve(rows(A), tuple(V)) == pytest.approx(np.linalg.solve(A, V), rel=1e-12)


def newton(scheme, potential, step, x):
    """One correction: the new unknowns, and the relative size of the residual that it met."""
    moments = (6.0, 8.0, 3.0)
    body = Body(moments, tuple(1 / J for J in moments), (0.3, -0.2, 0.1))
    dx, F2, size2 = interface.correct(scheme, potential, body, step, x)
    return tuple(np.subtract(x, dx)), math.sqrt(F2 / size2)


@pytest.mark.parametrize(
    "scheme",
    [
        QuatEM(),
        AKW(),
        krysl.Trap(),
        krysl.Imid(),
        krysl.Trapm(),
        krysl.Imidm(),
        bottasso.SWC1(),
        bottasso.BBTrap(),
    ],
)
@pytest.mark.parametrize("potential", [NoPotential(), HeavyTop(40.0, (0.6, 0.0, 0.8))])
def test_corrections_square_the_residual(scheme, potential):
    """Which only the true derivative of the scheme's equation makes them do."""
    up = tuple(np.array([0.2, -0.5, 0.8]) / np.linalg.norm([0.2, -0.5, 0.8]))
    step = Step((1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (6.0, 16.0, 6.0), up, (3.0, 2.0, -4.0), 0.1)
    x = (0.0, 0.0, 0.0)
    for _ in range(8):
        x, _residual = newton(scheme, potential, step, x)
    assert newton(scheme, potential, step, x)[1] < 1e-15
    off = tuple(np.array(x) + 1e-4 * RNG.standard_normal(3))
    off, first = newton(scheme, potential, step, off)
    second = newton(scheme, potential, step, off)[1]
    assert first > 1e-5
    assert second < first**2


def test_factors_of_dexp_are_at_round_off():
    for t in np.linspace(0.05, 4.0, 80):
        y = Fraction(float(t) ** 2)
        terms = [(-y) ** n / math.factorial(2 * n + 2) for n in range(30)]
        b, c = sum(terms), sum(term / (2 * n + 3) for n, term in enumerate(terms))
        assert krysl.dexp_factors(float(y)) == pytest.approx((float(b), float(c)), rel=1e-14)
