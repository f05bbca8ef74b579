import math

import numpy as np
import pytest

import rbgym
from rbgym.agents.view import simulation as module
from rbgym.agents.view.page import busy, legend
from rbgym.agents.view.simulation import (
    BODIES,
    GIVEN,
    OWN,
    FreeRun,
    Scenario,
    Simulation,
    TaskRun,
    actors,
    scenario_of,
)
from rbgym.quaternion import angle_between
from refusals import refused

pytestmark = pytest.mark.interpreted

BODY = rbgym.RigidBody([6, 8, 3])
START = {"dt": 0.05, "angular_velocity": (1.0, 2.0, 2.0)}


def column(simulation, k, name):
    """What the trail of a run holds of a quantity."""
    return np.array([getattr(one, name) for one in simulation.trails[k]])


@pytest.fixture(autouse=True)
def long_trails(monkeypatch):
    monkeypatch.setattr(module, "TRAIL", 2000)


def test_a_run_is_what_simulate_computes_bit_for_bit():
    simulation = Simulation([FreeRun(BODY, name, **START) for name in ("quat_em", "trap", "rkn4")])
    for steps in (1, 7, 2, 40):
        simulation.advance(steps)
    for k, run in enumerate(simulation.runs):
        alone = rbgym.simulate(BODY, integrator=run.name, steps=50, **START)
        for name in ("quaternion", "angular_velocity", "angular_momentum", "energy"):
            assert np.array_equal(column(simulation, k, name), getattr(alone, name))


def test_a_push_is_the_torque_that_simulate_would_hold():
    simulation = Simulation([FreeRun(BODY, "quat_em", potential=rbgym.HeavyTop(2.0), **START)])
    torque = np.zeros((30, 3))
    torque[10:20] = (0.5, -1.0, 2.0)
    for u in torque:
        simulation.push(u)
        simulation.advance(1)
    alone = rbgym.simulate(
        BODY, steps=30, potential=rbgym.HeavyTop(2.0), torque=torque, integrator="quat_em", **START
    )
    assert np.array_equal(column(simulation, 0, "quaternion"), alone.quaternion)


def test_a_run_that_explodes_stands_still_and_the_others_go_on():
    simulation = Simulation([FreeRun(BODY, name, **START) for name in ("forward_euler", "quat_em")])
    simulation.advance(1000)
    euler, other = simulation.runs
    assert euler.failed
    assert not other.ended
    assert not simulation.over
    assert 30.0 < euler.time < 40.0
    steps = len(simulation.trails[0]) - 1
    assert steps == round(euler.time / 0.05) - 1  # all but the last
    assert np.isfinite(column(simulation, 0, "angular_momentum")).all()
    alone = rbgym.simulate(BODY, integrator="forward_euler", steps=steps, **START)
    assert np.array_equal(column(simulation, 0, "quaternion"), alone.quaternion)
    with pytest.raises(rbgym.IntegrationError):
        rbgym.simulate(BODY, integrator="forward_euler", steps=steps + 1, **START)


def test_changes_count_from_the_end_of_a_push():
    simulation = Simulation([FreeRun(BODY, "quat_em", **START)])
    simulation.push(np.array([3.0, 0.0, 0.0]))
    simulation.advance(20)
    simulation.push(np.zeros(3))
    pushed = simulation.runs[0].snapshot()
    simulation.advance(20)
    assert pushed.energy > 1.05 * column(simulation, 0, "energy")[0]
    energy_change, momentum_change = simulation.changes(0)
    assert energy_change < 1e-15
    assert momentum_change == 0.0


def test_a_trail_is_bounded_and_at_even_times(monkeypatch):
    monkeypatch.setattr(module, "TRAIL", 200)
    simulation = Simulation([FreeRun(BODY, "quat_em", dt=0.004, angular_velocity=(0, 0, 1))])
    simulation.advance(3 + 5 * 300)
    q = column(simulation, 0, "quaternion")
    assert len(q) == 200
    assert np.allclose(angle_between(q[1:], q[:-1]), 0.02, rtol=1e-9)  # it turns at 1 rad/s


def test_the_legend_tells_numbers_of_what_goes_and_the_end_of_what_does_not():
    simulation = Simulation([FreeRun(BODY, name, **START) for name in ("forward_euler", "quat_em")])
    simulation.advance(900)
    told = legend(simulation, problem="<b>no</b>")
    assert f"failed by t = {simulation.runs[0].time:.2f} s" in told
    assert told.count("failed") == 1
    assert "&lt;b&gt;no" in told
    assert "compiling" in busy("Preparing")
    energy, momentum = simulation.changes(1)
    assert told.count("changes: ") == 1
    assert f"changes: energy {energy:.2g}, momentum {momentum:.2g}" in told
    task = Simulation([TaskRun("RigidTop-v0", "pd", seed=3)])
    angle = math.degrees(task.runs[0].snapshot().goal_angle)
    assert f"angle to the goal {angle:.2f}&deg;" in legend(task)


def test_runs_share_one_step():
    with pytest.raises(ValueError, match=r"runs must share one dt, got \[0.1, 0.2\]"):
        Simulation([FreeRun(BODY, "quat_em", dt=dt) for dt in (0.1, 0.2)])


