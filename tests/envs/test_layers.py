"""What is said is what is flown: an argument changes what it names, and nothing else."""

import itertools
import json
import math
from collections import Counter

import gymnasium as gym
import numpy as np
import pytest

from layers import TASKS, VALUES, changed, combinations, flat, may_change
from rbgym import RigidBody, compound
from rbgym.envs.actuators import Torque
from rbgym.envs.arguments import ARGUMENTS, Arguments
from rbgym.envs.layers import leaves
from refusals import refused_and_unchanged

pytestmark = [pytest.mark.interpreted, pytest.mark.filterwarnings("ignore:an episode lasts")]


def parts(env):
    setup = env.unwrapped.episodes.setup
    return setup.parts, setup.actuator


def make(task, **given):
    return gym.make(task, disable_env_checker=True, **given)


def test_a_thousand_combinations_change_only_what_they_name_or_are_refused_by_name():
    plain = {task: flat(make(task)) for task in TASKS}
    made = Counter()
    for task, given in itertools.islice(combinations(seed=1), 1000):
        names = changed(task, given, plain[task])
        made[names is not None] += 1
        if names is not None:
            assert names <= may_change(given), (task, given, names - may_change(given))
    assert made[True] > 200, made


@pytest.mark.parametrize("task", TASKS)
def test_an_explicit_default_changes_nothing(task):
    plain = flat(make(task))
    assert flat(make(task, **dict.fromkeys(ARGUMENTS))) == plain
    defaults = {name: getattr(Arguments(), name) for name in ARGUMENTS}
    assert flat(make(task, **defaults)) | {"difficulty": ""} == plain | {"difficulty": ""}


@pytest.mark.parametrize("task", TASKS)
def test_a_value_that_the_env_already_has_changes_nothing(task):
    env = make(task)
    tree, plain = env.unwrapped.resolved, flat(env)
    for name in ("dt", "substeps", "integrator", "projection", "rate_limit", "torque_scale"):
        assert flat(make(task, **{name: tree[name]["value"]})) == plain, name
    body = {name: leaf["value"] for name, leaf in tree["body"].items()}
    assert flat(make(task, body=body)) == plain


def test_the_tree_is_plain_data_and_names_the_layer_of_each_number():
    env = make("InertialPointing-v0", satellite="innocube-3u", difficulty="hard",
               actuator={"delay": {"seconds": 1.0}}, dt=0.5)  # fmt: skip
    tree = env.unwrapped.resolved
    assert json.loads(json.dumps(tree, allow_nan=False)) == tree
    of = {name: leaf["source"] for name, leaf in leaves(tree)}
    assert of["actuator.Delay.seconds"] == of["dt"] == "argument"
    assert of["actuator.ReactionWheels.torque"] == of["body.mass"] == "satellite"
    assert of["randomization.inertia"] == "difficulty"
    assert of["integrator"] == "task"
    own = {"torque": 0.003, "momentum": 0.04, "coulomb": 1e-4}
    mine = {"body": {"inertia": [0.04, 0.04, 0.01]}, "wheels": own, "coils": {}}
    for task, more, start in (
        ("ReactionWheelSlew-v1", {"actuator": ["wheels"]}, "task"),
        ("AttitudeSlew-v1", {"actuator": "wheels"}, "satellite"),
        ("MomentumDumping-v0", {"difficulty": "hard"}, "difficulty"),
    ):
        tree = make(task, satellite=mine, **more).unwrapped.resolved["actuator"]
        of = {name: leaf["source"] for name, leaf in tree["ReactionWheels"].items()}
        assert of == dict.fromkeys(of, "satellite") | {"start": start}


def test_a_delay_stands_before_the_satellites_own_wheels():
    for others in {"actuator": {"delay": {"seconds": 0.5}}}, {"actuator": None, "body": None}:
        env = make("ReactionWheelSlew-v1", satellite="microsat-330", **others)
        assert parts(env)[1].effector.torque == 0.2
        assert [one.seconds for one in parts(env)[1].stages] == [0.5] * bool(others["actuator"])


def test_a_push_stands_beside_the_gravity_gradient_of_the_difficulty():
    usual = type(make("MagneticPointing-v0").unwrapped.potential)
    for push in ({"constant": (1e-9, 0, 0)}, lambda state: np.zeros((1, 3))):
        env = make("MagneticPointing-v0", disturbance=push)
        assert type(env.unwrapped.potential) is usual
    for off in (None, False, np.False_):
        env = make("MagneticPointing-v0", disturbance={"gravity_gradient": off})
        assert type(env.unwrapped.potential) is not usual


