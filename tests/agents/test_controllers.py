"""Classical controllers: one interface, the envs of each, what they read, torque of coils."""

import re
import subprocess
import sys
from dataclasses import replace
from inspect import signature

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import RescaleAction, TransformObservation
from gymnasium.wrappers.vector import NormalizeObservation

import rbgym.agents
from family import QUICK, quick_make
from laws import flown
from rbgym import RigidBody
from rbgym.agents import controllers
from rbgym.agents.controllers import AxisPD, MagneticAllocation, RateDamping, UprightLQR, fitting
from rbgym.agents.controllers.base import relative
from rbgym.agents.judge import evaluate
from rbgym.agents.policies import trained
from rbgym.envs.actuators import MagneticCoils
from rbgym.envs.base import AttitudeEnv
from rbgym.envs.parts.observations import Both, More, Offset, TargetQuaternion, TargetRate, World
from rbgym.quaternion import rotate_inverse
from rbgym.registration import ENVIRONMENTS
from refusals import refused

pytestmark = pytest.mark.interpreted

STILL = ["pd", "pid", "quaternion_feedback", "hysteretic", "geometric", "lqr", "bang_bang", "idle"]
FIT = {
    "RigidTop-v0": ["pd", "lqr", "swing_up", "idle"],
    "TopSwingUp-v0": ["pd", "lqr", "swing_up", "idle"],
    "SteadyPrecession-v0": ["pd", "lqr", "idle"], "IntermediateAxis-v0": ["pd", "lqr", "idle"],
    "NutationDamping-v0": ["pd", "lqr", "idle"],
    "AttitudeSlew-v1": STILL, "AttitudeReach-v0": STILL, "ReactionWheelSlew-v1": STILL,
    "FlexibleSlew-v0": STILL, "KeepOutSlew-v0": [*STILL[:-1], "detour", "idle"],
    "AttitudeTracking-v1": ["pd", "pid", "quaternion_feedback", "hysteretic", "geometric", "idle"],
    "Detumble-v1": ["pd", "idle"], "FreeFlyer-v0": ["pd", "idle"],
    "TumblingCapture-v0": ["pd", "idle"], "SoftWall-v0": ["pd", "idle"],
    "MagneticDetumble-v1": ["pd", "magnetic_rate", "b_dot", "idle"],
    "ScalableSpin-v0": ["scale", "idle"], "SafeMode-v0": ["b_dot", "idle"],
    "SunAcquisition-v0": ["sun_pointing", "idle"], "DetumbleToPoint-v0": ["supervisor", "idle"],
}  # fmt: skip


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_the_laws_that_fit_take_their_gains_and_answer_one_observation_like_a_batch(env_id):
    env = gym.make(env_id)
    names = controllers.for_env(env)
    assert names == FIT.get(env_id, names)
    assert names[-1] == "idle"
    env.observation_space.seed(0)
    seen = env.observation_space.sample()
    unknown = r"gains of '\w+' must have keys from \[.*\], got 'freq'"
    for name in names:
        with pytest.raises(ValueError, match=unknown):
            controllers.make(name, env, freq=1)
        law = fitting.maker(name)(env)
        for gain in fitting._gains(name, env):
            default = signature(type(law)).parameters.get(gain)
            assert controllers.make(name, env, **{gain: default.default if default else 1.0})
        law = controllers.make(name, env)
        one, _ = law.predict(seen)
        batch = {k: v[None] for k, v in seen.items()} if isinstance(seen, dict) else seen[None]
        many, state = law.predict(batch, episode_start=np.array([True]))
        again, _ = law.predict(batch, state, np.array([True]))
        assert one.shape == env.action_space.shape
        assert one.dtype == many.dtype == np.float32
        assert (np.abs(one) <= 1 + 1e-6).all()
        np.testing.assert_array_equal(many, one[None])
        np.testing.assert_array_equal(again, many)


@refused(
    ("quaternion_feedback", "Detumble-v1", "env must have a target attitude, .*; its goal is Rest"),
    ("pid", "Detumble-v1", "env must have a target attitude, .*; its goal is Rest"),
    ("hysteretic", "RigidTop-v0", "env must have a target attitude, .*; its goal is Upright"),
    ("geometric", "FreeFlyer-v0", "env must have a target attitude, and no position to reach"),
    ("bang_bang", "AttitudeTracking-v1", "env must have a target at rest for bang-bang slews"),
    ("lqr", "AttitudeTracking-v1", "env must have a target at rest for linear-quadratic control"),
    ("lqr", "SoftWall-v0", "env must be a heavy top that precesses"),
    ("lqr", "Detumble-v1", "env must have a target attitude, or an axis .* laws fit: pd, idle"),
    ("swing_up", "AttitudeSlew-v1", "env must be a top with an upright goal"),
    ("b_dot", "AttitudeSlew-v1", "env must have magnetorquers alone for this"),
    ("magnetic_rate", "Detumble-v1", "env must have magnetorquers alone for this"),
    ("detour", "AttitudeSlew-v1", "env must have constraints with 'keep_out'"),
    ("scale", "AttitudeSlew-v1", "env must have a body that scales"),
    ("pd", "ScalableSpin-v0", "env must have a goal for which there is a PD law"),
)
def test_a_law_says_for_which_envs_it_is(name, env_id):
    controllers.make(name, gym.make(env_id))


