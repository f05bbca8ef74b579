"""RigidBody: principal frame, solids against quadrature, parallel axes, welded parts."""

import ast
import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rbgym.body import PlacedBody, RigidBody, compound
from rbgym.inertia import full_tensor
from refusals import refused

NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)


def interval(low, high):
    return low + (high - low) * (NODES + 1) / 2, (high - low) / 2 * WEIGHTS


def revolved(profile, low, high, stretch=(1.0, 1.0)):
    """Points (n, 3) and volumes (n,) of a solid with elliptic sections of radius profile(z)."""
    (z, wz), (s, ws) = interval(low, high), interval(0.0, 1.0)
    angle = np.arange(8) * np.pi / 4
    z, s, angle = np.meshgrid(z, s, angle, indexing="ij")
    weight = wz[:, None, None] * ws[:, None] * (np.pi / 4) * s * profile(z) ** 2 * np.prod(stretch)
    x, y = np.cos(angle) * stretch[0], np.sin(angle) * stretch[1]
    points = np.stack([s * profile(z) * x, s * profile(z) * y, z], axis=-1)
    return points.reshape(-1, 3), weight.ravel()


def brick(size):
    axes = [interval(-edge / 2, edge / 2) for edge in size]
    points = np.stack(np.meshgrid(*[x for x, _ in axes], indexing="ij"), axis=-1)
    weights = np.einsum("i,j,k->ijk", *[w for _, w in axes])
    return points.reshape(-1, 3), weights.ravel()


def integrated(points, volumes, mass):
    """Centre of mass (3,) and inertia (3, 3) about the origin of a uniform solid."""
    m = mass * volumes / volumes.sum()
    inertia = np.einsum("n,nk,nk->", m, points, points) * np.eye(3) - points.T * m @ points
    return m @ points / mass, inertia


SOLIDS = {
    "box": (RigidBody.box(2.0, (0.3, 0.5, 0.9)), brick((0.3, 0.5, 0.9))),
    "ellipsoid": (
        RigidBody.ellipsoid(2.0, (0.3, 0.5, 0.9)),
        revolved(lambda z: np.sqrt(1 - (z / 0.9) ** 2), -0.9, 0.9, (0.3, 0.5)),
    ),
    "sphere": (RigidBody.sphere(2.0, 0.7), revolved(lambda z: np.sqrt(0.49 - z**2), -0.7, 0.7)),
    "cylinder": (RigidBody.cylinder(2.0, 0.4, 1.1), revolved(lambda z: 0.4 + 0 * z, -0.55, 0.55)),
    "cone": (RigidBody.cone(2.0, 0.4, 1.2), revolved(lambda z: 0.4 * (z + 0.9) / 1.2, -0.9, 0.3)),
    "rod": (RigidBody.rod(2.0, 1.1, radius=0.02), revolved(lambda z: 0.02 + 0 * z, -0.55, 0.55)),
}


@pytest.mark.parametrize("name", SOLIDS)
def test_a_uniform_solid_has_the_inertia_of_its_volume_integral(name):
    body, (points, volumes) = SOLIDS[name]
    center, inertia = integrated(points, volumes, body.mass)
    assert_allclose(center, 0.0, rtol=0, atol=1e-15)
    assert_allclose(body.inertia, inertia, rtol=1e-13, atol=1e-15)
    assert_array_equal(body.center_of_mass, np.zeros(3))


def test_the_cone_top_is_the_volume_integral_about_its_tip():
    radius, height, density = 0.05, 0.1, 2700.0
    points, volumes = revolved(lambda z: radius * z / height, 0.0, height)
    top = RigidBody.cone_top(radius, height, density)
    center, inertia = integrated(points, volumes, top.mass)
    assert_allclose(top.mass, density * volumes.sum(), rtol=1e-14)
    assert_allclose(top.center_of_mass, center, rtol=1e-14, atol=1e-17)
    assert_allclose(top.inertia, inertia, rtol=1e-13, atol=1e-18)


def rotation(vector):
    """Rodrigues' formula, independent of the quaternions in the package."""
    angle = np.linalg.norm(vector)
    x, y, z = np.asarray(vector) / angle if angle else np.zeros(3)
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def turn_of(quaternion):
    """Matrix of v -> q v q*, by the quaternion product written out for the three axes."""
    w, v = quaternion[0], quaternion[1:]
    columns = [e + 2 * w * np.cross(v, e) + 2 * np.cross(v, np.cross(v, e)) for e in np.eye(3)]
    return np.column_stack(columns)


