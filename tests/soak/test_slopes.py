"""Every part, and every scheme behind every kind of actuator: its derivatives, or what it lacks."""

import numpy as np
import pytest

import rbgym
from family import SLEW, many
from interpreted_runs import CASES
from rbgym.envs.derivatives import Differentiation
from rbgym.quaternion import multiply
from slopes import errors

_AT_GOAL = 5
_ORBIT = {"altitude": 5e5, "inclination": 1.7}
# Task, arguments, and what a scheme must support to fly it.
ACTUATORS = {
    "torques behind a line": (
        SLEW, {"actuator": {"delay": {"seconds": 0.7}, "lag": {"time_constant": 0.4}}}, "torque"),
    "wheels": ("InertialPointing-v0", {"actuator": {"wheels": {"coulomb": 0.0}}}, "rotors"),
    "wheels and coils": (
        SLEW, {"actuator": ["pyramid", "magnetorquers"], "orbit": _ORBIT}, "rotors"),
    "coils": (SLEW, {"actuator": ["magnetorquers"], "orbit": _ORBIT}, "torque"),
    "torques and forces": ("FreeFlyer-v0", {}, "translation"),
    "scaling": ("ScalableSpin-v0", {}, "scale"),
    "torques beside weight": ("RigidTop-v0", {}, "potential"),
}  # fmt: skip


def placed(env):
    """Commands for eight lanes, which are put: anywhere; at rest without a command, with one about
    one axis, next to none; turning about one axis; at the goal; half a turn from it; with wheels
    whose momentum and the body's are none together. Wheels stand just beside their turning point,
    at which friction has no derivative."""
    env.reset(seed=3)
    state, rng, n = env.state, np.random.default_rng(1), env.num_envs
    rates = rng.uniform(-0.2, 0.2, (n, 3)) * env.rate_limit
    actions = rng.uniform(-0.6, 0.6, env.action_space.shape)
    q, target = state["quaternion"], state["target_quaternion"]
    rates[1:4], rates[_AT_GOAL], actions[1:3], actions[4:6] = 0.0, 0.0, 0.0, 0.0
    rates[4, 1:], actions[2, 0], actions[3] = 0.0, 0.5, 1e-8
    q[_AT_GOAL] = target[_AT_GOAL]
    if env.goal.has_target():
        q[6] = multiply(target[6:7], np.array([[0.0, 0.6, 0.8, 0.0]]))[0]
    wanted = "position", "velocity", "scale", "scale_rate", "orbit_phase"
    put = {name: state[name] for name in wanted if name in state}
    if env.goal.has_target():
        put["target_quaternion"] = target
    if (wheels := env.actuator.rotors) is not None:
        rates[7] *= 0.01
        momenta = state["wheel_momentum"]
        momenta[[1, 2, 3, _AT_GOAL]] = -1e-4 * wheels.momentum
        momenta[7] = -np.linalg.pinv(np.transpose(wheels.axes)) @ env.body.inertia @ rates[7]
        put["wheel_momentum"] = momenta
    env.reset(seed=3, options={"state": {"quaternion": q, "angular_velocity": rates, **put}})
    return actions


def assert_has_those_of_differences(env_id, **kwargs):
    env = many(env_id, 8, **kwargs)
    off = errors(env, placed(env), 1e-5)
    off[_AT_GOAL, -1] = 0.0  # where rewards may have a corner
    assert off.max() < 1e-6


@pytest.mark.parametrize("case", CASES)
def test_a_task_and_every_part_have_the_derivatives_of_their_differences(case):
    env_id, kwargs = CASES[case]
    refused = "not a dict of goals" if env_id == "AttitudeReach-v0" else "without pulses"
    if env_id == "AttitudeReach-v0" or "thrusters" in case:
        with pytest.raises(ValueError, match=refused):
            Differentiation(many(env_id, 8, **kwargs))
    else:
        assert_has_those_of_differences(env_id, **kwargs)


@pytest.mark.parametrize("integrator", rbgym.integrators.names())
@pytest.mark.parametrize("actuator", ACTUATORS)
def test_every_scheme_has_the_derivatives_of_its_differences(actuator, integrator):
    env_id, kwargs, needs = ACTUATORS[actuator]
    if needs in rbgym.integrators.get(integrator).supports:
        assert_has_those_of_differences(env_id, integrator=integrator, **kwargs)
