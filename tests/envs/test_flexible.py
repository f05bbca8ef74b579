"""Flexible modes: the coupled equations solved by a library, the books of energy and momentum."""

import gymnasium as gym
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from differences import turned_by
from family import SLEW, at, make
from rbgym.envs.actuators import FlexibleModes, ReactionWheels
from rbgym.envs.derivatives import linearize
from rbgym.quaternion import multiply, rotate
from refusals import refused

pytestmark = pytest.mark.interpreted

D, W = np.array([[0.3, 0.05, -0.02], [-0.04, 0.1, 0.2]]), np.array([1.5, 2.3])
INERTIA = np.array([[0.2, 0.01, 0.0], [0.01, 0.15, 0.0], [0.0, 0.0, 0.16]])  # without the modes
TILTED, TURNING = np.array([[0.8, 0.36, -0.48, 0.0]]), {"angular_velocity": (0.3, -0.2, 0.4)}
SHAKEN = TURNING | {"deflection": (0.01, -0.02), "deflection_rate": (0.03, 0.01)}
PUT = SHAKEN | {"wheel_momentum": (0.01, -0.02, 0.005)}
WHEELS = ReactionWheels(inertia=1e-4)


def flexible(*others, damping=0.05, **more):
    actuator = [*(others or [WHEELS]), FlexibleModes(D, W, damping)]
    free = {"body": {"inertia": INERTIA}, "rate_limit": 9.0, "max_episode_steps": -1}
    return make(SLEW, **{**free, "integrator": "exact", "actuator": actuator, **more})


def reference(state, torques, damping, seconds):
    """Lagrange's equations: J' w' + d'x'' + w x (J' w + d'x' + h) = -h', with the inertia J' of
    everything, and x'' + d w' = -W^2 x - 2 z W x'."""
    whole = INERTIA + D.T @ D
    mass = np.block([[whole, D.T], [D, np.eye(2)]])

    def rate(t, y):
        q, w, x, v, h = np.split(y, [4, 7, 9, 11])
        turn = -np.cross(w, whole @ w + v @ D + h) - torques
        found = np.linalg.solve(mass, [*turn, *(-(W**2) * x - 2.0 * damping * W * v)])
        return [*0.5 * multiply(q, np.array([0.0, *w])), *found[:3], *v, *found[3:], *torques]

    y = np.concatenate([state[name] for name in ("quaternion", *PUT)])
    return solve_ivp(rate, (0.0, seconds), y, method="DOP853", rtol=1e-12, atol=1e-14).y[:11, -1]


@pytest.mark.parametrize("integrator", ["quat_em", "exact", "imidm:4"])
def test_with_every_scheme_it_tends_to_the_coupled_equations_by_order_two(integrator):
    errors, action = [], np.array([0.7, -0.4, 0.9])
    for substeps in (8, 16, 32):
        env = flexible(dt=1.0, substeps=substeps, integrator=integrator)
        seen, shown = at(env, TILTED[0], **PUT)[0], env.columns["deflection"]
        assert seen[shown.place] * shown.scale == pytest.approx(PUT["deflection"])
        wanted = reference(env.state, -WHEELS.torque * action, 0.05, 3.0)
        for _ in range(3):
            env.step(action)
        found = np.concatenate([env.state[name] for name in ("quaternion", *SHAKEN)])
        wanted[:4] *= np.sign(found[0] * wanted[0])
        errors.append(np.linalg.norm(found - wanted))
    assert np.divide(errors[:-1], errors[1:]) == pytest.approx(4.0, abs=0.35)
    assert errors[-1] < 2e-3


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("integrator", ["quat_em", "akw", "exact"])
def test_energy_and_momentum_are_accounted_for_in_1e5_steps(integrator):
    for damping in (0.0, 0.005):
        env = flexible(damping=damping, substeps=1000, dt=100.0, integrator=integrator)
        at(env, TILTED[0], **PUT)
        energy, start = env.invariants()["energy"], env.state["angular_momentum"]
        for _ in range(100):
            env.step(np.zeros(3))
        np.testing.assert_array_equal(env.state["angular_momentum"], start)
        # The same two sums, of what the state shows.
        q, w, x, v, h = (env.state[name] for name in ("quaternion", *PUT))
        p = v + D @ w
        np.testing.assert_allclose(rotate(q, INERTIA @ w + p @ D + h), start, rtol=0, atol=1e-15)
        total = 0.5 * (w @ INERTIA @ w + p @ p + np.sum((W * x) ** 2) + h @ h / WHEELS.inertia)
        assert (env.state["dissipated"] > 1e-4) == (damping > 0.0)
        assert abs(total + env.state["dissipated"] - energy) < 5e-13 * energy


