"""Hysteretic feedback: its memory, and the noise that it withstands."""

import gymnasium as gym
import numpy as np
import pytest

from family import QUICK, SLEW, at
from laws import drawn, law_of
from rbgym.agents import controllers
from rbgym.agents.controllers import AttitudePD, Hysteretic
from rbgym.quaternion import canonicalized, from_rotation_vector, multiply

pytestmark = pytest.mark.interpreted


def test_beyond_delta_the_memory_changes_to_the_short_way():
    law = law_of(Hysteretic, delta=0.2)
    q = np.array([[np.cos(a / 2), 0, 0, np.sin(a / 2)] for a in (3.0, 3.3, 3.6)])
    assert (q[:, 0] > -0.2).tolist() == [True, True, False]
    still = np.zeros((3, 3))
    u, (h, *_) = law.feedback((q, still, still), (np.ones(3), q, still), None)
    assert h.tolist() == [1, 1, -1]
    assert (u[:, 2] < 0).tolist() == [True, True, False]


def test_an_episode_starts_with_the_nearer_way():
    law = law_of(Hysteretic)
    q, omega = drawn(40)
    wrong = (-np.sign(q[:, 0]), q, 0 * omega)
    starts = np.arange(40) % 2 == 0
    _, (h, *_) = law.feedback((q, omega, 0 * omega), wrong, starts)
    np.testing.assert_array_equal(h[starts], np.sign(q[starts, 0]))
    kept = ~starts & (np.abs(q[:, 0]) < law.delta)
    assert kept.any()
    np.testing.assert_array_equal(h[kept], wrong[0][kept])
    torque, _ = law.feedback((q, omega, 0 * omega), None, None)
    np.testing.assert_array_equal(torque, law_of(AttitudePD).torque(q, omega, 0 * omega))


def test_the_law_itself_remembers_nothing_between_calls():
    law = controllers.make("hysteretic", gym.make("ReactionWheelSlew-v1"))
    rng = np.random.default_rng(0)
    rows = np.concatenate([drawn(8)[0], rng.uniform(-0.1, 0.1, (8, 7))], axis=1)
    states = [(sign * np.ones(8), rows[:, :4], np.zeros((8, 3))) for sign in (1, -1, 1)]
    a, b, again = (law.predict(rows, s, np.zeros(8, bool)) for s in states)
    assert (a[0] != b[0]).any()
    np.testing.assert_array_equal(a[0], again[0])
    np.testing.assert_array_equal(states[0][0], 1)
    one = law.predict(rows[0], (np.ones(1), rows[:1, :4], np.zeros((1, 3))), np.array([False]))
    np.testing.assert_array_equal(one[0], a[0][0])


def test_noise_that_holds_sign_feedback_at_a_half_turn_does_not_hold_the_hysteretic_law():
    """As in the paper: the noise shows the body beyond the half turn, whichever side it is on."""
    noise, z = 0.1, np.array([0.0, 0.0, 1.0])
    angle, switches = {}, {}
    for name in ("pd", "hysteretic"):
        env = gym.make(SLEW, **QUICK[SLEW])
        seen, _ = at(env, from_rotation_vector((np.pi - 0.02) * z))
        law, memory, actions = controllers.make(name, env, frequency=0.4), None, []
        for _ in range(300):
            # The true angle in (0, 2 pi), of the observation's w >= 0.
            true = 2 * np.arctan2(*(seen[[3, 0]] * (np.sign(seen[3]) or 1.0)))
            near = abs(true - np.pi) < noise
            off = near * noise * np.sign(np.pi - true) * z
            shown = multiply(seen[:4], from_rotation_vector(off))
            row = np.concatenate([canonicalized(shown), seen[4:]])
            action, memory = law.predict(row, memory, np.array([memory is None]))
            actions.append(action[2])
            seen = env.step(action)[0]
        angle[name] = 2 * np.arccos(min(abs(env.unwrapped.state["quaternion"][0]), 1.0))
        switches[name] = int((np.diff(np.sign(actions[:150])) != 0).sum())
    assert angle["pd"] > 3.0
    assert angle["hysteretic"] < 0.1
    assert switches["pd"] > 10
    assert switches["hysteretic"] <= 2
