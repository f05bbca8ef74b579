"""What differs from episode to episode: read by name, given by name, drawn as asked."""

import math

import gymnasium as gym
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from family import SLEW, make, many
from rbgym.quaternion import from_rotation_vector, rotate, to_matrix
from refusals import refused, refused_and_unchanged

pytestmark = pytest.mark.interpreted

EVERYTHING = {
    "randomization": {
        "inertia": {"log_uniform": (0.5, 2.0)}, "mass": 0.2, "torque": {"normal": (1.0, 0.1)},
        "actuator_scale": {"uniform": (0.7, 1.1)}, "misalignment": 0.1, "delay": 0.3,
        "failure": 0.5,
    },
    "actuator": {"delay": {"seconds": 0.5}},
    "sensor": {"rate": 1e-4, "rate_bias": 1e-3},
    "max_episode_steps": 3,
}  # fmt: skip
GIVEN = {
    "inertia": np.diag([0.1, 0.11, 0.12]), "mass": 1.5, "torque": 0.8, "misalignment": (0, 0.2, 0),
    "actuator_scale": (1.0, 0.0, 0.5), "delay": 1.25, "rate_bias": (1e-3, 0.0, -1e-3),
}  # fmt: skip
BODY = np.diag([0.3, 0.2, 0.4])


def moved(env, options=None, steps=25):
    """Attitudes and rates after each of some steps under full and partial commands."""
    rng, found = np.random.default_rng(2), []
    env.reset(seed=3, options=options)
    for _ in range(steps):
        env.step(rng.uniform(-1.0, 1.0, env.action_space.shape))
        found.append([env.state["quaternion"], env.state["angular_velocity"]])
    return [number for pair in found for part in pair for number in np.ravel(part)]


@pytest.mark.parametrize("mode", gym.vector.AutoresetMode)
def test_what_is_given_is_read_and_the_rest_is_drawn_as_without(mode):
    env = many(SLEW, 11, autoreset_mode=mode, **EVERYTHING)
    start = env.reset(seed=4)[0]
    drawn = env.parameters
    assert drawn.keys() == GIVEN.keys()
    for name, value in GIVEN.items():
        seen = env.reset(seed=4, options={"parameters": {name: value}})[0]
        assert_array_equal(seen[:, :4], start[:, :4])
        for other, found in env.parameters.items():
            if other == name:
                everywhere = np.tile(value, (11, *[1] * np.ndim(value)))
                assert found == pytest.approx(everywhere, rel=1e-15)
            elif (name, other) == ("mass", "inertia"):  # of which it is a factor
                parts = drawn[other] / drawn[name][:, np.newaxis, np.newaxis]
                assert found == pytest.approx(value * parts, rel=1e-14)
            else:
                assert_array_equal(found, drawn[other])


def test_lanes_are_given_their_own_and_the_next_episode_is_drawn_again():
    plain, env = many(SLEW, 11, **EVERYTHING), many(SLEW, 11, **EVERYTHING)
    delays, mask = np.linspace(0.7, 1.3, 11), np.arange(11) % 3 == 0
    for one in (plain, env):
        one.reset(seed=4)
    before = env.parameters
    env.reset(options={"parameters": {"delay": delays[mask]}, "reset_mask": mask})
    plain.reset(options={"reset_mask": mask})
    after, drawn = env.parameters, plain.parameters
    assert_array_equal(after["delay"], np.where(mask, delays, before["delay"]))
    after["delay"][:] = 9.0  # a copy
    assert_array_equal(env.parameters["mass"], drawn["mass"])
    assert (env.parameters["delay"] < 2.0).all()
    for _ in range(4):  # the last of them begins the next episodes
        for one in (plain, env):
            one.step(np.zeros((11, 3)))
    for name, value in plain.parameters.items():
        assert_array_equal(env.parameters[name], value)
    assert (env.parameters["delay"] != after["delay"]).all()


