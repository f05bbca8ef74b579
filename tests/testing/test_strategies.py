"""The strategies draw what they promise: valid bodies and unit quaternions, edge cases included."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from rbgym import RigidBody
from rbgym.quaternion import normalized, to_matrix
from rbgym.testing import strategies

ASYMMETRIC = np.array([[2.0, 0.2, -0.1], [0.2, 1.4, 0.15], [-0.1, 0.15, 0.9]])
QUICK = settings(max_examples=60, deadline=None, database=None, derandomize=True)
SEARCH = settings(QUICK, max_examples=2000, phases=[Phase.generate])


def drawn(strategy, condition):
    """Whether the strategy draws such a value (else hypothesis raises NoSuchExample)."""
    find(strategy, lambda value: bool(condition(value)), settings=SEARCH)
    return True


@QUICK
@given(strategies.attitudes())
def test_attitudes_are_unit_quaternions(q):
    assert q.shape == (4,)
    assert abs(np.linalg.norm(q) - 1) < 4e-16


@pytest.mark.parametrize(
    "condition",
    [
        lambda q: q.tolist() == [1, 0, 0, 0],
        lambda q: q.tolist() == [-1, 0, 0, 0],
        lambda q: q[0] == 0 and np.count_nonzero(q) == 1,
        lambda q: q[0] == 0 and np.count_nonzero(q) == 3,
        lambda q: 0 < abs(q[0]) < 1e-6,
        lambda q: 0 < np.linalg.norm(q[1:]) < 1e-6,
        lambda q: q[0] < -0.1 and np.count_nonzero(q) == 4,
    ],
    ids=["identity", "minus one", "half turn", "any half turn", "nearly", "tiny", "negative w"],
)
def test_attitudes_include_the_edge_cases(condition):
    assert drawn(strategies.attitudes(), condition)


def test_ordinary_attitudes_are_uniform():
    q = np.array([strategies._on_sphere(seed, 4) for seed in range(4000)])
    # The Haar measure: mean of q q^T is a quarter of the unit matrix, of R the zero matrix.
    np.testing.assert_allclose(q.T @ q / len(q), np.eye(4) / 4, atol=0.02)
    np.testing.assert_allclose(to_matrix(q).mean(axis=0), 0, atol=0.04)


@QUICK
@given(strategies.inertias())
def test_inertias_are_those_of_rigid_bodies(inertia):
    body = RigidBody(inertia)
    low, middle, high = np.sort(body.moments)
    assert low > 0
    assert high <= (low + middle) * (1 + 1e-12)


@pytest.mark.parametrize(("form", "shape"), [("principal", (3,)), ("full", (3, 3))])
def test_the_form_of_an_inertia_can_be_chosen(form, shape):
    @QUICK
    @given(strategies.inertias(form))
    def check(inertia):
        assert inertia.shape == shape

    check()


@pytest.mark.parametrize(
    "condition",
    [
        lambda a, b, c: a == b == c,
        lambda a, b, c: 0 < c - a < 1e-8 * c,
        lambda a, b, c: a == b < 0.9 * c or a < 0.9 * b == 0.9 * c,
        lambda a, b, c: a < 1e-4 * b and c - b < 1e-3 * c,
        lambda a, b, c: abs(a + b - c) <= 1e-15 * c and b - a > 0.1 * c,
        lambda a, b, c: c - b > 0.1 * c and b - a > 0.1 * c and a + b > 1.1 * c,
    ],
    ids=["ball", "nearly a ball", "symmetric", "rod", "disc", "generic"],
)
def test_inertias_include_the_edge_cases(condition):
    assert drawn(strategies.inertias("principal"), lambda moments: condition(*np.sort(moments)))


def test_full_inertias_have_products_and_any_axis_may_be_the_least():
    assert drawn(
        strategies.inertias("full"), lambda tensor: abs(tensor[0, 1]) > 0.05 * tensor[0, 0]
    )
    for axis in range(3):
        least = strategies.inertias("principal").filter(lambda moments: np.ptp(moments) > 0)
        assert drawn(least, lambda moments, axis=axis: np.argmin(moments) == axis)


@QUICK
@given(strategies.angular_velocities(ASYMMETRIC, largest=5.0))
def test_angular_velocities_are_finite_and_bounded(omega):
    assert omega.shape == (3,)
    assert np.linalg.norm(omega) <= 5.0 * (1 + 1e-15)


BODY = RigidBody(ASYMMETRIC)


def distance_from_separatrix(omega):
    momentum, energy = BODY.inertia @ omega, 0.5 * omega @ BODY.inertia @ omega
    return abs(momentum @ momentum / (2 * energy * np.sort(BODY.moments)[1]) - 1)


def components(omega):
    return BODY.principal_rotation.T @ normalized_or_zero(omega)


def normalized_or_zero(omega):
    return omega / (np.linalg.norm(omega) or 1)


@pytest.mark.parametrize(
    "condition",
    [
        lambda omega: not omega.any(),
        lambda omega: np.sort(np.abs(components(omega)))[1] < 1e-15 < np.linalg.norm(omega),
        lambda omega: 1e-13 < np.sort(np.abs(components(omega)))[2] < 1 - 1e-8,
        lambda omega: 1e-12 < np.sort(np.abs(components(omega)))[1] < 1e-8,
        lambda omega: (
            omega.any()
            and np.abs(components(omega)).max() < 0.99
            and distance_from_separatrix(omega) < 1e-14
        ),
        lambda omega: 0 < np.linalg.norm(omega) < 1e-2,
    ],
    ids=["zero", "axis", "generic", "beside an axis", "separatrix", "slow"],
)
def test_angular_velocities_include_the_edge_cases(condition):
    assert drawn(strategies.angular_velocities(ASYMMETRIC), condition)


@QUICK
@given(strategies.inertias(), st.data())
def test_every_separatrix_direction_lies_on_the_separatrix(inertia, data):
    body = RigidBody(inertia)
    for omega in strategies.separatrix_directions(body):
        momentum, twice_energy = body.inertia @ omega, omega @ body.inertia @ omega
        middle = np.sort(body.moments)[1]
        assert momentum @ momentum == pytest.approx(twice_energy * middle, rel=1e-9)


def test_a_symmetric_body_has_no_separatrix():
    assert strategies.separatrix_directions(RigidBody([2, 2, 1])) == []
    assert len(strategies.separatrix_directions(BODY)) == 6


def test_momenta_are_those_of_the_angular_velocities():
    def along_axis(momentum):
        return np.sort(np.abs(components(np.linalg.solve(ASYMMETRIC, momentum))))[1] < 1e-14

    assert drawn(strategies.momenta(ASYMMETRIC), lambda m: np.any(m) and along_axis(m))
    assert drawn(strategies.momenta(), lambda m: not np.any(m))


def test_values_may_be_written_to_without_spoiling_the_next():
    @settings(
        max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(strategies.angular_velocities(), strategies.attitudes())
    def spoil(omega, q):
        assert np.isfinite(omega).all()
        assert abs(np.linalg.norm(normalized(q)) - 1) < 1e-15
        omega[:], q[:] = np.nan, 7.0

    spoil()


def test_bad_arguments_are_refused_by_name():
    with pytest.raises(
        ValueError, match="form must be 'principal', 'full' or None, got 'diagonal'"
    ):
        strategies.inertias("diagonal")
    with pytest.raises(ValueError, match="inertia must satisfy the triangle inequality"):
        strategies.angular_velocities([1, 1, 3])
    with pytest.raises(ValueError, match="largest must be a positive"):
        strategies.momenta(largest=0)


def test_nothing_else_imports_hypothesis_or_pytest():
    code = "import rbgym.testing, sys; print({'hypothesis', 'pytest'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
