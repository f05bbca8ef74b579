"""What Mandre (2008) adds to his scheme in section 7: normalisations, sampled torques, flight."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import textbook as tb
from rbgym import Batch, RigidBody, compound, integrators, simulate
from rbgym.integrators import Held, Lagrange
from rbgym.quaternion import angle_between, normalized, rotate
from refusals import refused
from textbook_cases import OMEGA, TENSOR, Q

pytestmark = pytest.mark.interpreted

BODY = RigidBody(TENSOR, mass=3.0)


def smooth(t):
    return np.array([np.sin(2 * t + 0.3), 1.5 * np.cos(t), 0.5 - t])


def started(record, law=None, dt=None):
    """The body at its start; with a law, also with the two samples of it before the start."""
    batch = Batch(BODY, record)
    batch.set_state(Q, OMEGA)
    if law is not None:
        at_start = batch.full_state()
        for t in (-2 * dt, -dt):
            batch.set_torque(law(t))
            batch.advance(dt)
        samples = batch.memory()[:, -12:]
        batch.restore(at_start)
        batch.put_rows(batch.physics.memory_row() + 2, samples)
    return batch


def end(record, steps, substeps=1, law=smooth, time=2.0, has_past=False):
    """State after `time` seconds under a torque that is sampled at the start of each step."""
    batch = started(record, law if has_past else None, time / steps)
    for k in range(steps):
        batch.set_torque(law(time * k / steps))
        batch.advance(time / steps / substeps, substeps)
    now = batch.measure()
    return now["quaternion"][0], now["angular_velocity"][0]


def error(record, steps, substeps, has_past):
    q, omega = tb.euler_reference(BODY.inertia, Q, OMEGA, 2.0, torque=lambda t, R: smooth(t))
    q_end, omega_end = end(record, steps, substeps, has_past=has_past)
    return angle_between(q_end, q) + np.linalg.norm(omega_end - omega)


@pytest.mark.parametrize("substeps", [1, 3])
@pytest.mark.parametrize(
    ("sampling", "has_past", "order"),
    # Without a past, the first torque is held for one step, which costs one order.
    [(Held(), False, 1), (Lagrange(), False, 2), (Lagrange(), True, 3)],
)
def test_sampled_torques_converge_with_the_order_of_their_continuation(
    sampling, has_past, order, substeps
):
    record = integrators.get("rkn4", sampling=sampling)
    errors = [error(record, n, substeps, has_past) for n in (80, 160, 320)]
    slope = math.log2(errors[0] / errors[2]) / 2
    assert slope == pytest.approx(order, abs=0.15)


def test_substeps_see_the_parabola_through_the_last_three_samples():
    # A torque that is one is continued exactly: then nothing but the scheme's own error is left.
    def parabola(t):
        return np.array([1.0 + t - t * t, 0.5 + t * t, -1.0 + 0.3 * t])

    record = integrators.get("rkn4", sampling=Lagrange(jump=10.0))
    q, omega = tb.euler_reference(BODY.inertia, Q, OMEGA, 0.5, torque=lambda t, R: parabola(t))
    batch = started(record, parabola, 0.1)
    for t in (0.0, 0.1, 0.2, 0.3, 0.4):
        batch.set_torque(parabola(t))
        batch.advance(0.01, 10)
    now = batch.measure()
    assert angle_between(now["quaternion"][0], q) < 1e-9
    np.testing.assert_allclose(now["angular_velocity"][0], omega, rtol=0, atol=1e-9)


def test_a_jump_of_the_torque_starts_the_history_anew():
    def bang(t):
        return np.array([1.0, 0.0, 0.0]) if t < 1.0 else np.array([-1.0, 0.0, 0.0])

    held = end(integrators.get("rkn4"), 40, law=bang)
    reset = end(integrators.get("rkn4", sampling=Lagrange()), 40, law=bang)
    blind = end(integrators.get("rkn4", sampling=Lagrange(jump=10.0)), 40, law=bang)
    np.testing.assert_allclose(np.concatenate(reset), np.concatenate(held), rtol=0, atol=1e-13)
    assert np.linalg.norm(blind[1] - held[1]) > 1e-3


def test_momentum_normalisation_keeps_the_world_momentum_to_the_last_bit():
    batch = started(integrators.get("rkn4", momentum_normalisation=True))
    before = batch.measure()["angular_momentum"]
    batch.advance(0.05, 2000)
    np.testing.assert_array_equal(batch.measure()["angular_momentum"], before)
    plain = started("rkn4")
    plain.advance(0.05, 2000)
    assert np.linalg.norm(plain.measure()["angular_momentum"] - before) > 1e-6


def test_momentum_normalisation_leaves_a_driven_body_alone():
    both = [end(integrators.get("rkn4", momentum_normalisation=on), 50) for on in (False, True)]
    np.testing.assert_array_equal(np.concatenate(both[0]), np.concatenate(both[1]))


def test_without_the_gyroscopic_term_the_rates_of_a_free_body_stay_as_they_are():
    batch = started(integrators.get("rkn4", gyroscopic=False))
    momentum = batch.measure()["angular_momentum"][0]
    batch.advance(0.01, 500)
    now = batch.measure()
    np.testing.assert_allclose(now["angular_velocity"][0], OMEGA, rtol=0, atol=1e-10)
    assert np.linalg.norm(now["angular_momentum"][0] - momentum) > 0.1  # which is wrong


@pytest.mark.compiled
def test_the_momentum_of_a_free_body_has_no_trend_in_its_round_off():
    # The scheme's own error, of the order h^6, is beyond sight; 2e-16 a step would be 2e-10.
    steps, rng = 1_000_000, np.random.default_rng(1)
    batch = Batch(BODY, "rkn4", size=16)
    batch.set_state(normalized(rng.standard_normal((16, 4))), rng.standard_normal((16, 3)))
    before = np.linalg.norm(batch.measure()["angular_momentum"], axis=1)
    batch.advance(1e-4, steps)
    after = np.linalg.norm(batch.measure()["angular_momentum"], axis=1)
    assert np.abs(after / before - 1).max() < 4 * 2.2e-16 * math.sqrt(steps)


@refused(
    ({"renormalise_every": -1}, "renormalise_every"),
    ({"renormalise_every": 2.5}, "renormalise_every"),
    ({"momentum_normalisation": "yes"}, "momentum_normalisation"),
    ({"gyroscopic": 1}, "gyroscopic"),
    ({"sampling": "lagrange"}, "sampling"),
    ({"sampling": Lagrange(jump=0.0)}, "jump"),
    ({"normalise": 3}, "renormalise_every"),
)
def test_wrong_options_are_refused(options):
    integrators.get("rkn4", **options)


def thrust(t, p, v, q, omega):
    """A thruster that turns with the body, gravity, and a drag on what moves."""
    return rotate(q, np.array([0.0, 1.0, 4.0 + t])) - np.array([0.0, 0.0, 9.81 * 3.0]) - 0.4 * v


def moment(t, p, v, q, omega):
    return np.array([0.3 * p[0], -0.2 * omega[1], 0.1 * v[2]])


def flown(steps, **kwargs):
    start = {"position": (1.0, 0.5, 2.0), "velocity": (0.3, -0.4, 1.0), "quaternion": Q,
             "angular_velocity": OMEGA, "force": thrust, "torque": moment}  # fmt: skip
    return simulate(BODY, dt=2.0 / steps, steps=steps, **{"integrator": "rkn4", **start, **kwargs})


def flight_reference():
    """Position and rotation matrix at the end, from a system without quaternions."""
    J, J_inv = BODY.inertia, np.linalg.inv(BODY.inertia)

    def rate(t, y):
        p, v, omega, R = y[:3], y[3:6], y[6:9], y[9:].reshape(3, 3)
        q = tb.quaternion_of_rotation(R)
        given = (t, p, v, q, omega)
        turning = J_inv @ (moment(*given) - np.cross(omega, J @ omega))
        return np.concatenate([v, thrust(*given) / 3.0, turning, (R @ tb.skew(omega)).ravel()])

    y = np.concatenate([(1.0, 0.5, 2.0, 0.3, -0.4, 1.0), OMEGA, tb.rotation(Q).ravel()])
    y = solve_ivp(rate, (0.0, 2.0), y, method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    return y[:3], y[9:].reshape(3, 3)


def test_flight_of_coupled_forces_and_torques_is_of_order_four():
    position, R = flight_reference()
    errors = []
    for steps in (40, 80, 160):
        flight = flown(steps)
        attitude = np.linalg.norm(tb.rotation(flight.quaternion[-1]) - R)
        errors.append(np.linalg.norm(flight.position[-1] - position) + attitude)
    assert math.log2(errors[0] / errors[2]) / 2 == pytest.approx(4, abs=0.15)


def test_a_free_flight_is_a_straight_line_and_the_engines_rotation():
    flight = flown(100, force=None, torque=None)
    line = np.array([1.0, 0.5, 2.0]) + 2.0 * np.array([0.3, -0.4, 1.0])
    np.testing.assert_allclose(flight.position[-1], line, rtol=0, atol=1e-13)
    batch = started("rkn4")
    batch.advance(0.02, 100)
    now = batch.measure()
    assert angle_between(flight.quaternion[-1], now["quaternion"][0]) < 1e-13
    assert flight.angular_momentum[-1] == pytest.approx(now["angular_momentum"][0], abs=1e-13)
    kinetic = 0.5 * 3.0 * (0.3**2 + 0.4**2 + 1.0) + 0.5 * OMEGA @ BODY.inertia @ OMEGA
    assert flight.energy[0] == pytest.approx(kinetic, rel=1e-14)


@pytest.mark.parametrize("given", [{}, {"force": (0.5, 0.0, -1.0)}, {"torque": (0.3, -0.2, 0.5)}])
def test_what_a_flight_calls_conserved_is_so_and_nothing_else(given):
    flight = flown(2000, **{"force": None, "torque": None, **given})
    for name, found in flight.drift().items():
        assert (found["max"] < 1e-10) == (name in flight.conserved), name


def test_in_flight_a_body_turns_about_its_centre_of_mass_wherever_its_inertia_refers_to():
    tensor = [[0.6, 0.1, -0.05], [0.1, 0.8, 0.07], [-0.05, 0.07, 0.5]]
    given = {"integrator": "rkn4", "dt": 1e-2, "steps": 100, "angular_velocity": (1, 2, 3)}
    own = RigidBody(tensor, 3.0)
    shifted = compound([(own, (0.1, 0.2, -0.1))], about=(0, 0, 0))
    at_centre, flight = (simulate(one, velocity=(1, 0, 0), **given) for one in (own, shifted))
    assert flight.angular_velocity == pytest.approx(at_centre.angular_velocity, abs=1e-13)
    np.testing.assert_allclose(flight.energy, at_centre.energy, rtol=1e-13)
    assert not flight.body.center_of_mass.any()


def test_a_flight_under_a_constant_force_falls_along_a_parabola_and_is_recorded_as_asked():
    flight = flown(100, force=(0.0, 0.0, -29.43), torque=None, record_every=30)
    np.testing.assert_allclose(flight.time, [0.0, 0.6, 1.2, 1.8, 2.0])
    height = 2.0 + flight.time - 0.5 * 9.81 * flight.time**2
    np.testing.assert_allclose(flight.position[:, 2], height, rtol=0, atol=1e-12)
    np.testing.assert_allclose(flight.velocity[:, 2], 1.0 - 9.81 * flight.time, rtol=0, atol=1e-12)


@pytest.mark.parametrize("every", [0, 1, 3])
def test_the_rotation_of_a_flight_is_that_of_the_scheme_with_its_normalisation(every):
    scheme = integrators.get("rkn4", renormalise_every=every)
    how = {"integrator": scheme, "dt": 0.05, "steps": 40, "angular_velocity": (1.0, 2.0, 3.0)}
    alone, flight = simulate(BODY, **how), simulate(BODY, velocity=(0.0, 0.0, 0.0), **how)
    np.testing.assert_allclose(flight.quaternion, alone.quaternion, rtol=0, atol=1e-13)
