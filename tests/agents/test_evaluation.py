"""Figures of merit on the fixed test set, differences between contenders, and their plots."""

import json
import math
import warnings

import gymnasium as gym
import numpy as np
import pytest
from scipy.stats import binomtest

from rbgym import RigidBody
from rbgym.agents.cases import in_time
from rbgym.agents.judge import statistics
from rbgym.agents.judge.card import DISPERSIONS, make_card
from rbgym.agents.judge.episodes import Contender, contenders, own_kwargs
from rbgym.agents.judge.evaluation import evaluate, settled_from, settling, wilson_interval
from rbgym.agents.judge.statistics import differences, interval
from rbgym.agents.judge.tables import print_evaluations
from rbgym.agents.policies.network import Network
from rbgym.agents.policies.trained import TrainedPolicy, load
from rbgym.agents.train.rollouts import rollout_test_set
from rbgym.envs.actuators import ReactionWheels
from rbgym.envs.satellites import Satellite
from refusals import refused

pytestmark = pytest.mark.interpreted

WHEELS = ReactionWheels.pyramid(inertia=0.4, torque=0.82, momentum=264.0)
HUBBLE = Satellite(RigidBody([36046.0, 86868.0, 93848.0]), wheels=WHEELS)


@pytest.mark.parametrize(("k", "n"), [(0, 10), (10, 10), (3, 7), (250, 256), (1, 1)])
def test_wilson_interval_is_scipys(k, n):
    expected = binomtest(k, n).proportion_ci(method="wilson")
    np.testing.assert_allclose(wilson_interval(k, n), expected, rtol=0, atol=1e-12)


def test_settling_time_is_when_a_lane_enters_for_good():
    # From the start; enters, leaves, enters; at the end; leaves at the end; ends early, in and out.
    lanes = "11111", "01011", "00001", "11110", "01   ", "10   ", "0    "
    reached = np.array([[float(x.replace(" ", "nan")) for x in lane] for lane in lanes]).T
    times = settled_from(reached, np.array([4, 4, 4, 4, 1, 1, 0]), 0.5, hold=0.0)
    np.testing.assert_allclose(times, [0, 1.5, 2, np.inf, 0.5, np.inf, np.inf])
    late = np.arange(70.0)[:, np.newaxis] >= 65.0
    assert settled_from(late, np.array([69]), 0.02, hold=0.98) == 0.32  # not 0.32000000000000006


class Pushing:
    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        return np.ones((len(observation), 3), dtype=np.float32), None


def test_lanes_that_fall_are_counted_to_their_end_only():
    result = evaluate(Pushing(), episodes=16)
    assert result.success_rate == 0
    assert result.length < 100
    assert result.mean_return < result.length
    ends = np.isfinite(result.played.attitude_error).sum(axis=0) - 1
    assert ends.mean() == result.length
    left = np.degrees(result.played.attitude_error[ends, np.arange(16)])
    assert result.final_error == pytest.approx(np.median(left))
    assert json.loads(json.dumps(result.as_dict()))["settling_time"] is None


@pytest.mark.compiled
def test_the_test_set_is_the_same_every_time_and_for_every_size():
    whole, part = evaluate("pd", episodes=20), evaluate("pd", episodes=7)
    np.testing.assert_array_equal(whole.played.attitude_error[:, :7], part.played.attitude_error)
    assert whole.as_dict() == evaluate("pd", episodes=20).as_dict()


@pytest.mark.parametrize(
    ("env_id", "satellite", "seconds"),
    [
        ("MomentumDumping-v0", "innocube-3u", 5700.0),  # the task's own, in steps of 1 s
        ("Detumble-v1", "cubesat-6u", 50.0),
        ("Detumble-v1", HUBBLE, 3323.5),
        ("AttitudeSlew-v1", HUBBLE, 1816.0),
        ("AttitudeSlew-v1", "cubesat-6u", 48.0),  # twice its half turn, and as long as it is held
        ("AttitudeReach-v0", "cubesat-6u", 30.0),  # slower than the task's own, and not shorter
        ("AttitudeTracking-v1", "cubesat-6u", 200.0),
    ],
)
def test_an_episode_lasts_as_long_as_the_satellite_takes(env_id, satellite, seconds):
    kwargs = in_time(env_id, {"satellite": satellite})
    with warnings.catch_warnings(action="error"):
        env = gym.make_vec(env_id, 1, **kwargs)
    assert kwargs["max_episode_steps"] * env.unwrapped.dt == pytest.approx(seconds)
    assert in_time(env_id, kwargs) == kwargs
    assert in_time(env_id, kwargs | {"max_episode_steps": None}) == kwargs