component = st.floats(-3, 3, allow_subnormal=False)
vectors = st.tuples(component, component, component)
# Second moments of mass: any three that are not negative make moments that satisfy the triangle.
spreads = st.tuples(*[st.floats(1e-6, 1e3)] * 3)
scales = st.sampled_from([1e-12, 1.0, 1e12])


def moments_of(spread):
    a, b, c = spread
    return np.array([b + c, c + a, a + b])


@given(spreads, vectors, scales)
def test_the_principal_frame_is_a_proper_rotation_that_rebuilds_the_tensor(spread, vector, scale):
    turn, moments = rotation(vector), scale * moments_of(spread)
    tensor = turn @ np.diag(moments) @ turn.T
    body = RigidBody((tensor + tensor.T) / 2)
    B, size = body.principal_rotation, np.max(body.moments)
    assert_allclose(B @ np.diag(body.moments) @ B.T, body.inertia, rtol=0, atol=1e-12 * size)
    assert_allclose(np.sort(body.moments), np.sort(moments), rtol=0, atol=1e-12 * size)
    assert_allclose(B.T @ B, np.eye(3), rtol=0, atol=1e-14)
    assert_allclose(np.linalg.det(B), 1.0, rtol=0, atol=1e-14)
    assert_allclose(turn_of(body.principal_quaternion), B, rtol=0, atol=1e-14)
    assert body.principal_quaternion[0] > 0.8  # nearest to 1: never beyond 63 degrees


