"""Figures of merit, and the card that compares controllers by them."""

import json
import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

import rbgym.agents
from rbgym import RigidBody
from rbgym.agents.cases import starts_of
from rbgym.agents.judge import evaluation, tables
from rbgym.agents.judge.card import ALL, BEHIND, SENSORS, conditions_of, make_card
from rbgym.agents.judge.episodes import PlayedEpisodes
from rbgym.agents.judge.evaluation import evaluate, wilson_interval
from rbgym.envs.actuators import ReactionWheels

pytestmark = pytest.mark.interpreted

SETTLED = (0.1, 0.1)
SHELF = Path(__file__).resolve().parents[2] / "agents" / "pretrained"
NOISY = {"sensor": {"rate": 1e-4}}
SMALL = {"policy_kwargs": {"net_arch": [64, 64]}, "learning_rate": 1e-4}


def episodes(angle, *, torque=None, wheel_speed=None, relative=None, success=None):
    """Histories of lanes, each a row of `angle` with nan after its end; dt 0.5 s."""
    angle = np.array(angle, dtype=float).T
    instants, n = angle.shape
    lengths = np.sum(~np.isnan(angle), axis=0) - 1
    return PlayedEpisodes(
        seeds=np.arange(n),
        category=np.array(["a"] * n),
        returns=np.zeros(n),
        costs=np.zeros(n),
        lengths=lengths,
        success=np.ones(n, bool) if success is None else np.array(success),
        attitude_error=angle,
        rate_error=np.where(np.isnan(angle), np.nan, 0.0),
        torque=np.full((instants, n, 3), np.nan) if torque is None else torque,
        actions=np.zeros((instants, n, 3)),
        wheel_speed=np.empty((instants, n, 0)) if wheel_speed is None else wheel_speed,
        least_time=np.full(n, np.nan),
        relative=np.full((instants, n, 4), np.nan) if relative is None else relative,
        reached=np.where(np.isnan(angle), np.nan, angle < SETTLED[0]),
        dt=0.5,
        settled=SETTLED,
        hold=0.0,
        limit=0.5 * (instants - 1),
    )


def test_overshoot_is_what_comes_after_the_first_arrival():
    angles = [
        [2.0, 0.05, 0.3, 0.05],  # arrives, leaves by 0.3
        [2.0, 1.0, 0.05, 0.04],  # arrives and stays
        [2.0, 1.0, 0.9, 0.8],  # never arrives
        [2.0, 0.05, np.nan, np.nan],  # ends inside
    ]
    played = episodes(angles)
    np.testing.assert_array_equal(evaluation.overshoot(played), [0.3, 0.0, np.nan, 0.0])
    np.testing.assert_array_equal(evaluation.final_error(played), [0.05, 0.04, 0.8, 0.05])


def test_effort_and_variation_are_sums_over_the_episode_alone():
    torque = np.full((4, 1, 3), np.nan)
    torque[1:3, 0] = [[3.0, 4.0, 0.0], [0.0, 0.0, 0.0]]
    played = episodes([[1.0, 0.5, 0.2, np.nan]], torque=torque)
    assert evaluation.effort(played) == pytest.approx(0.5 * 5.0)
    assert evaluation.torque_variation(played) == pytest.approx(5.0)


def test_wheels_of_a_body_at_rest_turn_as_their_momenta_say():
    wheels = ReactionWheels.pyramid(viscous=0.0, coulomb=0.0)
    played = evaluate("idle", "ReactionWheelSlew-v1", 4, actuator=wheels).played
    # Nothing is commanded, so that body and wheels stay as they begin, for 200 steps of 0.5 s.
    flown = {"actuator": wheels}
    starts = starts_of("ReactionWheelSlew-v1", 4)
    with closing(starts.env("ReactionWheelSlew-v1", flown)) as env:
        starts.begin(env)
        momenta = env.unwrapped.state["wheel_momentum"][0]
    turns = np.abs(momenta / wheels.inertia).mean() * 100.0 / (2.0 * np.pi)
    assert evaluation.wheel_turns(played)[0] == pytest.approx(turns, rel=1e-9)
    still = episodes([[1.0, 0.5]], wheel_speed=np.full((2, 1, 4), -4.0 * np.pi))
    assert evaluation.wheel_turns(still) == pytest.approx(0.5 * 2.0)
    assert np.isnan(evaluation.wheel_turns(episodes([[1.0, 0.5]]))).all()


