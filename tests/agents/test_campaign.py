"""Campaigns: what is drawn, that it does not depend on how it is flown, and what a run tells."""

import csv
import json
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import MagicMock, Mock

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("joblib")

from pyarrow import parquet
from scipy import stats

import rbgym
from rbgym.agents import campaign
from rbgym.agents.campaigns import Campaign, Replay, Report, folder, report
from rbgym.agents.campaigns.nominal import GROUP, Nominal
from rbgym.agents.campaigns.plan import Pilot, Plan
from rbgym.agents.campaigns.spread import Dispersions, distribution
from rbgym.envs.actuators import Lag, ReactionWheels
from rbgym.identification import rotation_vector
from rbgym.quaternion import from_rotation_vector, to_matrix
from rbgym.registration import ENVIRONMENTS
from refusals import refused

pytestmark = pytest.mark.interpreted

SLEW = "ReactionWheelSlew-v1"
SHORT = {"max_episode_steps": 30, "sensor": {"attitude": 1e-4, "rate": 1e-5}}
SPREAD = {
    "inertia": {"factor": {"uniform": [0.97, 1.03]}},
    "friction": {"log_uniform": {"low": 0.5, "high": 2.0}},
    "misalignment.x": {"values": [0.0, 0.1745], "weights": [3, 1]},
    "actuator.ReactionWheels.torque": {"factor": {"triangular": [0.9, 1.0, 1.1]}},
    "attitude_angle": {"normal": [0.3, 0.05]},
    "covariance": {"names": ["angular_velocity.x", "angular_velocity.z"],
                   "matrix": [[1e-6, 5e-7], [5e-7, 1e-6]]},
}  # fmt: skip
GIVEN = {"spread": SPREAD, "env_kwargs": SHORT, "group": 8, "seed": 3}


def flown(folder, runs=24, policies=("pd", "lqr"), **given):
    return campaign(SLEW, policies, runs, folder, **(GIVEN | given)).campaign


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return flown(tmp_path_factory.mktemp("whole"))


def content(one):
    return (one.folder / "runs.parquet").read_bytes(), (one.folder / "runs.csv").read_bytes()


@pytest.mark.slow
def test_the_table_is_the_same_from_one_process_and_from_two(whole, tmp_path):
    assert content(flown(tmp_path, jobs=2)) == content(whole)


KILLED = """
import json, sys
from rbgym.agents import campaign
folder, given = json.loads(sys.argv[1])
campaign("ReactionWheelSlew-v1", ["pd", "lqr"], 24, folder, **given)
"""


@pytest.mark.slow
def test_a_campaign_that_was_killed_goes_on_to_the_same_table(whole, tmp_path):
    command = [sys.executable, "-P", "-c", KILLED, json.dumps([str(tmp_path), GIVEN])]
    for done in (1, 2):
        process = subprocess.Popen(command)
        while len([*tmp_path.glob("groups/*.parquet")]) < done and process.poll() is None:
            time.sleep(0.01)
        process.kill()
        assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "runs.parquet").exists()
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("groups/*.parquet")}
    assert content(flown(tmp_path)) == content(whole)
    assert kept == {path: path.stat().st_mtime_ns for path in kept}


def test_a_worker_in_a_folder_that_is_gone_flies_as_any_other(whole, tmp_path, monkeypatch):
    (gone := tmp_path / "gone").mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    path, config = tmp_path / "000000.parquet", whole.folder / "campaign.json"
    folder._fly(whole.plan, 0, path, json.loads(config.read_text()), tmp_path)
    assert path.read_bytes() == (whole.folder / "groups" / path.name).read_bytes()