@refused(
    *(
        (name, "AttitudeSlew-v1", {"torque_limit": [0.02, 0.02, 0.0]}, "torque_limit must be posi")
        for name in ("quaternion_feedback", "bang_bang", "lqr")  # laws of an eigenaxis
    ),
    *(
        ("pd", "AttitudeTracking-v1", {"observation": form}, "env must show the attitude as a quat")
        for form in ("rotation_matrix", "rotation_6d", "mrp", "log_error")
    ),
    ("b_dot", "MagneticDetumble-v1", {"observation": lambda state: state["angular_velocity"]},
     "env must show the magnetic field by name"),
)  # fmt: skip
def test_a_law_is_not_offered_either_where_it_lacks_something(name, env_id, kwargs):
    env = gym.make(env_id, **kwargs)
    assert name not in controllers.for_env(env)
    controllers.make(name, env)


def test_a_swinging_top_is_caught_by_an_lqr_or_by_pd_where_an_axis_has_no_torque():
    whole, without = (gym.make("TopSwingUp-v0", torque_limit=[0.2, 0.2, z]) for z in (0.005, 0.0))
    assert type(controllers.make("swing_up", whole).catcher) is UprightLQR
    assert type(controllers.make("swing_up", whole, catch="pd").catcher) is AxisPD
    assert type(controllers.make("swing_up", without).catcher) is AxisPD
    with pytest.raises(ValueError, match="catch must be 'lqr' or 'pd', got 'net'"):
        controllers.make("swing_up", whole, catch="net")


def test_laws_read_what_they_need_by_name_where_goals_stand_apart():
    """There laws read the attitude relative to the target, four columns fewer than the kernel's."""
    cone = {"axis": (0, 0, 1), "direction": (0, 0, -1), "half_angle": 0.1}
    kwargs = {"actuator": "magnetorquers", "constraints": {"keep_out": [cone]}}
    env = gym.make("AttitudeReach-v0", **kwargs)
    law = controllers.make("b_dot", env)
    observation, _ = env.reset(seed=1)
    field = law.seen(relative(observation)[None])[0]
    base = env.unwrapped
    expected = rotate_inverse(base.state["quaternion"], base.actuator.field_at(base.state))
    np.testing.assert_allclose(field, expected, rtol=1e-5, atol=1e-11)
    coned = gym.make("AttitudeReach-v0", constraints=kwargs["constraints"])
    detour = controllers.make("detour", coned)
    assert (detour.column, detour.least) == (7, 10)
    detour.predict({**observation, "observation": observation["observation"][:10]})


@pytest.mark.parametrize("name", ["pd", "geometric"])
def test_a_preview_of_the_target_changes_nothing(name):
    plain, previewing = (gym.make("AttitudeTracking-v1", preview=p) for p in (None, 2.0))
    previewing.observation_space.seed(0)
    seen = previewing.observation_space.sample()
    a, b = (controllers.make(name, env) for env in (plain, previewing))
    np.testing.assert_array_equal(a.predict(seen[:10])[0], b.predict(seen)[0])


@pytest.mark.parametrize(
    ("name", "env_id", "shape", "columns"),
    [("pd", "AttitudeSlew-v1", (6,), "7 or 10"), ("pd", "FreeFlyer-v0", (4, 12), "at least 13"),
     ("scale", "ScalableSpin-v0", (9,), "at least 10"),
     ("detour", "KeepOutSlew-v0", (9,), "at least 10"),
     ("magnetic_rate", "MagneticDetumble-v1", (9,), "at least 10"),
     ("pd", "AttitudeSlew-v1", (2, 2, 7), "7 or 10"),
     ("pd", "ReactionWheelSlew-v1", (10,), "at least 11")],
)  # fmt: skip
def test_a_wrong_observation_is_refused_with_its_shape(name, env_id, shape, columns):
    message = re.escape(f"observation must have {columns} columns, got shape {shape}")
    with pytest.raises(ValueError, match=message):
        controllers.make(name, gym.make(env_id)).predict(np.zeros(shape))