def test_a_callable_torque_adds_to_one_that_is_named():
    two = {"torque": lambda state: np.full((1, 3), 1e-3), "constant": (1e-3, 0.0, 0.0)}
    both, one = (make("AttitudeSlew-v1", disturbance=push, orbit=orbit) for push, orbit in
                 ((two, {"altitude": 5e5}), ({"constant": (2e-3, 1e-3, 1e-3)}, None)))  # fmt: skip
    for env in (both, one):
        env.reset(seed=0)
        for _ in range(5):
            env.step(np.zeros(3))
    assert "orbit_phase" in both.unwrapped.state  # which a callable may read
    wanted = one.unwrapped.state["angular_momentum"]
    np.testing.assert_allclose(both.unwrapped.state["angular_momentum"], wanted, rtol=1e-12)


def test_a_bound_on_commands_leaves_the_cone():
    kept = parts(make("KeepOutSlew-v0"))[0].constraints
    bound = parts(make("KeepOutSlew-v0", constraints={"command": 0.99}))[0].constraints
    assert (bound.cones, bound.ends, bound.command) == (kept.cones, kept.ends, 0.99)


def test_randomization_joins_that_of_the_difficulty_and_none_takes_a_key_away():
    for without, left in ({}, 0.2), ({"inertia": None}, 0.0):
        given = {"mass": 0.1} | without
        found = parts(make("AttitudeSlew-v1", difficulty="hard", randomization=given))[0]
        assert found.randomization.inertia.spread == left
        assert found.randomization.mass.spread == 0.1


def test_a_mass_leaves_the_inertia_and_an_altitude_the_plane_of_the_orbit():
    usual = make("AttitudeSlew-v1").unwrapped.body
    heavy = make("AttitudeSlew-v1", body={"mass": 3.0}).unwrapped.body
    assert heavy.mass == 3.0
    np.testing.assert_array_equal(heavy.inertia, usual.inertia)
    low = make("MagneticPointing-v0", orbit={"altitude": 420e3}).unwrapped.episodes.setup.orbit
    own = make("MagneticPointing-v0").unwrapped.episodes.setup.orbit
    assert (low.altitude, low.inclination, low.tilt) == (420e3, own.inclination, own.tilt)


def test_thrusters_are_thrusters_beside_wheels_that_have_no_valves():
    for given in (["wheels", "thrusters"], ["wheels", "torque", "thrusters"], "thrusters"):
        actuator = parts(env := make("ReactionWheelSlew-v1", actuator=given))[1]
        count = len(actuator.effector.wheels.matrix.T)
        assert actuator.record.line.pulses.first == count
        assert env.action_space.shape == (count + 3,)
    with pytest.raises(ValueError, match="thrusters with coils"):
        make("MagneticPointing-v0", actuator={"thrusters": {}})


def test_a_number_that_nobody_said_keeps_its_source():
    given = {"body": {"inertia": [0.2, 0.3, 0.4]}, "success": {"angle": 0.02},
             "initial": {"angle": 0.7}}  # fmt: skip
    tree = make("AttitudeSlew-v1", **given).unwrapped.resolved
    of = {name: leaf["source"] for name, leaf in leaves(tree)}
    assert of["body.inertia"] == of["success.angle"] == of["initial.angle"] == "argument"
    assert of["body.mass"] == of["success.rate"] == of["initial.rate"] == "task"


def test_a_part_of_the_tasks_own_actuator_is_taken_away_by_none_but_not_the_last():
    env = make("MomentumDumping-v0", actuator={"magnetorquers": None})
    assert type(parts(env)[1].effector) is type(parts(make("ReactionWheelSlew-v1"))[1].effector)
    for absent in ({"torque": None}, {"magnetorquers": None}):  # next to coils; next to wheels
        task = "MomentumDumping-v0" if "torque" in absent else "ReactionWheelSlew-v1"
        effector = parts(make(task, actuator=absent))[1].effector
        assert effector == parts(make(task))[1].effector
    with pytest.raises(ValueError, match="actuator must keep an element that makes torque"):
        make("AttitudeSlew-v1", actuator={"torque": None})
    effector = parts(make("MomentumDumping-v0", actuator={"magnetorquers": None, "torque": {}}))[1]
    assert effector.effector.wheels == parts(env)[1].effector
    assert type(effector.effector.other) is Torque


def test_wheels_beside_coils_are_replaced_and_the_coils_stay():
    own = parts(make("MomentumDumping-v0"))[1].effector
    given = {"wheels": {"torque": 0.01, "momentum": 0.1}}
    effector = parts(make("MomentumDumping-v0", actuator=given))[1].effector
    assert (effector.wheels.torque, effector.other) == (0.01, own.other)


