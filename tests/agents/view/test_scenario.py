import numpy as np
import pytest

import rbgym
from rbgym.agents.view.simulation import BODIES, GIVEN, OWN, Scenario, actors, scenario_of
from refusals import refused

pytestmark = pytest.mark.interpreted


def test_the_first_page_sets_naive_euler_beside_the_conserving_scheme():
    simulation = Scenario().simulation()
    assert [run.name for run in simulation.runs] == ["forward_euler", "imidm", "exact:4"]
    moments = simulation.runs[0].body.moments
    assert moments[0] < moments[2] < moments[1]  # spins about its intermediate axis, and so flips
    simulation.advance(100)
    euler, _, conserving = (run.snapshot().energy for run in simulation.runs)
    assert euler > 1.3 * conserving


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
    task = scenario_of("AttitudeSlew-v1", (), ("pd", "bang_bang"))
    assert task.schemes == (OWN, OWN)
    names = [run.name for run in task.simulation().runs]
    assert names == ["pd, exact:4", "bang_bang, exact:4"]
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


def test_a_tilt_of_many_turns_is_one_within_a_turn():
    many, one, endless = (
        Scenario(schemes=("quat_em",), tilt=tilt).simulation().runs[0].snapshot().quaternion
        for tilt in (30.0 + 360 * 2.0**20, 30.0, 1e300)
    )
    assert many.tolist() == one.tolist()
    assert abs(np.linalg.norm(endless) - 1.0) < 1e-15
