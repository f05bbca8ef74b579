"""Bodies of MJCF and URDF files, beside what MuJoCo itself moves them with."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from rbgym import RigidBody, compound

pytestmark = pytest.mark.interpreted

TWO = """
<mujoco>
  <worldbody>
    <body name="hull" pos="1 2 3" euler="20 -40 70">
      <freejoint/>
      <geom type="box" size="0.3 0.2 0.1" pos="0.1 -0.2 0.05" euler="10 30 -50" mass="2"/>
      <geom type="sphere" size="0.1" pos="-0.3 0.1 0.4" mass="0.7"/>
      <body name="arm" pos="0.5 0 0">
        <joint axis="0 1 0"/>
        <inertial pos="0.1 0.2 -0.1" mass="3" fullinertia="0.6 0.8 0.5 0.1 -0.05 0.07"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
ROBOT = """
<robot name="bus">
  <link name="base"><inertial>
    <origin xyz="0.1 0.2 -0.05" rpy="0.3 -0.2 0.5"/><mass value="3"/>
    <inertia ixx="0.6" iyy="0.8" izz="0.5" ixy="0.1" ixz="-0.05" iyz="0.07"/>
  </inertial></link>
  <link name="tank"><inertial>
    <origin xyz="0 0 0.1"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0" ixz="0" iyz="0.02"/>
  </inertial></link>
  <joint name="weld" type="fixed">
    <parent link="base"/><child link="tank"/><origin xyz="0.5 0 0" rpy="0 0 1"/>
  </joint>
</robot>
"""
FIXED = '<joint type="fixed"><parent link="{}"/><child link="{}"/></joint></robot>'


@pytest.fixture
def mujoco():
    return pytest.importorskip("mujoco")


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "model.xml"
        path.write_text(text)
        return path

    return write


def moved_by_mujoco(mujoco, model):
    """Mass, mass times centre, and inertia of a free body: forces that give it unit accelerations,
    from inverse dynamics, in the axes of its frame, about the frame's origin."""
    data = mujoco.MjData(model)
    data.qpos[3:7] = 1.0, 0.0, 0.0, 0.0
    model.opt.gravity[:] = 0.0
    columns = []
    for k in range(6):
        data.qacc[:] = np.eye(6)[k]
        mujoco.mj_inverse(model, data)
        columns.append(data.qfrc_inverse.copy())
    M = np.array(columns).T
    return M[0, 0], -np.array([M[4, 2], M[5, 0], M[3, 1]]), M[3:, 3:]


def assert_moves_alike(mujoco, body, model):
    mass, moment, inertia = moved_by_mujoco(mujoco, model)
    assert body.mass == pytest.approx(mass, rel=1e-14)
    np.testing.assert_allclose(body.mass * body.center_of_mass, moment, rtol=0, atol=1e-14)
    np.testing.assert_allclose(body.inertia, inertia, rtol=0, atol=1e-13)
    products = body.inertia[np.triu_indices(3, 1)]
    assert np.abs(products).min() > 1e-3


def test_a_body_of_geoms_is_moved_as_mujoco_moves_it(file, mujoco):
    path = file(TWO.split('<body name="arm"')[0] + "</body></worldbody></mujoco>")
    model = mujoco.MjModel.from_xml_path(str(path))
    assert_moves_alike(mujoco, RigidBody.from_mjcf(path), model)


def test_a_body_of_several_is_named_and_has_its_own_full_tensor(file, mujoco):
    arm = RigidBody.from_mjcf(file(TWO), "arm")
    own = [[0.6, 0.1, -0.05], [0.1, 0.8, 0.07], [-0.05, 0.07, 0.5]]
    expected = compound([(RigidBody(own, 3), (0.1, 0.2, -0.1))], about=(0, 0, 0))
    np.testing.assert_allclose(arm.inertia, expected.inertia, rtol=0, atol=1e-13)
    np.testing.assert_allclose(arm.center_of_mass, (0.1, 0.2, -0.1), rtol=1e-14)
    for name in (None, "leg"):
        with pytest.raises(ValueError, match=r"body must name one of \['hull', 'arm'\], got"):
            RigidBody.from_mjcf(file(TWO), name)


def test_a_robot_moves_as_in_mujoco(file, mujoco):
    path = file(ROBOT)
    spec = mujoco.MjSpec.from_file(str(path))
    spec.worldbody.first_body().add_freejoint()
    assert_moves_alike(mujoco, RigidBody.from_urdf(path), spec.compile())


