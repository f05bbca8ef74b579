"""Tasks on other satellites: what follows from a body and its actuators, and laws that fit it."""

import math
import pickle
import warnings
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

import rbgym
from family import SLEW, at, make, many
from rbgym.agents import controllers
from rbgym.agents.judge import evaluate
from rbgym.envs.actuators import Lag, MagneticCoils, ReactionWheels
from rbgym.envs.base import AttitudeEnv
from rbgym.envs.layers import plain, rebuilt
from rbgym.envs.parts.rewards import Closeness
from rbgym.envs.satellites import SATELLITES, Satellite
from rbgym.envs.tasks.cubesat import AttitudeSlewEnv
from refusals import refused

pytestmark = pytest.mark.interpreted

BODY = rbgym.RigidBody([2.0, 3.0, 4.0])
OWN = {
    "body": {"inertia": [20.0, 18.0, 15.0]},
    "torque_limit": 0.1,
    "dt": 0.5,
    "rate_limit": 0.5,
    "success": {"angle": math.radians(0.5), "rate": math.radians(0.05), "seconds": 5.0},
}
WHEELED = sorted(set(SATELLITES) - {"astrobee"})
LAWS = ["pd", "quaternion_feedback", "hysteretic", "geometric", "lqr", "bang_bang", "pid"]


@pytest.mark.parametrize("name", WHEELED)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_full_torque_one_way_and_then_the_other_turns_by_what_the_numbers_say(name, axis):
    env = make(SLEW, satellite=name)
    env.reset(options={"state": {"quaternion": (1, 0, 0, 0), "angular_velocity": (0, 0, 0)}})
    satellite = SATELLITES[name]()
    wheels = satellite.wheels
    # By hand: the wheels that help about an axis, each with its share.
    torque = np.linalg.lstsq(wheels.matrix, np.eye(3)[axis], rcond=None)[0]
    full = wheels.torque / np.abs(torque).max()
    a = full / satellite.body.moments[axis]
    assert env.torque_limit[axis] == pytest.approx(full, rel=1e-12)
    steps = max(2, int(math.sqrt(1.0 / a) / env.dt))
    for sign in (1.0, -1.0):
        for _ in range(steps):
            env.step(sign * np.eye(3)[axis])
    expected = a * (steps * env.dt) ** 2
    q = env.state["quaternion"]
    assert 2 * math.atan2(q[1 + axis], q[0]) == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(env.state["angular_velocity"], 0, rtol=0, atol=1e-12)
    # Of half a turn, or until the wheels are full.
    fastest = min(math.sqrt(math.pi * a), wheels.momentum / wheels.torque * a)
    assert satellite.fastest()[axis] == pytest.approx(fastest, rel=1e-12)
    free = math.sqrt(math.pi / min(satellite.body.moments / env.torque_limit))
    assert env.rate_limit == pytest.approx(max(2 * satellite.fastest().max(), 1.2 * free))


def test_published_figures():
    """Moments of BSK-RL's default satellite, by its own formula; speed and momentum of the wheels'
    data sheets."""
    micro, cube = (SATELLITES[name]() for name in ("microsat-330", "cubesat-6u"))
    np.testing.assert_allclose(sorted(micro.body.moments), [82.115, 98.395, 121.022], rtol=1e-5)
    for wheels, momentum in ((micro.wheels, 50.0), (cube.wheels, 0.015)):
        assert wheels.momentum == momentum
        assert wheels.momentum / wheels.inertia == pytest.approx(6000 * math.tau / 60)
    # Momentum, inertia and speed of the servicer's wheels are all published: they agree.
    servicer, flyer = (SATELLITES[name]() for name in ("servicer-100", "astrobee"))
    full = servicer.wheels.momentum / servicer.wheels.inertia
    assert full == pytest.approx(6000 * math.tau / 60, rel=2e-3)
    np.testing.assert_allclose(flyer.torque / flyer.body.moments, 0.1745)
    assert flyer.force / flyer.body.mass == pytest.approx(0.0175)