@pytest.mark.parametrize(
    ("env_id", "varied", "given", "made"),
    [
        (SLEW, {"inertia": 0.0}, {"inertia": BODY}, {"body": {"inertia": BODY.tolist()}}),
        (SLEW, {"torque": 0.3}, {"torque": 1.5},
         {"torque_scale": 1.5, "randomization": {"torque": 0.0}}),
        ("ReactionWheelSlew-v1", {"inertia": 0.2}, {"inertia": BODY},
         {"body": {"inertia": BODY.tolist()}}),
        ("FreeFlyer-v0", {"mass": 0.0}, {"mass": 2.0}, None),
    ],
)  # fmt: skip
def test_a_flight_with_given_numbers_is_that_of_an_env_made_with_them(env_id, varied, given, made):
    how = {"torque_limit": 1e-3} if env_id == SLEW else {}
    env = make(env_id, randomization=varied, **how)
    if made is None:  # the same shape, twice as heavy
        body = env.body
        heavy = {"inertia": (2.0 * body.inertia).tolist(), "mass": 2.0 * body.mass}
        made = {"body": heavy, "randomization": varied}
    other = make(env_id, **how, **made)
    placed = {"state": {"quaternion": (0.6, 0.8, 0, 0), "angular_velocity": (0, 0.02, 0)}}
    for state in ({}, placed):
        assert moved(env, {**state, "parameters": given}) == moved(other, state)
    assert moved(env) != moved(other)


def test_gravity_and_delay_are_those_of_envs_made_with_them():
    state = {"state": {"quaternion": (0.8, 0.6, 0, 0), "angular_velocity": (0, 0.1, 1.0)}}
    how = {"torque_limit": 0.1, "termination": "none"}
    top = make("RigidTop-v0", mgl=2.0, randomization={"gravity": 0.5}, **how)
    lighter = make("RigidTop-v0", mgl=1.0, randomization={"gravity": 0.0}, **how)
    given = {**state, "parameters": {"gravity": 0.5}}
    assert moved(top, given) == moved(lighter, state)
    late = make(SLEW, randomization={"delay": 0.5}, actuator={"delay": {"seconds": 1.0}})
    later = make(SLEW, actuator={"delay": {"seconds": 1.25}})
    assert moved(late, {"parameters": {"delay": 1.25}}) == moved(later)


def test_a_mounting_that_is_given_turns_and_weakens_the_torque():
    env = make(SLEW, randomization={"misalignment": 0.0, "actuator_scale": 0.0})
    turn, scale = np.array([0.1, -0.2, 0.3]), np.array([1.0, 0.5, 0.0])
    env.reset(options={"parameters": {"misalignment": turn, "actuator_scale": scale}})
    torque = env.step(np.array([0.5, -1.0, 1.0]))[4]["applied_torque"]
    asked = env.torque_limit * scale * (0.5, -1.0, 1.0)
    assert torque == pytest.approx(rotate(from_rotation_vector(turn), asked), rel=1e-12)
    flyer = make("FreeFlyer-v0", randomization={"misalignment": 0.0})
    flyer.reset(options={"parameters": {"misalignment": turn}})
    force = flyer.step([1.0, 0, 0, 0, 0, 0])[4]["applied_force"]
    assert force == pytest.approx(rotate(from_rotation_vector(turn), np.array([0.4, 0, 0])))


def test_the_inertia_is_read_and_given_about_the_axes_of_the_body():
    tensor = np.array([[0.3, 0.02, 0.0], [0.02, 0.35, 0.01], [0.0, 0.01, 0.4]])
    env = make(SLEW, body={"inertia": tensor.tolist()}, randomization={"inertia": 0.1})
    axes = env.body.principal_rotation
    wanted = axes @ np.diag([0.25, 0.3, 0.45]) @ axes.T
    state = {"quaternion": (1, 0, 0, 0), "angular_velocity": (0.01, -0.02, 0.03)}
    env.reset(options={"parameters": {"inertia": wanted}, "state": state})
    assert env.parameters["inertia"] == pytest.approx(wanted, rel=1e-14)
    assert env.state["angular_velocity"] == pytest.approx(state["angular_velocity"], rel=1e-13)
    momentum = wanted @ state["angular_velocity"]
    assert env.state["angular_momentum"] == pytest.approx(momentum, rel=1e-13)
    assert_array_equal(make(SLEW).reset() and env.body.inertia, tensor)


