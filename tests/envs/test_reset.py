"""What a reset begins, and what a refused one leaves alone."""

from collections import deque

import gymnasium as gym
import numpy as np
import pytest

import rbgym
from rbgym.rows import ROTOR
from refusals import refused_and_unchanged

pytestmark = pytest.mark.interpreted

ID = "RigidTop-v0"


def vector(n=4, **kwargs):
    return gym.make_vec(ID, num_envs=n, **kwargs)


def test_lanes_without_a_seed_of_their_own_differ():
    first, _ = vector().reset(seed=[5, None, None, None])
    second, _ = vector().reset(seed=[5, None, None, None])
    assert len(np.unique(first, axis=0)) == 4
    assert np.array_equal(first[0], second[0])
    everyone, _ = vector().reset(seed=[None] * 4)
    assert len(np.unique(everyone, axis=0)) == 4


def test_seeds_may_be_any_sequence_of_integers_but_text():
    expected, _ = vector().reset(seed=[0, 1, 2, 3])
    for seeds in (range(4), (0, 1, 2, 3), np.arange(4), deque(range(4)), 0):
        assert np.array_equal(vector().reset(seed=seeds)[0], expected)
    for seeds in ("0123", b"0123", bytearray(4), {0, 1, 2, 3}):
        with pytest.raises(ValueError, match="seed must be an integer"):
            vector().reset(seed=seeds)
    with pytest.raises(ValueError, match="one entry for each of 4 lanes, got 3"):
        vector().reset(seed=range(3))


@pytest.mark.parametrize(
    ("env_id", "state", "message"),
    [
        (ID, {"quaternion": (2, 0, 0, 0)}, "unit length"),
        ("AttitudeSlew-v1", {"target_quaternion": (2, 0, 0, 0)}, "target_quaternion.*unit length"),
        ("AttitudeSlew-v1", {"target_quaternion": (np.nan, 0, 0, 1)}, "target_quaternion.*finite"),
        ("ScalableSpin-v0", {"scale": 1e-160}, r"scale.*in \[0.1, 10\]"),
        ("ScalableSpin-v0", {"scale_rate": 1e308}, "scale_rate.*in"),
        ("FreeFlyer-v0", {"velocity": (1e308, 0, 0)}, "velocity.*in"),
        ("FreeFlyer-v0", {"position": (0, 0)}, "position.*shape"),
        ("MagneticDetumble-v1", {"orbit_phase": 1e300}, r"orbit_phase.*in \[-1, 1\]"),
        ("MagneticDetumble-v1", {"orbit_phase": 1j}, "orbit_phase.*must be numbers"),
        ("SoftWall-v0", {"scale": 1.0}, "must have the keys"),
        ("ReactionWheelSlew-v1", {"wheel_momentum": (0, 0, 0, 0.1)}, r"in \["),
    ],
)
def test_a_start_that_cannot_be_is_refused_and_nothing_changes(env_id, state, message):
    good = {"quaternion": (0.8, 0.36, -0.48, 0.0), "angular_velocity": (0, 0, 0)}
    for env in (gym.make(env_id), gym.make_vec(env_id, num_envs=2)):
        env.reset(seed=1)
        env.step(np.full(env.action_space.shape, 0.3))
        with refused_and_unchanged(env, message):
            env.reset(seed=9, options={"state": good | state})


@pytest.mark.parametrize(
    "kwargs", [{"difficulty": "easy"}, {"satellite": "microsat-330", "difficulty": "hard"}]
)
def test_a_reset_draws_its_starts_as_an_env_with_that_initial_does(kwargs):
    env_id = "ReactionWheelSlew-v1"
    env = gym.make_vec(env_id, num_envs=4, **kwargs)
    first, second, *_ = env.unwrapped.task.categories
    said = [first, {"least_angle": 0.3, "angle": 0.3}, "any", second]
    env.reset(seed=0, options={"initial": said})
    for lane, initial in enumerate(said):
        alone = gym.make(env_id, initial=initial, **kwargs)
        alone.reset(seed=lane)
        for name, value in alone.unwrapped.state.items():
            np.testing.assert_array_equal(env.unwrapped.state[name][lane], value)
    # The next episode begins as the env's own do.
    mask = np.array([True, False, False, True])
    seen, _ = env.reset(seed=9, options={"reset_mask": mask})
    own, _ = gym.make_vec(env_id, num_envs=4, **kwargs).reset(seed=9)
    assert np.array_equal(seen[mask], own[mask])


