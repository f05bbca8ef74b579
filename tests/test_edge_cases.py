"""Bodies and starts at the edge of what the equations are made for, with every scheme."""

import warnings
from math import cos, sin

import gymnasium as gym
import numpy as np
import pytest

import textbook as tb
from rbgym import Batch, HeavyTop, RigidBody, SoftWall, integrators, simulate
from rbgym.engine.batch import IntegrationError
from rbgym.quaternion import angle_between, from_rotation_vector, multiply, rotate
from schemes import COMPILED
from textbook_cases import OMEGA, Q

pytestmark = pytest.mark.interpreted

NAMES = integrators.names()
SECOND_ORDER = [name for name in NAMES if integrators.get(name).order > 1]
BODIES = {
    "rod": RigidBody([1.0, 1.0, 1e-4]),
    "disc": RigidBody([1.0, 1.0, 2.0]),
    "two equal to round-off": RigidBody([1.0, 1.0 + 1e-15, 0.6]),
    "nearly a sphere": RigidBody([1.0, 1.0 + 1e-12, 1.0 - 1e-12]),
}


def exact_end(body, omega):
    """Where the body is after a second, by its closed form."""
    start = {"quaternion": Q, "angular_velocity": omega}
    return simulate(body, integrator="exact", dt=1.0, steps=1, **start).quaternion[-1]


def after(name, body, omega, dt=0.01, steps=100, potential=None):
    batch = Batch(body, name, potential, size=1)
    batch.set_state(Q, omega)
    batch.advance(dt, steps)
    return batch


