import csv
import io

import numpy as np
import pytest

import rbgym
from rbgym.agents.view.film import Reel
from rbgym.agents.view.saving import Records, as_csv, as_npz
from rbgym.agents.view.setup import (
    BODIES,
    FREE,
    GIVEN,
    OFF,
    OWN,
    Setup,
    body_of,
    build,
    policies_of,
    setup_of,
    warm_up,
)
from rbgym.agents.view.status import busy_html, status_html

GIVEN_ALL = {"inertia": (), "rates": (0.0, 0.0, 1.0)}


def test_the_first_page_sets_naive_euler_beside_the_conserving_scheme():
    world = build(Setup())
    assert [run.name for run in world.runs] == ["forward_euler", "imidm", "quat_em"]
    moments = world.runs[0].body.moments
    assert moments[0] < moments[2] < moments[1]  # spins about its intermediate axis, and so flips
    world.advance(100)
    euler, _, conserving = (run.look().energy for run in world.runs)
    assert euler > 1.3 * conserving


@pytest.mark.parametrize("name", BODIES)
def test_every_body_is_as_its_sizes_say(name):
    small, large = (
        body_of(Setup(body=name, size=size)) for size in ((0.5, 0.4, 0.2), (1, 0.8, 0.4))
    )
    assert small.mass == pytest.approx(6.0)
    assert np.allclose(large.moments, 4 * small.moments)


def test_a_body_can_be_given_by_its_inertia():
    setup = setup_of(None, (), (), **{**GIVEN_ALL, "inertia": [6, 8, 3]})
    assert setup.body == GIVEN
    assert np.array_equal(body_of(setup).moments, [6, 8, 3])
    full = np.diag([6.0, 8.0, 3.0]).ravel()
    assert body_of(Setup(body=GIVEN, inertia=tuple(full))) == rbgym.RigidBody([6, 8, 3])


def test_a_tilted_top_precesses_in_gravity():
    world = build(Setup(schemes=("quat_em", OFF, OFF), body="cylinder", mgl=5.0, tilt=30.0,
                        rates=(0.0, 0.0, 30.0), dt=0.01))  # fmt: skip
    before = world.runs[0].look()
    assert before.quaternion == pytest.approx([np.cos(np.pi / 12), np.sin(np.pi / 12), 0, 0])
    world.advance(100)
    after = world.runs[0].look()
    assert after.angular_momentum[2] == pytest.approx(before.angular_momentum[2], rel=1e-12)
    assert np.linalg.norm(after.angular_momentum - before.angular_momentum) > 1.0


def test_the_command_line_asks_for_a_run_for_each_scheme_or_policy():
    free = setup_of(None, ("akw",), (), **GIVEN_ALL)
    assert (free.scene, free.schemes) == (FREE, ("akw", OFF, OFF))
    task = setup_of("AttitudeSlew-v0", (), ("pd", "bang_bang"), **GIVEN_ALL)
    assert task.schemes == (OWN, OWN, OFF)
    assert [run.name for run in build(task).runs] == ["pd, quat_em", "bang_bang, quat_em"]
    both = setup_of("AttitudeSlew-v0", ("akw", "imidm"), ("pd",), **GIVEN_ALL)
    assert [run.name for run in build(both).runs] == ["pd, akw", "pd, imidm"]


@pytest.mark.parametrize(("arguments", "says"), [
    ((None, ("quat_em",) * 4, ()), "integrator and policy must name at most 3 each, got 4"),
    ((None, (), ("pd",)), "policy must be left out without an env"),
])  # fmt: skip
def test_a_command_line_that_asks_for_too_much_is_refused(arguments, says):
    with pytest.raises(ValueError, match=says):
        setup_of(*arguments, **GIVEN_ALL)


@pytest.mark.parametrize(("setup", "says"), [
    (Setup(schemes=("quat_me", OFF, OFF)), "integrator must be one of .* did you mean 'quat_em'"),
    (Setup(schemes=(OFF, OFF, OFF)), "integrator must name 1 to 3 schemes"),
    (Setup(body="bix"), "body must be one of .* got 'bix'"),
    (Setup(dt=0.0), "dt must be a positive finite number"),
    (Setup(scene="Rigid-v9", schemes=(OWN, OFF, OFF)), "env must be one of .* got 'Rigid-v9'"),
    (Setup(scene="RigidTop-v0", schemes=(OWN, OFF, OFF), env_kwargs={"disturbance": None}),
     "env-arg must leave out disturbance"),
    (Setup(scene="RigidTop-v0", schemes=(OWN, OFF, OFF), policies=("b_dot",)), "env must"),
])  # fmt: skip
def test_what_does_not_go_together_is_refused_by_name(setup, says):
    with pytest.raises(ValueError, match=says):
        build(setup)


def test_who_can_act_is_who_fits_the_task():
    assert policies_of(FREE) == []
    assert policies_of("MagneticDetumble-v0") == ["pretrained", "pd", "b_dot"]


def test_warming_up_leaves_the_world_at_its_start():
    warm_up(Setup())
    assert build(Setup()).steps == 0


def test_what_is_saved_is_what_was_recorded():
    world = build(Setup(schemes=("akw", "quat_em", OFF)))
    world.advance(20)
    alone = rbgym.simulate(world.runs[0].body, integrator="akw", dt=0.05, steps=20,
                           angular_velocity=Setup().rates)  # fmt: skip
    records = Records.of(world)
    rows = list(csv.DictReader(io.StringIO(as_csv(records).decode())))
    assert len(rows) == 42
    first = [row for row in rows if row["run"] == "1"]
    assert {row["name"] for row in first} == {"akw"}
    assert np.array_equal([float(row["qx"]) for row in first], alone.quaternion[:, 1])
    arrays = np.load(io.BytesIO(as_npz(records)))
    assert arrays["names"].tolist() == ["akw", "quat_em"]
    assert np.array_equal(arrays["angular_momentum_1"], alone.angular_momentum)
    assert np.array_equal(arrays["energy_1"], alone.energy)


def test_a_film_without_motion_is_refused():
    pytest.importorskip("moviepy")
    from rbgym.agents.view.film import as_mp4

    with pytest.raises(ValueError, match="nothing to be seen yet"):
        as_mp4(Reel.of(build(Setup()), FREE, 5.0, 1.0))


def test_the_panel_says_in_red_what_failed_and_when():
    world = build(Setup(dt=0.25, rates=(1.0, 2.0, 5.0)))
    world.advance(2000)
    html = status_html(world, problem="<b>no</b>")
    assert f"failed at t = {world.ended_at[0]:.2f} s" in html
    assert html.count("failed") == 1
    assert "&lt;b&gt;no" in html
    assert "compiling" in busy_html("Preparing")


def test_a_tilt_of_many_turns_is_one_within_a_turn():
    many, one = (body_at(tilt) for tilt in (30.0 + 360 * 2.0**20, 30.0))
    assert many.tolist() == one.tolist()
    assert abs(np.linalg.norm(body_at(1e300)) - 1.0) < 1e-15


def body_at(tilt):
    return build(Setup(schemes=("quat_em", OFF, OFF), tilt=tilt)).runs[0].look().quaternion
