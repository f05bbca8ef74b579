"""The hooks of every task: what they do, together too, and bad input."""

import itertools
import math

import gymnasium as gym
import numpy as np
import pytest

from checks import check_vector_env
from family import SLEW, at
from family import quick_make as make
from family import quick_many as many
from rbgym import rows as layout
from rbgym.body import RigidBody
from rbgym.envs.actuators import ReactionWheels, Torque
from rbgym.quaternion import rotate
from refusals import refused

pytestmark = pytest.mark.interpreted


def test_without_ends_a_top_may_fall():
    env = make("RigidTop-v0", termination="none")
    at(env, [math.cos(0.7), math.sin(0.7), 0, 0])
    assert not any(env.step(np.zeros(3))[2] for _ in range(50))
    assert env.state["quaternion"][0] ** 2 < 0.5


def test_a_disturbance_named_or_of_ones_own_is_a_torque_beside_the_commanded_one():
    push = np.array([0.003, -0.002, 0.001])
    own = lambda state: np.tile(push, (len(state["time"]), 1))  # noqa: E731
    ends = []
    for disturbance in (None, {"constant": push}, own):
        env = make(SLEW, disturbance=disturbance)
        at(env, [1, 0, 0, 0], [0.1, 0.2, 0.3])
        for _ in range(10):
            env.step(np.zeros(3) if disturbance else push / env.torque_limit)
        ends.append(env.state["angular_momentum"])
    np.testing.assert_array_equal(ends[1], ends[2])
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-17)


@pytest.mark.parametrize("actuator", ["direct", "wheels"])
def test_a_disturbance_is_in_body_axes_which_are_not_the_principal_ones(actuator):
    push = np.array([0.003, -0.002, 0.001])
    body = {"inertia": [[0.3, 0.08, 0.0], [0.08, 0.25, -0.05], [0.0, -0.05, 0.2]]}
    wheels = ReactionWheels(viscous=0.0, coulomb=0.0, start=0.0)
    kwargs = {} if actuator == "direct" else {"actuator": wheels}
    env = make(SLEW, body=body, disturbance={"constant": push}, **kwargs)
    attitude = np.array([0.5, 0.1, -0.7, 0.5])
    at(env, attitude)
    before = env.state["angular_momentum"]
    env.step(np.zeros(3))
    torque = (env.state["angular_momentum"] - before) / env.dt
    # From rest: the body hardly turns in the step.
    np.testing.assert_allclose(torque, rotate(attitude, push), rtol=0, atol=1e-5)


def test_white_noise_has_its_standard_deviation_and_differs_from_step_to_step():
    env = many(SLEW, n=2000, disturbance={"white_noise": [0.01, 0.02, 0.0]})
    at(env, [1, 0, 0, 0])
    steps = []
    for _ in range(3):
        before = env.state["angular_momentum"]
        env.step(np.zeros((2000, 3)))
        steps.append((env.state["angular_momentum"] - before) / env.dt)
    for torque in steps:
        np.testing.assert_allclose(torque.std(axis=0), [0.01, 0.02, 0.0], rtol=0.06, atol=1e-4)
        assert np.abs(torque.mean(axis=0)).max() < 4 * 0.02 / math.sqrt(2000)
    most = env.episodes.setup.parts.disturbance.largest_torque()
    assert most == pytest.approx([0.0667, 0.1334, 0.0])  # of 2**32 numbers sqrt(2 log(2**32)) each
    correlation = np.corrcoef(np.concatenate([s[:, :2] for s in steps], axis=1).T)
    assert np.abs(correlation - np.eye(6)).max() < 0.1


def test_gravity_gradient_is_a_potential_and_reports_jacobis_integral():
    env = make(SLEW, disturbance={"gravity_gradient": 0.3})
    at(env, [0.8, 0.0, 0.6, 0.0], [0.0, 0.0, 0.3])
    start = env.invariants()
    for _ in range(100):
        env.step(np.zeros(3))
    now = env.invariants()
    assert np.abs(now["angular_momentum"] - start["angular_momentum"]).max() > 1e-3
    assert now["energy"] == pytest.approx(start["energy"], abs=1e-5)