@pytest.mark.compiled
@pytest.mark.parametrize("torque_limit", [None, 0.0098])
def test_a_trained_policy_flies_its_task_whatever_the_limits(torque_limit):
    # They move bounds of what is shown, which a policy does not look at.
    kwargs = {"torque_limit": torque_limit}
    run = TaskRun("AttitudeSlew-v1", "pretrained", seed=2, env_kwargs=kwargs)
    assert run.snapshot().goal_angle > 0.5
    run.advance(150)
    assert run.snapshot().goal_angle < math.radians(5.0)


def test_without_a_policy_a_task_is_the_free_motion_of_its_body():
    kwargs = {"disturbance": {"constant": (0.0, 0.004, 0.0)}}  # which a push does not replace
    run = TaskRun("AttitudeSlew-v1", seed=1, env_kwargs=kwargs)
    run.push(np.array([0.0, 0.006, 0.0]))
    start = run.snapshot()
    run.advance(10)
    given = {"quaternion": start.quaternion, "torque": (0.0, 0.01, 0.0)}
    alone = rbgym.simulate(run.body, dt=run.dt / 4, steps=40, **given)
    assert np.allclose(run.snapshot().quaternion, alone.quaternion[-1], atol=1e-12)


def test_an_episode_that_ends_says_why():
    run = TaskRun("RigidTop-v0", seed=0, env_kwargs={"max_episode_steps": 3})
    for _ in range(2):
        run.advance(5)
        assert run.time == pytest.approx(3 * run.dt)
    assert run.ended == "time is up"
    assert not run.failed
    slow = {"body": {"inertia": [1.0, 1.0, 1.0]}, "torque": 0.01, "dt": 0.05}
    run = TaskRun("AttitudeSlew-v1", seed=0, env_kwargs={"satellite": slow})
    run.advance(210)  # ten seconds, an episode of the task's own body
    assert not run.ended


@pytest.mark.parametrize("name", BODIES)
def test_every_body_is_as_its_sizes_say(name):
    small, large = (
        Scenario(body=name, size=size).rigid_body() for size in ((0.5, 0.4, 0.2), (1, 0.8, 0.4))
    )
    assert small.mass == pytest.approx(6.0)
    assert np.allclose(large.moments, 4 * small.moments)


def test_a_body_can_be_given_by_its_inertia():
    scenario = scenario_of(None, (), (), inertia=(6, 8, 3))
    assert scenario.body == GIVEN
    assert np.array_equal(scenario.rigid_body().moments, [6, 8, 3])
    full = np.diag([6.0, 8.0, 3.0]).ravel()
    assert Scenario(body=GIVEN, inertia=tuple(full)).rigid_body() == rbgym.RigidBody([6, 8, 3])


def test_a_tilted_top_precesses_in_gravity():
    simulation = Scenario(schemes=("quat_em",), body="cylinder", mgl=5.0, tilt=30.0,
                          rates=(0.0, 0.0, 30.0), dt=0.01).simulation()  # fmt: skip
    before = simulation.runs[0].snapshot()
    assert before.quaternion == pytest.approx([np.cos(np.pi / 12), np.sin(np.pi / 12), 0, 0])
    simulation.advance(100)
    after = simulation.runs[0].snapshot()
    assert simulation.changes(0)[1] < 1e-12  # of the vertical momentum
    assert np.linalg.norm(after.angular_momentum - before.angular_momentum) > 1.0


def test_the_command_line_asks_for_a_run_for_each_scheme_or_policy():
    free = scenario_of(None, ("akw",), ())
    assert (free.env_id, free.schemes) == (None, ("akw",))
    assert scenario_of(None, (), ()).schemes == Scenario().schemes
    task = scenario_of("AttitudeSlew-v1", (), ("pd", "ilqr"))  # which knows no push
    assert task.schemes == (OWN, OWN)
    names = [run.name for run in task.simulation().runs]
    assert names == ["pd, exact:4", "ilqr, exact:4"]
    both = scenario_of("AttitudeSlew-v1", ("akw", "imidm"), ("pd",))
    assert [run.name for run in both.simulation().runs] == ["pd, akw", "pd, imidm"]


@refused(
    (Scenario(schemes=()), "integrator must name 1 to 3 schemes"),
    (Scenario("RigidTop-v0", (OWN,), env_kwargs={"disturbance": {"torque": print}}),
     "disturbance must leave the torque to the page's push"),
    (Scenario("RigidTop-v0", (OWN,), ("b_dot",)), "env must"),
    (Scenario("AttitudeSlew-v1", (OWN,), ("pretrained",),
              env_kwargs={"observation": "rotation_matrix"}), "observation"),
)  # fmt: skip
def test_what_does_not_go_together_is_refused_by_name(scenario):
    scenario.simulation()


def test_who_can_act_is_who_fits_the_task():
    assert actors(None) == []
    assert actors("MagneticDetumble-v1") == ["pretrained", "pd", "magnetic_rate", "b_dot", "idle"]
    assert actors("FreeFlyer-v0")[0] == "pretrained"
