"""What is to be drawn: solids, scenes and the camera, against formulas written down here."""

import math

import gymnasium as gym
import numpy as np
import pytest

import rbgym
from family import SLEW, at, make
from rbgym.envs.rendering import scene_of, solids
from rbgym.envs.rendering.camera import BEFORE, BEHIND, Camera
from rbgym.envs.rendering.instant import Trail
from rbgym.envs.rendering.scene import Framing, drawn_length
from rbgym.envs.rendering.solids import solid_of
from rbgym.potentials import HeavyTop
from rbgym.quaternion import from_rotation_vector, rotate

pytestmark = pytest.mark.interpreted

TOP = rbgym.RigidBody.cone_top(radius=0.05, height=0.1, density=2700.0)
TURN = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
HALF = math.sqrt(0.5)
QUARTER_ABOUT_Y = (HALF, 0.0, HALF, 0.0)


def moments_of(mesh, mass):
    """Inertia (3, 3) about the origin of the homogeneous solid within the mesh: the sum over the
    tetrahedra that its faces span with the origin."""
    second, volume = np.zeros((3, 3)), 0.0
    for a, b, c in mesh.vertices[mesh.faces]:
        six = np.dot(a, np.cross(b, c))
        total = a + b + c
        squares = np.outer(a, a) + np.outer(b, b) + np.outer(c, c) + np.outer(total, total)
        second += six / 120 * squares
        volume += six / 6
    second *= mass / volume
    return np.trace(second) * np.eye(3) - second


BODIES = [
    (rbgym.RigidBody([6.0, 8.0, 3.0], mass=2.0), None, 1e-12),
    (rbgym.RigidBody(TURN @ np.diag([6.0, 8.0, 3.0]) @ TURN.T), None, 1e-12),
    (rbgym.RigidBody.box(3.0, (1.0, 1.0, 1.0)), None, 1e-12),
    # Of 32 sides, a circle's area is that of the polygon but for 0.7 %.
    (rbgym.RigidBody.cylinder(2.0, 0.3, 1.1), None, 0.02),
    (TOP, HeavyTop(TOP.gravity_moment()), 0.02),
]


@pytest.mark.parametrize(("body", "potential", "tolerance"), BODIES)
def test_the_solid_that_is_drawn_has_the_inertia_of_the_body(body, potential, tolerance):
    found = moments_of(solid_of(body, potential), body.mass)
    assert np.abs(found - body.inertia).max() <= tolerance * body.moments.max()


def test_a_pivoted_body_without_weight_is_drawn_about_its_centre_of_mass():
    body = rbgym.RigidBody.box(2.0, (0.3, 0.2, 0.1)).about((0.5, 0.0, 0.0))
    mesh = solid_of(body)
    assert np.allclose(mesh.vertices.min(axis=0), (-0.65, -0.1, -0.05))
    assert np.allclose(mesh.vertices.max(axis=0), (-0.35, 0.1, 0.05))


@pytest.mark.parametrize(
    "mesh",
    [
        solids.box((1.0, 2.0, 0.4)), solids.cone(1.0, 2.0), solids.cylinder(1.0, 2.0),
        solids.sphere(2.0), solids.wheel(1.0, 0.2, (0.0, 0.6, 0.8)), solids.wall(2.0, 0.1),
    ],
)  # fmt: skip
def test_a_mesh_is_closed_and_its_faces_look_outwards(mesh):
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    areas = np.cross(b - a, c - a)
    assert np.abs(areas.sum(axis=0)).max() < 1e-12 * mesh.radius**2
    assert np.einsum("mk,mk->", a, np.cross(b, c)) > 0
    assert mesh.colors.shape == (len(mesh.faces), 3)


def test_the_sphere_that_a_camera_is_put_around_fits_in_its_picture():
    camera = Camera.of(Framing(np.array([1.0, 2.0, 3.0]), 0.7, None, (0.3, 0.4)), (480, 480))
    directions = np.random.default_rng(0).normal(size=(500, 3))
    points = (1.0, 2.0, 3.0) + 0.7 * directions / np.linalg.norm(directions, axis=1)[:, None]
    pixels = camera.project(points)[0]
    assert pixels.min() >= 0.0
    assert pixels.max() <= 480.0
    assert pixels[:, 1].min() < 5.0  # and no smaller than need be