@pytest.mark.parametrize(
    ("angles", "long_way"),
    [
        ([3.0, 2.0, 1.0, 0.0], False),  # back
        ([3.0, 3.5, 4.5, 5.5, 2 * np.pi], True),  # on through the half turn
        ([3.0, 3.3, 2.8, 1.0, 0.0], False),  # through it and back
    ],
)
def test_unwinding_is_seen_through_the_jumps_of_sign(angles, long_way):
    half = 0.5 * np.array(angles)
    q = np.stack([np.cos(half), np.sin(half), 0 * half, 0 * half], axis=-1)
    q *= np.where(q[:, :1] < 0, -1.0, 1.0)  # as observations show it
    played = episodes([np.zeros(len(angles))], relative=q[:, None])
    assert evaluation.unwound(played).tolist() == [long_way]
    failed = replace(played, success=np.array([False]))
    assert evaluation.unwound(failed).tolist() == [False]


@pytest.mark.compiled
def test_a_card_agrees_with_the_evaluation_and_counts_every_category():
    card = make_card("AttitudeSlew-v1", ["bang_bang", "pd", "idle"], episodes=32)
    assert list(card.rows)[-1] == "idle"
    for name, row in card.rows.items():
        whole, found = row.merits[ALL], evaluate(name, "AttitudeSlew-v1", 32)
        others = found.as_dict()
        for key, value in whole.as_dict().items():  # sums depend on the number of lanes
            if isinstance(value, float):
                value = pytest.approx(value, rel=1e-14, nan_ok=True)
            assert others[key] == value, key
        by_category = {k: v.success_rate for k, v in row.merits.items() if k != ALL}
        assert by_category == found.by_category
        assert sum(m.episodes for k, m in row.merits.items() if k != ALL) == 32
    fast, slow = (card.rows[name].merits[ALL].eigenaxis_share for name in ("bang_bang", "pd"))
    assert 0.9 < fast < slow
    assert card.rows["idle"].merits[ALL].effort == 0.0


def test_effort_is_that_of_the_torque_which_acted():
    played = evaluate("bang_bang", "AttitudeSlew-v1", 8).played
    env = gym.make("AttitudeSlew-v1").unwrapped
    commanded = np.linalg.norm(played.actions * env.torque_limit, axis=-1)
    spent = env.dt * np.nansum(commanded, axis=0)
    np.testing.assert_allclose(evaluation.effort(played), spent, rtol=1e-6)


@pytest.mark.compiled
def test_a_card_is_written_as_tables_figures_and_a_picture(tmp_path):
    kwargs = {"substeps": 2}
    card = make_card("RigidTop-v0", ["pd", "idle"], episodes=8, env_kwargs=kwargs)
    card.write(tmp_path / "top")
    written = json.loads((tmp_path / "top.json").read_text())
    assert written == json.loads(json.dumps(card.as_dict()))
    assert written["env_kwargs"] == kwargs
    text = (tmp_path / "top.md").read_text()
    assert "| pd | 100.0 | 67.6 - 100.0 |" in text
    assert text.startswith("# RigidTop-v0 (substeps=2)\n")
    assert (tmp_path / "top.png").read_bytes().startswith(b"\x89PNG")


def test_arguments_of_a_card_that_are_no_plain_data_are_told_by_their_repr():
    kwargs = {"body": RigidBody([2.0, 3.0, 4.0]), "max_episode_steps": 4}
    card = make_card("AttitudeSlew-v1", ["idle"], episodes=4, env_kwargs=kwargs)
    told = json.loads(json.dumps(card.as_dict()))["env_kwargs"]
    assert told == kwargs | {"body": repr(kwargs["body"])}


