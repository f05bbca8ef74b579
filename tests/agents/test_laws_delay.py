"""Laws behind a delay or a lag: what they foresee is what comes, and they fly it as without."""

import gymnasium as gym
import numpy as np
import pytest

from laws import flown
from rbgym.agents import controllers
from rbgym.agents.controllers.foresight import Foreseeing
from rbgym.envs.actuators import MagneticCoils, ReactionWheels, Torque
from rbgym.quaternion import angle_between

pytestmark = pytest.mark.interpreted

SMOOTH = ReactionWheels.pyramid(torque=0.02, momentum=0.3)
SEEN = {
    "torque": ("AttitudeSlew-v1", "pd", []),
    "wheels": ("ReactionWheelSlew-v1", "pd", [SMOOTH]),
    "wheels and thrusters": ("AttitudeSlew-v1", "pd", [SMOOTH, Torque()]),
    "coils": ("AttitudeSlew-v1", "pd", [ReactionWheels.pyramid(torque=1e-4), MagneticCoils(20.0)]),
    "coils alone": ("MagneticDetumble-v1", "pd", [MagneticCoils(1.0)]),
    "moving target": ("AttitudeTracking-v1", "pd", []),
    "cones": ("KeepOutSlew-v0", "detour", []),
    "top": ("SteadyPrecession-v0", "pd", []),
    "wall": ("SoftWall-v0", "pd", []),
    "moving dock": ("TumblingCapture-v0", "pd", []),
}


def late(env_id, seconds, *others, n=4, **kwargs):
    actuator = [{"delay": {"seconds": seconds}}, *others]
    return gym.make_vec(env_id, num_envs=n, actuator=actuator, **kwargs)


@pytest.mark.parametrize(("env_id", "name", "others"), SEEN.values(), ids=SEEN)
def test_what_a_law_foresees_is_what_is_shown_once_the_delay_is_over(env_id, name, others):
    dt = gym.make(env_id).unwrapped.dt
    env = late(env_id, 2 * dt, *others, termination="none", substeps=8)
    law, draw = controllers.make(name, env), np.random.default_rng(0)
    assert isinstance(law, Foreseeing)
    (seen, _), memory, foreseen = env.reset(seed=0), None, []
    law.policy.act = lambda rows, *_: (foreseen.append(rows) or rows[:, -law.channels :], None)
    for _ in range(8):
        _, memory = law.act(seen.astype(float), memory, None)
        action = 0.5 * draw.uniform(-1, 1, env.action_space.shape)
        seen, *_ = env.step(action)
    told = foreseen[-2]
    assert angle_between(told[:, :4], seen[:, :4]).max() < 1e-3
    for name, column in law.columns.items():
        if name not in ("quaternion", "actuator", "position", "velocity"):
            found, wanted = (rows[:, column.place] for rows in (told, seen))
            far = 1e-2 if name == "target_angular_velocity" else 4e-3
            np.testing.assert_allclose(found, wanted, rtol=0, atol=far * np.abs(wanted).max())
    assert np.abs(foreseen[-2] - foreseen[-1])[:, : law.waiting].max() > 1e-3


@pytest.mark.parametrize("substeps", [1, 3])
@pytest.mark.parametrize("delay", [0.5, 0.7])
def test_from_means_of_gyros_it_foresees_the_rates_that_come(delay, substeps):
    """Commands change in each control period, so half of the last change is not the next half."""
    sensors, draw = ({"gyro": {}, "star_tracker": {}}, None), np.random.default_rng(1)
    env, known = (late("AttitudeSlew-v1", delay, substeps=substeps, sensor=one) for one in sensors)
    law = controllers.Estimating.for_env("pd", env)
    memory, (seen, _), (state, _) = None, env.reset(seed=0), known.reset(seed=0)
    law.policy.policy.act = lambda *_: (draw.uniform(-1, 1, (4, 3)), None)
    for step in range(12):
        action, memory = law.predict(seen, memory, np.full(4, step == 0))
        (seen, *_), (state, *_) = env.step(action), known.step(action)
    found, wanted = memory[1].rates, state[:, 4:7] * law.rate_limit
    np.testing.assert_allclose(found, wanted, rtol=0, atol=4e-3 * np.abs(wanted).max())


def off(env, name, steps, **gains):
    """Largest attitude error and rate error of all lanes after so many steps."""
    info = flown(controllers.make(name, env, **gains), env, steps)
    return info["attitude_error"].max(), info["rate_error"].max()


@pytest.mark.parametrize("name", ["bang_bang", "pd", "lqr", "pid", "quaternion_feedback"])
@pytest.mark.parametrize("delay", [0.25, 0.5, 1.2])
def test_a_slew_behind_a_delay_comes_to_rest_at_the_target(name, delay):
    noise = {"star_tracker": {"across_boresight": 5e-5, "about_boresight": 3e-4}}
    unsure = late("AttitudeSlew-v1", delay, randomization={"delay": 0.2}, sensor=noise)
    for env in (late("AttitudeSlew-v1", delay), unsure):
        assert (np.array(off(env, name, 90)) < (2e-3, 1e-3)).all()