def test_a_tensor_with_axes_of_its_own_flies_as_the_body_of_another_env_does():
    axes = to_matrix(from_rotation_vector((0.5, -0.2, 1.0)))
    tensor = axes @ np.diag([0.3, 0.35, 0.4]) @ axes.T
    state = {"quaternion": (0.6, 0.8, 0, 0), "angular_velocity": (0.02, -0.03, 0.04)}
    for env_id in (SLEW, "ReactionWheelSlew-v1"):
        how = {"torque_limit": 1e-3} if env_id == SLEW else {}
        env = make(env_id, randomization={"axes": 0.1}, **how)
        other = make(env_id, body={"inertia": tensor.tolist()}, **how)
        given = {"state": state, "parameters": {"inertia": tensor}}
        assert moved(env, given) == pytest.approx(moved(other, {"state": state}), rel=1e-11)
        assert env.parameters["inertia"] == pytest.approx(tensor, rel=1e-14)
        momentum = rotate(state["quaternion"], tensor @ state["angular_velocity"])
        env.reset(options=given)
        assert env.state["angular_momentum"] == pytest.approx(momentum, rel=1e-13)


def test_principal_axes_are_turned_about_any_axis_and_keep_the_moments():
    env = many(SLEW, 1000, randomization={"axes": 0.4}, observation=["mrp", "axes"])
    seen = env.reset(seed=2)[0][:, env.columns["axes"].place].astype(float)
    sizes = np.linalg.norm(seen, axis=1, keepdims=True)  # 2 sin(angle / 2)
    angles = 2.0 * np.arcsin(0.5 * sizes)
    assert np.quantile(angles, [0.1, 0.5, 0.9]) == pytest.approx([0.04, 0.2, 0.36], abs=0.03)
    assert np.abs(seen.mean(axis=0)).max() < 0.02
    turns = to_matrix(from_rotation_vector(angles / sizes * seen))
    expected = turns @ env.body.inertia @ turns.transpose(0, 2, 1)
    np.testing.assert_allclose(env.parameters["inertia"], expected, rtol=0, atol=1e-8)


def test_friction_that_is_given_is_that_of_wheels_made_with_it():
    wheels = {"torque": 5e-3, "momentum": 0.03, "coulomb": 1e-4, "viscous": 2e-6}
    rough = {**wheels, "coulomb": 2e-4, "viscous": 4e-6}
    env = make("ReactionWheelSlew-v1", actuator={"wheels": wheels}, randomization={"friction": 0.5})
    other = make("ReactionWheelSlew-v1", actuator={"wheels": rough})
    assert moved(env, {"parameters": {"friction": 2.0}}) == moved(other)
    assert moved(env, {"parameters": {"friction": 1.0}}) != moved(other)


def instruments(k):
    """On wheels beside coils, with noise and biases k times as large."""
    sensor = {
        "gyro": {"angle_walk": k * 1e-5, "rate_walk": k * 1e-6, "bias": k * 1e-5},
        "star_tracker": {"across_boresight": k * 1e-4, "about_boresight": k * 4e-4, "latency": 0.5},
        "magnetometer": {"noise": k * 1e-8, "bias": k * 1e-7},
        "sun_sensor": {"noise": k * 1e-4, "bias": k * 1e-3},
        "coarse_sun": {"noise": k * 1e-3, "bias": k * 1e-3},
    }
    sensor["gyro"] |= {"scale_factor": k * 1e-2, "misalignment": k * 1e-2}
    orbit = {"altitude": 5e5, "inclination": 1.7}
    how = {"actuator": ["pyramid", "magnetorquers"], "initial": {"least_rate": 0.1, "rate": 0.1}}
    return {"sensor": sensor, "orbit": orbit, **how}


def simple(k):
    return {"sensor": {"attitude": k * 1e-3, "rate": k * 1e-4, "rate_bias": k * 1e-3}}


@pytest.mark.parametrize(
    "kwargs", [simple, instruments, lambda k: {**instruments(k), "actuator": "pyramid"}]
)
def test_noise_that_is_given_is_that_of_sensors_made_with_it(kwargs):
    env, other = make(SLEW, randomization={"noise": 0.5}, **kwargs(1.0)), make(SLEW, **kwargs(2.0))

    def seen(env, options=None):
        env.reset(seed=3, options=options)
        return np.array([env.step(np.zeros(env.action_space.shape))[0] for _ in range(9)])

    assert seen(env, {"parameters": {"noise": 2.0}}) == pytest.approx(seen(other), abs=1e-7)
    assert np.abs(seen(env, {"parameters": {"noise": 1.0}}) - seen(other)).max() > 1e-5