def test_rewards_are_the_sum_of_their_reported_terms():
    weights = {
        "closeness": 1.0, "success": 2.0, "attitude": 3.0, "rate": 4.0, "effort": 5.0,
        "change": 6.0, "alive": 7.0, "progress": 8.0,
    }  # fmt: skip
    env = make(SLEW, reward=weights)
    _, info = env.reset(seed=1)
    task, last = env.task, np.zeros(3)

    def nearness(info):
        miss = math.hypot(info["attitude_error"] / task.angle, info["rate_error"] / task.rate)
        return 1 / (1 + task.shape.steepness * (math.sqrt(1 + miss) - 1))

    before = nearness(info)
    for action in ([0.5, -1.0, 0.2], [0.1, 0.9, -0.4]):
        u = np.array(action)
        _, reward, *_, info = env.step(u)
        now, effort = nearness(info), np.mean(u**2)
        expected = {
            "closeness": 1 / (1 / now + task.shape.effort_weight * effort),
            "success": 0.0,
            "attitude": -3 * math.sin(info["attitude_error"] / 2) ** 2,
            "rate": -4 * (info["rate_error"] / env.rate_limit) ** 2,
            "effort": -5 * effort,
            "change": -6 * np.mean((u - last) ** 2) / 4,
            "alive": 7.0,
            "progress": 8 * (0.99 * now - before),
        }
        told = {name: info[f"reward_{name}"] for name in expected}
        assert told == pytest.approx(expected, rel=1e-6)
        assert sum(told.values()) == pytest.approx(reward, rel=1e-14)
        last, before = u, now


def test_hooks_of_ones_own_work_alike_on_single_and_vector_environments():
    hooks = {
        "termination": lambda state: state["time"] > 0.45,
        "observation": lambda state: np.hstack([state["quaternion"], state["wheel_momentum"]]),
        "reward": lambda state, action: state["time"] - 0.1 * np.sum(action**2, axis=1),
    }
    check_vector_env("ReactionWheelSlew-v1", env_kwargs={"dt": 0.1, **hooks})
    env = make("ReactionWheelSlew-v1", **hooks)
    assert env.reset(seed=0)[0].shape == (8,)
    told = [env.step(np.full(4, 2.0)) for _ in range(5)]  # of which one is taken
    assert [over for _, _, over, *_ in told] == [False] * 4 + [True]
    assert [reward for _, reward, *_ in told] == pytest.approx(0.1 * np.arange(1, 6) - 0.4)
    seen = [*env.state["quaternion"], *env.state["wheel_momentum"]]
    np.testing.assert_array_equal(told[-1][0], np.float32(seen))
    make("ScalableSpin-v0", reward=lambda state, action: 1.0 / state["scale"])


@pytest.mark.compiled
def test_sensor_noise_has_its_size_and_a_bias_stays_for_the_episode():
    sensor = {"attitude": 0.01, "rate": 0.002, "rate_bias": 0.004}
    env = many(SLEW, n=3000, sensor=sensor)
    at(env, [1, 0, 0, 0])
    seen = np.array([env.step(np.zeros((3000, 3)))[0] for _ in range(12)])
    assert np.std(2 * seen[..., 1:4]) == pytest.approx(0.01, rel=0.03)
    rates = seen[..., 4:] * env.rate_limit
    of_means = math.hypot(0.004, 0.002 / math.sqrt(12))
    assert np.std(rates.mean(axis=0)) == pytest.approx(of_means, rel=0.05)
    assert np.std(rates - rates.mean(axis=0)) == pytest.approx(0.002 * math.sqrt(11 / 12), rel=0.05)
    np.testing.assert_array_equal(env.state["angular_velocity"], 0.0)


