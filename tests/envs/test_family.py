"""Every registered task: Gymnasium's contract, and the books of the physics."""

import math

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import load_env_creator
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from scipy.integrate import solve_ivp

from checks import check_vector_env
from family import IDS, SMOOTH, at, discrete_work, half_way, make, many, quick_make
from rbgym.envs.actuators import Delay, Lag, Thrusters, Torque
from rbgym.envs.parts.goals import Target
from rbgym.potentials import HeavyTop, SoftWall
from rbgym.quaternion import angle_between, multiply, rotate, rotate_inverse

pytestmark = pytest.mark.interpreted


@pytest.mark.parametrize("env_id", IDS)
def test_gymnasiums_checker_has_nothing_to_say(env_id):
    check_env(make(env_id))


@pytest.mark.compiled
@pytest.mark.parametrize("env_id", IDS)
def test_vector_and_single_environment_agree_bit_for_bit_in_every_mode(env_id):
    check_vector_env(env_id, check_pickle=True)


# Beyond round-off of the energy itself: a wall's slope makes some of that of the attitude, and the
# scheme of a body that scales has no projection to undo what its steps gather.
ROUND_OFF = {"SoftWall-v0": 5.0, "ScalableSpin-v0": 5.0}
# What four units of round-off of the attitude are worth in one body of some hundreds, by the slope.
STEEP = {"SoftWall-v0": 4 * np.finfo(float).eps * 30.0}  # N m


@pytest.mark.parametrize("env_id", IDS)
def test_zero_actions_keep_what_the_physics_keeps(env_id):
    # Friction is no invariant; tests/envs/test_wheels.py books it.
    kwargs = SMOOTH.get(env_id, {})
    env = many(env_id, 8, autoreset_mode=AutoresetMode.DISABLED, **kwargs)
    env.reset(seed=4)
    start, still = env.invariants(), np.zeros(env.action_space.shape)
    for _ in range(30):
        _, _, over, late, _ = env.step(still)
        if (over | late).any():
            break
    now = env.invariants()
    size = np.abs(start["energy"]).max() * ROUND_OFF.get(env_id, 1.0)
    off = np.abs(now["energy"] - start["energy"])
    assert np.quantile(off, 0.95) <= 2e-15 * size
    assert off.max() <= 2e-15 * size + STEEP.get(env_id, 0.0)
    if isinstance(env.potential, HeavyTop | SoftWall):
        largest = np.abs(start["angular_momentum"]).max()
        drift = now["angular_momentum"][:, 2] - start["angular_momentum"][:, 2]
        assert np.abs(drift).max() < 1e-13 * max(largest, getattr(env.potential, "mgl", 1.0))
    else:
        np.testing.assert_array_equal(now["angular_momentum"], start["angular_momentum"])


@pytest.mark.compiled
@pytest.mark.parametrize("env_id", IDS)
def test_observations_stay_in_their_box_under_any_action(env_id):
    env = many(env_id, n=128, autoreset_mode=AutoresetMode.SAME_STEP, max_episode_steps=100)
    env.reset(seed=0)
    pushes = np.sign(np.random.default_rng(0).standard_normal(env.action_space.shape))
    for _ in range(220):
        observations, rewards, over, late, info = env.step(pushes)
        assert env.observation_space.contains(observations)
        assert np.isfinite(rewards).all()
        for lane in np.flatnonzero(over | late):
            assert env.single_observation_space.contains(info["final_obs"][lane])


