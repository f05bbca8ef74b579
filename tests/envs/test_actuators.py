"""The line of an actuator, its variation from episode to episode, and how it is chosen."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

from family import SLEW, at, make, many
from rbgym.body import RigidBody
from rbgym.engine.kernels import advance
from rbgym.envs.actuators import Delay, Forces, Lag, ReactionWheels, Thrusters, Torque, assemble
from rbgym.envs.actuators.effector import Setting
from rbgym.envs.actuators.mounting import Differing
from rbgym.envs.kernels import period
from rbgym.envs.random import Above, Uniform
from rbgym.integrators.interface import Scheme
from rbgym.potentials.interface import NoPotential
from rbgym.quaternion import rotate_inverse
from rbgym.rows import NoRotors, Physics, PrincipalFrame
from refusals import refused

pytestmark = pytest.mark.interpreted

BALL = RigidBody([0.1, 0.1, 0.1])


def ball(actuator, **kwargs):
    """A sphere at rest: its momentum is the impulse of the torque so far, axis by axis."""
    env = make(SLEW, dt=0.1, body=BALL, actuator=actuator, **kwargs)
    at(env, (1.0, 0.0, 0.0, 0.0))
    return env


def impulses(env, commands):
    """Impulse of each period about the x axis, in units of full torque times dt."""
    momentum = [0.0]
    for command in commands:
        env.step([command, 0.0, 0.0])
        momentum.append(env.state["angular_momentum"][0])
    return np.diff(momentum) / (env.dt * env.torque_limit[0])


COMMANDS = np.array([1.0, -0.4, 0.3, 0.0, 0.9, -1.0, 0.25, 0.5, -0.75, 0.1, 0.0, 0.0, 0.0])


@pytest.mark.compiled
@pytest.mark.parametrize("substeps", [1, 2, 3])
def test_a_delay_shifts_the_impulse_whole_or_in_part_and_one_of_any_length_has_the_same_code(
    substeps,
):
    compiled = set()
    for periods in (1.0, 0.0, 0.3, 1.75, 3.0, 7.5, 11.0, 32.0):
        env = ball(Delay(0.1 * periods), substeps=substeps)
        # Of a signal held for a period each, the mean between t and t + dt, so much earlier.
        whole, part = int(periods), periods % 1.0
        earlier = np.concatenate([np.zeros(whole + 1), COMMANDS])
        n = np.arange(len(COMMANDS)) + 1
        wanted = (1 - part) * earlier[n] + part * earlier[n - 1]
        np.testing.assert_allclose(impulses(env, COMMANDS), wanted, rtol=0, atol=1e-14)
        compiled.add((len(advance.overloads), len(period.overloads)))
    assert len(compiled) == 1


def test_commands_that_have_yet_to_act_are_shown():
    env = make(SLEW, dt=0.1, actuator=Delay(0.25))
    assert env.observation_space.shape == (7 + 9,)
    observation, _ = env.reset(seed=0)
    np.testing.assert_array_equal(observation[7:], np.zeros(9))
    sent = np.random.default_rng(0).uniform(-1, 1, (6, 3)).astype(np.float32)
    for n, command in enumerate(sent):
        observation, *_ = env.step(command)
        latest = [*sent[: n + 1][::-1], *np.zeros((3, 3), np.float32)][:3]
        np.testing.assert_array_equal(observation[7:], np.concatenate(latest))


@pytest.mark.parametrize("substeps", [1, 4])
def test_a_lag_has_the_impulse_of_the_exponential(substeps):
    tau, dt = 0.07, 0.1
    env = ball(Lag(tau), substeps=substeps)
    state, wanted = 0.0, []
    for command in COMMANDS:
        lack = (state - command) * np.exp(-dt / tau)
        wanted.append(command + (state - command) * tau / dt * (1 - np.exp(-dt / tau)))
        state = command + lack
    np.testing.assert_allclose(impulses(env, COMMANDS), wanted, rtol=0, atol=1e-14)
    observation = env.step(np.zeros(3))[0]
    assert observation[7] == pytest.approx(state * np.exp(-dt / tau), abs=1e-7)


@pytest.mark.compiled
def test_thrusters_are_on_at_full_torque_for_multiples_of_the_shortest_pulse():
    env = ball(Thrusters(minimum_pulse=0.02), substeps=10)
    on = 0.2 * np.round(COMMANDS / 0.2 + 1e-9 * np.sign(COMMANDS))
    np.testing.assert_allclose(impulses(env, COMMANDS), on, rtol=0, atol=1e-14)
    # Where there is no room for another pulse, the thruster is on for all of the period.
    assert impulses(ball(Thrusters(0.04)), [1.0, 0.9, 0.5]) == pytest.approx([1.0, 0.8, 0.4])
    assert impulses(ball(Thrusters(0.07)), [1.0, 0.9, -1.0]) == pytest.approx([1.0, 0.7, -1.0])
    assert impulses(ball(Thrusters(1e-22)), COMMANDS) == pytest.approx(COMMANDS)


def test_a_pulse_that_is_delayed_crosses_into_the_next_period():
    env = ball([Thrusters(minimum_pulse=0.01), Delay(0.07)], substeps=10)
    # On from 0.07 s to 0.13 s: three tenths of it are in the first period, three in the second.
    np.testing.assert_allclose(impulses(env, [0.6, 0.0, 0.0]), [0.3, 0.3, 0.0], rtol=0, atol=1e-14)


def test_everything_can_be_named_in_plain_data():
    spec = {"delay": {"seconds": 0.13}, "lag": {"time_constant": 0.05}, "pyramid": {"torque": 0.01}}
    env = gym.make(SLEW, dt=0.1, actuator=spec)
    assert gym.envs.registration.EnvSpec.from_json(env.spec.to_json()).kwargs["actuator"] == spec
    objects = [Delay(0.13), Lag(0.05), ReactionWheels.pyramid(torque=0.01)]
    other = make(SLEW, dt=0.1, actuator=objects)
    env, rng = env.unwrapped, np.random.default_rng(0)
    assert env.observation_space == other.observation_space
    assert env.observation_space.shape == (7 + 8 + 4 + 4,)
    np.testing.assert_array_equal(env.reset(seed=0)[0], other.reset(seed=0)[0])
    for _ in range(20):
        action = rng.uniform(-1, 1, 4)
        np.testing.assert_array_equal(env.step(action)[0], other.step(action)[0])


def test_commands_are_scaled_within_the_spread_each_by_itself():
    env = many(SLEW, n=512, randomization={"actuator_scale": 0.3})
    env.reset(seed=7)
    commands = np.tile([1.0, -0.5, 0.8], (512, 1))
    factor = env.step(commands)[4]["applied_torque"] / (env.torque_limit * commands)
    assert factor.min() > 0.7
    assert factor.max() < 1.3
    np.testing.assert_allclose(factor.mean(axis=0), 1.0, rtol=0, atol=0.03)
    np.testing.assert_allclose(factor.std(axis=0), 0.3 / 3**0.5, rtol=0.1)
    assert np.abs(np.corrcoef(factor.T)[np.triu_indices(3, 1)]).max() < 0.12


def test_wheels_that_are_misaligned_keep_the_momentum_of_the_world():
    env = many("ReactionWheelSlew-v1", randomization={"misalignment": 0.3, "failure": 0.5})
    env.reset(seed=0)
    start, rng = env.state, np.random.default_rng(0)
    for _ in range(30):
        env.step(rng.uniform(-1, 1, (64, 4)))
    now, A = env.state, env.actuator.matrix
    np.testing.assert_array_equal(now["angular_momentum"], start["angular_momentum"])
    # What is not in the body is in the wheels, about axes that are turned by up to 0.3 rad.
    body = rotate_inverse(now["quaternion"], now["angular_momentum"])
    rotors = body - now["angular_velocity"] @ env.body.inertia
    wheels = now["wheel_momentum"] @ A.T
    size = np.linalg.norm(rotors, axis=1)
    np.testing.assert_allclose(np.linalg.norm(wheels, axis=1), size, rtol=1e-12)
    off = np.arccos(np.clip(np.sum(rotors * wheels, axis=1) / size**2, -1, 1))
    assert 0.1 < off.max() < 0.3


def test_one_wheel_fails_as_often_as_asked_and_each_as_often_as_the_others():
    smooth = {"pyramid": {"viscous": 0.0, "coulomb": 0.0, "start": 0.0}}
    env = many("ReactionWheelSlew-v1", n=2048, actuator=smooth, randomization={"failure": 0.4})
    env.reset(seed=0)
    env.step(np.ones((2048, 4)))
    dead = env.state["wheel_momentum"] == 0.0
    assert dead.sum(axis=1).max() == 1
    np.testing.assert_allclose(dead.mean(axis=0), 0.1, rtol=0, atol=0.025)


SHOWS = ["wheels", {"lag": {"time_constant": 0.05}}, {"delay": {"seconds": 0.1}}]


@pytest.mark.parametrize("actuator", SHOWS)
def test_goals_stay_goals_whatever_an_actuator_shows(actuator):
    env = make("AttitudeReach-v0", actuator=actuator)
    observation, _ = env.reset(seed=0)
    assert observation["desired_goal"].shape == observation["achieved_goal"].shape == (4,)
    assert len(observation["observation"]) > 7
    for _ in range(5):
        observation, reward, *_ = env.step(np.full(3, 0.5))
        assert env.observation_space.contains(observation)
        assert 0 < reward <= 1


def test_a_body_carries_only_the_rows_that_its_actuator_uses():
    setting = Setting(BALL, 0.1, 0.05, 400, np.ones(3), 1.0, 5.0)
    same = Uniform(1.0, 0.0)
    differing = Differing(Uniform(1.0, 0.1), Above(0.0, 0.0), same, same, 0.0)
    spread = replace(setting, spread=differing)

    def rows(value, own=Torque(), setting=setting):  # noqa: B008  (immutable)
        record = assemble(value, own, setting).record
        physics = Physics(Scheme(), NoPotential(), PrincipalFrame(), record, NoRotors())
        shared = 3 if record.turns_rotors() else 0
        return record.rows_needed(physics) - record.channels() - shared

    assert rows(None) == 3  # torque of a full command
    assert rows(Thrusters()) == 3 + 6  # what acts, and its mean
    assert rows(Lag(0.1)) == 3 + 6 + 3
    assert rows(Delay(0.2)) == 3 + 6 + 3 * 3 + 1
    assert rows(None, setting=spread) == 3 + 6 + 8
    assert rows("magnetorquers") == 6 + 3  # the place on the orbit is the potential's
    assert rows("pyramid") == 8 + 6 + 4
    assert rows(None, Forces()) == 3 + 11 + 12


POSITIVE = "must be a positive finite number"
ENDLESS = []
ENDLESS.append(ENDLESS)


@refused(
    ({"actuator": 3}, "actuator must be one of"),
    ({"actuator": ENDLESS}, "actuator must not hold itself"),
    ({"actuator": {"lag": {"time_constant": -0.1}}}, f"time_constant {POSITIVE}"),
    ({"actuator": {"lag": {"time_constant": True}}}, f"time_constant {POSITIVE}"),
    ({"actuator": {"thrusters": {"minimum_pulse": 0.0}}}, f"minimum_pulse {POSITIVE}"),
    ({"actuator": {"magnetorquers": {"dipole": np.inf}}}, f"dipole {POSITIVE}"),
    ({"actuator": {"lag": {}}}, r"actuator\['lag'\] must have time_constant, got {}"),
    ({"actuator": {"pyramid": {"axes": 1}}}, r"from \['cant', 'inertia', .*, 'start'\], got"),
    ({"actuator": {"torque": {"limit": 1}}}, r"from \[\], got 'limit'"),
    ({"actuator": ["wheels", "pyramid"]}, "one Effector at most"),
    ({"actuator": [Lag(0.1), Lag(0.2)]}, "one Lag at most"),
    ({"actuator": {"delay": {"seconds": 41.0}}}, "of an episode"),
    ({"actuator": {"delay": {"seconds": 4.0}}}, "32 control periods"),
    ({"actuator": {"delay": {"seconds": -1.0}}}, "from 0 up"),
    ({"actuator": Thrusters(0.2)}, "at most the control period"),
    ({"actuator": "forces"}, "must have Torque as its effector"),
    ({"actuator": "wheels", "torque_limit": 0.1}, "torque_limit must be left out"),
    ({"actuator": "wheels", "randomization": {"torque": 0.1}}, "actuator_scale"),
    ({"randomization": {"delay": 0.1}}, "without a Delay"),
    ({"randomization": {"failure": 1.5}}, "must be in"),
    ({"actuator": {"magnetorquers": {"inclination": 97.4}}}, "inclination must be in"),
)
def test_what_cannot_be_is_refused_with_a_reason(kwargs):
    many(SLEW, dt=0.1, **kwargs)