def test_noise_of_sensor_and_disturbance_is_new_in_every_episode_of_a_seed():
    sensor = {"attitude": 0.01, "rate": 0.002, "rate_bias": 0.004}
    env = make(SLEW, sensor=sensor, disturbance={"white_noise": 0.01})
    seen = []
    for episode in range(3):
        state = {"quaternion": [1, 0, 0, 0], "angular_velocity": [0, 0, 0]}
        env.reset(seed=0 if episode == 0 else None, options={"state": state})
        start = env.state["angular_momentum"]
        observation = env.step(np.zeros(3))[0]
        seen.append(np.append(observation[1:], env.state["angular_momentum"] - start))
    for first, second in itertools.combinations(np.array(seen), 2):
        assert (first != second).all()


def test_success_is_that_of_the_true_motion_whatever_the_sensor_says():
    # Rates up to twice those of success, and a bias that is as large.
    limit, settled_steps = 0.02, 30  # of the task
    noisy = many(SLEW, sensor={"rate": 0.9 * limit, "rate_bias": limit, "attitude": 0.01})
    plain, infos = many(SLEW), []
    rates = np.zeros((64, 3))
    rates[:, 2] = np.linspace(0, 2 * limit, 64)
    for env in (noisy, plain):
        at(env, [1, 0, 0, 0], rates)
        for _ in range(settled_steps + 1):
            seen, *_, info = env.step(np.zeros((64, 3)))
        infos.append({name: info[name] for name in ("is_success", "rate_error", "attitude_error")})
        infos[-1]["seen"] = seen
    for name in ("is_success", "rate_error", "attitude_error"):
        np.testing.assert_array_equal(infos[0][name], infos[1][name])
    assert infos[1]["is_success"].any()
    assert not infos[1]["is_success"].all()
    assert (infos[0]["seen"][:, 4:] != infos[1]["seen"][:, 4:]).all()


def test_every_inertia_drawn_is_that_of_a_body():
    spread = {"inertia": 0.5, "mass": 0.3, "torque": 0.2}
    env = many("TopSwingUp-v0", n=2000, randomization=spread)
    env.reset(seed=1)
    batch = env._episodes.batch
    J = batch.rows(layout.J, 3)
    assert (J > 0).all()
    assert (2 * J.max(axis=1) <= J.sum(axis=1) * (1 + 1e-12)).all()
    np.testing.assert_allclose(batch.rows(layout.J_INV, 3), 1 / J)
    weight = batch.rows(batch.physics.potential_row(), 1)[:, 0] / batch.potential.mgl
    assert 0.7 <= weight.min() < 0.72
    assert 1.28 < weight.max() <= 1.3
    before = J.copy()
    env.reset()
    assert (batch.rows(layout.J, 3) != before).all()


def test_a_preset_and_ones_own_start_are_joined():
    env = make("RigidTop-v0", difficulty="hard", initial={"spin": 0.5})
    start = env._episodes.setup.parts.start
    assert (start.tilt, start.spin, start.transverse) == (1.0, 0.5, 1.0)


def test_a_state_that_ends_the_episode_has_no_progress_to_come():
    env = make(SLEW, reward={"progress": 1.0}, termination={"rate_limit": 0.3})
    at(env, [1, 0, 0, 0], [0.299, 0, 0])
    miss = 0.299 / env.task.rate
    before = 1 / (1 + env.task.shape.steepness * (math.sqrt(1 + miss) - 1))
    _, reward, over, *_ = env.step(np.array([1.0, 0, 0]))
    assert over
    assert reward == pytest.approx(-before, rel=1e-12)


@pytest.mark.compiled
def test_the_targets_rate_never_exceeds_what_is_shown_of_it():
    env = many("AttitudeTracking-v1", n=2000)
    env.reset(seed=0)
    bound = env.task.reference(env.dt).largest_rate()
    largest = 0.0
    for _ in range(150):
        env.step(np.zeros((2000, 3)))
        rates = env._episodes.state()["target_angular_velocity"]
        largest = max(largest, np.linalg.norm(rates, axis=1).max())
    assert 0.7 * bound < largest < bound