def test_a_free_body_turns_about_its_centre_of_mass_wherever_its_reference_point_is():
    own = RigidBody([[0.6, 0.1, -0.05], [0.1, 0.8, 0.07], [-0.05, 0.07, 0.5]], 3.0)
    off = compound([(own, (0.1, 0.2, -0.1))], about=(0.0, 0.0, 0.0))
    for task in ("AttitudeSlew-v1", "Detumble-v1", "FreeFlyer-v0", "MagneticDetumble-v1"):
        body = make(task, body=off).unwrapped.body
        np.testing.assert_allclose(body.inertia, own.inertia, rtol=0, atol=1e-15)
        assert not body.center_of_mass.any()
    top = RigidBody([2.0, 2.0, 1.0], 1.0, (0.0, 0.0, 0.7))  # about the point on which it stands
    assert make("RigidTop-v0", body=top).unwrapped.body == top


@pytest.mark.parametrize("slip", ["states", "quaternion", "mask", "State", "initials"])
def test_an_option_that_there_is_not_is_refused_and_the_episode_goes_on(slip):
    for env in (make("RigidTop-v0"), gym.make_vec("RigidTop-v0", num_envs=2)):
        env.reset(seed=0)
        with refused_and_unchanged(env, rf"options must have keys from .*, got '{slip}'"):
            env.reset(seed=1, options={slip: {}})


def test_a_sensor_coarser_than_the_requirement_is_what_filters_are_for_and_said():
    tracker = {"star_tracker": {"across_boresight": 5e-5, "about_boresight": 3.4e-4}}
    with pytest.warns(UserWarning, match=r"about_boresight.*0.0001745 rad: without a filter"):
        make("AttitudeSlew-v1", success={"angle": math.radians(0.01)}, sensor=tracker)


def test_what_becomes_of_an_argument_later_changes_nothing():
    push, cone = np.ones(3), {"axis": (1, 0, 0), "direction": [0, 1, 0], "half_angle": 0.1}
    env = make("AttitudeSlew-v1", disturbance={"constant": push}, constraints={"keep_out": [cone]})
    tree = env.unwrapped.resolved
    push[:], cone["half_angle"], cone["direction"][:] = 0.0, 9.0, [0, 0, 0]
    assert env.unwrapped.resolved == tree
    env.reset(options={"initial": {"angle": 0.7}})


def test_an_instrument_keeps_the_satellites_numbers_that_the_argument_leaves_out():
    own = {"gyro": {"angle_walk": 1e-6, "bias": 1e-5}, "star_tracker": {"period": 2.0}}
    satellite = {"body": {"inertia": [0.3, 0.2, 0.1]}, "torque": 0.1, "sensor": own}
    sensor = {"gyro": {"bias": 2e-5}, "star_tracker": {}}
    env = make("AttitudeSlew-v1", satellite=satellite, sensor=sensor)
    seen = env.unwrapped.resolved["sensor"]
    found = [(*seen[name].values(),) for name in ("bias", "angle_walk", "period")]
    assert found == [(2e-5, "argument"), (1e-6, "satellite"), (2.0, "satellite")]


def test_an_instrument_keeps_the_tasks_numbers_and_the_others_stay():
    env = make("SunAcquisition-v0", sensor={"coarse_sun": {"noise": 0.02}}, difficulty="hard")
    seen = env.unwrapped.resolved["sensor"]
    found = [(*seen[name].values(),) for name in ("cell_noise", "cell_bias", "angle_walk")]
    assert found == [(0.02, "argument"), (0.02, "difficulty"), (4.4e-5, "task")]
    assert "angular_velocity" in env.unwrapped.columns


def test_a_refusal_of_what_nobody_gave_says_where_it_comes_from():
    with pytest.raises(ValueError, match=r"the difficulty sets initial, given"):
        make("Detumble-v1", difficulty="hard", termination={"rate_limit": 0.1})


def test_the_torque_that_a_difficulty_varies_is_each_command_of_what_has_limits_of_its_own():
    for actuator in ("pyramid", "magnetorquers", ["wheels", "magnetorquers"]):
        env = make("AttitudeSlew-v1", difficulty="hard", actuator=actuator)
        drawn = env.unwrapped.resolved["randomization"]
        hard = {"value": 0.2, "source": "difficulty"}
        assert drawn == {"inertia": hard, "actuator_scale": hard}
    with_valves = make("AttitudeSlew-v1", difficulty="hard", actuator=["wheels", "thrusters"])
    assert "torque" in with_valves.unwrapped.resolved["randomization"]


@pytest.mark.parametrize("name", [*VALUES])
def test_what_gym_make_reads_once_cannot_be_set_afterwards(name):
    for env in (make("RigidTop-v0"), gym.make_vec("RigidTop-v0", num_envs=2)):
        with pytest.raises(AttributeError, match=rf"{name}.*(make another env|no setter)"):
            setattr(env.unwrapped, name, VALUES[name][0])
    one, two = gym.make("RigidTop-v0"), gym.make_vec("RigidTop-v0", 2, vectorization_mode="sync")
    value = VALUES[name][0]
    for put, given in ((one.set_wrapper_attr, value), (two.set_attr, [value] * 2)):
        with pytest.raises(AttributeError, match=f"{name}.*make another env"):
            put(name, given)