@pytest.mark.parametrize(("env_id", "error"), [("AttitudeSlew-v1", 2e-7), ("RigidTop-v0", 1e-4)])
def test_the_default_is_on_time(env_id, error):
    """Against Euler's equations for the rates, and the quaternion's, solved by a library."""
    env = quick_make(env_id, termination="none")
    env.reset(seed=1)
    J, weight = env.body.inertia, getattr(env.potential, "mgl", 0.0)
    rng, now = np.random.default_rng(1), env.state
    y = np.concatenate([now["quaternion"], now["angular_velocity"]])
    for _ in range(20):
        action = rng.uniform(-1, 1, 3)
        env.step(action)

        def rate(t, y, torque=action * env.torque_limit):
            q, omega = y[:4], y[4:]
            up = rotate_inverse(q / np.linalg.norm(q), np.array([0.0, 0.0, 1.0]))
            pull = torque + weight * np.cross(up, [0.0, 0.0, 1.0])
            turn = np.linalg.solve(J, pull - np.cross(omega, J @ omega))
            return np.concatenate([0.5 * multiply(q, [0.0, *omega]), turn])

        y = solve_ivp(rate, (0, env.dt), y, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    assert angle_between(env.state["quaternion"], y[:4] / np.linalg.norm(y[:4])) < error


def declared(env_id):
    """The task as its class declares it: nothing is compiled."""
    return load_env_creator(gym.spec(env_id).entry_point).task


TURNED = [i for i in IDS if isinstance(declared(i).actuator, Torque)]


@pytest.mark.parametrize("env_id", TURNED)
def test_energy_changes_by_the_work_of_the_torque(env_id):
    """quat_em, whatever the potential: 4 e.u a step. Nothing is put right by a projection here."""
    dt = make(env_id).dt / 4
    how = {"integrator": "quat_em", "substeps": 1, "projection": False}
    env = make(env_id, dt=dt, termination="none", **how)
    env.reset(seed=1)
    rng = np.random.default_rng(1)
    for _ in range(50):
        before, energy, action = env.state, env.invariants()["energy"], rng.uniform(-1, 1, 3)
        env.step(action)
        work = discrete_work(before, env.state, action * env.torque_limit)
        gained = env.invariants()["energy"] - energy
        assert abs(gained - work) < 1e-14 * max(abs(energy), np.max(env.torque_limit))


@pytest.mark.parametrize("actuator", [None, Lag(0.05), Delay(0.17), Thrusters(0.03)])
def test_books_close_behind_a_line_too(actuator):
    how = {"integrator": "quat_em", "substeps": 1, "projection": False}
    env = make("AttitudeSlew-v1", actuator=actuator, **how)
    rng = np.random.default_rng(1)
    np.testing.assert_array_equal(env.reset(seed=1)[1]["applied_torque"], np.zeros(3))
    for _ in range(50):
        before, energy = env.state, env.invariants()["energy"]
        torque = env.step(rng.uniform(-1, 1, 3))[4]["applied_torque"]
        after = env.state
        change = after["angular_momentum"] - before["angular_momentum"]
        impulse = rotate(half_way(before, after), env.dt * torque)
        np.testing.assert_allclose(change, impulse, rtol=0, atol=2e-16)
        gained = env.invariants()["energy"] - energy
        assert abs(gained - discrete_work(before, after, torque)) < 1e-16


@pytest.mark.parametrize("env_id", IDS)
def test_q_and_minus_q_are_seen_and_rewarded_alike_and_end_alike(env_id):
    q = np.array([-0.1, 0.2, 0.3, math.sqrt(0.86)])
    target = np.array([0.5, 0.5, -0.5, 0.5])
    runs = []
    for sign in (1, -1):
        env = make(env_id)
        more = {"target_quaternion": -sign * target} if isinstance(env.goal, Target) else {}
        at(env, sign * q, [0.1, 0.2, 0.3], **more)
        push = np.full(env.action_space.shape, 0.7)
        runs.append([env.step(push)[:4] for _ in range(30)])
    for one, other in zip(*runs, strict=True):
        for a, b in zip(one, other, strict=True):
            for key in a if isinstance(a, dict) else [()]:
                np.testing.assert_array_equal(*((a[key], b[key]) if key else (a, b)))


NUTATING = "NutationDamping-v0"
MOMENTS, SPUN, PERIOD = np.array([1.0, 1.2, 1.6]), 5.0, 0.1
# Of the rates across the axis, as they turn in the body.
NUTATION = SPUN * math.sqrt(np.prod(MOMENTS[2] / MOMENTS[:2] - 1))


def nutation(env):
    """The size of the rates across the axis on the ellipse that they run along."""
    across = env.unwrapped.state["angular_velocity"][:, :2]
    return np.sqrt(across**2 @ (MOMENTS[:2] * (MOMENTS[2] - MOMENTS[:2])))


@pytest.mark.parametrize(
    ("scheme", "growth"),
    [
        ("exact:4", 1.0),
        # Of x' = i w x a step of Euler's makes x (1 + i w h), or x / (1 - i w h).
        ("forward_euler", abs(1 + 1j * NUTATION * PERIOD)),
        ("backward_euler", 1 / abs(1 - 1j * NUTATION * PERIOD)),
    ],
)
def test_a_small_nutation_grows_in_a_step_as_the_linear_theory_of_the_scheme_says(scheme, growth):
    small = {"tilt": 0.0, "spin": 0.0, "transverse": 1e-3}
    env = many(NUTATING, n=8, integrator=scheme, initial=small)
    env.reset(seed=0)
    begun = nutation(env)
    for _ in range(50):
        env.step(np.zeros((8, 3)))
    np.testing.assert_allclose((nutation(env) / begun) ** (1 / 50), growth, rtol=2e-5)
