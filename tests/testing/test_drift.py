"""How errors grow is told apart: linearly, faster, in oscillation, not at all."""

import numpy as np
import pytest

from rbgym.validation.fidelity import Motion, drift

pytestmark = pytest.mark.interpreted

K = np.arange(1001.0)
RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("errors", "trend"),
    [(1e-9 * K, "grows linearly"),
     (1e-9 * K + 2e-8 * np.sin(K) ** 2, "grows linearly"),
     (1e-3 * np.sin(0.05 * K) ** 2, "oscillates"),
     (1e-3 * (1 - np.exp(-0.05 * K)), "oscillates"),
     (1e-12 * K**3, "grows faster than linearly"),
     (1e-12 * np.exp(0.02 * K), "grows faster than linearly"),
     (np.abs(RNG.normal(size=1001)) * 1e-16, "at round-off"),
     (0.0 * K, "at round-off"),
     (1e-6 * np.sqrt(K), "wanders"),
     (1e-3 * K[:5], "too short to tell")],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_the_trend_is_recognised(errors, trend):
    assert drift(errors).trend == trend


def test_a_drift_says_how_much_where_and_how_fast():
    errors = 2e-9 * K
    errors[700] = 1e-5
    found = drift(errors, "lane 2")
    assert (found.max, found.step, found.final) == (1e-5, 700, errors[-1])
    assert found.growth == pytest.approx(2e-9, rel=0.05)
    assert "step 700 of lane 2" in str(found)


def test_an_error_that_is_not_finite_counts_from_its_first_step():
    errors = 1e-9 * K
    errors[40], errors[60] = np.nan, np.inf
    found = drift(errors)
    assert (found.max, found.step, found.trend) == (np.inf, 40, "is not finite")
    assert str(found) == "is not finite from step 40"


def motion(**values):
    n = 3
    plain = {
        "quaternion": np.tile([1.0, 0, 0, 0], (n, 1)),
        "angular_velocity": np.tile([0.0, 0, 1], (n, 1)),
        "energy": np.ones(n),
        "angular_momentum": np.tile([0.0, 3, 4], (n, 1)),
    }
    return Motion(**{**plain, **values})


def test_errors_are_relative_to_the_start():
    moved = motion(
        energy=np.array([2.0, 2.1, 1.8]),
        angular_momentum=np.array([[0.0, 3, 4], [0, 3, 4.5], [1, 3, 4]]),
    )
    np.testing.assert_allclose(moved.errors()["energy"], [0, 0.05, 0.1])
    np.testing.assert_allclose(moved.errors()["momentum"], [0, 0.1, 0.2])
    assert not moved.errors()["norm"].any()


def test_with_an_axis_only_the_momentum_along_it_counts_by_the_largest_momentum():
    momentum = np.array([[0.0, 0, 0], [6, 0, 8], [0, 0.5, 0]])
    across = motion(angular_momentum=momentum, axis=np.array([0.0, 1, 0]))
    np.testing.assert_allclose(across.errors()["momentum"], [0, 0, 0.05])


def test_a_total_energy_of_zero_is_measured_by_the_kinetic_energy():
    # A pendulum let go at the level of its pivot: T + V = 0 throughout, T up to 2 J.
    falling = motion(
        energy=np.array([0.0, 1e-9, 0.0]),
        angular_velocity=np.array([[0.0, 0, 0], [0, 0, 0.5], [0, 0, 1]]),
        axis=np.array([0.0, 0, 1]),
    )
    np.testing.assert_allclose(falling.errors()["energy"], [0, 5e-10, 0], rtol=1e-12)