def test_a_satellite_with_thrusters_docks_and_one_with_wheels_and_coils_empties_its_wheels():
    env = make("FreeFlyer-v0", satellite="astrobee")
    assert env.actuator.force == pytest.approx(0.1677, rel=1e-3)
    assert env.body.mass == pytest.approx(9.58, abs=0.01)
    own, env = make("MomentumDumping-v0"), make("MomentumDumping-v0", satellite="innocube-3u")
    assert env.actuator.wheels.start == own.actuator.wheels.start
    assert env.task.momentum == own.task.momentum
    for level, start in ("easy", 0.2), ("hard", 0.6):  # of the task's wheels, for the satellite's
        env = make("MomentumDumping-v0", satellite="innocube-3u", difficulty=level)
        assert (env.actuator.wheels.start, env.actuator.wheels.coulomb) == (start, 5e-5)
    wheels = {"torque": 0.1, "momentum": 3.0}
    mine = {"body": BODY, "wheels": wheels, "coils": {"dipole": 40.0}, "dt": 2.0}
    heavy = make("MomentumDumping-v0", satellite=mine)
    assert heavy.task.momentum == pytest.approx(0.1)  # of 3 instead of 0.03
    assert heavy.actuator.other == MagneticCoils(dipole=40.0)
    full = mine | {"wheels": wheels | {"start": 0.6}}
    again = rebuilt(plain(Satellite(**mine)))  # does not name a start either
    for satellite, dumping, slew in (mine, 0.4, 0.1), (full, 0.6, 0.6), (again, 0.4, 0.1):
        assert make("MomentumDumping-v0", satellite=satellite).actuator.wheels.start == dumping
        assert make("ReactionWheelSlew-v1", satellite=satellite).actuator.start == slew


@pytest.mark.parametrize("name", ["innocube-3u", "microsat-330"])
def test_a_target_swings_as_fast_as_the_satellite_can_follow(name):
    own, env = make("AttitudeTracking-v1"), make("AttitudeTracking-v1", satellite=name)
    k = env.rate_limit / own.rate_limit
    one, other = (e.task.reference(e.dt) for e in (own, env))
    assert (other.slow, other.fast) == pytest.approx((k * one.slow, k * one.fast))
    assert other.largest_rate() == pytest.approx(env.task.more.scale * env.task.more.bound)
    wide = make("AttitudeTracking-v1", rate_limit=2.0 * own.rate_limit).task.more
    assert wide.scale * wide.bound == pytest.approx(one.largest_rate())
    copy = pickle.loads(pickle.dumps(env.task))
    assert copy.reference(0.5) == env.task.reference(0.5)


@pytest.mark.parametrize(
    "kwargs", [{"rate_limit": 1.0}, {"success": {"seconds": 2.0}}, {"satellite": "microsat-330"}]
)
def test_an_env_of_another_task_goes_on_as_its_pickle(kwargs):
    env = make(SLEW, **kwargs)
    env.reset(seed=0)
    twin, action = pickle.loads(pickle.dumps(env)), np.full(3, 0.5, np.float32)
    np.testing.assert_array_equal(env.step(action)[0], twin.step(action)[0])


def test_the_sensors_of_a_satellite_are_those_of_its_env():
    sensor = {"gyro": {"angle_walk": 1e-4}, "star_tracker": {"across_boresight": 1e-4}}
    mine = {"body": BODY, "torque": 0.1, "sensor": sensor}
    found = make(SLEW, satellite=mine).episodes.setup.parts.sensor
    assert found == make(SLEW, sensor=sensor, dt=0.5).episodes.setup.parts.sensor
    without = {"gyro": None, "star_tracker": None}
    plain = make(SLEW, satellite=mine, sensor=without).episodes.setup.parts.sensor
    assert plain == make(SLEW, sensor={}).episodes.setup.parts.sensor


@pytest.mark.parametrize("name", WHEELED)
@pytest.mark.parametrize(
    "env_id", [SLEW, "ReactionWheelSlew-v1", "AttitudeReach-v0", "Detumble-v1"]
)
def test_rates_of_a_task_go_as_its_rate_limit(env_id, name):
    own, env = make(env_id), make(env_id, satellite=name)
    k = env.rate_limit / own.rate_limit
    for field, value in own.task.start._asdict().items():
        expected = k * value if "rate" in field else value
        assert getattr(env.task.start, field) == pytest.approx(expected, rel=1e-12)
    for category, initial in own.task.categories.items():
        for field, value in initial.items():
            expected = k * value if "rate" in field else value
            assert env.task.categories[category][field] == pytest.approx(expected, rel=1e-12)
    for level, preset in own.task.difficulty.items():
        for field, value in preset.get("initial", {}).items():
            expected = k * value if "rate" in field else value
            assert env.task.difficulty[level]["initial"][field] == pytest.approx(expected)
    if isinstance(own.task.shape, Closeness):
        # The dearness of a rate that is shown as 1, to the price of an attitude.
        one, other = (e.task.shape.rate_weight * e.rate_limit**2 for e in (own, env))
        assert one == pytest.approx(other, rel=1e-12)
    else:  # that counts in tolerances
        assert env.task.shape == own.task.shape
    env.reset(seed=1)
    for _ in range(20):
        observation = env.step(env.action_space.sample())[0]
        assert observation in env.observation_space


