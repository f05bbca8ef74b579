"""Flexible modes: the coupled equations solved by a library, the books of energy and momentum."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from differences import turned_by
from family import SLEW, at, make
from rbgym.envs.actuators import FlexibleModes, MagneticCoils, ReactionWheels
from rbgym.envs.derivatives import linearize
from rbgym.quaternion import multiply, rotate
from refusals import refused

pytestmark = pytest.mark.interpreted

TILTED, TUMBLING = (0.8, 0.36, -0.48, 0.0), (0.3, -0.2, 0.4)
D, W = np.array([[0.3, 0.05, -0.02], [-0.04, 0.1, 0.2]]), np.array([1.5, 2.3])
INERTIA = [[0.2, 0.01, 0.0], [0.01, 0.15, 0.0], [0.0, 0.0, 0.16]]  # of all but the modes
SHAKEN = {"deflection": (0.01, -0.02), "deflection_rate": (0.03, 0.01)}
FREE = {"substeps": 1000, "dt": 100.0, "rate_limit": 9.0, "max_episode_steps": -1,
        "body": {"inertia": INERTIA}}  # fmt: skip


def with_modes(damping, *others):
    return [*others, FlexibleModes(D, W, damping)]


def reference(state, axes, torques, damping, seconds):
    """Lagrange's equations: J' w' + d'x'' + w x (J' w + d'x' + A h) = -A h', with the inertia J' of
    everything, and x'' + d w' = -W^2 x - 2 z W x'."""
    whole = np.array(INERTIA) + D.T @ D
    mass = np.block([[whole, D.T], [D, np.eye(2)]])

    def rate(t, y):
        q, w, x, v, h = y[:4], y[4:7], y[7:9], y[9:11], y[11:]
        turn = -np.cross(w, whole @ w + v @ D + h @ axes) - torques @ axes
        push = -(W**2) * x - 2.0 * damping * W * v
        found = np.linalg.solve(mass, [*turn, *push])
        return [*0.5 * multiply(q, np.array([0.0, *w])), *found[:3], *v, *found[3:], *torques]

    names = "quaternion", "angular_velocity", "deflection", "deflection_rate", "wheel_momentum"
    y = np.concatenate([state[name] for name in names])
    return solve_ivp(rate, (0.0, seconds), y, method="DOP853", rtol=1e-12, atol=1e-14).y[:11, -1]


@pytest.mark.parametrize("integrator", ["quat_em", "exact", "imidm:4"])
def test_with_every_scheme_it_tends_to_the_coupled_equations_by_order_two(integrator):
    errors, wheels = [], ReactionWheels(momentum=0.1, inertia=1e-4, torque=5e-3)
    torques = -5e-3 * np.array([0.7, -0.4, 0.9])
    for substeps in (8, 16, 32):
        env = make(SLEW, **{**FREE, "dt": 1.0, "substeps": substeps}, integrator=integrator,
                   actuator=with_modes(0.05, wheels))  # fmt: skip
        at(env, TILTED, TUMBLING, **SHAKEN, wheel_momentum=(0.01, -0.02, 0.03))
        wanted = reference(env.state, wheels.matrix.T, torques, 0.05, 3.0)
        for _ in range(3):
            env.step(np.array([0.7, -0.4, 0.9]))
        state, names = env.state, ("quaternion", "angular_velocity", *SHAKEN)
        found = np.concatenate([state[name] for name in names])
        wanted[:4] *= np.sign(found[0] * wanted[0])
        errors.append(np.linalg.norm(found - wanted))
    errors = np.array(errors)
    np.testing.assert_allclose(errors[:-1] / errors[1:], 4.0, atol=0.35)
    assert errors[-1] < 2e-3


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("integrator", ["quat_em", "akw", "exact"])
def test_energy_and_momentum_are_accounted_for_in_1e5_steps(integrator):
    for damping in (0.0, 0.005):
        wheels = ReactionWheels(coulomb=0.0)
        env = make(SLEW, **FREE, integrator=integrator, actuator=with_modes(damping, wheels))
        at(env, TILTED, TUMBLING, **SHAKEN, wheel_momentum=(0.01, -0.02, 0.03))
        energy, start = env.invariants()["energy"], env.state["angular_momentum"]
        for _ in range(100):
            env.step(np.zeros(3))
        state, J = env.state, np.array(INERTIA)
        np.testing.assert_array_equal(state["angular_momentum"], start)
        # The same two sums, of what the state shows: x, x' and the body's rates.
        w, p = state["angular_velocity"], state["deflection_rate"] + D @ state["angular_velocity"]
        h = state["wheel_momentum"]
        momentum = rotate(state["quaternion"], J @ w + p @ D + h)
        np.testing.assert_allclose(momentum, start, rtol=0, atol=1e-15)
        sums = w @ J @ w + p @ p + np.sum((W * state["deflection"]) ** 2) + h @ h / wheels.inertia
        assert (state["dissipated"] > 1e-4) == (damping > 0.0)
        assert abs(0.5 * sums + state["dissipated"] - energy) < 5e-13 * energy


def test_a_mode_that_hardly_couples_leaves_the_rigid_body_and_vibrates_alone():
    rigid, flexible = (
        make(SLEW, body={"inertia": INERTIA}, integrator="quat_em", actuator=actuator)
        for actuator in ("torque", {"torque": {}, "flexible": {
            "coupling": (1e-9, 0.0, 0.0), "frequency": 2.0, "damping": 0.1}})
    )  # fmt: skip
    at(rigid, TILTED, TUMBLING)
    at(flexible, TILTED, TUMBLING, deflection=0.3)
    for _ in range(8):
        for env in (rigid, flexible):
            env.step(np.array([0.3, -0.2, 0.1]))
    for name in ("quaternion", "angular_velocity", "angular_momentum"):
        np.testing.assert_allclose(flexible.state[name], rigid.state[name], rtol=0, atol=1e-8)
    s = 2.0 * (-0.1 + 1j * np.sqrt(0.99))  # x = Re(c exp(s t)), x' = 0 at the start
    c, t = 0.3 * (1.0 - 1j * s.real / s.imag * -1.0), flexible.state["time"]
    np.testing.assert_allclose(flexible.state["deflection"], (c * np.exp(s * t)).real, atol=1e-8)


def test_a_pendulum_couples_by_the_work_of_its_velocity_across_the_axis():
    axis, place = np.array([0.6, 0.0, 0.8]), np.array([0.1, -0.2, 0.3])
    modes = FlexibleModes.slosh(2.0, place, axis, 1.5)
    carried = np.cross(TUMBLING, place)  # the velocity of the mass with the body
    across = carried - axis * (axis @ carried)
    assert np.sum((modes.coupling @ np.array(TUMBLING)) ** 2) == pytest.approx(2 * across @ across)
    both = make(SLEW, actuator=["torque", modes, FlexibleModes(0.01 * D, W)], integrator="akw")
    assert both.reset(seed=0)[0].shape == (7 + 2 * 4,)


@pytest.mark.compiled
def test_its_state_can_be_set_and_has_the_derivatives_of_its_differences():
    env = make(SLEW, actuator=with_modes(0.05, ReactionWheels(coulomb=0.0)), substeps=2,
               body={"inertia": INERTIA}, integrator="exact", rate_limit=9.0)  # fmt: skip
    put = {"angular_velocity": TUMBLING, "wheel_momentum": (0.01, -0.02, 0.005), **SHAKEN,
           "dissipated": 0.5}  # fmt: skip
    action, sizes = np.array([0.2, -0.3, 0.4]), [3, 3, 2, 2, 1]

    def numbers():
        return np.concatenate([np.ravel(env.state[name]) for name in put])

    def after(change):
        parts = np.split(numbers_put + change[3:], np.cumsum(sizes)[:-1])
        at(env, turned_by(np.array([TILTED]), change[:3])[0], **dict(zip(put, parts, strict=True)))
        env.step(action)
        return numbers()

    at(env, TILTED, **put)
    numbers_put = np.concatenate([np.ravel(value) for value in put.values()])
    np.testing.assert_allclose(numbers(), numbers_put, rtol=0, atol=1e-15)
    linear = linearize(env, action=action)
    wanted = np.transpose([(after(e) - after(-e)) / 2e-5 for e in 1e-5 * np.eye(14)])
    np.testing.assert_allclose(linear.A[3:], wanted, rtol=0, atol=1e-8)


def test_a_start_moves_with_the_body():
    coils = MagneticCoils()
    for others in (["torque"], ["wheels"], ["wheels", "thrusters"], ["wheels", coils], [coils]):
        env = make(SLEW, actuator=with_modes(0.05, *others), body={"inertia": INERTIA},
                   integrator="quat_em", initial={"rate": 0.1})  # fmt: skip
        state = (env.reset(seed=3), env.state)[1]
        h = np.asarray(state.get("wheel_momentum", (0.0,) * 3))
        whole = np.array(INERTIA) + D.T @ D  # of a rigid body
        momentum = rotate(state["quaternion"], whole @ state["angular_velocity"] + h)
        np.testing.assert_allclose(state["angular_momentum"], momentum, rtol=0, atol=1e-16)


@refused(
    ({"coupling": np.ones((5, 3))}, "coupling must be finite real numbers of shape"),
    ({"coupling": (0.0, 0.0, 0.0)}, "coupling must have no zero row"),
    ({"frequency": (1.0, -1.0)}, r"frequency must be in \[1e-06, 1e.06\], got"),
    ({"frequency": (1.0, 1.0, 1.0)}, "frequency must be finite real numbers of shape"),
    ({"damping": 0.6}, r"damping must be in \[0, 0.5\], got"),
    ({"damping": 0.5, "coupling": (1.0, 0.0, 0.0)}, "damping must be less than 0.1"),
    ({"integrator": "pdmv"}, "integrator must support 'rotors' for the flexible modes"),
)
def test_modes_that_cannot_be_are_refused(arguments):
    scheme = {"integrator": arguments.pop("integrator", "quat_em")}
    given = {"coupling": D, "frequency": W, **arguments}
    if len(np.shape(given["coupling"])) == 1:
        given["frequency"] = 2.0
    make(SLEW, **scheme, actuator={"torque": {}, "flexible": given}, body={"inertia": INERTIA})
