"""Orbits of tests, and the Sun above them."""

import math

import numpy as np
from scipy.optimize import brentq

from rbgym.envs.orbit import EARTH_GRAVITY, EARTH_RADIUS

ROUND = {"altitude": 400e3, "inclination": 0.9}
OVAL = {**ROUND, "eccentricity": 0.3, "perigee": 1.1}


def sun(season, node):
    """Unit vector to the Sun in axes of which the first is the node, by turns of the axes."""
    tilt = math.radians(23.44)
    about_x = np.array([
        [1, 0, 0], [0, math.cos(tilt), -math.sin(tilt)], [0, math.sin(tilt), math.cos(tilt)]
    ])  # fmt: skip
    about_z = np.array([
        [math.cos(node), math.sin(node), 0], [-math.sin(node), math.cos(node), 0], [0, 0, 1]
    ])  # fmt: skip
    return about_z @ about_x @ [math.cos(season), math.sin(season), 0]


def newton(orbit, phase):
    """Position [m] and velocity [m/s] in world axes, from the elements."""
    e, i, w = orbit.eccentricity, orbit.inclination, orbit.perigee
    a = (EARTH_RADIUS + orbit.altitude) / (1 - e)
    mean = math.remainder(math.tau * phase - w, math.tau)
    E = brentq(lambda E: E - e * math.sin(E) - mean, -4, 4, xtol=1e-15, rtol=1e-15)
    flat = math.sqrt(1 - e * e)
    r = a * np.array([math.cos(E) - e, flat * math.sin(E), 0])
    v = math.sqrt(EARTH_GRAVITY / a) / (1 - e * math.cos(E))
    v = v * np.array([-math.sin(E), flat * math.cos(E), 0])
    turn = np.array([[math.cos(w), -math.sin(w), 0], [math.sin(w), math.cos(w), 0], [0, 0, 1]])
    lean = np.array([[1, 0, 0], [0, math.cos(i), -math.sin(i)], [0, math.sin(i), math.cos(i)]])
    return lean @ turn @ r, lean @ turn @ v