def test_an_arrow_grows_with_the_square_root_of_its_vector_up_to_its_reach():
    assert drawn_length(0.25, 1.0, 2.0) == pytest.approx(1.0)
    assert drawn_length(1.0, 1.0, 2.0) == drawn_length(9.0, 1.0, 2.0) == 2.0
    assert drawn_length(0.0, 1.0, 2.0) == 0.0


def test_an_arrow_leaves_the_surface_of_the_turned_body_along_its_vector():
    env = make(SLEW, body=rbgym.RigidBody([6.0, 8.0, 3.0]), rate_limit=2.0)
    at(env, QUARTER_ABOUT_Y, (0.0, 0.0, 2.0))
    scene = scene_of(env)
    arrow = scene.arrows[0]
    # A quarter turn about y takes the body's z axis to the world's x.
    assert arrow.name == "angular velocity"
    assert np.allclose(scene.vectors[0].value, (2.0, 0.0, 0.0))
    height = math.sqrt(6 * (6.0 + 8.0 - 3.0))  # of the box along z: m c^2 = 6 (A + B - C)
    assert np.allclose(arrow.tail, (height / 2, 0.0, 0.0))
    assert np.allclose(arrow.shaft / np.linalg.norm(arrow.shaft), (1.0, 0.0, 0.0))


def test_an_arrow_is_drawn_after_the_body_where_it_leaves_a_face_that_is_seen():
    env = make(SLEW)
    for sign in (1.0, -1.0):
        at(env, (1, 0, 0, 0), (0.0, 0.0, sign))
        scene = scene_of(env)
        camera = Camera.of(scene.framing, (480, 480))
        layer = {id(i.what): i.layer for i in camera.in_order(scene)}[id(scene.arrows[0])]
        assert layer == (BEFORE if sign > 0 else BEHIND)  # the camera is above the body


def test_the_ghost_lies_on_the_body_at_the_target_and_nowhere_else():
    env, target = make(SLEW), from_rotation_vector([0.4, -1.0, 0.3])
    at(env, target, target_quaternion=target)
    scene = scene_of(env)
    assert np.allclose(scene.goal.vertices, scene.body.vertices, atol=1e-12)
    at(env, (1, 0, 0, 0), target_quaternion=target)
    scene = scene_of(env)
    assert np.allclose(scene.goal.vertices, rotate(target, scene.body.vertices))


def started(env_id, **kwargs):
    env = make(env_id, **kwargs)
    env.reset(seed=4)
    return env


def test_the_field_that_is_drawn_is_the_one_that_the_observation_shows():
    env = make("MagneticDetumble-v1")
    observation, _ = env.reset(seed=4)
    (field,) = [v for v in scene_of(env).vectors if v.name == "magnetic field"]
    shown = 2e6 * env.actuator.field * observation[7:].astype(float)  # microtesla, body axes
    assert np.allclose(field.value, rotate(env.state["quaternion"], shown), atol=1e-4)


def test_wheels_stand_outside_the_body_and_turn_with_their_momentum():
    env = make("ReactionWheelSlew-v1")
    at(env, (1, 0, 0, 0), wheel_momentum=(0.01, -0.01, 0.0, 0.005))
    trail = Trail()
    before = scene_of(env, 0, trail)
    assert [part.name for part in before.parts] == ["wheel"] * 4
    for part in before.parts:
        plane = before.body.mesh.exit_of(part.facing)[0]
        assert (part.vertices @ part.facing > plane).all()
    env.step(np.zeros(4))
    scene_of(env, 0, trail)
    shown = 3.0 * env.dt * np.array([0.01, -0.01, 0.0, 0.005]) / env.actuator.momentum
    assert np.allclose(trail.turns, shown, rtol=0.01, atol=1e-6)


