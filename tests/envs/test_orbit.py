"""One orbit for all that needs it: against Newton's equation and formulas in other frames."""

import math

import gymnasium as gym
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from family import SLEW, at, make, many
from rbgym import RigidBody
from rbgym.envs.actuators import MagneticCoils, ReactionWheels
from rbgym.envs.checks import check_vector_env
from rbgym.envs.orbit import DIPOLE_TILT, EARTH_GRAVITY, EARTH_RADIUS, EARTH_RATE, Orbit
from rbgym.quaternion import rotate, rotate_inverse, to_matrix

COILS, TRACKING = "MagneticDetumble-v0", "AttitudeTracking-v0"
TILTED = (0.8, 0.36, -0.48, 0.0)
ROUND = {"altitude": 400e3, "inclination": 0.9}
OVAL = {**ROUND, "eccentricity": 0.3, "perigee": 1.1}
PULL = {"gravity_gradient": True}
FREELY = {"max_episode_steps": -1}


def start(orbit):
    """Position [m] and velocity [m/s] at the perigee, world axes, by the textbook's elements."""
    a = (EARTH_RADIUS + orbit.altitude) / (1 - orbit.eccentricity)
    rp, e, i, w = EARTH_RADIUS + orbit.altitude, orbit.eccentricity, orbit.inclination, orbit.perigee
    out = np.array([np.cos(w), np.sin(w) * np.cos(i), np.sin(w) * np.sin(i)])
    on = np.array([-np.sin(w), np.cos(w) * np.cos(i), np.cos(w) * np.sin(i)])
    return rp * out, math.sqrt(EARTH_GRAVITY * (1 + e) / (1 - e) / a) * on


def flight(orbit, seconds):
    """Positions and velocities (n, 6) so many seconds after the perigee, by Newton's equation."""

    def fall(_t, y):
        return [*y[3:], *(-EARTH_GRAVITY * y[:3] / np.linalg.norm(y[:3]) ** 3)]

    found = solve_ivp(
        fall, (0, max(seconds)), np.concatenate(start(orbit)), "DOP853", seconds,
        rtol=1e-12, atol=1e-6,
    )  # fmt: skip
    return found.y.T


def dipole(position, hour):
    """B [T] of the Earth's dipole in 2025: the gradient of its potential, by differences."""
    g = 1e-9 * np.array([-1410.3, 4545.5, -29350.0])  # IGRF-14: g11, h11, g10, axes of the Earth
    moment = np.array([
        np.hypot(g[0], g[1]) * np.cos(hour), np.hypot(g[0], g[1]) * np.sin(hour), g[2]
    ])  # fmt: skip

    def potential(r):
        return EARTH_RADIUS**3 * (moment @ r) / np.linalg.norm(r) ** 3

    h = 100.0
    return -np.array([
        (potential(position + h * d) - potential(position - h * d)) / (2 * h) for d in np.eye(3)
    ])  # fmt: skip


@pytest.mark.parametrize("given", [ROUND, OVAL])
def test_field_attraction_and_target_are_those_of_one_place_that_falls_freely(given):
    orbit = Orbit(**given)
    body = RigidBody([0.18, 0.14, 0.06])
    env = make(
        SLEW, orbit=given, actuator="magnetorquers", disturbance=PULL, reference="nadir",
        body=body, dt=10.0, **FREELY,
    )  # fmt: skip
    hour = 0.7
    observation, _ = at(
        env, TILTED, (1e-3, -2e-3, 1e-3), orbit_phase=orbit.perigee / math.tau,
        earth_phase=hour / math.tau,
    )  # fmt: skip
    times = 10.0 * np.arange(300)
    for time, y in zip(times, flight(orbit, times), strict=True):
        r, v, q = y[:3], y[3:], env.state["quaternion"]
        B = rotate_inverse(q, dipole(r, hour + EARTH_RATE * time)) / (2 * env.actuator.field)
        np.testing.assert_allclose(observation[10:13], B, rtol=0, atol=3e-7)
        # The potential energy is what the energy has beside the kinetic one, or Jacobi's integral.
        c, omega = rotate_inverse(q, r / np.linalg.norm(r)), env.state["angular_velocity"]
        V = 1.5 * EARTH_GRAVITY / np.linalg.norm(r) ** 3 * (c @ body.inertia @ c)
        energy = 0.5 * omega @ body.inertia @ omega + V
        if not orbit.eccentricity:
            momentum = env.state["angular_momentum"]
            energy -= orbit.rate * np.cross(r, v) / np.linalg.norm(np.cross(r, v)) @ momentum
        assert env.invariants()["energy"] == pytest.approx(energy, rel=1e-9)
        x, y_axis, z = to_matrix(env.state["target_quaternion"]).T
        np.testing.assert_allclose(z, -r / np.linalg.norm(r), rtol=0, atol=1e-9)
        across = np.cross(r, v) / np.linalg.norm(np.cross(r, v))
        np.testing.assert_allclose(y_axis, -across, rtol=0, atol=1e-9)
        np.testing.assert_allclose(x, np.cross(y_axis, z), rtol=0, atol=1e-9)
        rate = np.linalg.norm(np.cross(r, v)) / (r @ r)
        seen = env.state["target_angular_velocity"]
        np.testing.assert_allclose(seen, [0, -rate, 0], rtol=0, atol=1e-11)
        observation, *_ = env.step(np.zeros(3))