@given(spreads, st.sampled_from([np.array, np.diag]))
def test_a_diagonal_tensor_keeps_its_order_and_its_axes_exactly(spread, form):
    body = RigidBody(form(moments_of(spread)))
    assert_array_equal(body.moments, moments_of(spread))
    assert_array_equal(body.principal_rotation, np.eye(3))
    assert body.principal_quaternion.tolist() == [1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("moments", [(6, 8, 3), (3, 6, 8), (8, 3, 6), (5, 5, 3), (3, 5, 5)])
@pytest.mark.parametrize("size", [0.1, 1e-4, 1e-9])
def test_a_slightly_tilted_body_has_axes_slightly_tilted_in_the_same_order(moments, size):
    turn = rotation(size * np.array([0.3, -0.8, 0.5]))
    body = RigidBody(turn @ np.diag(moments) @ turn.T)
    assert_allclose(body.moments, moments, rtol=1e-12)
    assert np.linalg.norm(body.principal_rotation - np.eye(3)) <= 1.5 * size


@pytest.mark.parametrize("axis", range(3))
@given(vector=vectors)
def test_of_a_symmetric_body_only_the_axis_of_symmetry_is_turned(axis, vector):
    turn = rotation(vector)
    moments = np.where(np.arange(3) == axis, 2.0, 3.0)
    body = RigidBody(turn @ np.diag(moments) @ turn.T)
    k = int(np.argmin(body.moments))
    others = np.delete(body.moments, k)
    assert others[0] == pytest.approx(others[1], rel=3e-14)
    assert abs(turn[:, axis] @ body.principal_rotation[:, k]) == pytest.approx(1, abs=1e-14)
    if np.any(np.triu(body.inertia, 1)):  # a diagonal tensor is taken as it is, round-off and all
        assert others[0] == others[1]
        assert abs(body.principal_quaternion[1 + k]) < 1e-13


@given(vectors)
def test_a_ball_has_the_identity_as_principal_frame_whatever_its_round_off(vector):
    turn = rotation(vector)
    body = RigidBody(turn @ np.diag([0.7, 0.7, 0.7]) @ turn.T)
    assert_array_equal(body.principal_rotation, np.eye(3))
    assert_allclose(body.moments, 0.7, rtol=1e-14)


def test_inertia_about_another_point_adds_mass_times_squared_distance_to_the_axis():
    body = RigidBody([6, 8, 3], mass=2.0).about((1.0, 2.0, 3.0))
    squares = [4 + 9, 9 + 1, 1 + 4]
    assert_allclose(np.diag(body.inertia), np.array([6, 8, 3]) + 2.0 * np.array(squares))
    assert_allclose(body.inertia[[0, 0, 1], [1, 2, 2]], [-2.0 * 2, -2.0 * 3, -2.0 * 6])
    assert_allclose(body.center_of_mass, [-1, -2, -3])
    RigidBody([1, 1, 0.1], mass=1.0, center_of_mass=(0, 0, 0.97))  # at the edge of its reach


@given(vectors, vectors)
def test_moving_the_reference_point_in_two_steps_or_one_is_the_same(first, second):
    body = RigidBody([[6, 0.5, 0.2], [0.5, 8, 0.1], [0.2, 0.1, 4]], mass=2.0)
    twice = body.about(first).about(second)
    once = body.about(np.add(first, second))
    assert_allclose(twice.inertia, once.inertia, rtol=1e-13, atol=1e-12)
    assert_allclose(twice.center_of_mass, once.center_of_mass, rtol=0, atol=1e-14)
    back = once.about(once.center_of_mass)
    assert_allclose(back.inertia, body.inertia, rtol=1e-13, atol=1e-12)


@given(vectors, vectors)
def test_turned_parts_add_up_as_in_mandre_section_3(vector, position):
    turn, angle = rotation(vector), np.linalg.norm(vector)
    axis = np.asarray(vector) / angle if angle else np.zeros(3)
    quaternion = np.array([np.cos(angle / 2), *np.sin(angle / 2) * axis])
    hub, arm = RigidBody.sphere(3.0, 0.4), RigidBody.box(1.0, (0.1, 0.3, 0.9))
    p = np.asarray(position)
    # Reduced mass: two bodies about their common centre are m1 m2 / (m1 + m2) at their distance.
    expected = hub.inertia + turn @ arm.inertia @ turn.T
    expected = expected + 0.75 * (p @ p * np.eye(3) - np.outer(p, p))
    for given_as in (quaternion, -quaternion, turn):
        whole = compound([PlacedBody(hub), PlacedBody(arm, position, given_as)])
        assert_allclose(whole.inertia, expected, rtol=1e-13, atol=1e-13)
    pivoted = compound([(hub,), (arm, position, turn)], about=(0.0, 0.0, 0.0))
    assert_allclose(pivoted.center_of_mass, p / 4, rtol=0, atol=1e-15)


@given(vectors, vectors)
def test_a_part_weighs_the_same_whichever_point_it_refers_to(point, vector):
    cone, ball = RigidBody.cone(2.0, 0.3, 0.8), RigidBody.sphere(1.0, 0.2)
    turn = rotation(vector)
    centered = compound([(ball,), (cone, (1, 2, 3), turn)])
    moved = compound([(ball,), (cone.about(point), np.array([1, 2, 3]) + turn @ point, turn)])
    assert_allclose(moved.inertia, centered.inertia, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("moments", [(1.0, 2.0, 3.0), (1.0, 1.0, 2.0), (1e-9, 1.0, 1.0 + 1e-9)])
@given(vector=vectors)
def test_a_lamina_on_the_edge_of_the_triangle_inequality_is_a_body(moments, vector):
    turn = rotation(vector)
    RigidBody(moments)
    RigidBody(turn @ np.diag(moments) @ turn.T)


@given(vectors)
def test_a_body_just_beyond_the_triangle_inequality_is_refused(vector):
    turn = rotation(vector)
    for beyond in ([1.0, 2.0, 3.0 + 1e-11], turn @ np.diag([1.0, 2.0, 3.0 + 1e-10]) @ turn.T):
        with pytest.raises(ValueError, match=r"inertia must satisfy the triangle inequality.*3\.0"):
            RigidBody(beyond)


def test_an_inertia_may_be_asymmetric_by_round_off_only():
    tensor = np.array([[6, 0.5, 0], [0.5, 8, 0], [0, 0, 4.0]])
    tensor[0, 1] += 1e-13
    body = RigidBody(tensor)
    assert_array_equal(body.inertia, body.inertia.T)
    tensor[0, 1] += 1e-10
    with pytest.raises(ValueError, match="inertia must be a symmetric tensor"):
        RigidBody(tensor)


NO_TENSORS = [1.0, [1, 2], np.eye(4), [1, np.nan, 1], [1, np.inf, 1], [[1], [1, 2]], None, "1"]
NO_MASSES = [0.0, -1.0, np.nan, np.inf, "1", None, [1.0]]


@refused(
    *(
        (lambda J=J: RigidBody(J), r"^inertia must be finite real numbers of shape \(3,\) or")
        for J in [*NO_TENSORS, [1j, 1, 1]]
    ),
    *(
        (lambda J=J: RigidBody(J), "^inertia must have positive principal moments")
        for J in ([0, 1, 1], [-1, 1, 1], np.zeros((3, 3)), -np.eye(3))
    ),
    *((lambda m=m: RigidBody([1, 1, 1], m), "^mass must be") for m in NO_MASSES),
    *((lambda m=m: RigidBody.cone(m, 1.0, 1.0), "^mass must be") for m in NO_MASSES),
    (lambda: RigidBody([1, 1, 0.1], 1.0, (0, 0, 0.98)), r"^center_of_mass must be .*reach.*0\.98"),
    (lambda: RigidBody([1, 1, 1], center_of_mass=(0, 0)), "^center_of_mass must be finite"),
    (lambda: RigidBody.box(1.0, (1, 2, 0)), "^size must "),
    (lambda: RigidBody.ellipsoid(1.0, (1, 2)), "^semi_axes must "),
    (lambda: RigidBody.sphere(1.0, -1.0), "^radius must "),
    (lambda: RigidBody.cylinder(1.0, 1.0, 0.0), "^height must "),
    (lambda: RigidBody.cone_top(1.0, 1.0, 0.0), "^density must "),
    (lambda: RigidBody.sphere(1.0, 1.0).about((0, 0, np.nan)), "^point must "),
    (lambda: compound([]), "^parts must "),
    (lambda: compound([(RigidBody([1, 1, 1]), (0, 0))]), "^position must "),
    (lambda: compound([(RigidBody([1, 1, 1]), (0, 0, 0), (1, 1, 0, 0))]), "^rotation must "),
    (lambda: compound([(RigidBody([1, 1, 1]), (0, 0, 0), -np.eye(3))]), "^rotation must "),
    (lambda: compound([(RigidBody([1, 1, 1]), (0, 0, 0), 2 * np.eye(3))]), "^rotation must "),
)
def test_a_bad_argument_is_refused_by_name(make):
    make()


BODIES = [
    RigidBody([6, 8, 3]),
    RigidBody([[6, 0.5, 0.2], [0.5, 8, 0.1], [0.2, 0.1, 4]], mass=2.0),
    RigidBody.cone_top(0.05, 0.1, 2700.0),
]


@pytest.mark.parametrize("body", BODIES)
def test_a_copy_however_made_is_the_same_immutable_body(body):
    written = eval(repr(body), {"RigidBody": RigidBody})
    for other in (pickle.loads(pickle.dumps(body)), copy.deepcopy(body), written):
        assert other == body
        assert hash(other) == hash(body)
        assert other.principal_rotation.tobytes() == body.principal_rotation.tobytes()
        assert not other.inertia.flags.writeable
    assert body != RigidBody([1, 1, 1])


@pytest.mark.parametrize("name", ["inertia", "center_of_mass", "moments", "principal_rotation"])
def test_a_body_cannot_be_changed(name):
    tensor = np.diag([6.0, 8.0, 3.0])
    body = RigidBody(tensor)
    tensor[0, 0] = 7.0
    assert body.inertia[0, 0] == 6.0
    with pytest.raises(AttributeError):
        setattr(body, name, np.ones(3))
    with pytest.raises(ValueError, match="read-only"):
        getattr(body, name)[0] = 1.0


@pytest.mark.parametrize("given", [
    [0.012, 0.034, 0.047],  # a plate of 0.0123, 0.0342, 0.0465, rounded
    [4.7, 1.2, 3.4],
    [[0.012, 0.001, 0.0], [0.001, 0.034, 0.0], [0.0, 0.0, 0.047]],
    [120.0, 340.0, 470.0],
])  # fmt: skip
def test_where_rounding_breaks_the_triangle_inequality_the_nearest_body_is_offered(given):
    with pytest.raises(ValueError, match="nearest valid inertia is") as error:
        RigidBody(given)
    offered = ast.literal_eval(str(error.value).rpartition("is ")[2])
    unit = 10.0 ** np.floor(np.log10(np.max(given)) - 1)  # of the second digit
    assert_allclose(RigidBody(offered).inertia, full_tensor(given), rtol=0, atol=unit / 2)


@pytest.mark.parametrize("given", [[0.012, 0.034, 0.049], [1.0, 1.0, 3.0]])
def test_where_it_is_no_rounding_nothing_is_offered(given):
    with pytest.raises(ValueError, match="triangle") as error:
        RigidBody(given)
    assert "nearest" not in str(error.value)
