import math

import numpy as np
import pytest

import rbgym
from rbgym.agents.view import world as view_world
from rbgym.agents.view.clock import Clock
from rbgym.agents.view.history import COLUMNS, History
from rbgym.agents.view.runs import FreeRun
from rbgym.agents.view.task_run import TaskRun
from rbgym.agents.view.world import World

BODY = rbgym.RigidBody([6, 8, 3])
START = {"dt": 0.05, "angular_velocity": (1.0, 2.0, 2.0)}


def column(world, k, name):
    return world.histories[k].rows()[:, COLUMNS[name]]


def test_a_run_is_what_simulate_computes_bit_for_bit():
    world = World([FreeRun(BODY, name, **START) for name in ("quat_em", "trap", "rkn4")])
    for steps in (1, 7, 2, 40):
        world.advance(steps)
    for k, run in enumerate(world.runs):
        alone = rbgym.simulate(BODY, integrator=run.name, steps=50, **START)
        for name in ("quaternion", "angular_velocity", "angular_momentum"):
            assert np.array_equal(column(world, k, name), getattr(alone, name))
        assert np.array_equal(column(world, k, "energy")[:, 0], alone.energy)


def test_a_push_is_the_torque_that_simulate_would_hold():
    world = World([FreeRun(BODY, "quat_em", potential=rbgym.HeavyTop(2.0), **START)])
    torque = np.zeros((30, 3))
    torque[10:20] = (0.5, -1.0, 2.0)
    for u in torque:
        world.push(u)
        world.advance(1)
    alone = rbgym.simulate(
        BODY, steps=30, potential=rbgym.HeavyTop(2.0), torque=torque, integrator="quat_em", **START
    )
    assert np.array_equal(column(world, 0, "quaternion"), alone.quaternion)


def test_without_a_push_the_conserving_run_keeps_its_momentum_to_the_bit():
    world = World([FreeRun(BODY, name, **START) for name in ("forward_euler", "quat_em")])
    world.advance(500)
    momentum = column(world, 1, "angular_momentum")
    assert np.array_equal(momentum, np.tile(momentum[0], (501, 1)))
    assert column(world, 1, "momentum_change").max() == 0.0
    assert column(world, 1, "energy_change").max() < 1e-14
    energy = column(world, 0, "energy")[:, 0]
    assert np.all(np.diff(energy) > 0)
    assert energy[-1] > 10 * energy[0]


def test_a_run_that_explodes_stands_still_and_the_others_go_on():
    world = World([FreeRun(BODY, name, **START) for name in ("forward_euler", "quat_em")])
    world.advance(1000)
    euler, other = world.runs
    assert euler.failed
    assert not other.ended
    assert not world.over
    at = world.ended_at[0]
    assert 30.0 < at < 40.0
    assert len(world.histories[0]) == round(at / 0.05)  # the start, and all steps but the last
    assert np.isfinite(column(world, 0, "angular_momentum")).all()
    alone = rbgym.simulate(BODY, integrator="forward_euler", steps=len(world.histories[0]) - 1,
                           **START)  # fmt: skip
    assert np.array_equal(column(world, 0, "quaternion"), alone.quaternion)
    with pytest.raises(rbgym.IntegrationError):
        rbgym.simulate(BODY, integrator="forward_euler", steps=len(world.histories[0]), **START)


def test_changes_count_from_the_end_of_a_push():
    world = World([FreeRun(BODY, "quat_em", **START)])
    world.push((3.0, 0.0, 0.0))
    world.advance(20)
    world.push((0.0, 0.0, 0.0))
    pushed = world.runs[0].look()
    world.advance(20)
    assert pushed.energy > 1.05 * column(world, 0, "energy")[0, 0]
    assert column(world, 0, "momentum_change")[-20:].max() == 0.0
    assert column(world, 0, "energy_change")[-20:].max() < 1e-15


def test_in_gravity_the_vertical_momentum_is_what_is_kept():
    world = World([FreeRun(BODY, "akw", potential=rbgym.HeavyTop(20.0), **START)])
    world.advance(100)
    moved = column(world, 0, "angular_momentum")
    assert np.ptp(moved[:, 0]) > 1.0
    assert np.array_equal(column(world, 0, "momentum"), moved[:, 2:])
    assert column(world, 0, "momentum_change").max() < 1e-14


def test_records_are_bounded_and_at_even_times(monkeypatch):
    monkeypatch.setattr(view_world, "CAPACITY", 200)
    world = World([FreeRun(BODY, "quat_em", dt=0.004, angular_velocity=(0, 0, 1))])
    world.advance(3 + 5 * 300)
    times = column(world, 0, "time")[:, 0]
    assert len(times) == 200
    assert np.allclose(np.diff(times), 0.02, rtol=1e-9)
    assert times[-1] == pytest.approx(6.0)


