"""Geometric tracking against the law written in rotation matrices."""

import numpy as np
import pytest

from laws import J, drawn, law_of, vee
from rbgym.agents.controllers import GeometricTracking
from rbgym.agents.judge import evaluate
from rbgym.quaternion import multiply, rotate, to_matrix

pytestmark = pytest.mark.interpreted


def test_geometric_tracking_is_the_law_written_in_rotation_matrices():
    rng = np.random.default_rng(1)
    law = law_of(GeometricTracking, frequency=0.8, damping=0.9, moving=True)
    k_R, k_Omega = 0.8**2 * J, 2 * 0.9 * 0.8 * J
    q, target = drawn(30, 2)[0], drawn(30, 3)[0]
    relative = multiply(target * [1, -1, -1, -1], q)
    Omega, Omega_d, change = rng.normal(size=(3, 30, 3))
    expected, w, last = [], [], []
    lanes = zip(to_matrix(q), to_matrix(target), Omega, Omega_d, change, strict=True)
    for R, R_d, rate, rate_d, rate_d_dot in lanes:
        e_R = 0.5 * vee(R_d.T @ R - R.T @ R_d)
        e_Omega = rate - R.T @ R_d @ rate_d
        forward = np.cross(rate, R.T @ R_d @ rate_d) - R.T @ R_d @ rate_d_dot
        expected.append(-k_R @ e_R - k_Omega @ e_Omega + np.cross(rate, J @ rate) - J @ forward)
        w.append(R.T @ R_d @ rate_d)
        last.append(rate_d - law.dt * rate_d_dot)  # in the target's axes
    seen = (relative, Omega, np.array(w))
    u, memory = law.feedback(seen, np.array(last), np.zeros(30, bool))
    np.testing.assert_allclose(u, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(memory, np.array(last) + law.dt * change, rtol=0, atol=1e-12)
    mirrored, _ = law.feedback((-relative, *seen[1:]), np.array(last), np.zeros(30, bool))
    np.testing.assert_array_equal(mirrored, u)


def test_without_a_past_the_targets_rate_is_taken_as_steady():
    q, Omega = drawn(10)
    w = np.roll(Omega, 1, axis=0)
    law = law_of(GeometricTracking, moving=True)
    steady = rotate(q, w)  # in the target's axes
    a, _ = law.feedback((q, Omega, w), None, np.ones(10, bool))
    b, _ = law.feedback((q, Omega, w), steady, np.zeros(10, bool))
    c, _ = law.feedback((q, Omega, w), steady + 1.0, np.ones(10, bool))
    np.testing.assert_allclose(a, b, rtol=1e-9)
    np.testing.assert_array_equal(a, c)


@pytest.mark.compiled
def test_a_slender_body_turns_as_soon_as_with_pd():
    """Gains of one number for all axes held it to a seventh of the frequency that pd has."""
    found = {
        law: evaluate(law, "AttitudeSlew-v1", 64, satellite="innocube-3u", max_episode_steps=240)
        for law in ("pd", "geometric")
    }
    assert found["geometric"].success_rate == 1.0
    assert found["geometric"].settling_time < 1.2 * found["pd"].settling_time