@pytest.mark.parametrize("name", NAMES)
def test_a_free_body_at_rest_stays_where_it_is(name):
    batch = after(name, RigidBody([6.0, 8.0, 3.0]), np.zeros(3))
    now = batch.measure()
    assert not batch.failed[0]
    np.testing.assert_allclose(now["quaternion"][0], Q, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(now["angular_velocity"][0], np.zeros(3))


@pytest.mark.parametrize("name", SECOND_ORDER)
def test_a_sphere_turns_by_rate_times_time(name):
    batch = after(name, RigidBody([2.0, 2.0, 2.0]), OMEGA)
    now = batch.measure()
    assert not batch.failed[0]
    np.testing.assert_allclose(now["angular_velocity"][0], OMEGA, rtol=1e-4)
    expected = multiply(Q, from_rotation_vector(OMEGA))
    assert angle_between(now["quaternion"][0], expected) < 1e-4


# A rod takes 5,000 steps: as machine code, of a scheme of each kind, and of pdmv, which refuses it.
DEGENERATE = [
    pytest.param(name, kind, marks=[pytest.mark.compiled] * (kind == "rod"))
    for name in SECOND_ORDER
    for kind in BODIES
    if kind != "rod" or name in (*COMPILED, "pdmv")
]


@pytest.mark.parametrize(("name", "kind"), DEGENERATE)
def test_a_degenerate_body_moves_or_is_refused_and_is_never_silently_wrong(name, kind):
    # A small error of the attitude is a large one of the spin about a rod: shorter steps.
    body, fine = BODIES[kind], 50 if kind == "rod" else 1
    batch = after(name, body, OMEGA, 0.01 / fine, 100 * fine)
    now = batch.measure()
    assert all(np.isfinite(value).all() for value in now.values())
    if batch.failed[0]:  # the modified moments of a rod, series in 1/J^4, need not be positive
        assert name == "pdmv"
        return
    assert angle_between(now["quaternion"][0], exact_end(body, OMEGA)) < 2e-3


@pytest.mark.parametrize("name", NAMES)
def test_a_start_on_the_separatrix_is_integrated(name):
    body = RigidBody([1.0, 2.0, 3.0])
    # |Pi|^2 = 2 T I_2: Omega_1^2 I_1 (I_2 - I_1) = Omega_3^2 I_3 (I_3 - I_2).
    omega = np.array([np.sqrt(1.5), 0.3, np.sqrt(0.5)])
    batch = after(name, body, omega)
    assert not batch.failed[0]
    error = angle_between(batch.measure()["quaternion"][0], exact_end(body, omega))
    assert error < (0.05 if integrators.get(name).order == 1 else 2e-3)


# Where `exact` divides by zero, Python would refuse, and machine code goes on.
AT_ZERO = [pytest.param(n, marks=[pytest.mark.compiled] * (n == "exact")) for n in NAMES]


@pytest.mark.parametrize("sign", ["printed", "repulsive"])
@pytest.mark.parametrize("name", AT_ZERO)
def test_a_body_at_the_singularity_of_the_wall_stays_finite(name, sign):
    # Hanging straight down, 1.1 + R_33 is 0.1 and the torque's slope 1e10.
    down = from_rotation_vector([np.pi - 1e-3, 0.0, 0.0])
    batch = Batch(RigidBody([2.0, 3.0, 4.5]), name, SoftWall(sign))
    batch.set_state(down, OMEGA)
    batch.advance(0.5, 3)
    # A step that is refused leaves the last good state, with the flag up.
    assert np.isfinite(batch.full_state()).all()


ROD, WEIGHT = RigidBody.rod(1.0, 1.0).about((0.0, 0.0, -0.5)), HeavyTop(4.905)
ROD_START = {"quaternion": (cos(0.5), sin(0.5), 0, 0), "angular_velocity": (0.5, 1, 0)}
LOST = "loses the spin of a body"


@pytest.fixture(scope="module")
def rod_after_five_seconds():
    """Attitude and rates by Euler's equations, rotation matrices and Dormand & Prince's method."""
    top = tb.Top(WEIGHT.mgl, (0.0, 0.0, 1.0))
    start = map(np.array, ROD_START.values())
    return tb.euler_reference(ROD.moments, *start, 5.0, top, rtol=1e-9)


FIRST_ORDER = [name for name in NAMES if integrators.get(name).order == 1]
# They take very short steps.
SLOW = [pytest.param(name, marks=pytest.mark.compiled) for name in FIRST_ORDER]
OTHERS = [*SECOND_ORDER, "quat_em:4", "exact:4", "exact:6"]


@pytest.mark.parametrize("name", [*SLOW, *OTHERS])
def test_a_falling_rod_moves_as_it_should_or_the_user_is_told(name, rod_after_five_seconds):
    record = integrators.get(name)
    dt, steps = (0.01, 500) if record.order > 1 else (2e-5, 250_000)
    keeps = "spin" in record.conserves["heavy_top"]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            how = {"integrator": name, "potential": WEIGHT, "record_every": 10, **ROD_START}
            motion = simulate(ROD, dt=dt, steps=steps, **how)
        except IntegrationError:
            assert not keeps or name in ("pdmv", "quat_vi")  # beyond their reach
            return
    if told:
        (warning,) = told
        assert LOST in str(warning.message)
        assert not keeps
        return
    q, omega = rod_after_five_seconds
    assert angle_between(motion.quaternion[-1], q) < 0.02
    assert np.linalg.norm(motion.angular_velocity[-1] - omega) < 0.01 * np.linalg.norm(omega)


@pytest.mark.parametrize("name", ["quat_em", "scalable_em", "convected", "swc1"])
def test_no_step_ends_at_a_root_that_is_far_from_the_expected_one(name):
    # Before, a step of quat_em took the spin from -2.5 to +662 rad/s, one of convected to 90.
    unsolved = pytest.raises(IntegrationError, match=r"could not solve a step of 0\.01 s")
    with pytest.warns(UserWarning, match=LOST), unsolved:
        simulate(ROD, integrator=name, dt=0.01, steps=500, potential=WEIGHT, **ROD_START)


@pytest.mark.parametrize(("name", "power"), [("quat_em", 1 / 8), ("convected", 1 / 4)])
def test_the_spin_of_a_slender_top_is_multiplied_as_the_warning_says(name, power):
    h, J_a = 0.02, 5e-5  # of the axis: (0.02 s)^2 times a newton metre over this is eight
    body, weight = RigidBody([1.0, 1.0, J_a]), HeavyTop(1.0)
    start = {"quaternion": from_rotation_vector([1.0, 0, 0]), "angular_velocity": (0.3, 0.4, 0.2)}
    runs = {}
    for one in (name, "exact:4"):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            runs[one] = simulate(body, integrator=one, dt=h, steps=400, potential=weight, **start)
        assert [LOST in str(w.message) for w in told] == [True] * (one == name)
    spin, kept = (run.angular_velocity[:, 2] / 0.2 for run in runs.values())
    assert np.abs(kept - 1.0).max() < 1e-9
    height = rotate(runs[name].quaternion, np.array([0.0, 0.0, 1.0]))[:, 2]
    expected = np.exp(h * h * power / J_a * (height - height[0]))
    assert expected.min() < 0.5
    np.testing.assert_allclose(spin, expected, rtol=0.05)


def test_the_warning_names_scheme_body_step_and_what_to_do():
    def swing(dt, **start):
        how = {"integrator": "quat_em", "potential": HeavyTop(2.0)}
        simulate(RigidBody([1, 1, 1e-3]), dt=dt, steps=2, **how, **start)

    said = r"'quat_em' loses .* 0\.001 kg m\^2 about .* and 1 across it in steps of 0\.1 s"
    with pytest.warns(UserWarning, match=said + r".* at most 0\.045 s, or 'exact:4'") as told:
        swing(0.1)
    assert len(told) == 1
    assert told[0].filename == __file__
    swing(0.0447)  # s; a warning is an error here


def test_the_environments_warn_once_and_not_of_what_they_ship():
    with pytest.warns(UserWarning, match=LOST) as told:
        gym.make("RigidTop-v0", body=ROD, integrator="quat_em")
    assert len(told) == 1
    for env_id in ("RigidTop-v0", "TopSwingUp-v0", "SteadyPrecession-v0"):
        for substeps in (1, None):  # a warning is an error here
            env = gym.make(env_id, substeps=substeps).unwrapped
            for name in NAMES:
                batch = Batch(env.body, name, env.potential)
                batch.warn_of_spin(env.dt / (substeps or env.task.substeps_of_others))