def test_what_differs_is_shown_and_told_to_who_asks():
    asked = ["rotation_6d", "rate_bias", "actuator_scale", "mass", "inertia", "delay"]
    env = many(SLEW, 11, **EVERYTHING, observation=asked, info=["parameters", "rate_error"])
    seen, info = env.reset(seed=4)
    assert seen in env.observation_space
    assert info.keys() == {"parameters", "_parameters", "rate_error", "_rate_error"}
    drawn, columns = env.parameters, env.columns
    for name in asked[1:]:
        shown = drawn[name]
        if name == "inertia":
            shown = np.diagonal(shown, axis1=1, axis2=2) / env.body.moments
        place = columns[name].place
        np.testing.assert_allclose(seen[:, place], shown.reshape(11, -1), rtol=1e-6, atol=1e-9)
        assert_array_equal(info["parameters"][name], drawn[name])
        assert info["parameters"][f"_{name}"].all()
    one = make(SLEW, **EVERYTHING, info=["all", "parameters"])
    assert one.reset(seed=4)[1]["parameters"]["mass"] == drawn["mass"][0]
    told = one.step(one.action_space.sample())[4]
    assert told.keys() == make(SLEW, **EVERYTHING).reset()[1].keys() | {"parameters"}


def test_a_state_carries_what_was_given_and_an_env_without_draws_tells_its_inertia():
    env, other = make(SLEW, **EVERYTHING), make(SLEW, **EVERYTHING)
    with pytest.raises(gym.error.ResetNeeded, match="before reading parameters"):
        env.parameters  # noqa: B018
    env.reset(seed=0, options={"parameters": GIVEN})
    other.set_state(env.get_state())
    assert isinstance(other.parameters["mass"], float)
    for name, value in env.parameters.items():
        assert_array_equal(other.parameters[name], value)
    plain = make(SLEW)
    plain.reset()
    assert plain.parameters.keys() == {"inertia"}
    assert_array_equal(plain.parameters["inertia"], plain.body.inertia)


def test_numbers_have_the_distribution_that_was_asked_for():
    env = many(
        SLEW, 2000, body={"inertia": [0.2, 0.2, 0.2]}, actuator={"delay": {"seconds": 1.0}},
        randomization={
            "inertia": {"log_uniform": (0.25, 4.0)}, "mass": {"normal": (1.0, 0.3)},
            "torque": {"uniform": (0.5, 2.0)}, "delay": {"normal": (1.2, 0.1)},
            "misalignment": {"normal": (0.0, 0.02)},
        },
    )  # fmt: skip
    env.reset(seed=1)
    drawn = env.parameters
    torque, mass, delay = drawn["torque"], drawn["mass"], drawn["delay"]
    parts = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    np.testing.assert_allclose(np.quantile(torque, parts), 0.5 + 1.5 * parts, rtol=0, atol=0.06)
    normal = np.array([-1.2816, -0.5244, 0.0, 0.5244, 1.2816])
    np.testing.assert_allclose(np.quantile(mass, parts), 1.0 + 0.3 * normal, rtol=0, atol=0.03)
    np.testing.assert_allclose(np.quantile(delay, parts), 1.2 + 0.1 * normal, rtol=0, atol=0.01)
    assert np.abs(mass - 1.0).max() <= 0.9
    assert mass.std() == pytest.approx(0.3, rel=0.05)
    moments = np.diagonal(drawn["inertia"], axis1=1, axis2=2) / mass[:, np.newaxis]
    second = 0.5 * moments.sum(axis=1, keepdims=True) - moments  # those of the mass
    logs = np.log(second / 0.1)
    assert np.quantile(logs, parts) == pytest.approx((2 * parts - 1) * math.log(4), abs=0.08)
    assert np.linalg.norm(drawn["misalignment"], axis=1).max() <= 0.06
    assert drawn["misalignment"].std(axis=0) == pytest.approx(0.02 / math.sqrt(3), rel=0.1)


