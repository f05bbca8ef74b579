"""Constraints: cones that stand in the world, limits, what they cost, and what is shown of them."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from family import SLEW, at
from family import quick_make as make
from family import quick_many as many
from rbgym.agents import controllers
from rbgym.envs.rendering import scene_of
from refusals import refused

pytestmark = pytest.mark.interpreted

WHEELS = "ReactionWheelSlew-v1"
SUN = {"axis": (0.0, 0.6, 0.8), "direction": (0.6, 0.0, -0.8), "half_angle": 0.5}
PATH = {"axis": (0.0, 0.0, 1.0), "direction": "between", "half_angle": 0.35}
CONES = {"keep_out": [SUN, PATH]}
LIMITS = {"rate": 0.03, "command": 0.8, "momentum": 0.3}


def turned(quaternions):
    """As scipy has them, scalar last."""
    return Rotation.from_quat(np.roll(quaternions, -1, axis=-1))


def apart(vectors, others):
    """Angles [rad] between unit vectors."""
    sine = np.linalg.norm(np.cross(vectors, others), axis=-1)
    return np.arctan2(sine, np.sum(vectors * others, axis=-1))


@pytest.fixture(scope="module")
def flown():
    """Wheels, cones and limits: observations, states, costs and commands of some steps."""
    env, rng = many(WHEELS, n=64, constraints={**CONES, **LIMITS}), np.random.default_rng(0)
    found = [(*env.reset(seed=5), env.state, np.zeros((64, 4)), np.zeros(64, bool))]
    push = rng.choice([-1.0, 1.0], (64, 4))
    for _ in range(40):
        commands = push * rng.uniform(0.3, 1.0, (64, 4))
        seen, _, ended, _, info = env.step(commands)
        found.append((seen, info, env.state, commands, ended))
    return env, found


def test_each_cost_is_one_where_its_constraint_is_violated_and_their_sum_is_the_cost(flown):
    env, found = flown
    often = dict.fromkeys(("keep_out_0", "keep_out_1", *LIMITS), 0)
    for step, (_, info, state, commands, ended) in enumerate(found):
        boresights = [turned(state["quaternion"]).apply(one["axis"]) for one in (SUN, PATH)]
        violated = {
            **{
                f"keep_out_{n}": apart(boresights[n], info[f"keep_out_{n}"]) < one["half_angle"]
                for n, one in enumerate((SUN, PATH))
            },
            "rate": np.linalg.norm(state["angular_velocity"], axis=1) > LIMITS["rate"],
            "command": np.abs(commands).max(axis=1) >= LIMITS["command"],
            "momentum": np.abs(state["wheel_momentum"]).max(axis=1)
            >= LIMITS["momentum"] * env.actuator.momentum,
        }
        for name, wanted in violated.items():
            wanted = wanted & (step > 0)
            np.testing.assert_array_equal(info[f"cost_{name}"], wanted, name)
            often[name] += wanted.sum()
        np.testing.assert_array_equal(info["cost"], sum(info[f"cost_{n}"] for n in violated))
        assert not ended.any()  # they are charged, no more
    assert min(often.values()) > 15, often


def test_directions_are_shown_from_the_body_and_stay_in_the_world(flown):
    _, found = flown
    first = found[0][1]
    np.testing.assert_array_equal(first["keep_out_0"], np.tile(SUN["direction"], (64, 1)))
    for seen, info, state, *_ in found:
        for n in range(2):
            direction = info[f"keep_out_{n}"]
            np.testing.assert_array_equal(direction, first[f"keep_out_{n}"])
            wanted = turned(state["quaternion"]).inv().apply(direction)
            np.testing.assert_allclose(seen[:, 7 + 3 * n : 10 + 3 * n], wanted, rtol=0, atol=1e-6)


def test_the_straight_turn_leads_through_a_cone_between_and_its_ends_lie_in_no_cone(flown):
    _, found = flown
    _, info, state, *_ = found[0]
    start, target = turned(state["quaternion"]), turned(state["target_quaternion"])
    turn = (target * start.inv()).as_rotvec()
    half_way = Rotation.from_rotvec(0.5 * turn) * start
    np.testing.assert_allclose(half_way.apply(PATH["axis"]), info["keep_out_1"], rtol=0, atol=1e-12)
    for n, one in enumerate((SUN, PATH)):
        for attitude in (start, target):
            off = apart(attitude.apply(one["axis"]), info[f"keep_out_{n}"])
            assert off.min() > one["half_angle"]


def test_a_start_that_is_put_somewhere_has_its_cone_between_it_and_its_target():
    env = make(SLEW, constraints=CONES)
    tilted = Rotation.from_euler("xyz", (0.4, 0.0, 0.0))
    info = at(env, (1, 0, 0, 0), target_quaternion=np.roll(tilted.as_quat(), 1))[1]
    assert info["keep_out_1"] == pytest.approx((0, -math.sin(0.2), math.cos(0.2)), abs=1e-15)


def test_with_ends_the_first_violation_ends_the_episode():
    limits = {"rate": 0.05, "ends": True}
    env, charged = (many(SLEW, n=16, constraints={**limits, "ends": e}) for e in (True, False))
    plain, running = many(SLEW, n=16), np.ones(16, bool)
    start = env.reset(seed=2)[0]
    np.testing.assert_array_equal(start, charged.reset(seed=2)[0])
    np.testing.assert_array_equal(start, plain.reset(seed=2)[0])
    commands = np.random.default_rng(0).uniform(-1.0, 1.0, (16, 3))
    for _ in range(40):
        ended, info = env.step(commands)[2::2]
        seen, _, never, _, told = charged.step(commands)
        np.testing.assert_array_equal(seen, plain.step(commands)[0])
        np.testing.assert_array_equal(ended[running], told["cost"][running] > 0)
        np.testing.assert_array_equal(info["cost"][running], told["cost"][running])
        assert not never.any()
        running &= ~ended
    assert not running.all()
    slow = many("MagneticDetumble-v1", n=32, constraints=limits)  # starts at up to 0.17 rad/s
    slow.reset(seed=0)
    rates = slow.unwrapped.state["angular_velocity"]
    assert np.linalg.norm(rates, axis=1).max() <= 0.05


def test_a_goal_task_shows_directions_behind_its_state():
    env = many("AttitudeReach-v0", n=32, constraints={"keep_out": [SUN]})
    seen, info = env.reset(seed=0)
    wanted = turned(env.state["quaternion"]).inv().apply(info["keep_out_0"])
    np.testing.assert_allclose(seen["observation"][:, 7:], wanted, rtol=0, atol=1e-6)


def test_laws_read_what_stands_before_the_cones():
    env, plain = (many(WHEELS, n=8, constraints=c) for c in ({**CONES, **LIMITS}, None))
    seen, _ = env.reset(seed=0)
    without = np.delete(seen, range(7, 13), axis=1)
    for name in ("pd", "bang_bang"):
        action, _ = controllers.make(name, env).predict(seen)
        np.testing.assert_array_equal(action, controllers.make(name, plain).predict(without)[0])


def test_cones_are_drawn_about_their_directions_in_the_world():
    env = make(SLEW, constraints=CONES)
    turn = np.roll(Rotation.from_euler("xyz", (0.4, 0.8, 0.0)).as_quat(), 1)
    info = at(env, (1, 0, 0, 0), target_quaternion=turn)[1]
    rims = [one.points for one in scene_of(env).curves if len(one.points) > 2]
    rims = [rim for rim in rims if np.ptp(np.linalg.norm(rim, axis=1)) < 1e-9]
    for n, one in enumerate((SUN, PATH)):
        off = [apart(rim / np.linalg.norm(rim[0]), info[f"keep_out_{n}"]) for rim in rims]
        assert any(np.abs(angles - one["half_angle"]).max() < 1e-7 for angles in off)


@refused(
    (SLEW, {}, "constraints must have any of"),
    (SLEW, {"keep_out": SUN}, r"constraints\['keep_out'\] must be a list"),
    (SLEW, {"keep_out": [SUN] * 9}, "at most 8"),
    (SLEW, {"keep_out": [{**SUN, "axis": (1, 1, 0)}]}, r"\[0\]\['axis'\] must have unit"),
    (SLEW, {"keep_out": [SUN, {"axis": (1, 0, 0)}]}, r"\['keep_out'\]\[1\] must have axis"),
    (SLEW, {"keep_out": [{**SUN, "half_angle": 4.0}]}, r"\['half_angle'\] must be in"),
    (SLEW, {"keep_out": [{**PATH, "half_angle": 1.6}]}, "twice the half_angle"),
    ("Detumble-v1", {"keep_out": [PATH]}, "unless starts are more than twice"),
    ("RigidTop-v0", {"keep_out": [{**SUN, "axis": (0, 0, 1), "direction": (0, 0, 1)}]},
     "covers it"),
    ("RigidTop-v0", {"keep_out": [{**SUN, "axis": (0, 0, -1), "direction": (0, 0, -1)}]},
     "covers it"),
    (SLEW, {"rate": 9.0}, r"constraints\['rate'\] must be in"),
    ("Detumble-v1", {"rate": 0.02, "ends": True}, "ends episodes, must be above the 0.03 rad/s"),
    (WHEELS, {"momentum": 0.1, "ends": True}, "at least the 0.3 with which wheels begin"),
    (SLEW, {"command": 0.0}, r"constraints\['command'\] must be in"),
    (SLEW, {"momentum": 0.5}, "no momentum without wheels"),
    (SLEW, "sun", "constraints must be a dict"),
)  # fmt: skip
def test_bad_constraints_are_named(env_id, constraints):
    make(env_id, constraints=constraints)


@pytest.mark.parametrize(
    ("env_id", "kwargs"),
    [("RigidTop-v0", {}),
     ("ScalableSpin-v0", {}),
     ("FreeFlyer-v0", {"initial": {"speed": 0.5, "least_distance": 0.5}}),
     (SLEW, {"termination": {"rate_limit": 0.12}}),
     (SLEW, {"constraints": {"keep_out": [SUN], "rate": 0.1, "ends": True}}),
     (WHEELS, {"constraints": {"momentum": 0.3, "ends": True}})],
)  # fmt: skip
def test_the_price_of_a_margin_is_beyond_one_exactly_where_the_event_is(env_id, kwargs):
    env = many(env_id, n=32, reward={"margin": 1.0}, max_episode_steps=30, **kwargs)
    env.reset(seed=1)
    push, prices, ends = np.ones(env.action_space.shape), [], []
    for _ in range(25):
        _, reward, terminated, *_ = env.step(push)
        prices.append(reward)
        ends.append(terminated)
    prices, ends = np.concatenate(prices), np.concatenate(ends)
    assert ends.any()
    np.testing.assert_array_equal(prices < -1.0, ends)
    assert ((prices < 0.0) & ~ends).any()  # it rises before
    assert (prices <= 0.0).all()


def test_a_command_has_a_price_before_it_costs():
    env = make(SLEW, reward={"margin": 1.0}, constraints={"command": 0.5})
    env.reset(seed=0)
    prices = [env.step(np.array([c, 0.0, 0.0], np.float32))[1] for c in (0.3, 0.45, 0.9)]
    np.testing.assert_allclose(prices, [0.0, 0.19 / 0.4 - 1.0, -2.24 / 0.4 - 1.0], rtol=1e-6)
    assert env.step([0.5, 0.0, 0.0])[4]["cost_command"] == 1.0


def test_where_no_limit_is_near_no_attitude_has_a_price():
    env = many(SLEW, n=2, reward={"margin": 1.0})
    at(env, [[0, 1, 0, 0], [0.6, 0, 0.8, 0]])
    assert (env.step(np.zeros((2, 3)))[1] == 0.0).all()