def test_the_station_stands_behind_the_dock_on_the_x_axis_of_the_target():
    env = make("FreeFlyer-v0")
    at(env, (1, 0, 0, 0), target_quaternion=QUARTER_ABOUT_Y, position=(1.0, 0.5, 0.0))
    scene = scene_of(env)
    (station,) = scene.parts
    assert np.allclose(station.position, (0.0, 0.0, 0.6))  # a quarter turn takes -x to +z
    # The cube's face, half of 0.3 m from its middle, meets it where the middle is at the dock.
    assert station.mesh.radius == pytest.approx(0.6 - 0.15)
    assert np.allclose(scene.body.vertices.mean(axis=0), (1.0, 0.5, 0.0), atol=0.01)


def test_a_skater_is_drawn_in_the_size_that_she_has_and_is_to_have():
    env = make("ScalableSpin-v0")
    at(env, (1, 0, 0, 0), (0.0, 0.0, 2.0), scale=0.8, target_spin=4.0)
    scene = scene_of(env)
    assert scene.body.scale == pytest.approx(0.8)
    # The spin goes with 1 / s^2.
    assert scene.goal.scale == pytest.approx(0.8 / math.sqrt(2.0))


def test_the_axis_meets_the_wall_where_its_torque_changes_sign():
    scene = scene_of(started("SoftWall-v0"))
    (wall,), (mast,) = scene.parts, [c for c in scene.curves if c.name == "mast"]
    length = np.linalg.norm(mast.points[-1])
    slope = rbgym.potentials.SoftWall("repulsive").slope(wall.position[2] / length)
    assert abs(slope) < 1e-12
    assert (scene.body.vertices[:, 2] > wall.position[2]).all()


def test_a_trail_begins_anew_with_the_episode_and_takes_an_instant_once():
    env, trail = started("RigidTop-v0"), Trail()
    for _ in range(3):
        scene_of(env, 0, trail)
        scene_of(env, 0, trail)
        env.step(np.zeros(3))
    assert len(trail.points) == 3
    env.reset()
    assert not [c for c in scene_of(env, 0, trail).curves if c.name == "trace"]
    assert len(trail.points) == 1


def test_the_trace_is_where_the_axis_of_the_body_was():
    env, trail, axes = started("RigidTop-v0"), Trail(), []
    for _ in range(4):
        scene = scene_of(env, 0, trail)
        w, x, y, z = env.state["quaternion"]
        axes.append((2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)))
        env.step(np.full(3, 0.3))
    (trace,) = [curve for curve in scene.curves if curve.name == "trace"]
    assert np.allclose(trace.points, 1.2 * 0.1 * np.array(axes), atol=1e-12)


def test_the_polhode_is_the_path_of_the_angular_velocity_in_the_body():
    env, trail, rates = make("IntermediateAxis-v0"), Trail(), []
    env.reset(seed=0)
    for _ in range(4):
        env.step(np.array([1.0, -1.0, 0.5], np.float32))
        scene = scene_of(env, trail=trail)
        rates.append(env.unwrapped.state["angular_velocity"])
    longest = max(map(np.linalg.norm, rates))
    (path,) = [curve for curve in scene.curves if curve.name == "polhode"]
    points = path.points @ scene.body.rotation  # in body axes
    reach = np.linalg.norm(points, axis=1).max()
    np.testing.assert_allclose(points / reach, np.array(rates) / longest, rtol=1e-12, atol=1e-15)
    assert reach > scene.body.mesh.radius  # not hidden in the body


def test_a_lane_of_a_vector_env_has_the_scene_of_the_single_env_with_its_seed():
    vec = gym.make_vec(SLEW, num_envs=3)
    vec.reset(seed=7)
    single = make(SLEW)
    single.reset(seed=9)
    assert np.array_equal(scene_of(vec, 2).body.vertices, scene_of(single).body.vertices)
    without_info = make(SLEW, info=[])
    without_info.reset(seed=9)
    assert scene_of(without_info).caption == scene_of(single).caption