@pytest.mark.parametrize(
    ("given", "message"),
    [({"inertai": BODY}, "randomization must name.*did you mean 'inertia'"),
     ({"inertia": np.diag([0.0, 1.0, 1.0])}, r'\["inertia"\]: .*positive principal moments'),
     ({"inertia": np.diag([1.0, 1.0, 3.0])}, r'\["inertia"\]: .*triangle inequality'),
     ({"inertia": [[1, 0.1, 0], [0.1, 1, 0], [0, 0, 1]]}, "must have the principal axes of the"),
     ({"inertia": [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]}, "must be a symmetric tensor"),
     ({"inertia": [1.0, 1.0, 1.0]}, r"of shape \(3, 3\) or \(4, 3, 3\), got"),
     ({"mass": [1.0, 2.0]}, r'\["mass"\] must be finite, of shape \(\) or \(4,\), got'),
     ({"mass": -1.0}, r'\["mass"\] must be within \[0.01, 100\], got -1.0'),
     ({"torque": math.nan}, r'\["torque"\] must be finite'),
     ({"delay": 1.31}, r'\["delay"\] must be within \[0, 1.3\], got 1.31'),
     ({"misalignment": (0, 0, 2.0)}, r"must be within \[-1, 1\]"),
     ({"gravity": 1.0}, "must name, if only with 0.0, must have keys .* got 'gravity'"),
     ([1.0], "must be a dict")],
)  # fmt: skip
def test_what_an_episode_cannot_have_is_refused_and_changes_nothing(given, message):
    env = many(SLEW, 4, **EVERYTHING)
    env.reset(seed=1)
    with refused_and_unchanged(env, message):
        env.reset(seed=2, options={"parameters": given})
    state = {"quaternion": (2, 0, 0, 0), "angular_velocity": (0, 0, 0)}
    with refused_and_unchanged(env, "unit length"):
        env.reset(options={"parameters": GIVEN, "state": state})
    env.step(np.zeros((4, 3)))


@refused(
    ({"inertia": {"uniform": (0.0, 1.0)}}, r"\['uniform'\] must lie within \[0.01, 100\]"),
    ({"mass": {"normal": (1.0, 0.4)}}, r"\['normal'\] must lie within .*three standard dev"),
    ({"mass": {"normal": (1.0, -0.1)}}, r"\['normal'\] must lie within"),
    ({"misalignment": {"log_uniform": (0.0, 0.1)}}, "the logarithm of what is above 0"),
    ({"torque": {"uniform": (2.0, 1.0)}}, r"\['uniform'\] must lie within"),
    ({"torque": {"unifrom": (1.0, 2.0)}}, "did you mean 'uniform'"),
    ({"torque": {"uniform": (1.0, 2.0), "normal": (1.0, 0.1)}}, "must have one of"),
    ({"torque": {"uniform": 1.0}}, r"of shape \(2,\)"),
    ({"failure": {"uniform": (0.0, 1.0)}}, r"randomization\['failure'\] must be in \[0, 1\]"),
    ({"delay": {"uniform": (0.5, 0.9)}}, "without a Delay"),
)
def test_a_distribution_that_there_is_not_is_refused(value):
    make(SLEW, randomization=value)


def test_what_is_read_can_be_given_back():
    env = gym.make("AttitudeSlew-v1", sensor={"rate_bias": 0.8}).unwrapped
    env.reset(seed=0)
    read = env.parameters
    assert np.abs(read["rate_bias"]).max() > 1.0
    env.reset(seed=1, options={"parameters": read})
    np.testing.assert_array_equal(env.parameters["rate_bias"], read["rate_bias"])
    with pytest.raises(ValueError, match="which randomization must name"):
        env.reset(options={"parameters": {"inertia": 2.0 * read["inertia"]}})
    # Each tensor is held to its own size, whatever the others' is.
    lanes = gym.make_vec("AttitudeSlew-v1", 2, randomization={"inertia": 0.0})
    askew = np.array([1e9 * np.diag([4.0, 3.0, 2.0]), [[4, 0.5, 0], [0.5, 3, 0], [0, 0, 2]]])
    with pytest.raises(ValueError, match="must have the principal axes"):
        lanes.reset(options={"parameters": {"inertia": askew}})