def test_coils_have_the_part_of_a_torque_across_the_field_from_the_smallest_moment():
    rng = np.random.default_rng(0)
    env = gym.make("MagneticDetumble-v1", **QUICK["MagneticDetumble-v1"])
    law, coils = controllers.make("pd", env), MagneticCoils()
    rows = rng.uniform(-0.5, 0.5, (40, 10))
    rows[:, 4:7] *= 0.02  # slow enough for the coils
    damped, B = law.law, rows[:, 7:] * 2 * coils.field
    assert isinstance(damped, RateDamping)
    wanted = damped.torque(rows[:, :4], rows[:, 4:7] * 0.3, np.zeros((40, 3)))
    m = law.predict(rows)[0] * coils.dipole
    assert np.abs(m).max() < 1
    for moment, field, torque in zip(m, B, wanted, strict=True):
        # Of all moments the least squares: for the torque m x B nearest to that wanted.
        matrix = np.cross(np.eye(3), field).T
        np.testing.assert_allclose(matrix @ moment, np.cross(moment, field), rtol=0, atol=1e-12)
        best = np.linalg.lstsq(matrix, torque, rcond=1e-6)[0]
        np.testing.assert_allclose(moment, best, rtol=1e-5, atol=1e-6)
    pid, orbit = controllers.make("pid", gym.make("MagneticPointing-v0")).law, 6378e3 + 520e3
    assert pid.integral_time == pytest.approx(100.0 * np.sqrt(orbit**3 / 3.986e14), rel=0.01)


def test_a_moment_beyond_the_limits_is_shortened_and_not_turned():
    damped = RateDamping(RigidBody([3.0, 2.0, 1.0]), [1e9] * 3, rate_limit=1.0, dt=0.1, time=1.0)
    law = MagneticAllocation(damped, dipole=1.0, field=5e-5)
    seen = np.array([1, 0, 0, 0, 4e-6, -3e-6, 5e-6, 0.4, 0.3, -0.2])
    faster = seen.copy()
    faster[4:7] *= 1000
    moments = [law.predict(x)[0].astype(float) for x in (seen, faster)]
    assert np.abs(moments[0]).max() < 1
    assert np.abs(moments[1]).max() == pytest.approx(1.0)
    slow, fast = (one / np.linalg.norm(one) for one in moments)
    np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-6)


def test_rates_damped_by_coils_only_lose_momentum():
    env = gym.make_vec("MagneticDetumble-v1", num_envs=16, **QUICK["MagneticDetumble-v1"])
    law = controllers.make("pd", env)
    seen, _ = env.reset(seed=0)
    momenta = [env.unwrapped.state["angular_momentum"]]
    for _ in range(300):
        seen = env.step(law.predict(seen)[0])[0]
        momenta.append(env.unwrapped.state["angular_momentum"])
    sizes = np.linalg.norm(momenta, axis=2)
    # Where it is along the field the torque, held for a second, takes none.
    assert (np.diff(sizes, axis=0) < 1e-4 * sizes[0]).all()
    assert np.median(sizes[-1] / sizes[0]) < 0.6


def test_a_module_of_the_agents_is_imported_when_it_is_first_used():
    code = (
        "import sys, rbgym.agents as agents; before = set(sys.modules); "
        "agents.controllers.names(), agents.train.rollout; "
        "assert not {'rbgym.agents.controllers', 'rbgym.agents.train.rollouts'} & before"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    for name in ("controler", "__wrapped__", "controllers.pd"):
        assert not hasattr(rbgym.agents, name)


@pytest.mark.compiled
def test_a_long_control_period_lowers_the_frequency_of_the_size():
    found = evaluate("scale", "ScalableSpin-v0", 16, dt=0.25, substeps=20)
    assert found.success_rate == 1.0


TUMBLING = "TumblingCapture-v0"


@pytest.mark.parametrize("kwargs", [{"rate_limit": 3.0}, {"rate_limit": 3.0, "preview": 2.0}])
def test_a_tumbling_target_is_met_whatever_the_limit_that_rates_are_shown_by(kwargs):
    env = gym.make_vec(TUMBLING, num_envs=4, **kwargs)
    columns = env.unwrapped.columns
    assert columns["angular_velocity"].factor == columns["target_angular_velocity"].factor == 3.0
    assert ("quaternion_ahead" in columns) == ("preview" in kwargs)
    law = controllers.make("pd", env)
    assert law.approach == pytest.approx(4.0 * np.sqrt(law.force_limit / law.body.mass))
    assert flown(law, env, 150)["is_success"].all()


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
    task = replace(gym.make(env_id).unwrapped.task, **changes)
    env = type("OwnEnv", (AttitudeEnv,), {"task": task})()
    with pytest.raises(ValueError, match="env must show the"):
        controllers.make(name, env)


@pytest.mark.parametrize("env_id", ["KeepOutSlew-v0", "AttitudeSlew-v1"])
def test_a_law_made_by_its_class_reads_the_columns_that_the_env_fits_it_with(env_id):
    env = quick_make(env_id)
    seen, _ = env.reset(seed=0)
    laws = controllers.AttitudePD.for_env(env), controllers.make("pd", env)
    np.testing.assert_array_equal(*(law.predict(seen)[0] for law in laws))


def test_wrappers_that_change_what_a_law_reads_or_commands_are_refused():
    env = quick_make("AttitudeSlew-v1")
    many = gym.make_vec("AttitudeSlew-v1", num_envs=2)
    for wrapped in (
        TransformObservation(env, lambda seen: np.roll(seen, 3), env.observation_space),
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
