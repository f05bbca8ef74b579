"""Bodies of MJCF and URDF files, beside what MuJoCo itself moves them with."""

import numpy as np
import pytest

pytest.importorskip("mujoco")

import mujoco

from rbgym import RigidBody, compound

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


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "model.xml"
        path.write_text(text)
        return path

    return write


def moved_by_mujoco(model):
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


def assert_moves_alike(body, model):
    mass, moment, inertia = moved_by_mujoco(model)
    assert body.mass == pytest.approx(mass, rel=1e-14)
    np.testing.assert_allclose(body.mass * body.center_of_mass, moment, atol=1e-14)
    np.testing.assert_allclose(body.inertia, inertia, rtol=0, atol=1e-13)
    products = body.inertia[np.triu_indices(3, 1)]
    assert np.abs(products).min() > 1e-3


def test_a_body_of_geoms_is_moved_as_mujoco_moves_it(file):
    path = file(TWO.split('<body name="arm"')[0] + "</body></worldbody></mujoco>")
    assert_moves_alike(RigidBody.from_mjcf(path), mujoco.MjModel.from_xml_path(str(path)))


def test_a_body_of_several_is_named_and_has_its_own_full_tensor(file):
    arm = RigidBody.from_mjcf(file(TWO), "arm")
    own = [[0.6, 0.1, -0.05], [0.1, 0.8, 0.07], [-0.05, 0.07, 0.5]]
    expected = compound([(RigidBody(own, 3), (0.1, 0.2, -0.1))], about=(0, 0, 0))
    np.testing.assert_allclose(arm.inertia, expected.inertia, rtol=0, atol=1e-13)
    np.testing.assert_allclose(arm.center_of_mass, (0.1, 0.2, -0.1), rtol=1e-14)
    for name in (None, "leg"):
        with pytest.raises(ValueError, match=r"body must name one of \['hull', 'arm'\], got"):
            RigidBody.from_mjcf(file(TWO), name)


def test_a_link_of_a_robot_counts_what_is_fixed_to_it(file):
    path = file(ROBOT)
    body = RigidBody.from_urdf(path)
    spec = mujoco.MjSpec.from_file(str(path))
    spec.worldbody.first_body().add_freejoint()
    assert_moves_alike(body, spec.compile())
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


def test_a_file_that_mujoco_refuses_is_named(file, tmp_path):
    for path in (file("<mujoco><foo/></mujoco>"), tmp_path / "nowhere.xml", tmp_path, 3):
        with pytest.raises(ValueError, match="path must be a file for MuJoCo, got"):
            RigidBody.from_mjcf(path)
    with pytest.raises(ValueError, match="link must name one of"):
        RigidBody.from_urdf(file("<mujoco><worldbody/></mujoco>"))