def test_names_of_parts_and_what_a_difficulty_adds_are_the_satellites():
    own = SATELLITES["microsat-330"]().wheels
    given = "wheels", {"wheels": {}}, ["wheels"], {"wheels": {}, "lag": {"time_constant": 1}}
    for actuator in given:
        env = make("ReactionWheelSlew-v1", satellite="microsat-330", actuator=actuator)
        assert env.actuator == own, actuator
    four = SATELLITES["cubesat-6u"]().wheels
    assert make(SLEW, satellite="cubesat-6u", actuator="pyramid").actuator == four
    assert make(SLEW, actuator={"wheels": own}).actuator == own
    more = ["wheels", "magnetorquers"]
    hard = {"satellite": "innocube-3u", "difficulty": "hard"}
    envs = [make("MomentumDumping-v0", **hard, **given) for given in ({}, {"actuator": more})]
    assert envs[0].actuator == envs[1].actuator
    meter = {"magnetometer": {"noise": 1e-6, "bias": 2e-6}}
    mine = Satellite(BODY, coils={"dipole": 0.4}, sensor=meter)
    sensor = make("SafeMode-v0", satellite=mine, difficulty="hard").episodes.setup.parts.sensor
    assert (sensor.field_noise, sensor.field_bias) == (1e-6, 2e-6)
    docking = [make("FreeFlyer-v0", **one) for one in ({}, {"satellite": "servicer-100"})]
    one, other = (e.task.shape.rate_weight * e.rate_limit**2 for e in docking)
    assert one == pytest.approx(other, rel=1e-12)
    slow = replace(AttitudeSlewEnv.task, actuator=[ReactionWheels.pyramid(), Lag(0.1)])
    assert slow.effector() == ReactionWheels.pyramid()


def test_coils_of_a_satellite_act_in_the_task_of_coils():
    satellite = Satellite(BODY, coils={"dipole": 0.4}, torque=0.1)
    env = make("MagneticDetumble-v1", satellite=satellite)
    assert env.actuator == MagneticCoils(dipole=0.4)
    assert env.rate_limit == make("MagneticDetumble-v1").rate_limit
    assert make("MagneticDetumble-v1", satellite=satellite, dt=2.0).dt == 2.0


def test_the_wheels_act_where_the_task_has_wheels_and_torque_elsewhere():
    motors = {"torque": 0.1, "momentum": 4.0}
    assert Satellite(BODY, wheels={"pyramid": motors}).wheels == ReactionWheels.pyramid(**motors)
    both = Satellite(BODY, wheels=motors, torque=0.5)
    alone = Satellite(BODY, wheels={"torque": 0.1, "momentum": 4.0})
    limits = [make("ReactionWheelSlew-v1", satellite=one).rate_limit for one in (both, alone)]
    assert limits[0] == limits[1]
    env = make(SLEW, satellite=both)
    assert (env.torque_limit == 0.5).all()
    assert env.rate_limit == pytest.approx(2 * math.sqrt(math.pi * 0.5 / 2.0))
    wheeled = make(SLEW, satellite="cubesat-6u", actuator="pyramid")
    assert isinstance(wheeled.actuator, ReactionWheels)


@pytest.mark.compiled
@pytest.mark.parametrize("law", ["pd", "geometric"])
@pytest.mark.parametrize("kwargs", [{"rate_limit": 1.0}, {"rate_limit": 4.0}, {}])
def test_a_law_follows_a_target_whatever_the_scale_of_the_rates(law, kwargs):
    assert evaluate(law, "AttitudeTracking-v1", 16, **kwargs).success_rate == 1.0


def test_other_actuators_in_a_task_of_wheels_have_the_satellites_numbers():
    three = SATELLITES["innocube-3u"]()
    env = make("InertialPointing-v0", satellite=three, actuator="torque")
    np.testing.assert_array_equal(env.torque_limit, three.torque_limit())
    env = make("InertialPointing-v0", satellite=three, actuator=["wheels"])
    assert env.actuator == three.wheels


