"""Faults that set in: what fails, exactly when, what reaches the body then, and what is told."""

import itertools

import numpy as np
import pytest

from family import SLEW, motor_work
from family import quick_make as make
from family import quick_many as many
from rbgym.envs.actuators import Delay, Lag
from rbgym.quaternion import rotate
from refusals import refused

pytestmark = pytest.mark.interpreted

WHEELS = "ReactionWheelSlew-v1"
STUCK, WEAK, RUNAWAY, SENSOR = range(1, 5)
FAULTS = {"time": (0.25, 1.8), "probability": 0.8, "strength": 0.3}
STEPS = 25


def reaching(commands, info, time, strength=0.3):
    """Commands (n, k) as the fault of `info` leaves them in the period that begins at `time`; NaN
    where one runs away, which may be to either side."""
    left = commands.copy()
    late = (info["fault"] > 0) & (info["fault"] != SENSOR) & (time >= info["fault_time"])
    for lane in np.flatnonzero(late):
        factor = {STUCK: 0.0, WEAK: strength, RUNAWAY: np.nan}[info["fault"][lane]]
        left[lane, info["fault_channel"][lane]] *= factor
    return left


def test_a_command_is_its_own_until_the_onset_and_what_the_fault_leaves_of_it_from_then_on():
    env, rng = many(SLEW, n=192, faults=FAULTS), np.random.default_rng(0)
    _, drawn = env.reset(seed=0)
    sides = []
    for step in range(STEPS):
        commands = rng.uniform(-0.9, 0.9, (192, 3))
        info = env.step(commands)[4]
        for name in ("fault", "fault_channel", "fault_time"):
            np.testing.assert_array_equal(info[name], drawn[name])
        wanted = reaching(commands, info, step * env.dt)
        runs = np.isnan(wanted)
        applied = info["applied_torque"] / env.torque_limit
        np.testing.assert_allclose(applied[~runs], wanted[~runs], rtol=0, atol=1e-15)
        np.testing.assert_allclose(np.abs(applied[runs]), 1.0, rtol=0, atol=1e-15)
        sides.append(np.where(runs, np.sign(applied), 0.0))
    # Which side it is stays, and is either.
    ran = np.abs(sides).any(axis=0)
    assert (np.abs(np.sum(sides, axis=0)) == np.sum(np.abs(sides), axis=0)).all()
    either = np.sum(sides, axis=0)[ran] > 0
    assert either.any()
    assert not either.all()


def test_draws_are_uniform_and_differ_from_episode_to_episode_and_the_starts_do_not_see_them():
    env, plain = (many(SLEW, n=4096, **more) for more in ({"faults": FAULTS}, {}))
    seen, info = env.reset(seed=7)
    np.testing.assert_array_equal(seen, plain.reset(seed=7)[0])
    kind, time, channel = (info[n] for n in ("fault", "fault_time", "fault_channel"))
    fails = kind > 0
    assert fails.mean() == pytest.approx(0.8, abs=0.03)
    for n in range(1, 5):
        assert (kind[fails] == n).mean() == pytest.approx(0.25, abs=0.03)
    low, high = FAULTS["time"]
    times = np.histogram(time[fails], 4, (low, high))[0]
    assert times / fails.sum() == pytest.approx(0.25, abs=0.03)
    of_command = fails & (kind != SENSOR)
    channels = np.bincount(channel[of_command])
    assert channels / of_command.sum() == pytest.approx(1 / 3, abs=0.03)
    assert (channel[~of_command] == -1).all()
    assert (time[~fails] == -1).all()
    again = env.reset(seed=7)[1]
    later = env.reset()[1]
    np.testing.assert_array_equal(again["fault_time"], time)
    assert (later["fault_time"] != time).mean() > 0.9


def test_a_fault_strikes_what_comes_out_of_delay_and_lag():
    faults = {"time": (0.45, 0.45), "kinds": ["runaway"]}
    env = make(SLEW, actuator=[Delay(0.5), Lag(0.2)], faults=faults)
    info = env.reset(seed=0)[1]
    n, applied = info["fault_channel"], []
    for _ in range(8):
        applied.append(env.step(np.zeros(3))[4]["applied_torque"] / env.torque_limit)
    assert np.abs(np.array(applied)[:, n]).tolist() == [0] * 5 + [1] * 3
    assert not np.delete(applied, n, axis=1).any()