def test_starts_that_cannot_be_drawn_are_refused_and_nothing_changes():
    env = gym.make_vec("KeepOutSlew-v0", num_envs=4)
    env.reset(seed=0)
    for initial, message in (
        ("smal", "must be one of"),
        (3, "must be one of"),
        ({"angel": 1.0}, "initial must have keys from"),
        ({"angle": 9.0}, r"initial\['angle'\] must be in"),
        ({"least_angle": 0.1, "angle": 0.2}, r"constraints\['keep_out'\].*between"),
        (["any"] * 3, "one entry for each of 4 lanes"),
    ):
        with refused_and_unchanged(env, message):
            env.reset(seed=1, options={"initial": initial})
    state = {"quaternion": (1, 0, 0, 0), "angular_velocity": (0, 0, 0)}
    with refused_and_unchanged(env, "left out with a state"):
        env.reset(seed=1, options={"initial": "any", "state": state})


def test_an_observation_of_ones_own_sees_all_lanes_that_begin_at_once():
    times = []
    env = vector(observation=lambda state: times.append(state["time"]) or state["quaternion"])
    env.reset(seed=0)
    env.step(env.action_space.sample())
    times.clear()
    env.reset(seed=1, options={"initial": ["any", "fast spin", "any", "fast spin"]})
    assert np.array_equal(times, np.zeros((1, 4)))


def test_no_horizon_is_what_gymnasium_writes_as_minus_one():
    assert vector(max_episode_steps=-1).unwrapped.episodes.setup.limit == np.inf


@pytest.mark.parametrize("center", [(0.0, 0.0, -0.05), (0.01, 0.0, 0.05), (0.0, 0.0, 0.0)])
def test_a_body_that_is_no_top_needs_its_weight_moment_given(center):
    body = rbgym.RigidBody([1e-2, 1e-2, 1e-2], mass=1.0, center_of_mass=center)
    with pytest.raises(ValueError, match="center_of_mass"):
        gym.make(ID, body=body)
    assert gym.make(ID, body=body, mgl=0.3).unwrapped.potential.mgl == 0.3


@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
def test_an_unknown_argument_is_a_type_error_as_python_words_it(make):
    said = r"got an unexpected keyword argument 'integratr'; did you mean 'integrator'\?"
    with pytest.raises(TypeError, match=said):
        make(ID, integratr="rkn4")


@pytest.mark.compiled
@pytest.mark.parametrize("env_id", ["RigidTop-v0", "TumblingCapture-v0"])
def test_what_follows_a_seed_does_not_depend_on_what_was_before(env_id):
    """Of episodes that a reset begins, and of those that begin by themselves: eight at a time,
    among companions that were others before."""
    with_past, fresh = (gym.make_vec(env_id, num_envs=21) for _ in range(2))
    with_past.reset(seed=5)
    with_past.action_space.seed(0)
    for _ in range(120):
        with_past.step(with_past.action_space.sample())
    starts = [env.reset(seed=9)[0] for env in (with_past, fresh)]
    np.testing.assert_array_equal(*starts)
    fresh.action_space.seed(1)
    ended = 0
    for _ in range(200):
        action = fresh.action_space.sample()
        told = [env.step(action) for env in (with_past, fresh)]
        for one, other in zip(*(step[:4] for step in told), strict=True):
            np.testing.assert_array_equal(one, other)
        ended += int((told[0][2] | told[0][3]).sum())
    assert ended > 0
    rows = [env.unwrapped.get_state()["rows"] for env in (with_past, fresh)]
    assert np.isfinite(rows).all()
    assert (np.array(rows)[:, :, ROTOR : ROTOR + 3] == 0.0).all()
    # One lane alone begins the same episode as among others.
    alone = gym.make_vec(env_id, num_envs=1)
    np.testing.assert_array_equal(alone.reset(seed=9 + 13)[0][0], starts[0][13])
