"""Matrices given as tuples of rows, against numpy; and the derivatives that are built of them."""

import math
from fractions import Fraction

import numpy as np
import pytest

from rbgym import integrators, matrix
from rbgym.integrators import rotations
from rbgym.integrators.interface import Body, Kicks, Step
from rbgym.potentials import HeavyTop, NoPotential, Potential, SoftWall
from rbgym.potentials.gravity_gradient import Attraction
from rbgym.potentials.interface import OfBodyFrame
from textbook_quaternion import skew


class Cubic(Potential):
    """A potential as a user writes it: V = s (o_1^3 + o_2 o_3)."""

    s: float

    def energy(self, o):
        return self.s * (o[0] ** 3 + o[1] * o[2])

    def gradient(self, o):
        return (3.0 * self.s * o[0] ** 2, self.s * o[2], self.s * o[1])


RNG = np.random.default_rng(5)
A, B = RNG.standard_normal((2, 3, 3))
U, V, D, P = RNG.standard_normal((4, 3))


def rows(M):
    return tuple(map(tuple, M))


@pytest.mark.parametrize(
    ("result", "expected"),
    [(matrix.plus(rows(A), rows(B)), A + B),
     (matrix.multiple(1.5, rows(A)), 1.5 * A),
     (matrix.crossed(tuple(V), rows(A)), skew(V) @ A),
     (matrix.product(rows(A), rows(B)), A @ B),
     (matrix.transposed(rows(A)), A.T),
     (matrix.outer(tuple(U), tuple(V)), np.outer(U, V)),
     (matrix.skewed(1.5, tuple(V)), 1.5 * np.eye(3) + skew(V)),
     (matrix.with_diagonal(tuple(D), rows(A)), np.diag(D) + A),
     (matrix.turning(tuple(U), tuple(V), tuple(D), tuple(P)),
      np.diag(U) + skew(V) @ np.diag(D) - skew(P))],
)  # fmt: skip
def test_kernels_are_the_matrices_they_are_named_for(result, expected):
    assert np.array(result) == pytest.approx(expected, abs=1e-15)


def test_solve_solves_three_linear_equations():
    assert matrix.solve(rows(A), tuple(V)) == pytest.approx(np.linalg.solve(A, V), rel=1e-12)


NO_KICKS = Kicks(0.0, 0.0, 0.0)
UP = tuple(np.array([0.2, -0.5, 0.8]) / np.linalg.norm([0.2, -0.5, 0.8]))
POTENTIALS = {
    "none": NoPotential(),
    "heavy top": HeavyTop(40.0, (0.6, 0.0, 0.8)),
    "soft wall": SoftWall(1.0, (0.6, 0.0, -0.8)),
    "gravity gradient": Attraction((9.0, 12.0, 5.0), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0)),
    "a user's": OfBodyFrame(Cubic(20.0), (0.5, 0.1, -0.7, 0.5)),
}
IMPLICIT = [n for n in integrators.names() if integrators.get(n).scheme.has_unknowns()]


def equation(name, potential, x):
    """F and dF of the scheme's equation for one step of a heavy, driven gyrostat."""
    record, moments = integrators.get(name), (6.0, 8.0, 3.0)
    rotor = (0.3, -0.2, 0.1) if "rotors" in record.supports else (0.0, 0.0, 0.0)
    body = Body(moments, tuple(1 / J for J in moments), rotor)
    memory = ((0.1, 2.0, -1.5), (-1.8, 0.2, 1.1), (1.6, -1.0, -0.1)) if name == "dir_em" else ()
    attitude, L, Pi, u = (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (6.0, 16.0, 6.0), (3.0, 2.0, -4.0)
    step = Step(attitude, L, Pi, UP, u, 0.1, memory, True, NO_KICKS, potential)
    F, dF, _ = record.scheme.equation(potential, body, step, tuple(x))
    return np.array(F), np.array(dF)


@pytest.mark.parametrize("potential", POTENTIALS)
@pytest.mark.parametrize(("name", "size"), [*((n, 1) for n in IMPLICIT), ("bbtrapwd", 12)])
def test_the_derivative_of_each_equation_is_that_of_its_differences(name, size, potential):
    potential = POTENTIALS[potential]
    x, d = size * np.array([0.05, 0.11, -0.07]), 1e-5
    _, dF = equation(name, potential, x)
    shifts = d * np.eye(3)
    after, before = ([equation(name, potential, x + s * k)[0] for k in shifts] for s in (1, -1))
    differences = np.subtract(after, before).T / (2 * d)
    np.testing.assert_allclose(dF, differences, rtol=0, atol=1e-7 * np.abs(dF).max())


def test_factors_of_dexp_are_at_round_off():
    for t in np.linspace(0.05, 4.0, 80):
        y = Fraction(float(t) ** 2)
        terms = [(-y) ** n / math.factorial(2 * n + 2) for n in range(30)]
        b, c = sum(terms), sum(term / (2 * n + 3) for n, term in enumerate(terms))
        assert rotations.dexp_factors(float(y)) == pytest.approx((float(b), float(c)), rel=1e-14)
