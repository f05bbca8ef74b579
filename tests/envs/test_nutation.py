"""What an integrator adds to the nutation of a satellite, or takes from it, where nobody acts."""

import math

import numpy as np
import pytest

from family import many

pytestmark = pytest.mark.interpreted

TASK = "NutationDamping-v0"
J, SPIN, H = np.array([1.0, 1.2, 1.6]), 5.0, 0.1
# Of the rates across the axis, as they turn in the body.
NUTATION = SPIN * math.sqrt((J[2] - J[0]) * (J[2] - J[1]) / (J[0] * J[1]))


def nutation(env):
    """The size of the rates across the axis on the ellipse that they run along."""
    across = env.unwrapped.state["angular_velocity"][:, :2]
    return np.sqrt(across**2 @ (J[:2] * (J[2] - J[:2])))


@pytest.mark.parametrize(
    ("scheme", "growth"),
    [
        ("exact:4", 1.0),
        # Of x' = i w x a step of Euler's makes x (1 + i w h), or x / (1 - i w h).
        ("forward_euler", abs(1 + 1j * NUTATION * H)),
        ("backward_euler", 1 / abs(1 - 1j * NUTATION * H)),
    ],
)
def test_a_small_nutation_grows_in_a_step_as_the_linear_theory_of_the_scheme_says(scheme, growth):
    small = {"tilt": 0.0, "spin": 0.0, "transverse": 1e-3}
    env = many(TASK, n=8, integrator=scheme, initial=small)
    env.reset(seed=0)
    begun = nutation(env)
    for _ in range(50):
        env.step(np.zeros((8, 3)))
    np.testing.assert_allclose((nutation(env) / begun) ** (1 / 50), growth, rtol=2e-5)
