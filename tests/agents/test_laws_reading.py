"""What laws read of an observation: by name, in the env's own scale, and not by how wide it is."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import RescaleAction, TransformObservation
from gymnasium.wrappers.vector import NormalizeObservation

from family import quick_make
from laws import flown
from rbgym.agents import controllers
from rbgym.agents.policies import trained
from rbgym.envs.base import AttitudeEnv
from rbgym.envs.parts.observations import Both, More, Offset, TargetQuaternion, TargetRate, World

pytestmark = pytest.mark.interpreted

TUMBLING = "TumblingCapture-v0"


@pytest.mark.parametrize("kwargs", [{"rate_limit": 3.0}, {"rate_limit": 3.0, "preview": 2.0}])
def test_a_tumbling_target_is_met_whatever_the_limit_that_rates_are_shown_by(kwargs):
    env = gym.make_vec(TUMBLING, num_envs=4, **kwargs)
    columns = env.unwrapped.columns
    assert columns["angular_velocity"].factor == columns["target_angular_velocity"].factor == 3.0
    assert ("quaternion_ahead" in columns) == ("preview" in kwargs)
    assert flown(controllers.make("pd", env), env, 150)["is_success"].all()


def with_more(env_id, **changes):
    """An env of a task of one's own, a registered one but for these parts."""
    task = gym.make(env_id).unwrapped.task
    own = type("OwnEnv", (AttitudeEnv,), {"task": replace(task, **changes)})
    return own()


@pytest.mark.parametrize(
    ("name", "env_id", "changes"),
    [
        # Each as wide as what the law reads, or wider.
        ("pd", "AttitudeTracking-v1", {"more": More()}),
        ("pd", "AttitudeTracking-v1", {"more": TargetRate(3.0, 1.0)}),
        ("geometric", "AttitudeTracking-v1", {"more": TargetQuaternion()}),
        ("pd", TUMBLING, {"more": Both(TargetRate(2.0, 0.05), Offset(5.0, 0.5))}),
        ("pd", TUMBLING, {"more": Both(Offset(5.0, 0.5), TargetRate(1.0, 0.1))}),
        ("pd", "FreeFlyer-v0", {"more": Both(TargetQuaternion(), Offset(5.0, 0.5))}),
        ("pd", "AttitudeSlew-v1", {"form": World()}),
    ],
)
def test_columns_of_another_part_are_refused_though_they_are_as_wide(name, env_id, changes):
    with pytest.raises(ValueError, match="env must show the"):
        controllers.make(name, with_more(env_id, **changes))


@pytest.mark.parametrize("env_id", ["KeepOutSlew-v0", "AttitudeSlew-v1"])
def test_a_law_made_by_its_class_reads_the_columns_that_the_env_fits_it_with(env_id):
    env = quick_make(env_id)
    seen, _ = env.reset(seed=0)
    laws = controllers.AttitudePD.for_env(env), controllers.make("pd", env)
    np.testing.assert_array_equal(*(law.predict(seen)[0] for law in laws))


def rates_first(seen):
    return np.concatenate([seen[4:], seen[:4]])


def test_wrappers_that_change_what_a_law_reads_or_commands_are_refused():
    env = quick_make("AttitudeSlew-v1")
    many = gym.make_vec("AttitudeSlew-v1", num_envs=2)
    for wrapped in (
        TransformObservation(env, rates_first, env.observation_space),
        RescaleAction(env, np.float32(-2.0), np.float32(2.0)),
        NormalizeObservation(many),
    ):
        message = f"env must have no wrapper .* got {type(wrapped).__name__}; env.unwrapped"
        with pytest.raises(ValueError, match=message):
            controllers.make("pd", wrapped)
        assert controllers.make("pd", wrapped.unwrapped)
    statistics = gym.wrappers.RecordEpisodeStatistics(env)
    assert controllers.make("pd", gym.wrappers.TimeLimit(statistics, 10))


def test_a_policy_shows_itself_in_a_line_and_not_by_its_numbers():
    shipped = trained.load("AttitudeSlew-v1")
    shown = repr(shipped)
    assert shown.startswith("TrainedPolicy(Network(sizes=(21, ")
    assert "env_id='AttitudeSlew-v1'" in shown
    assert shown.count("\n") == 0
    assert len(shown) < 300
    for env_id in ("AttitudeSlew-v1", "MomentumDumping-v0"):
        assert len(repr(controllers.make("pd", gym.make(env_id)))) < 800
