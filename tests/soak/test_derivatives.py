"""Every scheme, actuator, goal, reward and observation of the catalogue has its derivatives, also
where momenta, torques or errors vanish. Each case compiles for a minute or more."""

import gymnasium as gym
import numpy as np
import pytest

import rbgym
from differences import errors_off, slope, turned_by
from rbgym import integrators
from rbgym.envs.parts.observations import FORMS
from rbgym.registration import ENVIRONMENTS
from slopes import largest_error

POTENTIALS = {"none": None, "heavy_top": rbgym.HeavyTop(3.0)}
# Angular velocity, torque, momentum of rotors: that of the whole is zero in the last three.
SINGULAR = [
    ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    ((0.0, 0.0, 0.0), (1e-8, 1e-8, 1e-8), (0.0, 0.0, 0.0)),
    ((1e-8, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    ((0.0, 1.0, 0.0), (0.0, 1e-8, 0.0), (0.0, 0.0, 0.0)),
    ((0.0, 0.0, 2.0), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0)),
    ((0.3, 0.2, -0.4), (1.0, -2.0, 0.5), (0.0, 0.0, 0.0)),
    ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.5, 0.1, 0.0)),
    ((0.1, 0.0, 0.0), (1e-8, 0.0, 0.0), (-0.6, 0.0, 0.0)),
    ((0.3, 0.2, -0.4), (0.0, 0.0, 0.0), (-1.8, -1.6, 1.2)),
    ((1e-6, 0.0, 0.0), (0.0, 0.0, 0.0), (-6e-6, 0.0, 0.0)),
]


@pytest.mark.parametrize("kind", POTENTIALS)
@pytest.mark.parametrize("scheme", [*integrators.names(), *integrators.KICKED])
def test_a_scheme_has_its_derivatives_where_momenta_vanish(scheme, kind):
    able = integrators.get(scheme).supports
    if not {"torque", "potential"} <= set(able):
        pytest.skip("it is advanced by the scale of its own body alone")
    omega, torque, rotor = np.swapaxes(SINGULAR if "rotors" in able else SINGULAR[:6], 0, 1)
    rng = np.random.default_rng(0)
    q = rng.normal(size=(len(omega), 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)

    def made(q, omega, torque):
        body = rbgym.RigidBody([6.0, 8.0, 3.0])
        batch = rbgym.Batch(body, scheme, POTENTIALS[kind], size=len(q))
        batch.set_state(q, omega, rotor_momentum=rotor)
        batch.set_torque(torque)
        return batch

    def end(x):
        batch = made(turned_by(q, x[:3]), omega + x[3:6], torque + x[6:])
        batch.advance(0.05, 2)
        found = batch.measure()
        return found["quaternion"], found["angular_velocity"]

    found, there = made(q, omega, torque).jacobian(0.05, 2), end(np.zeros(9))
    columns = [slope(lambda e, x=x: errors_off(there, end(e * x)), 1e-3) for x in np.eye(9)]
    whole = np.concatenate([found.state, found.torque], axis=2)
    assert np.abs(whole - np.stack(columns, axis=2)).max() < 1e-6


def judged(env_id, **kwargs):
    """The largest error at random starts, at the goal where it is an attitude, and half a turn
    away."""
    env = gym.make_vec(env_id, 8, **kwargs)
    env.reset(seed=1)
    states = {name: np.array(value) for name, value in env.unwrapped.state.items()}
    if "target_quaternion" in states:
        states["quaternion"][:2] = states["target_quaternion"][:2]
        w, x, y, z = states["target_quaternion"][2:4].T
        states["quaternion"][2:4] = np.stack([-x, w, z, -y], axis=1)
    states["angular_velocity"][::2] = 0.0
    given = {name: states[name] for name in ("quaternion", "angular_velocity")}
    env.reset(seed=1, options={"state": given})
    shape = env.action_space.shape
    actions = np.random.default_rng(2).uniform(-0.5, 0.5, shape)
    actions[::4] = 0.0
    return largest_error(env, actions)


TASKS = [name for name in ENVIRONMENTS if name != "AttitudeReach-v0"]  # whose goals are a dict
EVERY = {
    "closeness": 1.0, "success": 1.0, "attitude": 0.5, "rate": 0.2, "effort": 0.1, "change": 0.3,
    "alive": 0.1, "progress": 1.0,
}  # fmt: skip


@pytest.mark.parametrize("env_id", TASKS)
def test_a_task_has_its_derivatives_with_every_term_of_a_reward(env_id):
    assert judged(env_id, reward=EVERY) < 1e-6


@pytest.mark.parametrize("form", FORMS)
def test_an_observation_has_its_derivatives(form):
    assert judged("AttitudeTracking-v1", observation=form) < 1e-6


@pytest.mark.parametrize(
    "actuator",
    [
        {"torque": {}, "lag": {"time_constant": 0.4}},
        {"torque": {}, "delay": {"seconds": 0.7}},
        {"wheels": {"viscous": 1e-6, "coulomb": 1e-5}, "delay": {"seconds": 0.3}},
        {"pyramid": {}, "lag": {"time_constant": 0.4}, "delay": {"seconds": 1.0}},
        {"magnetorquers": {}},
        {"pyramid": {}, "magnetorquers": {}},
        {"wheels": {}, "torque": {}},
    ],
)
def test_an_actuator_has_its_derivatives(actuator):
    assert judged("AttitudeSlew-v1", actuator=actuator) < 1e-6
