"""Quaternion algebra: exact where it can be, and against scipy."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numba import njit
from scipy.spatial.transform import Rotation

from rbgym import quaternion as rq

# The algebra as written, uncompiled: it takes any kind of number.
from rbgym.quaternion import add, cross, dot, scale, sub, times

rational = st.fractions(min_value=-3, max_value=3, max_denominator=20)
vectors = st.tuples(rational, rational, rational)
number = st.floats(-1.0, 1.0)
long_enough = st.tuples(number, number, number, number).filter(lambda q: np.linalg.norm(q) > 0.1)
unit_floats = long_enough.map(rq.normalized)

ONE, ZERO = (1, 0, 0, 0), (0, 0, 0)
RNG = np.random.default_rng(11)
Q = rq.normalized(RNG.standard_normal((50, 4)))
P = rq.normalized(RNG.standard_normal((50, 4)))
V = RNG.standard_normal((50, 3))


def scipy_rotation(q):
    return Rotation.from_quat(np.roll(q, -1, axis=-1))


@given(vectors, vectors, vectors)
def test_vector_identities_hold_exactly(a, b, c):
    assert cross(a, b) == scale(-1, cross(b, a))
    assert dot(a, cross(a, b)) == 0
    assert dot(cross(a, b), c) == dot(a, cross(b, c))
    assert cross(a, cross(b, c)) == sub(scale(dot(a, c), b), scale(dot(a, b), c))
    assert add(cross(a, cross(b, c)), cross(b, cross(c, a))) == scale(-1, cross(c, cross(a, b)))
    assert dot(times(a, b), c) == dot(a, times(b, c))


@njit
def kernels(p, q, v):
    long = rq.qscale(1 + 1e-9, q)
    turned = rq.qmul(p, q), rq.to_world(q, v), rq.to_body(q, v)
    return turned, rq.qconj(q), rq.canonical(q), rq.polished(long)


@pytest.mark.compiled
def test_compiled_kernels_agree_with_the_array_functions():
    for p, q, v in zip(map(tuple, P), map(tuple, Q), map(tuple, V), strict=True):
        (product, world, body), conjugate, canonical, polished = kernels(p, q, v)
        assert product == pytest.approx(rq.multiply(p, q), abs=1e-15)
        assert world == pytest.approx(rq.rotate(q, v), abs=1e-14)
        assert body == pytest.approx(rq.rotate_inverse(q, v), abs=1e-14)
        assert conjugate == tuple(rq.conjugate(q))
        assert canonical == tuple(rq.canonicalized(q))
        assert np.linalg.norm(polished) == pytest.approx(1, abs=4e-16)


def test_series_of_cosine_and_sine_are_at_round_off():
    for x in RNG.uniform(-1, 1, 1000):
        c, s = rq.even_odd(x * x)
        assert c == pytest.approx(np.cos(x), abs=2.3e-16)
        assert s == pytest.approx(np.sinc(x / np.pi), abs=2.3e-16)
    for x in RNG.uniform(-4, 4, 1000):
        assert rq.cos_sin(x) == pytest.approx((np.cos(x), np.sin(x)), abs=2e-15)


def test_array_functions_agree_with_scipy():
    rotation = scipy_rotation(Q)
    assert rq.to_matrix(Q) == pytest.approx(rotation.as_matrix(), abs=1e-15)
    assert rq.rotate(Q, V) == pytest.approx(rotation.apply(V), abs=1e-14)
    assert rq.rotate_inverse(Q, V) == pytest.approx(rotation.inv().apply(V), abs=1e-14)
    product = (scipy_rotation(P) * rotation).as_matrix()
    assert rq.to_matrix(rq.multiply(P, Q)) == pytest.approx(product, abs=1e-14)
    expected = (scipy_rotation(P).inv() * rotation).magnitude()
    assert rq.angle_between(P, Q) == pytest.approx(expected, abs=1e-14)
    turns = np.concatenate([V, 1e-5 * V])
    expected = np.roll(Rotation.from_rotvec(turns).as_quat(), 1, axis=-1)
    assert rq.from_rotation_vector(turns) == pytest.approx(expected, abs=1e-15)
    assert np.array_equal(rq.from_rotation_vector(ZERO), ONE)
    assert np.linalg.norm(rq.from_rotation_vector([1e6, 2, 3])) == pytest.approx(1, abs=1e-15)
    assert np.isnan(rq.from_rotation_vector([1e300, 2, 3])).all()


@pytest.mark.parametrize("function", [rq.conjugate, rq.normalized, rq.canonicalized, rq.to_matrix])
def test_array_function_refuses_wrong_shapes_by_name(function):
    with pytest.raises(ValueError, match=r"q must have shape \(..., 4\)"):
        function(np.zeros(3))


@given(unit_floats | st.sampled_from([*np.eye(4)]))
def test_both_quaternions_of_an_attitude_have_the_same_canonical_one(q):
    kept = rq.canonicalized(q)
    assert np.array_equal(kept, rq.canonicalized(-q))
    assert np.array_equal(kept, q) or np.array_equal(kept, -q)
    assert kept[np.flatnonzero(kept)[0]] > 0
    assert rq.canonical(tuple(q)) == rq.canonical(tuple(-q)) == tuple(kept)


@given(unit_floats)
def test_angle_between_the_two_quaternions_of_an_attitude_is_zero(q):
    assert rq.angle_between(q, -q) < 1e-15
    assert np.array_equal(rq.to_matrix(q), rq.to_matrix(-q))


@given(unit_floats, st.floats(-1e-6, 1e-6))
def test_from_matrix_inverts_to_matrix_near_half_turns(q, w):
    assume(np.linalg.norm(q[1:]) > 0.1)
    near_half_turn = rq.normalized([w, *(q[1:] / np.linalg.norm(q[1:]))])
    for attitude in (q, near_half_turn, rq.normalized([0.0, 1.0, w, w])):
        back = rq.from_matrix(rq.to_matrix(attitude))
        back = back if back @ attitude > 0 else -back
        assert np.abs(back - attitude).max() < 1e-15


@given(st.tuples(number, number, number), st.floats(1e-12, np.pi))
def test_angle_of_a_rotation_vector_is_its_length(axis, angle):
    assume(np.linalg.norm(axis) > 0.1)
    q = rq.from_rotation_vector(angle * np.array(axis) / np.linalg.norm(axis))
    assert rq.angle_between(ONE, q) == pytest.approx(angle, rel=1e-14, abs=1e-15)


def test_roll_pitch_yaw_are_those_of_scipy():
    angles = np.random.default_rng(3).uniform(-np.pi, np.pi, (2, 200, 3)) * (1.0, 0.5, 1.0)
    q = rq.from_roll_pitch_yaw(angles)
    theirs = Rotation.from_euler("xyz", angles.reshape(-1, 3))
    assert rq.to_matrix(q).reshape(-1, 3, 3) == pytest.approx(theirs.as_matrix(), abs=1e-15)
    np.testing.assert_allclose(rq.to_roll_pitch_yaw(-q), angles, rtol=0, atol=1e-12)
    assert np.all(q[..., 0] >= 0.0)


@pytest.mark.filterwarnings("ignore:Gimbal lock")
@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-6, 1e-6 - np.pi / 2])
def test_at_a_pitch_of_a_quarter_turn_the_attitude_is_told_all_the_same(pitch):
    angles = np.array([0.4, pitch, 3.0])
    found = rq.to_roll_pitch_yaw(rq.from_roll_pitch_yaw(angles))
    theirs = Rotation.from_euler("xyz", angles).as_euler("xyz")
    np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-9)
    again = rq.from_roll_pitch_yaw(found)
    assert rq.angle_between(again, rq.from_roll_pitch_yaw(angles)) < 1e-15


@pytest.mark.parametrize("matrix", [-np.eye(3), 2.0 * np.eye(3), np.full((3, 3), np.nan)])
def test_what_is_no_rotation_is_refused(matrix):
    with pytest.raises(ValueError, match="matrix must be orthogonal with determinant 1"):
        rq.from_matrix(matrix)
