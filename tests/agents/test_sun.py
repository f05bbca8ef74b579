"""The laws of a satellite that knows no attitude."""

import numpy as np
import pytest

from family import at, make
from rbgym.agents import controllers
from rbgym.agents.controllers.sun import sun_direction

pytestmark = pytest.mark.interpreted

SIDES = np.vstack([np.eye(3), -np.eye(3)])
SUNS = np.random.default_rng(1).normal(size=(99, 3))
SUNS /= np.linalg.norm(SUNS, axis=1, keepdims=True)


def test_cells_without_noise_give_the_direction_and_in_the_dark_none():
    found = sun_direction(np.maximum(SUNS @ SIDES.T, 0.0), SIDES)
    np.testing.assert_allclose(found, SUNS, rtol=0, atol=2e-6)
    assert not sun_direction(0.03 * SUNS @ SIDES.T, SIDES).any()


def test_the_torque_turns_the_shortest_way_and_in_the_dark_brakes():
    law, still = controllers.make("sun_pointing", make("SunAcquisition-v0")).law, 0.0 * SUNS
    turn = law.towards(SUNS, still) @ np.linalg.inv(law.inertia)
    lever = np.cross([0.0, 0.0, 1.0], SUNS)
    cosine = np.sum(turn * lever, axis=1) / np.linalg.norm(turn, axis=1)
    np.testing.assert_allclose(cosine, np.linalg.norm(lever, axis=1), rtol=0, atol=0.01)
    assert (np.sum(law.towards(still, SUNS) * SUNS, axis=1) < 0).all()


@pytest.mark.compiled
def test_a_satellite_with_its_back_to_the_sun_turns_its_panels_there():
    env, noon = make("SunAcquisition-v0"), {"orbit_phase": 0.0, "season": 0.0, "node": 0.0}
    back = np.array([1.0, 0.0, -1.0, 0.0]) / np.sqrt(2.0)
    seen, info = at(env, back, (0.0, 0.0, 0.05), **noon)
    assert info["attitude_error"] > 3.141
    law = controllers.make("sun_pointing", env)
    for _ in range(120):
        seen, _, _, _, info = env.step(law.predict(seen)[0])
    assert info["is_success"]


def test_b_dot_commands_the_same_where_nothing_but_the_field_is_shown():
    found = []
    for env_id, before in (("SafeMode-v0", 0), ("MagneticDetumble-v1", 7)):
        law, rows = controllers.make("b_dot", make(env_id)), np.zeros((2, before + 3))
        rows[:, before:] = SUNS[:2]
        found.append(law.predict(rows[1], law.predict(rows[0])[1])[0])
    np.testing.assert_array_equal(*found)
    assert np.abs(found[0]).max() > 0.1
