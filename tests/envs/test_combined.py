"""Wheels with coils or thrusters beside them: the books of both at once, each as if alone."""

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from family import SLEW, at, discrete_work, half_way, make, many, motor_work
from rbgym.envs.actuators import Combined, MagneticCoils, ReactionWheels, Thrusters, Torque
from rbgym.envs.actuators.driven import Driven
from rbgym.quaternion import rotate

pytestmark = pytest.mark.interpreted

TILTED = (0.8, 0.36, -0.48, 0.0)
TUMBLING = (0.03, -0.02, 0.04)
SMOOTH = ReactionWheels(viscous=0.0, coulomb=0.0)
OTHERS = [MagneticCoils(5.0), Torque()]
STEP = {"integrator": "quat_em", "substeps": 1}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("wheels", [ReactionWheels.pyramid(), ReactionWheels()])
def test_what_wheels_exchange_leaves_the_momentum_of_the_world_to_the_bit(wheels, other):
    env = many(SLEW, 8, actuator=[other, wheels], integrator="quat_em")
    env.reset(seed=0)
    start, rng = env.state["angular_momentum"], np.random.default_rng(0)
    for _ in range(100):
        action = rng.uniform(-1.0, 1.0, env.action_space.shape)
        action[:, len(wheels.axes) :] = 0.0
        env.step(action)
    np.testing.assert_array_equal(env.state["angular_momentum"], start)


@pytest.mark.parametrize("other", OTHERS)
def test_momentum_changes_by_the_outer_torque_and_energy_by_the_work_of_both(other):
    wheels = ReactionWheels.pyramid()
    env = make(SLEW, actuator=[wheels, other], **STEP)
    at(env, TILTED, TUMBLING, wheel_momentum=(0.012, -0.02, 0.007, 0.015))
    rng, energy, largest = np.random.default_rng(1), env.invariants()["energy"], 0.0
    for _ in range(40):
        before = env.state
        info = env.step(rng.uniform(-1.0, 1.0, 7))[4]
        after = env.state
        by_wheels = -wheels.matrix @ (after["wheel_momentum"] - before["wheel_momentum"]) / env.dt
        outer = info["applied_torque"] - by_wheels
        largest = max(largest, np.abs(outer).max())
        impulse = env.dt * rotate(half_way(before, after), outer)
        change = after["angular_momentum"] - before["angular_momentum"]
        np.testing.assert_allclose(change, impulse, rtol=0, atol=1e-16)
        energy += motor_work(wheels, before, after) + discrete_work(before, after, outer)
    assert largest > 1e-4
    assert env.invariants()["energy"] == pytest.approx(energy, rel=1e-13)


@pytest.mark.parametrize(
    ("other", "places"),
    [(MagneticCoils(5.0), {"orbit_phase": 0.2, "earth_phase": -0.4}), (Torque(), {})],
)
def test_beside_wheels_that_stand_still_the_others_act_as_alone(other, places):
    both = make(SLEW, actuator=[SMOOTH, other], **STEP)
    alone = make(SLEW, actuator=other, **STEP)
    at(both, TILTED, TUMBLING, wheel_momentum=np.zeros(3), **places)
    at(alone, TILTED, TUMBLING, **places)
    rng = np.random.default_rng(2)
    for _ in range(50):
        command = rng.uniform(-1.0, 1.0, 3)
        seen, seen_alone = both.step([0, 0, 0, *command])[0], alone.step(command)[0]
        np.testing.assert_allclose(np.delete(seen, [7, 8, 9]), seen_alone, rtol=0, atol=1e-6)
        for name, value in alone.state.items():
            np.testing.assert_allclose(both.state[name], value, rtol=0, atol=1e-13, err_msg=name)


def test_wheels_beside_thrusters_have_no_valves():
    env = make(SLEW, actuator=[SMOOTH, Torque(), Thrusters(0.04)], **STEP)
    at(env, TILTED, wheel_momentum=np.zeros(3))
    info = env.step([0.3, 0.0, 0.0, 0.3, 0.0, 0.0])[4]
    wheel = 0.3 * SMOOTH.torque
    assert env.state["wheel_momentum"] == pytest.approx([-wheel * env.dt, 0, 0], abs=1e-18)
    # 0.15 of 0.5 s, rounded to a multiple of the shortest pulse.
    assert env.dt == 0.5
    assert info["applied_torque"][0] == pytest.approx(wheel + 0.32 * env.torque_limit[0])


def test_both_are_drawn_at_the_start_of_an_episode_and_neither_by_the_other():
    env = many(SLEW, 4096, actuator=["pyramid", "magnetorquers"], **STEP)
    env.reset(seed=3)
    state, wheels = env.state, ReactionWheels.pyramid()
    drawn = np.column_stack([
        state["wheel_momentum"][:, :2] / (wheels.start * wheels.momentum),
        2.0 * state["orbit_phase"],
        2.0 * state["earth_phase"],
    ])  # fmt: skip
    assert np.abs(drawn).max() <= 1.0
    assert np.mean(drawn**2, axis=0) == pytest.approx(1.0 / 3.0, abs=0.02)  # uniform in +-1
    assert np.abs(np.corrcoef(drawn.T) - np.eye(4)).max() < 0.06


@dataclass(frozen=True)
class OwnTorque(Torque):
    """One whose record is its own."""

    def record(self, setting, line):
        return OwnTorques(line)


class OwnTorques(Driven):
    line: Any


def test_only_what_can_stand_beside_wheels_does():
    with pytest.raises(ValueError, match="one Effector at most"):
        gym.make(SLEW, actuator=["magnetorquers", "torque"])
    with pytest.raises(ValueError, match="must be left out with ReactionWheels and MagneticCoils"):
        gym.make(SLEW, actuator=["wheels", "magnetorquers"], torque_limit=0.1)
    with pytest.raises(ValueError, match="must combine wheels with coils or torque"):
        gym.make(SLEW, actuator=["wheels", OwnTorque()])
    with pytest.raises(ValueError, match=r"Combined\.wheels must be ReactionWheels, got MagneticC"):
        Combined(MagneticCoils(), Torque())
    with pytest.raises(ValueError, match=r"Combined\.other must be MagneticCoils or Torque, got 4"):
        Combined(ReactionWheels(), 4)