def test_a_mode_that_hardly_couples_leaves_the_rigid_body_and_vibrates_alone():
    weak = {"coupling": (1e-9, 0.0, 0.0), "frequency": 2.0, "damping": 0.0}
    rigid, env = flexible(actuator="torque"), flexible(actuator={"torque": {}, "flexible": weak})
    for one in (rigid, env):
        at(one, TILTED[0], **TURNING, **({} if one is rigid else {"deflection": 0.3}))
        for _ in range(8):
            one.step(np.array([0.3, -0.2, 0.1]))
    for name in ("quaternion", "angular_velocity", "angular_momentum"):
        np.testing.assert_allclose(env.state[name], rigid.state[name], rtol=0, atol=1e-8)
    assert env.state["deflection"] == pytest.approx(0.3 * np.cos(2.0 * env.state["time"]), abs=1e-8)
    stiff = gym.make("FlexibleSlew-v0", actuator={"flexible": None}).unwrapped
    stiff.reset(seed=0)
    assert "deflection" not in stiff.state


@pytest.mark.parametrize(
    ("axis", "place", "count"), [((0.6, 0, 0.8), (0.1, -0.2, 0.3), 2), ((0, 0, 1), (0.3, 0, 0), 1)]
)
def test_a_pendulum_couples_by_the_work_of_its_velocity_across_the_axis(axis, place, count):
    modes, w = FlexibleModes.slosh(2.0, place, axis, 1.5), (0.3, -0.2, 0.4)
    across = np.cross(axis, np.cross(w, place))  # of the velocity of the mass with the body
    assert np.sum((modes.coupling @ np.array(w)) ** 2) == pytest.approx(2.0 * across @ across)
    assert flexible("torque", modes).reset(seed=0)[0].shape == (7 + 2 * (2 + count),)
    assert FlexibleModes.slosh(10**20, place, axis, 1) == FlexibleModes.slosh(1e20, place, axis, 1)
    with pytest.raises(ValueError, match="slosh: place must not be zero, got "):
        FlexibleModes.slosh(2.0, (0, 0, 0), axis, 1.5)


@pytest.mark.compiled
def test_its_state_can_be_set_and_has_the_derivatives_of_its_differences():
    env, put, action = flexible(substeps=2), {**PUT, "dissipated": 0.5}, np.array([0.2, -0.3, 0.4])

    def after(change, steps=1):
        parts = np.split(start + change[3:], [3, 5, 7, 10])
        at(env, turned_by(TILTED, change[:3])[0], **dict(zip(put, parts, strict=True)))
        for _ in range(steps):
            env.step(action)
        return np.hstack([env.state[name] for name in put])

    start = np.hstack([*put.values()])
    np.testing.assert_allclose(after(np.zeros(14), 0), start, rtol=0, atol=1e-15)
    order = [0, 1, 2, 7, 8, 9, 3, 4, 5, 6, 10]  # of the coordinates: wheels before modes
    steps = 1e-5 * np.eye(14)[[0, 1, 2, *np.add(3, order)]]
    wanted = np.transpose([(after(e) - after(-e))[order] / 2e-5 for e in steps])
    after(np.zeros(14), 0)
    np.testing.assert_allclose(linearize(env, action=action).A[3:], wanted, rtol=0, atol=1e-8)


@refused(
    ({"coupling": np.ones((5, 3))}, "coupling must be finite real numbers of shape"),
    ({"coupling": np.zeros((2, 3))}, "coupling must have no zero row"),
    ({"frequency": (1.0, -1.0)}, r"frequency must be in \[1e-06, 1e.06\], got"),
    ({"frequency": (1.0, 1.0, 1.0)}, "frequency must be finite real numbers of shape"),
    ({"damping": 0.6}, r"damping must be in \[0, 0.5\], got"),
    ({"damping": 0.5, "coupling": 5.0 * D}, "damping must be less than 0.0"),
    ({"integrator": "pdmv"}, "integrator must support 'rotors' for the flexible modes"),
)
def test_modes_that_cannot_be_are_refused(arguments):
    scheme = {"integrator": arguments.get("integrator", "exact")}
    own = {name: one for name, one in arguments.items() if name not in scheme}
    given = {"coupling": D, "frequency": W, **own}
    flexible(actuator={"torque": {}, "flexible": given}, **scheme)
