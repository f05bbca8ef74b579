"""Orbits of tests, and the Sun above them."""

import math

import numpy as np

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