@pytest.mark.parametrize(
    ("env_id", "kwargs", "what"),
    [("Detumble-v1", {"satellite": HUBBLE, "max_episode_steps": 300}, "stop the fastest tumble"),
     ("MomentumDumping-v0", {"satellite": "innocube-3u", "max_episode_steps": 300}, "empty the")],
)  # fmt: skip
def test_what_no_detumbling_and_no_dumping_has_the_time_for_is_told(env_id, kwargs, what):
    with pytest.warns(UserWarning, match=f"to {what} .*takes [0-9.]+ s at full torque"):
        gym.make_vec(env_id, 1, **kwargs)


def test_starts_are_those_of_the_test_set():
    network = Network.random((7, 3), 0)
    for judge in (
        lambda: evaluate("pd", "AttitudeSlew-v1", 4, initial={"angle": 0.1}),
        lambda: evaluate("pretrained", "AttitudeSlew-v1", 4, initial="high rate"),
        lambda: make_card("AttitudeSlew-v1", ["pd"], env_kwargs={"initial": "high rate"}),
        lambda: rollout_test_set(network, "AttitudeSlew-v1", env_kwargs={"initial": "high rate"}),
    ):
        with pytest.raises(ValueError, match="initial must be left out, as the test set of Att"):
            judge()
    own = evaluate("pd", "AttitudeSlew-v1", 4, split="fresh", initial={"angle": 0.1})
    assert own.played.attitude_error[0].max() < 0.1 + 1e-12
    assert own.by_category == {"initial": 1.0}
    moving = evaluate("pd", "AttitudeSlew-v1", 4, split="fresh", initial={"rate": 0.1})
    assert np.isnan(moving.played.least_time).all()  # which is from rest
    space = gym.make("AttitudeSlew-v1").observation_space
    learned = TrainedPolicy(network, space, {"env_kwargs": {"initial": "high rate"}})
    assert own_kwargs(learned, "AttitudeSlew-v1", {"dt": 0.4}) == {"dt": 0.4}


def test_a_policy_of_a_condition_is_called_by_its_name_and_brings_what_it_was_trained_in():
    names, given = ["pretrained", "pretrained-dispersed"], {"dt": 0.4}
    _, (true, dispersed) = contenders(names, "AttitudeSlew-v1", given)
    assert (true.env_kwargs, dispersed.env_kwargs["dt"]) == (given, 0.4)
    contenders(names, "AttitudeSlew-v1", {"satellite": "innocube-3u"})  # of other rates and torque
    assert dispersed.env_kwargs["randomization"] == DISPERSIONS
    assert dispersed.config == load("AttitudeSlew-v1", "dispersed").config != true.config
    with pytest.raises(ValueError, match="as in the policy's own env, got 0"):
        contenders(["pretrained"], "DetumbleToPoint-v0", {"dt": 0.5})


@refused(
    ("DetumbleToPoint-v0", {"dt": 0.5}, "dt must be 1.0, as in the policy's own env, got 0.5"),
    ("DetumbleToPoint-v0", {"rate_limit": 1.0}, "rate_limit must be 0.5, as"),
    ("SunAcquisition-v0", {"rate_limit": 0.8}, "rate_limit must be .* as in the policy's own env"),
    ("SunAcquisition-v0", {"sensor": {"coarse_sun": {"normals": [(0, 0, 1)] * 6}}}, "s own env"),
)
def test_a_memory_flies_only_in_the_units_that_it_learned(env_id, given):
    evaluate(load(env_id), env_id, 1, **given)