@pytest.mark.compiled
def test_laws_follow_with_a_short_period_and_on_a_slender_body():
    short = evaluate("pd", "AttitudeTracking-v1", 8, dt=0.02, max_episode_steps=3000)
    assert short.success_rate == 1.0
    assert short.settling_time < 14.0
    assert short.overshoot == 0.0
    slender = {"inertia": [0.2, 0.2, 0.015]}
    assert evaluate("geometric", "AttitudeTracking-v1", 8, body=slender).success_rate == 1.0


def test_an_argument_beside_it_counts_more_than_the_satellite():
    env = make(SLEW, satellite="cubesat-6u", torque_limit=0.01, dt=0.2, rate_limit=0.3,
               success={"seconds": 4.0})  # fmt: skip
    assert (env.torque_limit == 0.01).all()
    assert (env.dt, env.rate_limit, env.task.settled_steps) == (0.2, 0.3, 20)
    assert env.task.angle == math.radians(0.5)


def test_success_takes_the_angle_the_rate_and_the_time_asked_for():
    env = make(SLEW, success={"angle": 0.01, "rate": 0.001, "seconds": 2.5})
    near = {"quaternion": (math.cos(0.004), math.sin(0.004), 0, 0), "angular_velocity": (0, 0, 0)}
    far = {**near, "quaternion": (math.cos(0.006), math.sin(0.006), 0, 0)}
    fast = {**near, "angular_velocity": (0, 0.0011, 0)}
    for state, expected in ((near, [False] * 4 + [True]), (far, [False] * 5), (fast, [False] * 5)):
        env.reset(options={"state": state})
        assert [bool(env.step(np.zeros(3))[4]["is_success"]) for _ in range(5)] == expected


def test_a_rate_limit_scales_the_rates_that_are_shown_and_ends_episodes():
    env = make(SLEW, rate_limit=0.2, torque_limit=0.02, dt=0.1)
    observation, _ = at(env, (1, 0, 0, 0), (0, 0, 0.19))
    assert observation[6] == np.float32(0.95)
    ends = [env.step(np.array([0, 0, 0.2]))[2] for _ in range(3)]
    assert ends == [False, True, True]


def test_a_category_of_the_test_set_is_a_start_by_its_name():
    for env_id in (SLEW, "RigidTop-v0"):
        for name, initial in make(env_id).task.categories.items():
            one, other = (make(env_id, initial=start) for start in (name, initial))
            np.testing.assert_array_equal(one.reset(seed=3)[0], other.reset(seed=3)[0])


@pytest.mark.parametrize("law", LAWS)
def test_usual_gains_serve_a_body_four_times_as_heavy_in_twice_the_time(law):
    """J to 4 J and t to 2 t leave the equations of motion and of the law as they are, when gains
    are made of torque and inertia: what is observed is the same, step by step."""
    inertia = np.diag([0.185, 0.144, 0.0612])
    seen = []
    for k in (1.0, 2.0):
        env = make(SLEW, body={"inertia": k * k * inertia}, dt=0.1 * k, rate_limit=2.0 / k)
        policy, state, start = controllers.make(law, env), None, np.array([True])
        observation, _ = env.reset(seed=5)
        path = [observation]
        for _ in range(150):
            action, state = policy.predict(observation[None], state, start)
            observation, start = env.step(action[0])[0], np.array([False])
            path.append(observation)
        seen.append(path)
    np.testing.assert_allclose(*seen, rtol=0, atol=2e-5)


@pytest.mark.compiled
@pytest.mark.parametrize("law", LAWS)
def test_every_law_turns_a_heavy_body_with_little_torque(law):
    """The 180 kg with 0.1 N m of a user, whose laws once overshot by 84 degrees."""
    found = evaluate(law, SLEW, 32, **OWN, max_episode_steps=600)
    assert found.success_rate == 1.0
    assert found.overshoot < 1.0