@pytest.fixture(scope="module")
def flown():
    """Wheels with faults but of sensors, as they go on for so long that some fill; states."""
    faults = {"time": (0.0, 3.0), "kinds": ["stuck", "runaway", "weak"], "strength": 0.3}
    env, rng = many(WHEELS, substeps=1, faults=faults), np.random.default_rng(1)
    info, states, energy, told = env.reset(seed=3)[1], [env.state], [env.invariants()], []
    for _ in range(110):
        told.append(rng.uniform(-0.5, 0.5, (64, 4)))
        env.step(told[-1])
        states.append(env.state)
        energy.append(env.invariants())
    return env, info, states, [one["energy"] for one in energy], told


def test_momentum_stays_to_the_bit_and_energy_changes_by_the_work_of_motors_and_friction(flown):
    env, _, states, energy, _ = flown
    axes, booked = env.actuator.matrix, 0.0
    for before, after in itertools.pairwise(states):
        np.testing.assert_array_equal(after["angular_momentum"], states[0]["angular_momentum"])
        booked = booked + motor_work(env.actuator, before, after)
    assert np.abs(energy[-1] - energy[0] - booked).max() < 1e-13 * np.max(energy)
    body = states[-1]["angular_velocity"] @ env.body.inertia
    total = rotate(states[-1]["quaternion"], body + states[-1]["wheel_momentum"] @ axes.T)
    np.testing.assert_allclose(total, states[0]["angular_momentum"], rtol=0, atol=1e-15)


def test_a_stuck_wheel_has_friction_alone_and_one_that_runs_away_fills(flown):
    env, info, states, _, _ = flown
    wheel, axes = env.actuator, env.actuator.matrix
    stuck = fills = 0
    for lane in range(64):
        n, kind = info["fault_channel"][lane], info["fault"][lane]
        for step in range(len(states) - 1):
            late = step * env.dt >= info["fault_time"][lane]
            before, after = states[step], states[step + 1]
            h, later = before["wheel_momentum"][lane, n], after["wheel_momentum"][lane, n]
            speed = h / wheel.inertia - before["angular_velocity"][lane] @ axes[:, n]
            # Away from where the wheel stands still in the body.
            if late and kind == STUCK and abs(speed) > 50.0:
                friction = wheel.coulomb + wheel.viscous * abs(speed)
                assert (later - h) / env.dt == pytest.approx(-np.sign(speed) * friction, rel=2e-3)
                stuck += 1
        full = abs(states[-1]["wheel_momentum"][lane, n]) == wheel.momentum
        fills += kind == RUNAWAY and full
    assert stuck > 50
    assert fills > 5


def test_a_dead_sensor_says_what_it_said_a_period_before():
    env = many(SLEW, n=96, faults={**FAULTS, "kinds": ["sensor", "stuck"]}, sensor={"rate": 1e-3})
    alive = many(SLEW, n=96, sensor={"rate": 1e-3})
    (last, info), _ = env.reset(seed=0), alive.reset(seed=0)
    of_sensor = info["fault"] == SENSOR
    for step in range(1, STEPS):
        action = np.full((96, 3), 0.2)
        now, whole = env.step(action)[0], alive.step(action)[0]
        dead = of_sensor & (step * env.dt >= info["fault_time"])
        np.testing.assert_array_equal(now[dead], last[dead])
        fresh = ~dead & (of_sensor | (info["fault"] == 0))
        np.testing.assert_allclose(now[fresh], whole[fresh], rtol=0, atol=1e-6)
        assert (now[fresh] != last[fresh]).any(axis=1).all()
        last = now
    assert dead.sum() > 20


@refused(
    ({}, "must have time"),
    ({"time": (2, 1)}, r"faults\['time'\] must be first and last"),
    ({"time": 3.0}, r"faults\['time'\] must be"),
    ({"time": (0, 1), "kinds": ["stick"]}, "did you mean 'stuck'"),
    ({"time": (0, 1), "kinds": []}, r"faults\['kinds'\] must be a list"),
    ({"time": (0, 1), "probability": 1.5}, r"faults\['probability'\] must be in"),
    ({"time": (0, 1), "strength": -0.1}, r"faults\['strength'\] must be in"),
    ("stuck", "faults must be a dict"),
)
def test_bad_faults_are_named(faults):
    make(SLEW, faults=faults)