def test_a_slew_lasts_longer_where_what_wheels_hold_turns_with_the_body():
    steps = {}
    for momentum in (0.5, 2.0):
        wheels = {"torque": 5e-3, "momentum": momentum, "start": 0.3}
        bus = {"body": {"inertia": [18.0, 22.0, 15.0]}, "wheels": wheels, "dt": 0.5}
        given = in_time("ReactionWheelSlew-v1", {"satellite": bus})
        steps[momentum] = given["max_episode_steps"]
    # Wheels begin with up to 0.3 of it, h; half a turn of a body that turns with torque / h.
    assert steps[2.0] * 0.5 > 2.0 * math.pi * 0.3 * 2.0 / 5e-3
    assert steps[0.5] * 0.5 < 500.0


def test_episodes_that_violate_a_constraint_are_told_where_there_is_one(capsys):
    kwargs = {"constraints": {"command": 0.9}, "info": ["is_success"], "max_episode_steps": 60}
    kept = evaluate("pd", "AttitudeSlew-v1", 32, **kwargs)
    full = np.nanmax(np.abs(kept.played.actions), axis=(0, 2)) >= 0.9
    assert 0.0 < full.mean() == kept.violating < 1.0
    print_evaluations({"pd": kept}, "AttitudeSlew-v1", [Contender("pd", "pd", {})])
    assert f"{100 * full.mean():.1f}" in capsys.readouterr().out
    assert evaluate("pd", "AttitudeSlew-v1", 4, max_episode_steps=60).violating is None


def test_intervals_hold_the_truth_as_often_as_they_say(monkeypatch):
    monkeypatch.setattr(statistics, "_DRAWS", 300)
    rng, held = np.random.default_rng(1), 0
    for _ in range(200):
        found = interval(rng.normal(3.0, 2.0, (1, 60)), np.mean)
        held += found.low <= 3.0 <= found.high
        assert found.low <= found.value <= found.high
    assert 0.88 < held / 200 < 0.99  # 0.95, within three standard deviations and the bootstrap's


def test_seeds_that_differ_widen_an_interval():
    rng = np.random.default_rng(2)
    alike = rng.normal(0.0, 1.0, (5, 200))
    apart = alike + np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0]])
    widths = [np.subtract(*interval(one, np.mean)[:0:-1]) for one in (alike, apart)]
    assert widths[1] > 4.0 * widths[0]


def test_a_difference_is_of_the_same_starts_and_nothing_differs_from_itself():
    pd, idle = (evaluate(law, "Detumble-v1", 12).played for law in ("pd", "idle"))
    found = differences([pd], [idle])
    # Twelve of twelve starts may differ with a chance of 2.5 % if each does with this one.
    assert found["success"] == pytest.approx((1.0, 0.025 ** (1 / 12), 1.0))
    assert found["improvement"].value == 0.5
    assert found["return"].low > 0.0
    middle = [np.sort(one.returns)[3:9].mean() for one in (pd, idle)]
    assert found["return"].value == pytest.approx(middle[0] - middle[1])
    assert found["settling"].value == pytest.approx(settling(pd).mean() - pd.limit)
    assert "cost" not in found
    same = differences([pd, pd], [pd])
    assert all(one.value == 0.0 and one.low <= 0.0 <= one.high for one in same.values())


@pytest.mark.compiled
def test_a_comparison_and_a_card_show_the_episodes_that_were_played(tmp_path):
    found = {name: evaluate(name, "RigidTop-v0", 8) for name in ("pd", "idle")}
    played, plots = found["pd"].played, pytest.importorskip("rbgym.agents.judge.plots")
    figure = plots.comparison(found)
    attitude, rate = figure.axes
    assert attitude.get_legend_handles_labels()[1] == ["pd: 100.0 % success", "idle: 0.0 % success"]
    median = rate.get_lines()[0].get_ydata()
    assert median[0] == pytest.approx(np.median(played.rate_error[0]))
    left, right = plots.card("RigidTop-v0", found).axes
    median = left.get_lines()[0].get_ydata()
    assert median[0] == pytest.approx(np.degrees(np.median(played.attitude_error[0])))
    pd, idle = (line.get_data() for line in right.get_lines())
    assert pd[1].max() == 100.0
    assert idle[1].max() == 0.0
    np.testing.assert_allclose(pd[0][1:-1], np.sort(settling(played)))