@pytest.mark.parametrize("arguments", [
    {"inertia": [0.2, 0.3, 0.4], "mass": 1.0},
    {"inertia": [[0.3, 0.01, 0.0], [0.01, 0.3, 0.0], [0.0, 0.0, 0.2]], "mass": 2.0},
    {"inertia": [0.2, 0.3, 0.1], "mass": 2.0, "center_of_mass": [0.0, 0.0, 0.1]},
])  # fmt: skip
def test_a_body_may_be_plain_data(arguments):
    env_id = "RigidTop-v0" if "center_of_mass" in arguments else SLEW
    body = RigidBody(**arguments)
    made = gym.make(env_id, body=arguments)
    assert made.unwrapped.body == body
    again = gym.make(gym.envs.registration.EnvSpec.from_json(made.spec.to_json()))
    assert again.unwrapped.body == body
    assert many(env_id, 2, body=arguments).body == body
    stepped = []
    for given in (arguments, body):
        env = make(env_id, body=given)
        env.reset(seed=1)
        stepped.append(env.step(np.ones(3))[0])
    np.testing.assert_array_equal(*stepped)


@pytest.mark.parametrize("reward", ["dense", "sparse"])
def test_goals_are_rewarded_alike_one_by_one_and_in_a_batch(reward):
    env = many("AttitudeReach-v0", n=256, initial={"angle": 0.2}, reward=reward)
    seen, _ = env.reset(seed=0)
    seen, rewards, *_, info = env.step(np.zeros((256, 3)))
    batch = env.compute_reward(seen["achieved_goal"], seen["desired_goal"], info)
    np.testing.assert_array_equal(rewards, batch)
    one = env.compute_reward(seen["achieved_goal"][0], seen["desired_goal"][0], {})
    assert isinstance(one, float)
    assert one == batch[0]
    angle = info["attitude_error"]
    if reward == "sparse":
        assert 0 < np.mean(batch) < 1
        assert np.mean((angle < math.radians(5)) == (batch == 1)) > 0.99
    else:
        np.testing.assert_allclose(batch, 1 / (1 + (2 * np.sin(angle / 2) / 0.2) ** 2), rtol=1e-4)


