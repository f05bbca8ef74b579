"""Tasks of a satellite that knows no attitude: what it is shown, and what is asked of it."""

import math

import numpy as np
import pytest

from family import SLEW, make, many
from orbits import ROUND, sun
from rbgym.envs.orbit import Orbit
from rbgym.quaternion import rotate, rotate_inverse
from refusals import refused

pytestmark = pytest.mark.interpreted

ACQUIRE, SAFE = "SunAcquisition-v0", "SafeMode-v0"


def test_the_goal_is_the_body_z_axis_along_the_sun():
    env = many(ACQUIRE, 30)
    _, info = env.reset(seed=2)
    turns = zip(env.state["season"], env.state["node"], strict=True)
    suns = [sun(math.tau * season, math.tau * node) for season, node in turns]
    axes = rotate(env.state["quaternion"], np.array([0.0, 0.0, 1.0]))
    angles = np.arccos(np.sum(axes * suns, axis=1))
    np.testing.assert_allclose(info["attitude_error"], angles, rtol=0, atol=1e-9)
    assert angles.min() < 0.6 < 2.5 < angles.max()


def test_a_magnetometer_alone_shows_the_field_with_its_noise():
    env = many(SAFE, 400)
    seen, _ = env.reset(seed=5)
    state, record = env.state, env.episodes.setup.orbit.record()
    phases = zip(state["orbit_phase"], state["earth_phase"], strict=True)
    field = rotate_inverse(state["quaternion"], np.array([record.field_at(*p) for p in phases]))
    error = seen * env.columns["magnetic_field"].factor - field
    assert np.std(error) == pytest.approx(math.hypot(1e-7, 1e-7), rel=0.1)  # noise and bias


def test_rates_are_hidden_with_the_attitude_where_no_gyro_is_fitted():
    cells = {"sensor": {"coarse_sun": {}}, "orbit": ROUND}
    assert "angular_velocity" in make(SLEW, **cells).columns
    assert [*make(SLEW, observation="hidden", **cells).columns] == ["coarse_sun"]
    cells["sensor"]["gyro"] = {}
    hidden = make(SLEW, observation="hidden", **cells)
    assert [*hidden.columns] == ["angular_velocity", "coarse_sun"]


def test_the_orbit_of_a_task_is_changed_key_by_key():
    orbit = make(ACQUIRE, orbit={"altitude": 700e3, "model": "igrf"}).episodes.setup.orbit
    assert orbit == Orbit(700e3, math.radians(97.5), model="igrf")


UNFLAGGED = {"star_tracker": {"flag": False}}


@refused(
    (SLEW, {"observation": "hidden", "sensor": UNFLAGGED}, "must have a column"),
    (SAFE, {"observation": "mrp"}, "observation must be 'hidden' in this task"),
)
def test_what_hides_everything_or_nothing_is_refused(env_id, kwargs):
    make(env_id, **kwargs)
