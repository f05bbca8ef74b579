"""The law that turns past cones: it never looks where it must not, and is the PD law elsewhere."""

import gymnasium as gym
import numpy as np
import pytest

from rbgym.agents import controllers
from rbgym.agents.judge.evaluation import evaluate
from rbgym.quaternion import from_rotation_vector, rotate_inverse

pytestmark = pytest.mark.interpreted

Z = (0.0, 0.0, 1.0)


@pytest.mark.compiled
def test_it_turns_past_the_cone_in_every_hard_episode_too():
    found = evaluate("detour", "KeepOutSlew-v0", episodes=64, difficulty="hard")
    assert found.success_rate == 1.0


def law_for(*cones):
    env = gym.make("AttitudeSlew-v1", constraints={"keep_out": list(cones)})
    return controllers.make("detour", env), controllers.make("pd", env)


def seen(turn, omega, *directions):
    """An observation of a body that is turned by a rotation vector from its target at the world's
    axes, and of directions in the world."""
    q = from_rotation_vector(np.array(turn))
    shown = [rotate_inverse(q, np.array(d)) for d in directions]
    return np.concatenate([q, omega, *shown])


def cone(direction, half_angle=0.3):
    direction = tuple((np.array(direction) / np.linalg.norm(direction)).tolist())
    return {"axis": Z, "direction": direction, "half_angle": half_angle}


def test_where_no_cone_is_in_the_way_it_is_the_pd_law():
    behind = (0.0, 0.0, -1.0)
    detour, pd = law_for(cone(behind))
    row = seen((1.2, 0.0, 0.0), (0.01, -0.02, 0.005), behind)
    np.testing.assert_array_equal(detour.predict(row)[0], pd.predict(row)[0])


@pytest.mark.parametrize(("off", "side"), [(0.2, 1.0), (-0.2, -1.0), (1e-9, 1.0), (-1e-9, 1.0)])
def test_it_passes_on_the_side_on_which_the_turn_passes_the_middle_or_right_of_it(off, side):
    # Turned by 1.6 rad about x, the boresight comes to z through y-z; the cone is a little off it.
    middle = np.array([off, -np.sin(0.8), np.cos(0.8)])
    middle /= np.linalg.norm(middle)
    detour, pd = law_for(cone(middle))
    row = seen((1.6, 0.0, 0.0), (0.0, 0.0, 0.0), middle)
    assert pd.predict(row)[0][1] == pytest.approx(0.0, abs=1e-9)
    # The boresight moves as omega x z: about +y towards +x, and the cone is on that side.
    assert side * detour.predict(row)[0][1] < -0.1


def test_of_several_cones_the_first_in_the_way_counts():
    first = (0.05, -np.sin(1.4), np.cos(1.4))
    second = (-0.05, -np.sin(0.6), np.cos(0.6))
    far, both = law_for(cone(first, 0.15)), law_for(cone(first, 0.15), cone(second, 0.15))
    turn, still = (1.9, 0.0, 0.0), (0.0, 0.0, 0.0)
    alone = far[0].predict(seen(turn, still, first))[0]
    np.testing.assert_array_equal(both[0].predict(seen(turn, still, first, second))[0], alone)