@refused(
    (SLEW, {"difficulty": "insane"}, "difficulty must be one of"),
    (SLEW, {"dt": 0.0}, "dt must be a positive"),
    (SLEW, {"substeps": 0}, "substeps must be a positive"),
    (SLEW, {"torque_limit": [1, 2]}, "torque_limit must be"),
    ("RigidTop-v0", {"mgl": -1.0}, "mgl must be a positive"),
    ("RigidTop-v0", {"initial": {"tilt": 4.0}}, r"initial\['tilt'\]"),
    ("RigidTop-v0", {"initial": {"tild": 0.1}}, "initial must have keys"),
    (SLEW, {"observaton": "mrp"}, "did you mean 'observation'"),
    (SLEW, {"integrator": "quat_me"}, "did you mean 'quat_em'"),
    (SLEW, {"reward": {"closenes": 1}}, "did you mean 'closeness'"),
    ("RigidTop-v0", {"reward": {"closeness": np.ones(2)}}, r"reward\['closeness'\] must be in"),
    ("RigidTop-v0", {"reward": {}}, "reward must have a weight that is not 0, got"),
    ("RigidTop-v0", {"reward": {"closeness": 0.0, "alive": 0}}, "a weight that is not 0, got"),
    (SLEW, {"disturbance": {"wind": 1}}, "disturbance must have keys"),
    ("RigidTop-v0", {"disturbance": {"gravity_gradient": 0.1}}, "a body with weight"),
    (SLEW, {"randomization": {"inertia": 1.5}}, r"randomization\['inertia'\] must be in"),
    (SLEW, {"randomization": {"friction": 0.1}}, "without wheels with friction"),
    (SLEW, {"randomization": {"gravity": 0.1}}, "a body without weight"),
    (SLEW, {"randomization": {"noise": 0.1}}, "without a noisy sensor"),
    ("RigidTop-v0", {"randomization": {"axes": 0.1}}, "where there is a potential"),
    (SLEW, {"observation": ["mrp", "mass"]}, "behind its form must be one of .*randomization"),
    (SLEW, {"observation": []}, "observation must be one of"),
    ("MagneticPointing-v0", {"initial": {"target_angle": 1.0}}, "left out of a target on an orbit"),
    (SLEW, {"info": ["succes"]}, "info must be one of .*did you mean"),
    (SLEW, {"initial": {"least_angle": 2.0, "angle": 1.0}}, "must be at most angle"),
    (SLEW, {"body": {"inertial": [1, 1, 1]}}, r"\['inertia', 'mass', 'center_of_mass'\], got"),
    (SLEW, {"body": [1, 1, 1]}, "body must be a RigidBody or a dict for one"),
    ("RigidTop-v0", {"body": RigidBody([1, 1, 1])}, "body must have its center_of_mass"),
    (SLEW, {"mgl": 1.0}, "left out for a free body"),
    (SLEW, {"termination": {"keep_out": {}}}, r"must have keys from \['rate_limit'\]"),
    ("AttitudeReach-v0", {"observation": "mrp"}, "must be 'quaternion' in this task"),
    ("AttitudeReach-v0", {"reward": {"rate": 1}}, "must be 'dense' or 'sparse'"),
    (SLEW, {"observation": lambda s: s["quaternion"], "sensor": {"rate": 1e-3}}, "named with"),
    (SLEW, {"reward": lambda s, a: np.zeros(7)}, r"reward must return shape \(1,\)"),
    (SLEW, {"reward": lambda s: np.zeros(1)}, r"reward must be a function of \(state, action\)"),
    (SLEW, {"disturbance": lambda s: np.full((1, 3), np.nan)}, "must return finite values"),
    (SLEW, {"termination": lambda s: s["time"] - 1.5}, "termination must return flags"),
    (SLEW, {"observation": lambda s: np.full((1, 2), 1e39)}, "must return finite values"),
    ("SafeMode-v0", {"faults": {"time": (1, 2)}}, "must not have 'sensor' where observations"),
    (SLEW, {"initial": []}, "initial must be a dict"),
    (SLEW, {"termination": {"rate_limit": 0.0}}, "rate_limit"),
    ("RigidTop-v0", {"initial": {"least_tilt": 2.0, "tilt": 3.0}}, "where episodes end"),
    ("Detumble-v1", {"termination": {"rate_limit": 0.02}}, "initial must have rates up to the l"),
    ("ScalableSpin-v0", {"termination": {"rate_limit": 0.5}}, "limit of 0.5 rad/s.*at least 1;"),
    ("IntermediateAxis-v0", {"termination": {"rate_limit": 5.0}},
     r"termination\['rate_limit'\] must be above the goal's 10 rad/s, got 5.0"),
    ("SteadyPrecession-v0", {"rate_limit": 136.0}, "rate_limit must be above the goal's 140.9"),
    ("Detumble-v1", {"initial": {"target_angle": 1.0}}, "must be 0 without a target"),
    (SLEW, {"preview": 1.0}, "preview must be left out"),
    ("FreeFlyer-v0", {"preview": 1.0}, "preview must be left out where the target stays"),
    ("ScalableSpin-v0", {"actuator": Torque()}, "must have Scaling as its effector"),
    ("ScalableSpin-v0", {"integrator": "quat_em"}, r"must support 'scale'.*scalable_em"),
    ("ScalableSpin-v0", {"disturbance": {"gravity_gradient": 1.0}}, "gravity_gradient.*left out"),
    ("Detumble-v1", {"sensor": {"gyro": {}}, "dt": 11.0}, "turns by at most 3 rad in a control"),
    ("AttitudeTracking-v1", {"preview": -1.0}, "preview must be"),
    ("ReactionWheelSlew-v1", {"rate_limit": 1e-203, "success": {"angle": 0.01}},
     "dt must give rates that a float32"),
)  # fmt: skip
def test_bad_hooks_are_named(env_id, kwargs):
    make(env_id, **kwargs)