def test_a_link_of_a_robot_counts_what_is_fixed_to_it(file):
    body = RigidBody.from_urdf(file(ROBOT))
    turn = (np.cos(0.5), 0, 0, np.sin(0.5))
    tank = RigidBody([[0.1, 0, 0], [0, 0.2, 0.02], [0, 0.02, 0.15]], 1.0)
    tilt = np.eye(3)
    for axis, angle in ((0, 0.3), (1, -0.2), (2, 0.5)):  # roll, pitch, yaw about fixed axes
        c, s, (i, j) = np.cos(angle), np.sin(angle), [(1, 2), (2, 0), (0, 1)][axis]
        R = np.eye(3)
        R[i, i] = R[j, j] = c
        R[i, j], R[j, i] = -s, s
        tilt = R @ tilt
    base = RigidBody([[0.6, 0.1, -0.05], [0.1, 0.8, 0.07], [-0.05, 0.07, 0.5]], 3.0)
    filled = compound([(tank, (0, 0, 0.1))], about=(0, 0, 0))
    parts = [(base, (0.1, 0.2, -0.05), tilt), (filled, (0.5, 0, 0), turn)]
    by_hand = compound(parts, about=(0, 0, 0))
    np.testing.assert_allclose(body.inertia, by_hand.inertia, rtol=0, atol=1e-13)


HUB = """
<robot name="r"><link name="hub">
  <inertial>
    <origin rpy="0 0 1.5707963267948966"/><mass value="3"/>
    <inertia ixx="0.6" iyy="0.8" izz="0.5" ixy="0" ixz="0" iyz="0"/>
  </inertial>
  <collision><geometry><mesh filename="package://bus/meshes/bus.stl"/></geometry></collision>
</link></robot>
"""


def test_an_inertial_is_read_without_mujoco_and_meshes_with_its_rotation(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    hub = RigidBody.from_urdf(file(HUB))
    np.testing.assert_allclose(hub.inertia, np.diag([0.8, 0.6, 0.5]), rtol=0, atol=1e-15)


def test_links_behind_joints_that_move_and_on_the_world_are_bodies_of_their_own(file):
    moving = ROBOT.replace('"fixed"', '"continuous"')
    for link in (None, ["tank"]):
        with pytest.raises(ValueError, match=r"link must name one of \['base', 'tank'\], got"):
            RigidBody.from_urdf(file(moving), link)
    assert RigidBody.from_urdf(file(moving), "tank").mass == 1.0
    for parent in ("world", "base_footprint"):  # a link without a mass, as ROS has it
        path = file(ROBOT.replace("</robot>", FIXED.format(parent, "base")))
        assert RigidBody.from_urdf(path) == RigidBody.from_urdf(file(ROBOT))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [("robot", "mujoco", "its root is <mujoco>, not <robot>"),
     ("</robot>", "", "no element found"),
     ("\n<robot", '<?xml version="1.0" encoding="none"?><robot', "unknown encoding: none"),
     ('value="3"', 'value="heavy"', "value of the inertial of link 'hub' must be 1 finite"),
     ('value="3"', 'value="nan"', "value of the inertial of link 'hub' must be 1 finite"),
     ("<mass", "<weight", "value of the inertial of link 'hub' must be 1 finite .* got None"),
     ('iyz="0"', "", "iyz of the inertial of link 'hub'"),
     ("0 0 1.57", "0 1.57", "rpy of the origin must be 3 finite"),
     ('ixx="0.6"', 'ixx="6"', "valid inertials, got .* link 'hub': inertia must satisfy"),
     ('name="hub"', "", "a link has no 'name'"),
     ("</robot>", '<link name="hub"/></robot>', "link 'hub' is defined, .* 2 times"),
     ("</robot>", FIXED.format("hub", "hub"), "form a loop")],
)  # fmt: skip
def test_a_urdf_file_that_is_none_is_refused_with_the_reason(file, old, new, message):
    with pytest.raises(ValueError, match=f"^path must .*{message}"):
        RigidBody.from_urdf(file(HUB.replace(old, new)))


def test_a_file_that_is_not_there_or_that_mujoco_refuses_is_named(file, tmp_path, mujoco):
    for path in (file("<mujoco><foo/></mujoco>"), tmp_path / "nowhere.xml", tmp_path, 3):
        with pytest.raises(ValueError, match="path must be a file for MuJoCo, got"):
            RigidBody.from_mjcf(path)
        with pytest.raises(ValueError, match="path must be a URDF file, got"):
            RigidBody.from_urdf(path)


@pytest.mark.parametrize("found", [None, SimpleNamespace(__version__="3.13.0")])
def test_without_a_mujoco_that_reads_rightly_a_sentence_says_what_to_install(
    file, monkeypatch, found
):
    monkeypatch.setitem(sys.modules, "mujoco", found)
    with pytest.raises(ModuleNotFoundError, match=r"MuJoCo 3.14 or later, .* pip install"):
        RigidBody.from_mjcf(file(TWO))
