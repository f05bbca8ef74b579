"""Environments that together have every part, and what their first steps give.

`python interpreted_runs.py FILE` writes it all to a file; with NUMBA_DISABLE_JIT=1, as Python works
it out.
"""

import sys

import numpy as np

from family import IDS, SLEW, many
from rbgym.envs.actuators import Delay, FlexibleModes, Lag, MagneticCoils, ReactionWheels, Thrusters

LANES, STEPS = 3, 6
_CONE = {"axis": (0, 0, 1), "direction": (1, 0, 0), "half_angle": 0.2}
_TERMS = "closeness", "success", "attitude", "rate", "effort", "change", "alive", "progress"
_ORBIT = {"altitude": 5e5, "inclination": 1.7}
_MOVING = {**_ORBIT, "eccentricity": 0.2, "j2": True, "date": "2026-01-01T00:00Z"}
_SIDE = {"area": 1.0, "normal": (0, 0, 1), "centre": (0.1, 0, 0.1)}
MORE = {
    "a line before thrusters, all that is drawn, all that ends": (SLEW, {
        "actuator": [Thrusters(0.05), Delay(0.17), Lag(0.05)],
        "randomization": {"inertia": 0.2, "torque": 0.1, "actuator_scale": 0.1,
                          "misalignment": 0.1, "delay": 0.2, "failure": 0.5, "noise": 0.3},
        "faults": {"time": (0.1, 1.0)},
        "sensor": {"attitude": 1e-3, "rate": 1e-4, "rate_bias": 1e-3},
        "observation": ["rotation_6d", "rate_bias"],
        "reward": dict.fromkeys(_TERMS, 0.5),
        "termination": {"rate_limit": 0.2},
        "disturbance": {"constant": (1e-5, 0, 0), "white_noise": 1e-5},
        "constraints": {"keep_out": [_CONE, {**_CONE, "direction": "between"}], "rate": 0.02,
                        "command": 0.5, "ends": False},
    }),
    "wheels and coils on a circle, nadir, late instruments": (SLEW, {
        "actuator": ["pyramid", "magnetorquers"], "orbit": _ORBIT, "reference": "nadir",
        "disturbance": {"gravity_gradient": True}, "observation": "log_error",
        "constraints": {"momentum": 0.3, "ends": True},
        "sensor": {
            "gyro": {"angle_walk": 1e-5, "rate_walk": 1e-6, "bias": 1e-5, "quantisation": 1e-4},
            "star_tracker": {"across_boresight": 1e-4, "about_boresight": 1e-3, "period": 1.0,
                             "latency": 0.5, "slew_rate": 0.05, "sun_exclusion": 0.5,
                             "earth_exclusion": 0.2, "flag": True,
                             "boresight": [(0, 0, 1), (1, 0, 0)]},
            "magnetometer": {"noise": 1e-8, "bias": 1e-7},
            "sun_sensor": {"noise": 1e-4, "bias": 1e-3},
        },
    }),
    "wheels beside thrusters, on an ellipse": (SLEW, {
        "actuator": [ReactionWheels(), Thrusters(0.05)], "orbit": {**_ORBIT, "eccentricity": 0.2},
        "disturbance": {"gravity_gradient": True, "constant": (1e-6, 0.0, -1e-6)},
        "observation": "quaternion_continuous", "reference": "sun",
        "sensor": {"star_tracker": {"across_boresight": 1e-4}, "gyro": {"scale_factor": 0.01},
                   "coarse_sun": {"noise": 0.01}, "magnetometer": {"noise": 1e-8}},
    }),
    "coils on an ellipse": (SLEW, {
        "actuator": MagneticCoils(0.2), "observation": "rotation_matrix",
        "orbit": {**_ORBIT, "eccentricity": 0.2, "model": "igrf"},
        "disturbance": {"residual_dipole": (0.01, 0.02, 0.0), "drag": {"surfaces": _SIDE},
                        "solar_pressure": {"surfaces": {"area": 1.0, "centre": (0.1, 0, 0)}}},
    }),
    "J2, a target that follows the orbit": (SLEW, {
        "orbit": _MOVING, "reference": "nadir", "disturbance": {"gravity_gradient": True}}),
    "J2, a Sun that moves": (SLEW, {"orbit": _MOVING, "reference": "sun"}),
    "gravity gradient without an orbit, axes that are not principal": (SLEW, {
        "disturbance": {"gravity_gradient": 1e-3}, "observation": "mrp",
        "body": {"inertia": [[0.03, 0.002, 0.0], [0.002, 0.04, 0.0], [0.0, 0.0, 0.05]]},
    }),
    "modes beside a lag and coils, that differ": (SLEW, {
        "actuator": [Lag(0.05), MagneticCoils(0.2), FlexibleModes(((0.1, 0, 0), (0, 0.1, 0)), 2)],
        "randomization": {"inertia": 0.1, "axes": 0.3}, "integrator": "quat_em"}),
    "a target seen ahead": ("AttitudeTracking-v1", {"preview": 2.0}),
    "a sparse reward": ("AttitudeReach-v0", {"reward": "sparse"}),
    "all that wheels differ in, shown": ("InertialPointing-v0", {
        "randomization": {"inertia": 0.1, "axes": 0.3, "friction": {"normal": (1.0, 0.2)}},
        "observation": ["hidden", "friction", "axes", "inertia"],
        "info": ["is_success", "wheel_momentum"]}),
    "gravity drawn": ("RigidTop-v0", {"randomization": {
        "mass": {"normal": (1.0, 0.1)}, "gravity": {"log_uniform": (0.5, 2.0)}}}),
}  # fmt: skip
CASES = {**{env_id: (env_id, {}) for env_id in IDS}, **MORE}


def made(case):
    """The environment of three lanes; short episodes, so that some begin anew."""
    env_id, kwargs = CASES[case]
    return many(env_id, LANES, **({"max_episode_steps": 4} | kwargs))


def run(case):
    """What reset and steps give, as one array: (steps + 1, numbers), numbers of all lanes."""
    env = made(case)
    observation, info = env.reset(seed=5)
    actions = np.random.default_rng(5).uniform(-1.0, 1.0, (STEPS, *env.action_space.shape))
    found = [_numbers(observation, info)]
    for action in actions:
        observation, *judged, info = env.step(action)
        found.append(np.concatenate([_numbers(observation, info), *judged]))
    # A reset gives no reward and no flags.
    found[0] = np.concatenate([found[0], np.zeros(3 * LANES)])
    return np.array(found)


def _numbers(observation, info):
    parts = observation.values() if isinstance(observation, dict) else [observation]
    told = [value for name, value in info.items() if not name.startswith("_")]
    return np.concatenate([np.ravel(np.asarray(part, float)) for part in (*parts, *told)])


if __name__ == "__main__":
    np.savez(sys.argv[1], **{case: run(case) for case in CASES})