def test_more_runs_keep_those_that_are_flown(whole, tmp_path):
    flown(tmp_path, runs=9)
    few = parquet.read_table(tmp_path / "runs.parquet")
    assert few.equals(parquet.read_table(whole.folder / "runs.parquet").slice(0, 18))
    groups = tmp_path / "groups"
    shutil.copy(groups / "000001.parquet", groups / "000000.parquet")  # damaged, so flown again
    for name, at in ("000000.npz", 60), ("000001.parquet", 218):
        bits = (groups / name).read_bytes()
        (groups / name).write_bytes(bits[:at] + bytes([bits[at] ^ 255]) + bits[at + 1 :])
    assert content(flown(tmp_path)) == content(whole)
    assert content(flown(tmp_path, spread=dict(reversed(SPREAD.items())))) == content(whole)
    with pytest.raises(ValueError, match=r"holds another campaign \(seed 3 -> 4\)"):
        flown(tmp_path, seed=4)
    (tmp_path / "campaign.json").unlink()
    with pytest.raises(ValueError, match=r"campaign\.json' is missing"):
        flown(tmp_path, seed=4)


def test_an_extension_that_breaks_leaves_what_is_finished(tmp_path, monkeypatch):
    own, other = flown(tmp_path / "own", 8), flown(tmp_path / "other", 8, seed=4)
    before = content(own)
    shutil.copytree(other.folder / "groups", own.folder / "groups", dirs_exist_ok=True)
    assert content(flown(own.folder, 8)) == before
    broken = Mock(side_effect=BrokenExecutor)
    for fly, said in (Mock(), "1 groups of another"), (broken, "too early"):
        monkeypatch.setattr(folder, "_fly", fly)
        with pytest.raises((ValueError, ChildProcessError), match=said):
            flown(own.folder, 16)
    monkeypatch.delattr(folder, "Pilot")  # a report needs no policies
    assert Report.of(Campaign.open(own.folder), {}).campaign.runs == 8


def test_contenders_fly_the_same_draws_from_the_same_starts(whole):
    pd, lqr = whole.columns["pd"], whole.columns["lqr"]
    assert {"inertia.x", "start.attitude_error_deg", "wheel_momentum.3"} <= {*whole.draws}
    for name in ["seed", *whole.draws]:
        np.testing.assert_array_equal(pd[name], lqr[name])
    more = Report.of(whole, {}).differences["lqr"]["effort_nms"].value
    assert 0.0 != more == pytest.approx(np.mean(lqr["effort_nms"] - pd["effort_nms"]))
    assert whole.draws["actuator.ReactionWheels.torque"] == 3
    assert len({*pd["actuator.ReactionWheels.torque"]}) == 3
    assert len({*pd["friction"]}) == whole.draws["friction"] == 24


@pytest.mark.parametrize("contender", ["pd", "lqr"])
def test_a_replay_is_its_row_to_the_last_bit(whole, contender):
    found = Replay.of(whole, 13, contender)
    assert found.differs(whole) == []
    assert found.row["run"] == 13
    assert len(found.row) == parquet.read_table(whole.folder / "runs.parquet").num_columns


