"""Every part, and every scheme behind every kind of actuator: its derivatives, or what it lacks."""

import copy

import pytest

import rbgym
from family import SLEW, many
from interpreted_runs import CASES
from rbgym.envs.derivatives import Differentiation
from slopes import assert_has_those_of_differences

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


@pytest.mark.parametrize("case", CASES)
def test_a_task_and_every_part_have_the_derivatives_of_their_differences(case):
    env_id, kwargs = copy.deepcopy(CASES[case])
    kwargs.get("sensor", {}).get("gyro", {}).pop("quantisation", None)  # a difference may cross one
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