def test_what_no_episode_has_the_time_for_is_told():
    heavy = {"body": OWN["body"], "torque_limit": OWN["torque_limit"], "dt": 0.2}
    with pytest.warns(UserWarning, match=r"lasts 40 s; the largest turn .* takes 50.1"):
        many(SLEW, 2, max_episode_steps=200, **heavy)
    env = gym.make(SLEW, **heavy)
    said = r"lasts 40 s, unless max_episode_steps was given; .* takes 50.1"
    with pytest.warns(UserWarning, match=said):
        env.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        env.reset()  # once is enough
        gym.make(SLEW, **heavy | {"dt": 0.4}).reset()
        many(SLEW, 2, max_episode_steps=20)  # as the user wants it
        for name in WHEELED:
            gym.make("AttitudeSlew-v1", satellite=name).reset()
            gym.make("ReactionWheelSlew-v1", satellite=name).reset()
    full = ReactionWheels(momentum=1e-3)
    with pytest.warns(UserWarning, match="takes 5"):  # at the rate at which they are full
        many("ReactionWheelSlew-v1", 2, max_episode_steps=400, actuator=full)
    with pytest.warns(UserWarning, match="takes 20.91 s .* and success takes 30 s more"):
        many(SLEW, 2, max_episode_steps=80, rate_limit=0.21, success={"seconds": 30})
    with pytest.warns(UserWarning, match="lasts 0.5 s; success takes 200 s: give more"):
        many("RigidTop-v0", 2, dt=0.05, max_episode_steps=10, success={"seconds": 200})

    class Hasty(AttitudeEnv):  # a declaration of one's own is not taken for long enough
        task = replace(AttitudeSlewEnv.task, dt=0.05)

    with pytest.warns(UserWarning, match="lasts 10 s; the largest turn"):
        Hasty(max_episode_steps=200)
    coils = make("MagneticDetumble-v1", initial={"rate": 0.1})
    torque = 2.0 * coils.actuator.dipole * coils.actuator.field  # over a pole
    least = max(coils.body.moments) * (0.1 - coils.task.rate) / torque
    assert coils.episodes.setup.least_time == pytest.approx(least)


@refused(
    (SLEW, {"rate_limit": 0.11}, "rate_limit must be at least 0.113184 rad/s"),
    ("SteadyPrecession-v0", {"rate_limit": 5}, "rate_limit must be at least"),
    (SLEW, {"success": {"seconds": 10**400}}, r"success\['seconds'\] must be in"),
    (SLEW, {"satellite": {"body": BODY, "torque": 1.0, "angle": 7.0}}, "Satellite.angle must be"),
    (SLEW, {"satellite": {"body": {"inertia": [1e6] * 3}, "torque": 0.05}}, "Satellite.rate must"),
    ("AttitudeReach-v0", {"success": {"rate": 0.1}}, "success must have keys from"),
    (SLEW, {"satellite": "cubesat-6"}, "did you mean 'cubesat-6u'"),
    (SLEW, {"satellite": {"torque": 0.1}}, "satellite must have body"),
    (SLEW, {"satellite": {"body": BODY}}, "Satellite must have wheels, coils or torque"),
    (SLEW, {"satellite": {"body": BODY, "torque": 5e-324}}, "satellite must turn at 1e-100 to"),
    (SLEW, {"satellite": {"body": BODY, "coils": {}}}, "satellite must have wheels or torque"),
    (SLEW, {"satellite": {"body": BODY, "wheels": {"axes": np.eye(3)[[0, 0, 1]]}}}, "span all"),
    ("RigidTop-v0", {"satellite": "cubesat-6u"}, "satellite must be left out"),
    ("ReactionWheelSlew-v1", {"satellite": "astrobee"}, "must have the actuator of the task"),
    ("FreeFlyer-v0", {"satellite": "cubesat-6u"}, "the actuator of the task, Forces"),
    (SLEW, {"satellite": {"body": BODY, "torque": 1.0, "force": 0.0}}, "Satellite.force must"),
    (SLEW, {"satellite": {"body": BODY, "torque": 1.0, "sensor": {"gyros": {}}}},
     "did you mean 'gyro'"),
    ("ReactionWheelSlew-v1", {"torque_scale": 0.01}, "torque_scale must leave a motor"),
    (SLEW, {"success": {"angle": 4.0}}, r"success\['angle'\] must be in \(0, 3.14"),
    (SLEW, {"success": {"rate": 2.1}}, r"success\['rate'\] must be in \(0, 1.13184\]"),
    ("Detumble-v1", {"success": {"angle": 0.1}}, "success must have keys from"),
    (SLEW, {"initial": "larg angle"}, "did you mean 'large angle'"),
)  # fmt: skip
def test_what_does_not_fit_is_named(env_id, kwargs):
    make(env_id, **kwargs)