def trained(folder, **changes):
    shutil.copytree(SHELF / "RigidTop-v0", folder)
    config = json.loads((folder / "policy.json").read_text())
    (folder / "policy.json").write_text(json.dumps(config | changes))
    return str(folder)


@pytest.mark.compiled
def test_seeds_of_one_training_share_a_row_and_other_trainings_do_not(tmp_path):
    first, second = trained(tmp_path / "a", seed=1), trained(tmp_path / "b", seed=2)
    other = trained(tmp_path / "c", seed=3, hyperparameters={"policy": "MlpPolicy"} | SMALL)
    later = trained(tmp_path / "d", seed=4, init_from=first)
    card = make_card("RigidTop-v0", [first, second, other, later], episodes=4)
    assert set(card.rows) == {"ppo", f"ppo, {other}", f"ppo, {later}"}
    assert set(card.rows["ppo"].of_seeds) == {1, 2}
    both = card.rows["ppo"].merits[ALL]
    assert both.episodes == 8
    # One policy twice knows no more than once: four starts, not eight.
    assert both.success_interval == wilson_interval(4, 4)


@pytest.mark.compiled
def test_env_arguments_are_those_of_every_row_and_of_training_beneath(tmp_path):
    own = {"difficulty": "hard", "substeps": 3}
    given = {"torque_limit": 0.1, "substeps": 4}
    run, policy = trained(tmp_path / "run", env_kwargs=own), rbgym.agents.load("RigidTop-v0")
    rows = make_card("RigidTop-v0", [run, "pretrained", "pd"], episodes=8, env_kwargs=given).rows
    expected = {
        "ppo": evaluate(policy, episodes=8, **own | given),
        "ppo, shipped": evaluate(policy, episodes=8, **given),
        "pd": evaluate("pd", episodes=8, **given),
    }
    returns = {name: row.merits[ALL].mean_return for name, row in rows.items()}
    assert returns == {name: found.mean_return for name, found in expected.items()}
    assert len(set(returns.values())) == 3
    alone = make_card("RigidTop-v0", [run], episodes=8).rows["ppo"].merits[ALL]
    assert alone.mean_return == evaluate(policy, episodes=8, **own).mean_return


@pytest.mark.compiled
def test_a_card_says_what_it_costs_not_to_know_the_state():
    card = make_card("AttitudeSlew-v1", ["pd", "idle"], episodes=16)
    known, behind = card.rows["pd"].merits[ALL], card.rows["pd"].conditions[BEHIND]
    assert behind.success_rate == 1.0  # it works, and
    assert known.final_error < 1e-4 < behind.final_error < 0.05  # the star tracker is seen [deg]
    assert behind.torque_variation > known.torque_variation
    assert card.rows["idle"].conditions[BEHIND].success_rate == 0.0
    content = json.loads(json.dumps(card.as_dict()))
    assert "| behind | success [%] |" in tables.page(content)
    kwargs = conditions_of("AttitudeSlew-v1", {})[BEHIND].env_kwargs
    again = evaluate("pd", "AttitudeSlew-v1", 16, estimator=True, **kwargs)
    assert again.mean_return == behind.mean_return
    measured = evaluate("pd", "AttitudeSlew-v1", 16, sensor=SENSORS)
    assert measured.success_rate < 0.5  # without an estimator


@pytest.mark.parametrize(
    ("env_id", "kwargs"),
    [("RigidTop-v0", {}), ("AttitudeReach-v0", {}), ("AttitudeSlew-v1", NOISY)],
)
def test_a_card_leaves_out_what_makes_no_sense_behind_sensors(env_id, kwargs):
    card = make_card(env_id, ["pd"], episodes=4, env_kwargs=kwargs)
    assert BEHIND not in card.rows["pd"].conditions
    assert "behind" not in tables.page(card.as_dict())