def test_the_figures_of_a_run_are_those_of_its_telemetry(whole, tmp_path):
    found, window = Replay.of(whole, 5), whole.plan.window
    seen, row = found.telemetry, found.row
    target, q = seen["target_quaternion"], seen["quaternion"]
    R = np.einsum("nji,njk->nik", to_matrix(target), to_matrix(q))
    angle = np.degrees(np.arccos((np.trace(R, axis1=1, axis2=2) - 1.0) / 2.0))
    last = found.time >= found.time[-1] - window - 1e-9
    assert window == 10.0
    assert row["ape_deg"] == pytest.approx(angle[last].max(), abs=1e-6)
    torque, rate = (np.linalg.norm(seen[n], axis=1) for n in ("torque", "angular_velocity"))
    assert row["peak_torque_nm"] == np.nanmax(torque)
    assert row["effort_nms"] == pytest.approx(np.nansum(torque) * found.time[1])
    assert row["peak_rate_deg_s"] == pytest.approx(np.degrees(rate.max()))
    assert row["peak_wheel_momentum_nms"] == np.abs(seen["wheel_momentum"]).max()
    assert row["start.attitude_error_deg"] == pytest.approx(angle[0])
    assert np.radians(angle[0]) == pytest.approx(row["attitude_angle"])
    assert seen["angular_velocity"][0, 2] == pytest.approx(row["angular_velocity.z"], rel=1e-12)
    off = to_matrix(q).transpose(0, 2, 1) @ to_matrix(seen["estimate"])
    sine = np.linalg.norm(off - off.transpose(0, 2, 1), axis=(1, 2)) / np.sqrt(8.0)
    assert row["ake_deg"] == pytest.approx(np.degrees(sine[:-1][last[:-1]].max()), rel=1e-5)
    found.write_csv(tmp_path / "run.csv")
    with (tmp_path / "run.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 31
    assert float(lines[7]["torque.y"]) == seen["torque"][7, 1]


def test_runs_that_end_early_without_success_never_settle_and_have_errors(tmp_path):
    kwargs = SHORT | {"termination": {"rate_limit": 0.02}}
    early = flown(tmp_path, 3, ["pd"], env_kwargs=kwargs, window=0.0)  # eight in its group
    found, (time, errors) = early.columns["pd"], early.envelope("pd", [0.5])
    assert 1.0 <= errors[0, 0] / np.median(found["start.attitude_error_deg"]) < 1.05
    assert len({*found["seconds"]}) > 1
    assert np.isinf(found["settling_s"]).all()
    assert (found["ake_deg"] > 0.0).all()
    np.testing.assert_array_equal(np.isnan(errors[0]), time > found["seconds"].max())


def test_a_relative_error_is_what_is_left_of_the_vector_without_its_mean():
    pilot = Pilot(Plan(SLEW, {"idle": "idle"}, SHORT, GIVEN["spread"], group=8))
    _, flight = pilot.fly(0, "idle")
    axis, seen = np.array([0.6, 0.0, 0.8]), dict(flight.histories)
    wave = 0.1 + 0.01 * np.where(np.arange(31) % 2 == 0, 1.0, -1.0)
    q = np.stack([from_rotation_vector(a * axis) for a in wave])
    seen["relative"] = np.repeat(q[:, np.newaxis], 8, axis=1)
    seen |= {"rate_error": np.outer(np.arange(31.0)[::-1], np.ones(8)), "cost": np.ones((30, 8))}
    names = [*flight.names, "violations"]
    found = replace(flight, histories=seen, names=names).figures(window=1.5)  # four instants
    assert found["ape_deg"] == pytest.approx(np.degrees(0.11))
    assert found["rpe_deg"] == pytest.approx(np.degrees(0.01))
    assert found["rate_error_deg_s"] == pytest.approx(np.degrees(3.0))
    assert (found["violations"] == 30.0).all()
    failed = replace(flight, ended=np.full(8, "integration failed")).figures(window=1.5)
    assert np.isnan([*failed.values()]).all()


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_every_task_flies_and_is_replayed(env_id, tmp_path):
    kwargs = {"max_episode_steps": 2}
    report = campaign(env_id, "idle", 2, tmp_path, env_kwargs=kwargs, group=2)
    json.dumps(report.as_dict(), allow_nan=False)
    assert {"settling_s", "effort_nms", "peak_rate_deg_s"} <= {*report.campaign.figures}
    assert Replay.of(report.campaign, 1).differs(report.campaign) == []


@pytest.mark.parametrize(
    ("env_id", "kwargs"),
    [
        (SLEW, {"sensor": {"star_tracker": {"across_boresight": 1e-4, "slew_rate": 0.1}},
                "actuator": {"delay": {"seconds": 0.5}}, "faults": {"time": (5.0, 20.0)},
                "disturbance": {"constant": (1e-7, 0.0, 0.0)}}),
        ("AttitudeSlew-v1", {"orbit": {"altitude": 500e3}, "constraints": {"rate": 0.1},
                             "disturbance": {"gravity_gradient": True}}),
        ("RigidTop-v0", {}),
    ],
)  # fmt: skip
def test_every_number_of_the_resolved_configuration_arrives_in_the_env(env_id, kwargs):
    nominal, tried = Nominal(env_id, kwargs, ()), 0
    assert "actuator.Delay.seconds" not in nominal.places  # which change the columns
    for place in nominal.places.values():
        if place.level == GROUP and place.default.all() and place.default.size == 1:
            wanted = 0.5 * place.default
            try:
                env = nominal.make(1, nominal.arguments({place.name: wanted}))
            except ValueError:  # what a task has not, or has to be
                continue
            there = Nominal.__new__(Nominal)
            there.tree, there.env = env.unwrapped.resolved, env.unwrapped
            found = {one.name: one for one in there._numbers()}[place.name].nominal
            assert found == pytest.approx(wanted, rel=1e-12), place.name
            tried += 1
    assert tried >= 6


@pytest.mark.parametrize("env_id", [SLEW, "AttitudeReach-v0", "MagneticPointing-v0"])
def test_a_law_reads_columns_in_the_scales_of_the_nominal_env(env_id):
    coils, ratios = env_id.startswith("Magnetic"), []
    name, value = ("orbit.altitude", 3e6) if coils else ("actuator.ReactionWheels.momentum", 0.04)
    kwargs = {"max_episode_steps": 2} | ({} if coils else {"actuator": "wheels"})
    pilot = Pilot(Plan(env_id, {"pd": "pd"}, kwargs, {name: {"values": [value]}}, group=4))
    (own,) = pilot.nominal.setup.actuator.columns

    def look(player, _):
        env, seen = player.env.unwrapped, player.observation
        seen = seen["observation"] if isinstance(seen, dict) else seen
        there = (env.surroundings if coils else env.state)[own.name]
        shown = own.factor * seen[:, -own.size :]
        ratios.append(np.linalg.norm(shown, axis=1) / np.linalg.norm(there, axis=1))

    pilot.fly(0, "pd", look)
    np.testing.assert_allclose(ratios, 1.0, rtol=1e-5)


def test_what_a_run_draws_is_what_its_episode_has():
    spread = {"inertia": {"factor": {"uniform": [0.98, 1.02]}}, "axes": {"normal": [0, 0.1]},
              "actuator_scale.2": {"uniform": [0.5, 0.6]}}  # fmt: skip
    pilot = Pilot(Plan(SLEW, {"idle": "idle"}, SHORT, spread, group=8))
    draws = pilot.spread.of_runs(range(8))
    env = pilot.nominal.make(8, {})
    env.reset(seed=0)
    env.reset(seed=0, options=pilot.nominal.options(env.unwrapped.state, draws))
    has = env.unwrapped.parameters
    moments = np.linalg.eigvalsh(has["inertia"])
    assert moments == pytest.approx(np.sort(draws["inertia"]), rel=1e-9)
    R = to_matrix(from_rotation_vector(draws["axes"]))
    tensors = R * draws["inertia"][:, np.newaxis] @ R.transpose(0, 2, 1)
    assert has["inertia"] == pytest.approx(tensors, rel=1e-9, abs=1e-9)
    np.testing.assert_array_equal(has["actuator_scale"], draws["actuator_scale"])
    assert (draws["actuator_scale"][:, [0, 1, 3]] == 1.0).all()


def test_a_start_keeps_to_a_target_that_moves_with_what_is_drawn():
    kwargs = {"orbit": {"altitude": 500e3}, "reference": "nadir", "max_episode_steps": 2}
    found = [
        Pilot(Plan("AttitudeSlew-v1", {"idle": "idle"}, kwargs, spread, group=4)).fly(0, "idle")[0]
        for spread in ({}, {"orbit_phase": {"uniform": [-0.5, 0.5]}})
    ]
    errors = [rows["start.attitude_error_deg"] for rows in found]
    assert errors[1] == pytest.approx(errors[0])
    assert len({*found[1]["orbit_phase"]}) == 4


def test_one_number_of_a_start_is_drawn_and_the_others_are_the_envs_own():
    spread = {name: {"uniform": [0.04, 0.05]} for name in ("angular_velocity.y", "attitude.x")}
    kwargs, idle = {"max_episode_steps": 1, "initial": "high rate"}, {"idle": "idle"}
    pilots = (Pilot(Plan("AttitudeSlew-v1", idle, kwargs, one, group=4)) for one in ({}, spread))
    starts = [pilot.fly(0, "idle")[1].histories for pilot in pilots]
    for name, k, of in ("angular_velocity", 1, np.copy), ("relative", 0, rotation_vector):
        own, drawn = (of(one[name][0]) for one in starts)
        assert ((drawn[:, k] >= 0.04) & (drawn[:, k] <= 0.05)).all()
        assert np.delete(own, k, 1).all()
        assert np.delete(drawn, k, 1) == pytest.approx(np.delete(own, k, 1))


def test_draws_depend_on_seed_and_run_alone():
    nominal = Nominal(SLEW, SHORT, ["friction", "misalignment"])
    given = {"friction": {"uniform": [0.5, 1.5]}, "misalignment": {"normal": [0, 0.01]}}
    both = Dispersions(given, nominal, 7)
    alone = Dispersions({"friction": given["friction"]}, nominal, 7)
    many, few = both.of_runs(range(100)), both.of_runs([40, 3])
    np.testing.assert_equal(few, {name: values[[40, 3]] for name, values in many.items()})
    np.testing.assert_array_equal(alone.of_runs(range(100))["friction"], many["friction"])
    assert both.seeds(range(5))[3] == both.seeds([3])[0]
    other = Dispersions(given, nominal, 8).of_runs(range(100))
    assert not np.isin(other["friction"], many["friction"]).any()


@pytest.mark.parametrize(
    ("given", "same"),
    [({"normal": {"mean": 2.0, "std": 0.5}}, stats.norm(2.0, 0.5)),
     ({"uniform": [-1.0, 3.0]}, stats.uniform(-1.0, 4.0)),
     ({"log_uniform": [0.1, 10.0]}, stats.loguniform(0.1, 10.0)),
     ({"triangular": {"low": 0.0, "mode": 1.0, "high": 4.0}}, stats.triang(0.25, 0.0, 4.0))],
)  # fmt: skip
def test_a_distribution_draws_as_it_is_named(given, same):
    u = np.random.default_rng(0).random((2000, 1))
    assert stats.kstest(distribution("x", given, 1)(u)[:, 0], same.cdf).pvalue > 0.01


def test_normals_vary_as_their_covariance_says_and_rows_of_a_table_stay_together():
    nominal = Nominal(SLEW, SHORT, ["inertia", "misalignment"])
    matrix = 1e-4 * np.array([[4.0, 1.0, 0.0], [1.0, 1.0, -0.5], [0.0, -0.5, 2.0]])
    block = {"names": ["misalignment"], "matrix": matrix.tolist(), "mean": [0.1, 0.0, 0.0]}
    drawn = Dispersions({"covariance": block}, nominal, 1).of_runs(range(4000))["misalignment"]
    assert np.cov(drawn.T) == pytest.approx(matrix, abs=2e-5)
    assert drawn.mean(axis=0) == pytest.approx([0.1, 0.0, 0.0], abs=2e-3)
    rows = [[0.2, 0.15, 0.1], [0.18, 0.16, 0.05], [0.1, 0.1, 0.1]]
    given = {"inertia": {"values": rows, "weights": [1, 0, 3]}}
    drawn = Dispersions(given, nominal, 2).of_runs(range(400))["inertia"]
    share = [np.all(drawn == row, axis=1).mean() for row in rows]
    assert share == pytest.approx([0.25, 0.0, 0.75], abs=0.07)
    assert sum(share) == 1.0


def test_what_cannot_be_is_drawn_anew_and_the_rest_stays():
    nominal = Nominal(SLEW, SHORT, ["inertia"])
    spread = Dispersions({"inertia": {"factor": {"uniform": [0.8, 1.2]}}}, nominal, 0)
    as_drawn, again = (spread.of_runs(range(300), redraw=one)["inertia"] for one in (False, True))
    good = nominal.possible({"inertia": as_drawn}, 300)
    assert 30 < (~good).sum() < 150
    np.testing.assert_array_equal(again[good], as_drawn[good])
    assert nominal.possible({"inertia": np.array([[0.1, 0.1, 0.2]])}, 1)  # a flat body
    for moments in again:
        rbgym.RigidBody(moments)
    with pytest.raises(ValueError, match=f"ones in {(~good).sum()} of 300 runs, inertia of"):
        spread.check(300, 8)


@refused(
    ({"frictoin": {"uniform": [0, 1]}}, "got 'frictoin'; did you mean 'friction'"),
    ({"friction": {"uniform": [2, 1]}}, "uniform must have .*'low', 'high'.* in order"),
    ({"friction": {"uniform": [1, float("inf")]}}, "uniform must be finite .*, got inf"),
    ({"friction": {"uniform": [1]}}, "uniform must be a dict with keys from"),
    ({"friction": {"norml": [1, 2]}}, "did you mean 'normal'"),
    ({"friction": {"normal": {"mean": 1}}}, "normal must have std"),
    ({"friction": {"values": [1, 2], "weights": [1]}}, "weights must be finite .* shape"),
    ({"friction": {}}, "must have one of"),
    ({"misalignment": {"factor": {"uniform": [0, 1]}}}, "must not be a factor of a number"),
    ({"friction": {"uniform": [1, 2]}, "covariance": {"names": ["friction", "misalignment.x"],
      "matrix": [[1, 0], [0, 1]]}}, r"draw each number once, got \['friction'\]"),
    ({"covariance": {"names": ["friction", "misalignment.x"], "matrix": [[1, 2], [2, 1]]}},
     "symmetric and positive definite"),
    ({"covariance": {"names": ["friction", "success.angle"], "matrix": [[1, 0], [0, 1]]}},
     "of runs or of groups only"),
    ({"covariance": {"names": [5], "matrix": [[1]]}}, "must have a list of names"),
    ({"friction": {"values": [1, 2], "weights": [1e308, 1e308]}}, "weights must not be negative"),
    ({"attitude_angle": {"uniform": [0, 1]}, "attitude.y": {"normal": [0, 1]}}, "number once"),
    ({"friction": {"uniform": [1, 2], "nominal": -5.0}}, "nominal must be a possible number"),
    ({"friction": {"uniform": [1, 2], "nominal": float("nan")}}, "nominal must be finite"),
    ([], "spread must be a dict"),
    ({"delay": {"uniform": [0.8, 1.2]}}, "must draw delays up to the factor 1, got 1.2: env_kw"),
    ({"axes": {"normal": [0, 0.1]}}, "spread must draw inertia too, which randomization draws"),
    ({"success.angle": {"normal": [-1, 0.1]}}, "impossible ones in 16 of 16 runs, .*success"),
)  # fmt: skip
def test_a_spread_that_is_none_is_refused(spread, tmp_path):
    kwargs = SHORT | ({"randomization": {"inertia": 0.1}} if "axes" in spread else {})
    try:
        flown(tmp_path, 16, spread=spread, env_kwargs=kwargs)
    finally:
        assert not [*tmp_path.iterdir()]


@refused(
    ({"policies": []}, "policies must name controllers"),
    ({"policies": ["pd", "pd"]}, "policies must name controllers, .* each once"),
    ({"policies": {"a": rbgym.agents.load("Detumble-v1")}}, "policy must be trained for"),
    ({"policies": {"mine": 5}}, "policies must name controllers, .* or be objects with predict"),
    ({"env_kwargs": 5}, "env_kwargs must be a dict"),
    ({"jobs": 0}, "jobs must be an integer other than 0"),
    ({"with_budget": "x"}, "with_budget must be True or False"),
    ({"folder": __file__}, "out must be a folder"),
    ({"window": 100.0}, "window must be from 0 to the 15 s of a run"),
    ({"impossible": "skip"}, "impossible must be one of"),
    ({"runs": 0}, "runs must be a positive integer"),
    ({"group": 0}, "group must be a positive integer"),
    ({"require": {"violations": {"quantile": 0.5, "at_most": 1}}}, "got 'violations'"),
    ({"require": {"success": {"at_least": 0.9}}}, "runs must be at least 29"),
    ({"require": {"success": []}}, r"require.*success.* must be a dict .*, got \[\]"),
    ({"runs": 72, "spread": SPREAD, "require": {"success": {"at_least": 0.9}}}, "be at least 225"),
    ({"env_kwargs": {"randomization": 0.1}, "spread": SPREAD}, "randomization must be a dict"),
)
def test_a_campaign_that_is_none_is_refused(given, tmp_path):
    flown(**({"folder": tmp_path, "spread": {}} | given))


def test_a_policy_that_is_replaced_while_a_campaign_flies_is_refused(tmp_path, monkeypatch):
    pilot = Pilot(Plan("RigidTop-v0", {"own": "pretrained"}))
    before, (weights, _) = pilot.digests(), pilot.contenders["own"].policy.network.layers[0]
    weights.setflags(write=True)
    weights += 1.0
    assert pilot.digests() != before
    one = Campaign(Plan(SLEW, {"pd": "pd"}, SHORT, group=8), tmp_path, 16)
    digests = iter([{}, {"pd": 1}])  # of the claim, and of the first group
    monkeypatch.setattr(Pilot, "digests", lambda pilot: next(digests))
    with pytest.raises(ValueError, match=r"policies must stay .* campaign flies, not so \['pd'\]"):
        one.fly()


def test_a_budget_puts_one_source_at_a_time_at_its_nominal_value(tmp_path):
    wide = {"factor": {"uniform": [0.8, 1.2]}}  # a few runs draw again
    given = GIVEN | {"spread": {"inertia": wide, "misalignment": {"normal": [0, 0.05]}}}
    found = campaign(SLEW, "pd", 8, tmp_path, **given, with_budget=True, impossible="redraw")
    assert {one.source for one in found.budget} == {*given["spread"]}
    without = Campaign.open(tmp_path / "budget" / "00")
    assert len({*without.columns["pd"]["inertia.x"]}) == 1
    ours, theirs = (one.columns["pd"]["misalignment.x"] for one in (found.campaign, without))
    np.testing.assert_array_equal(ours, theirs)
    (one,) = (o for o in found.budget if (o.figure, o.source) == ("ape_deg", "inertia"))
    assert one.without == without.sample("pd", "ape_deg").quantile(0.95).value


def test_a_budget_begins_with_the_largest_where_quantiles_are_infinite_too(monkeypatch):
    value, left = "sample.return_value.quantile.return_value.value", {"a": np.inf, "b": 5.0}
    own = MagicMock(columns=["pd"], figures=["settling_s"], **{value: np.inf})
    own.spread.sources = [SimpleNamespace(name=name, nominal=0.0) for name in left]
    monkeypatch.setattr(report, "replace", lambda plan, without, impossible: without)
    monkeypatch.setattr(report, "Campaign", lambda plan, *_: MagicMock(**{value: left[plan]}))
    assert [one.source for one in report.contributions(own)] == ["b", "a"]


class Steady:
    def __init__(self, command):
        self.command = command

    def predict(self, observation, **_):
        self.command += 1e-3
        return np.full((len(observation), 4), self.command), None


def test_objects_and_functions_fly_are_replayed_and_belong_to_the_campaign(tmp_path, monkeypatch):
    def fly(command, torque):
        push = lambda state: np.full((len(state["quaternion"]), 3), torque)  # noqa: E731
        kwargs = SHORT | {"actuator": [Lag(0.2), ReactionWheels.pyramid()], "disturbance": push}
        mine = dict.fromkeys(("mine", "again"), Steady(command))
        flown(tmp_path, 8, mine | {"pd": "pd"}, env_kwargs=kwargs)
        with pytest.raises(ValueError, match="'mien'; did you mean 'mine'"):
            Campaign.open(tmp_path, {"mien": mine})
        return Campaign.open(tmp_path, mine, {"disturbance": push})

    again = fly(0.5, 1e-4)
    for name in ("mine", "mine", "again"):
        assert Replay.of(again, 3, name).differs(again) == []
    efforts = [again.columns[name]["effort_nms"] for name in ("mine", "again")]
    np.testing.assert_array_equal(*efforts)
    assert content(again) == content(fly(0.5, 1e-4))
    for other in (0.4, 1e-4), (0.5, 2e-4):
        with pytest.raises(ValueError, match="holds another campaign"):
            fly(*other)
    monkeypatch.setattr(Steady, "predict", lambda self, *seen, **known: (-self.command, None))
    with pytest.raises(ValueError, match="holds another campaign"):
        fly(0.5, 1e-4)


@pytest.mark.compiled
def test_the_command_flies_reports_replays_and_ends_with_status_1_where_not_all_is_met(
    tmp_path, monkeypatch
):
    pytest.importorskip("typer")
    from typer.testing import CliRunner

    from rbgym.agents.commands.cli import app

    def run(*words, status):
        done = CliRunner().invoke(app, ["campaign", *map(str, words)])
        assert done.exit_code == status, (done.output, done.exception)
        return done.stdout

    out, spread, require = tmp_path / "out", tmp_path / "spread.yml", tmp_path / "require.yml"
    spread.write_text("misalignment: {normal: {mean: 0.0, std: 0.01}}\n")
    require.write_text("ape_deg: {quantile: 0.9, at_most: 1.0e-9}\n")
    fly = (SLEW, "--policy", "pd", "--runs", 64, "--out", out, "--spread", spread)
    told = run(*fly, "--require", require, status=1)
    assert "ape_deg of 90 % at most 1e-09" in told
    assert told.split()[-2:] == ["met", "-"]
    assert len([*out.glob("pictures/*.png")]) == 4
    again = json.loads(run(out, "--json", status=0))
    assert again["runs"] == 64
    assert again["figures"]["pd"]["success"] == {"1.0": pytest.approx([1.0, 0.944, 1.0], abs=1e-3)}
    row = json.loads(run(out, "--replay", 63, "--json", status=0))
    with (out / "runs.csv").open() as file:
        last = [*csv.DictReader(file)][-1]
    assert float(last["ape_deg"]) == row["ape_deg"]
    assert {path.suffix for path in out.glob("replays/*")} == {".csv", ".png"}
    run(out, "--replay", 64, status=2)
    for unused in (["--budget"], ["--policy", "pd"], ["--replay", 3, "--runs", 64]):
        run(out, *unused, status=2)
    found = replace(Replay.of(Campaign.open(out), 63), contender="a\\b:c")
    monkeypatch.setattr(Replay, "of", lambda *_: found)
    monkeypatch.setattr(Replay, "differs", lambda *_: [])
    run(out, "--replay", 63, status=0)
    assert (out / "replays" / "63-a_b_c.csv").exists()
