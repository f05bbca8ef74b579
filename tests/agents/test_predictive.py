"""Planned slews: the plan is the optimum of its cost, within the limits, whoever is beside it."""

from functools import cache

import gymnasium as gym
import numpy as np
import pytest
from scipy.linalg import expm, solve_discrete_are
from scipy.optimize import lsq_linear

import rbgym
from family import quick
from rbgym.agents import controllers
from rbgym.agents.controllers import ModelPredictive, PlannedSlew
from rbgym.agents.controllers.predictive import box_minimum
from rbgym.agents.judge.evaluation import settling_times
from rbgym.quaternion import from_rotation_vector
from refusals import refused

SLEW = "AttitudeSlew-v1"
MADE = {"mpc": ModelPredictive, "ilqr": PlannedSlew}


@cache
def law_of(name, **gains):
    """A law for the satellite of the slews."""
    return controllers.make(name, gym.make(SLEW), **gains)


def starts(count, seed=0):
    """Attitudes (count, 4) relative to the target, and rates (count, 3) [rad/s]."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True), rng.uniform(-0.2, 0.2, (count, 3))


@pytest.mark.parametrize("m", [3, 4])
def test_no_command_within_the_limits_is_better_than_the_least_of_a_quadratic(m):
    """The conditions of Karush, Kuhn and Tucker."""
    rng, n = np.random.default_rng(m), 4000
    F, g = rng.normal(size=(n, m, m)), rng.normal(size=(n, m)) * 10 ** rng.uniform(-2, 2, (n, 1))
    H, v = F.transpose(0, 2, 1) @ F + 1e-3 * np.eye(m), rng.uniform(-1, 1, (n, m))
    for at in (-1.0, 1.0):
        v[rng.random((n, m)) < 0.2] = at
    x, free = box_minimum(H, g, -1 - v, 1 - v)
    slope = g + np.einsum("nij,nj->ni", H, x)
    assert (np.abs(v + x) <= 1).all()
    assert np.abs(x - np.clip(x - slope, -1 - v, 1 - v)).max() < 1e-12
    assert np.abs(slope[free]).max() < 1e-12
    assert 0.2 < free.mean() < 0.8


def test_at_rest_at_the_target_a_plan_is_the_linear_quadratic_regulator():
    law = law_of("mpc", tolerances=(0.3, 0.2))
    A, B = np.zeros((9, 9)), np.zeros((6, 3))
    A[:3, 3:6], A[3:6, 6:] = np.eye(3), np.linalg.inv(law.inertia) * law.limits
    A, B = np.split(expm(law.held * law.dt * A)[:6], [6], axis=1)
    P = solve_discrete_are(A, B, np.diag(np.repeat([0.3, 0.2], 3) ** -2.0), np.eye(3))
    K = np.linalg.solve(np.eye(3) + B.T @ P @ B, B.T @ P @ A)
    _, gains = law.backward(law.plan(np.array([[1.0, 0.0, 0.0, 0.0]]), np.zeros((1, 3)), 1))
    np.testing.assert_allclose(gains, np.broadcast_to(-K, gains.shape), rtol=1e-10, atol=1e-10)
    # Of a small error x the rest is of the order of x.
    x = 1e-5 * np.random.default_rng(0).normal(size=(8, 6))
    flight = law.plan(from_rotation_vector(x[:, :3]), x[:, 3:], 1)
    np.testing.assert_allclose(flight.commands[0], -x @ K.T, rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose(flight.cost, 0.5 * np.einsum("ni,ij,nj->n", x, P, x), rtol=1e-6)


def test_a_plan_has_the_steps_of_the_env():
    one = rbgym.integrators.get("rkn4", renormalise_every=7)
    law = controllers.make("mpc", gym.make(SLEW, integrator=one))
    assert law._batch(1).integrator == one != rbgym.integrators.get("rkn4")


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_turn_about_a_principal_axis_is_that_of_quadratic_programming(axis):
    """Such a body is a double integrator, and log(1 + s) of a plan has at its s the slope of a
    multiple of s: with limits the plan is the solution of a least-squares problem."""
    law = controllers.make("ilqr", gym.make(SLEW, **quick(SLEW)), steps=40)
    T, N = law.held * law.dt, law.count
    A, B = np.array([[1, T], [0, 1]]), np.array([T * T / 2, T])
    B *= law.limits[axis] / law.inertia[axis, axis]
    q, omega = from_rotation_vector(2.0 * np.eye(3)[[axis]]), 0.05 * np.eye(3)[[axis]]
    flight = law.plan(q, omega, 200)
    x, given, rows, ends = np.array([2.0, 0.05]), np.zeros((2, N)), [], []
    for t in range(N):
        x, given = A @ x, A @ given
        given[:, t] += B
        W = law.weights[t + 1, 0, axis::3, axis::3]
        reached = x + given @ flight.commands[:, 0, axis]
        root = np.linalg.cholesky(W).T / np.sqrt(1 + reached @ W @ reached)
        rows.append(root @ given)
        ends.append(-root @ x)
    matrix, right = np.vstack([*rows, np.eye(N)]), np.concatenate([*ends, np.zeros(N)])
    best = lsq_linear(matrix, right, (-1, 1), tol=1e-14)
    np.testing.assert_allclose(flight.commands[:, 0, axis], best.x, rtol=0, atol=1e-3)
    assert (np.abs(best.x) > 0.999).any()
    assert np.abs(np.delete(flight.commands, axis, axis=2)).max() < 1e-9


def test_a_plan_is_stationary_within_the_limits_and_costs_less_than_the_linear_law():
    law = law_of("ilqr")
    flight = law.plan(*starts(8), 60)
    k, K = law.backward(flight)
    assert np.abs(flight.commands).max() == 1.0
    assert np.abs(k).max() < 1e-2
    assert (K[np.abs(flight.commands) == 1.0] == 0.0).mean() > 0.9
    assert (flight.cost < law.plan(*starts(8), 0).cost).all()


def test_the_cost_never_rises_from_sweep_to_sweep():
    law = law_of("mpc")
    flights = [law.plan(*starts(16), 0)]
    for _ in range(12):
        flights.append(law.sweep(flights[-1]))
    costs = np.array([flight.cost for flight in flights])
    assert (np.diff(costs, axis=0) <= 0).all()
    assert (costs[-1] < costs[0]).all()
    assert all(np.abs(flight.commands).max() <= 1.0 for flight in flights)


def settling(name, env_id, count, periods):
    """When each of so many lanes is within the tolerances for good [s], inf where it is not."""
    env = gym.make_vec(env_id, count)
    law, memory, inside = controllers.make(name, env), None, []
    seen, _ = env.reset(seed=1)
    for _ in range(periods):
        actions, memory = law.predict(seen, memory)
        assert np.abs(actions).max() <= 1.0
        seen, *_, info = env.step(actions)
        task = env.unwrapped.task
        inside.append((info["attitude_error"] < task.angle) & (info["rate_error"] < task.rate))
    return settling_times(np.array(inside), env.unwrapped.dt)


@pytest.mark.parametrize("name", MADE)
def test_a_planned_slew_settles_sooner_than_by_other_laws_and_as_surely(name):
    planned, bang_bang, pd = (settling(one, SLEW, 8, 60) for one in (name, "bang_bang", "pd"))
    assert np.isfinite(planned).all()
    assert np.median(planned) < np.median(bang_bang) < np.median(pd)


@pytest.mark.parametrize("name", MADE)
def test_wheels_turn_a_satellite_by_a_plan(name):
    assert np.isfinite(settling(name, "ReactionWheelSlew-v1", 4, 200)).all()


@pytest.mark.usefixtures("threads_afterwards")
@pytest.mark.parametrize("name", MADE)
def test_a_lane_is_planned_alike_alone_and_beside_others(name):
    """Whatever the number of threads, and whoever begins anew meanwhile."""
    law, periods = law_of(name), 4
    q, omega = starts(3 * periods)
    rows = np.concatenate([q, omega / law.rate_limit], axis=1).reshape(periods, 3, 7)
    begins = np.zeros((periods, 3), bool)
    begins[0], begins[2, 1] = True, True

    def answers(lanes):
        memory, found = None, []
        for seen, start in zip(rows, begins, strict=True):
            action, memory = law.predict(seen[lanes], memory, start[lanes])
            found.append(action)
        return np.array(found)

    rbgym.set_num_threads(3)
    together = answers(slice(None))
    rbgym.set_num_threads(1)
    alone = [answers(slice(n, n + 1)) for n in range(3)]
    np.testing.assert_array_equal(together, np.concatenate(alone, axis=1))


def test_a_memory_is_left_as_it_was():
    law = law_of("ilqr")
    q, omega = starts(2)
    rows = np.concatenate([q, omega / law.rate_limit], axis=1)
    _, memory = law.predict(rows)
    before = [one.copy() for one in memory]
    law.predict(rows[::-1], memory, np.array([True, False]))
    for one, other in zip(memory, before, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", MADE)
def test_planners_are_named_and_left_out_of_those_that_fit(name):
    assert name in controllers.names()
    assert name not in controllers.for_env(gym.make(SLEW))
    assert type(law_of(name)) is MADE[name]


@refused(
    ({"horizon": 0.0}, "horizon must be a positive finite number, got 0.0"),
    ({"horizon": 1e9}, "horizon must be at most .* s with 40 steps, got 1000000000.0"),
    ({"steps": 2.5}, "steps must be a positive integer, got 2.5"),
    ({"steps": 100_000}, "steps must be at most 1000, got 100000"),
    ({"sweeps": 0}, "sweeps must be a positive integer, got 0"),
    ({"tolerances": (0.1, -1.0)}, "tolerances must be positive"),
    ({"tolerances": (0.1,)}, r"tolerances must be .*shape \(2,\)"),
    ({"tolerances": (1e-200, 1e200)}, "must make a Riccati equation that has a solution"),
    ({"horizonn": 3.0}, "did you mean 'horizon'"),
)
def test_a_wrong_gain_is_refused_by_name(gains):
    controllers.make("mpc", gym.make(SLEW), **gains)


PULSED = {"thrusters": {"minimum_pulse": 0.01}}
PUSHED = {"disturbance": lambda states: np.zeros((1, 3))}


@pytest.mark.parametrize("name", MADE)
@refused(
    (SLEW, PUSHED, "disturbance must be given by name for planned slews"),
    (SLEW, {"actuator": PULSED}, "actuator must be without pulses for planned slews"),
    (SLEW, {"disturbance": {"gravity_gradient": 0.3}}, "have torque commands and no potential"),
    (SLEW, {"torque_limit": [0.02, 0.02, 0.0]}, "torque_limit must be positive"),
    ("AttitudeTracking-v1", {}, "env must have a target at rest for planned slews"),
    ("Detumble-v1", {}, "env must have a target attitude, .* for planned slews"),
)
def test_an_env_without_a_slew_or_without_derivatives_is_refused(env_id, kwargs, name):
    controllers.make(name, gym.make(env_id, **kwargs))
