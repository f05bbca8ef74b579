"""The papers' own cases, as data: body, start, potential, end time (SI units)."""

from typing import NamedTuple

import numpy as np

from textbook import Top
from textbook_quaternion import Array, quaternion_of_rotation_vector, quaternion_product

E1, E2, E3 = np.eye(3)
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
# Of no paper: a body with products of inertia, where it starts, and how it turns.
TENSOR = np.array([[2.0, 0.2, -0.1], [0.2, 1.4, 0.15], [-0.1, 0.15, 0.9]])
Q = np.array([0.6, -0.3, 0.5, 0.4]) / np.linalg.norm([0.6, -0.3, 0.5, 0.4])
OMEGA = np.array([0.9, -0.7, 1.3])


class Case(NamedTuple):
    """A published initial-value problem; `end` [s] is when the paper measures errors."""

    inertia: Array  # (3,) principal moments [kg m^2]
    quaternion: Array  # (4,) scalar first, body to world
    angular_velocity: Array  # (3,) body frame [rad/s]
    potential: Top | None
    end: float


# Betsch & Siebert (2009), section 5.1
BETSCH_FREE = Case(np.array([6.0, 8.0, 3.0]), IDENTITY, np.array([10.0, 20.0, 20.0]), None, 1.0)

# Krysl (2007), section 5.1; the start attitude is not printed, the identity is taken
KRYSL_FREE = Case(
    np.array([0.9144, 1.098, 1.66]), IDENTITY, np.array([0.45549, 0.82623, 0.03476]), None, 100.0
)

# Krysl (2007), sections 5.2 and 5.3: t = -20 R(:,3) x (0, 0, 1), so m g l = 20.
# The end time of the fast top is not printed in the text.
KRYSL_TOP_INERTIA = np.array([5.0, 5.0, 1.0])
KRYSL_SLOW_TOP = Case(
    KRYSL_TOP_INERTIA, quaternion_of_rotation_vector(0.05 * E1), 5.0 * E3, Top(20.0, E3), 20.0
)
KRYSL_FAST_TOP = Case(
    KRYSL_TOP_INERTIA, quaternion_of_rotation_vector(0.3 * E1), 50.0 * E3, Top(20.0, E3), 10.0
)

# Betsch & Siebert (2009), section 5.2: a cone spinning on its tip
CONE_HEIGHT, CONE_RADIUS, CONE_DENSITY, GRAVITY = 0.1, 0.05, 2700.0, 9.81
CONE_MASS = CONE_DENSITY * np.pi * CONE_RADIUS**2 * CONE_HEIGHT / 3
CONE_ARM = 0.75 * CONE_HEIGHT  # from the tip to the centre of mass [m]
CONE_J1 = 3 * CONE_MASS / 80 * (4 * CONE_RADIUS**2 + CONE_HEIGHT**2) + CONE_MASS * CONE_ARM**2
CONE_J3 = 3 * CONE_MASS / 10 * CONE_RADIUS**2
CONE_MGL = CONE_MASS * GRAVITY * CONE_ARM
CONE_NUTATION, CONE_PRECESSION_RATE = np.pi / 3, 10.0
CONE_SPIN_RATE = CONE_MGL / (CONE_J3 * CONE_PRECESSION_RATE)
CONE_SPIN_RATE += (CONE_J1 - CONE_J3) / CONE_J3 * CONE_PRECESSION_RATE * np.cos(CONE_NUTATION)


def steady_precession(t: float) -> tuple[Array, Array]:
    """Exact attitude and body rate of the cone: R = R_z(w_p t) R_x(theta_0) R_z(w_s t)."""
    precession = quaternion_of_rotation_vector(CONE_PRECESSION_RATE * t * E3)
    nutation = quaternion_of_rotation_vector(CONE_NUTATION * E1)
    spin = quaternion_of_rotation_vector(CONE_SPIN_RATE * t * E3)
    across = CONE_PRECESSION_RATE * np.sin(CONE_NUTATION)
    along = CONE_PRECESSION_RATE * np.cos(CONE_NUTATION) + CONE_SPIN_RATE
    angle = CONE_SPIN_RATE * t  # the body turns under the precession axis e3
    omega = np.array([across * np.sin(angle), across * np.cos(angle), along])
    return quaternion_product(quaternion_product(precession, nutation), spin), omega


def steady_precession_centre_of_mass(t: float) -> Array:
    """The printed phi_ref(t) of section 5.2.3 [m]."""
    out, angle = CONE_ARM * np.sin(CONE_NUTATION), CONE_PRECESSION_RATE * t
    height = CONE_ARM * np.cos(CONE_NUTATION)
    return np.array([out * np.sin(angle), -out * np.cos(angle), height])


BETSCH_CONE = Case(
    np.array([CONE_J1, CONE_J1, CONE_J3]), *steady_precession(0.0), Top(CONE_MGL, E3), 1.0
)