@pytest.mark.parametrize("others", [[], *([{"delay": {"seconds": s}}] for s in (0.0, 0.7))])
def test_a_bang_bang_slew_behind_a_lag_comes_to_rest_at_the_target(others):
    actuator = [{"lag": {"time_constant": 1.0}}, *others]
    env = gym.make_vec("AttitudeSlew-v1", num_envs=4, actuator=actuator)
    assert max(off(env, "bang_bang", 90)) < 2e-3


@pytest.mark.parametrize(("late", "name"), [("delay", "pd"), ("delay", "pid"), ("lag", "pid")])
def test_behind_a_delay_a_constant_torque_leaves_what_it_leaves_without(late, name):
    number = {"delay": "seconds", "lag": "time_constant"}[late]
    kwargs = {"disturbance": {"constant": (2e-5, -1e-5, 1e-5)}, "max_episode_steps": 400}
    ends = [
        off(gym.make_vec("AttitudeSlew-v1", num_envs=2, actuator=parts, **kwargs), name, 300)
        for parts in ([], [{late: {number: 1.0}}])
    ]
    assert ends[0] == pytest.approx(ends[1], rel=0.05, abs=2e-6)


@pytest.mark.parametrize("lag", [[], [{"lag": {"time_constant": 1.0}}]])
@pytest.mark.parametrize("sensor", [None, {"gyro": {}, "star_tracker": {}}])
@pytest.mark.parametrize("name", ["pd", "pid"])
def test_a_policy_trained_without_a_delay_flies_behind_it_as_laws_do(name, sensor, lag):
    env, plain = late("AttitudeSlew-v1", 0.5, *lag, sensor=sensor), gym.make("AttitudeSlew-v1")
    law = controllers.make(name, plain)
    low, high = (getattr(plain.observation_space, side).astype(float) for side in ("low", "high"))
    law.observation_space = gym.spaces.Box(low, high, dtype=np.float64)
    fitted = controllers.Estimating.for_env if sensor else controllers.at_work
    found, wanted = (flown(fitted(one, env), env, 30)["attitude_error"] for one in (law, name))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    bounds = late("AttitudeSlew-v1", 0.5, torque_scale=1.2)  # of rates are others
    assert isinstance(controllers.at_work(law, bounds), Foreseeing)
    assert controllers.at_work(law, plain) is law


def test_a_law_without_delay_and_one_that_reads_nothing_foresee_nothing():
    assert not isinstance(controllers.make("pd", gym.make("AttitudeSlew-v1")), Foreseeing)
    for delay in (0.0, 0.5):
        assert type(controllers.make("idle", late("AttitudeSlew-v1", delay))) is controllers.Idle
    assert type(controllers.make("pd", late("AttitudeSlew-v1", 0.0))) is controllers.AttitudePD


def test_behind_a_lag_a_law_sees_body_and_target_one_time_constant_later():
    env = gym.make("AttitudeTracking-v1", actuator={"lag": {"time_constant": 1.0}}, rate_limit=1.0)
    law, told = controllers.make("pd", env), []
    law.policy.act = lambda seen, *_: (told.append(seen[0]) or 0.0 * seen[:, :3], None)
    rows = np.eye(law.least)[[0, 0]]
    rows[:, 6], rows[:, 9] = 0.1, (0.02, 0.03)  # [rad/s] both turn about z, 0.5 s apart
    law.act(rows[1:], law.act(rows[:1], None, None)[1], None)
    half = 0.5 * (0.1 - 0.03 - 0.01)  # of the turn from the target, which turns faster by 0.02
    np.testing.assert_allclose(told[1][[9, 0, 3]], [0.05, np.cos(half), np.sin(half)])


def test_gyros_show_means_and_the_rates_that_follow_are_foreseen():
    env = late("AttitudeSlew-v1", 1.0, substeps=8, sensor={"gyro": {}})
    law, memory = controllers.make("pd", env), None
    seen, _ = env.reset(seed=0)
    for _ in range(10):
        commands, memory = law.predict(seen, memory)
        seen, *_ = env.step(commands)
    rates = env.unwrapped.state["angular_velocity"]
    np.testing.assert_allclose(memory.rates, rates, rtol=0, atol=1e-5)


def test_it_warns_where_commands_come_so_late_that_they_drive_a_flexible_mode():
    lately, held = {"delay": {"seconds": 0.5}}, 0.5 * np.pi * np.sqrt(1 + 0.35**2 / 0.19)
    env = gym.make("FlexibleSlew-v0", actuator=lately, sensor={"gyro": {}})
    with pytest.warns(UserWarning, match="'lqr' holds for a phase of a flexible mode"):
        assert type(controllers.make("lqr", env)) is Foreseeing
    for one, late in ((env, 1.0), (gym.make("FlexibleSlew-v0"), 0.25)):
        [(_, most, phase)] = controllers.validity("lqr", one)
        assert phase == pytest.approx(late * held)
        assert (phase > most) == (one is env)
    two = {"coupling": [[0.1, 0.0, 0.0], [0.0, 0.0, 0.2]], "frequency": [1.0, 4.0]}
    env = gym.make("AttitudeSlew-v1", actuator={"flexible": two}).unwrapped
    swing = 0.2**2 / env.body.inertia[2, 2]  # of the second mode, which is faster and swings more
    assert controllers.validity("pd", env)[0][2] == pytest.approx(0.25 * 4 * np.sqrt(1 + swing))
    assert controllers.make("bang_bang", env).h == pytest.approx(1.25 * env.dt * (1 + swing))