def test_a_history_keeps_its_last_records_by_number():
    history = History(4)
    for number in range(6):
        history.append(**{name: float(number) for name in COLUMNS})
    assert history.numbers == range(2, 6)
    assert history.rows()[:, 0].tolist() == [2, 3, 4, 5]
    values = history.values("energy", np.array([0, 2, 5, 6]))
    assert np.array_equal(values, [math.nan, 2, 5, math.nan], equal_nan=True)


def test_a_curve_ends_where_its_run_does_and_keeps_its_instants():
    world = World([FreeRun(BODY, name, **START) for name in ("forward_euler", "quat_em")])
    world.advance(900)
    times, (euler, other) = world.curves("energy", window=40.0, most=100)
    assert len(times) <= 102
    assert times[0] >= 5.0 - 1e-9
    assert np.array_equal(np.isnan(euler), times >= world.ended_at[0] - 1e-9)
    assert np.isfinite(other).all()
    world.advance(1)
    later = world.curves("energy", window=40.0, most=100)[0]
    assert set(times[1:-1]) <= set(later)


@pytest.mark.parametrize("torque", [(1.0, 0.0), (0.0, math.nan, 0.0), 1.0])
def test_a_push_that_is_no_torque_is_refused(torque):
    world = World([FreeRun(BODY, "quat_em", **START)])
    with pytest.raises(ValueError, match="torque must be 3 finite numbers"):
        world.push(torque)


def test_a_world_has_one_to_three_runs_of_one_step():
    runs = [FreeRun(BODY, "quat_em", dt=dt) for dt in (0.1, 0.1, 0.1, 0.1, 0.2)]
    for wrong in ([], runs[:4], runs[3:]):
        with pytest.raises(ValueError, match="runs must be 1 to 3 of one dt"):
            World(wrong)


def test_a_task_can_be_perturbed_and_its_controller_brings_it_back():
    world = World([TaskRun("RigidTop-v0", "pd", seed=3)])
    world.advance(100)
    assert column(world, 0, "goal_angle")[-1] < 1e-3
    world.push((0.05, 0.0, 0.0))
    world.advance(10)
    pushed = column(world, 0, "goal_angle")[-1]
    world.push((0.0, 0.0, 0.0))
    world.advance(100)
    assert pushed > 0.02
    assert column(world, 0, "goal_angle")[-1] < 1e-3


def test_a_trained_policy_flies_its_task():
    run = TaskRun("AttitudeSlew-v0", "pretrained", seed=2)
    assert run.look().goal_angle > 0.5
    run.advance(400)
    assert run.look().goal_angle < math.radians(5.0)


def test_a_trained_policy_flies_its_task_with_other_limits_but_not_with_other_entries():
    # The torque limit moves bounds of what is shown, which a policy does not look at.
    run = TaskRun("AttitudeSlew-v0", "pretrained", seed=2, env_kwargs={"torque_limit": 0.03})
    run.advance(400)
    assert run.look().goal_angle < math.radians(5.0)
    with pytest.raises(ValueError, match="observation"):
        TaskRun("AttitudeSlew-v0", "pretrained", env_kwargs={"observation": "rotation_matrix"})


def test_without_a_policy_a_task_is_the_free_motion_of_its_body():
    run = TaskRun("AttitudeSlew-v0", seed=1)
    run.push(np.array([0.0, 0.01, 0.0]))
    start = run.look()
    run.advance(10)
    alone = rbgym.simulate(
        run.body, dt=run.dt / 4, steps=40, quaternion=start.quaternion, torque=(0.0, 0.01, 0.0)
    )
    assert np.allclose(run.look().quaternion, alone.quaternion[-1], atol=1e-12)


def test_an_episode_that_ends_says_why():
    run = TaskRun("RigidTop-v0", seed=0, env_kwargs={"max_episode_steps": 3})
    assert run.advance(5) == 3
    assert run.ended == "time is up"
    assert not run.failed
    assert run.advance(5) == 0


def test_time_that_cannot_be_made_up_for_is_dropped():
    clock = Clock()
    assert clock.due(10.0, 0.01, 1.0) == 0
    assert clock.due(10.1, 0.01, 1.0) in (9, 10)
    assert sum(clock.due(10.1 + 0.004 * k, 0.01, 1.0) for k in range(1, 26)) in (10, 11)
    assert clock.due(60.0, 0.01, 1.0) in (20, 21)
    clock.stop()
    assert clock.due(70.0, 0.01, 1.0) == 0
    assert clock.due(70.1, 0.01, 0.5) in (4, 5)
