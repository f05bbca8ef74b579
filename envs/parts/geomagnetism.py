"""The Earth's main magnetic field: a tilted dipole, or the whole of IGRF-14.

Both give B in world axes; the world z axis is the Earth's axis. u is the unit vector from the
Earth's centre, a the reference radius of 6371.2 km, r the distance.

The harmonics are written as by Pines (1973), Uniform representation of the gravitational potential
and its derivatives, AIAA Journal 11(11), without a singularity at the poles: with A_nm(w) the m-th
derivative of the Legendre polynomial P_n, and C_m + i S_m = (u_x + i u_y)^m in Earth-fixed axes,

    V = a sum (a/r)^(n+1) A_nm(u_z) (g_nm C_m + h_nm S_m),   B = -grad V,

where g and h include Schmidt's factors.
"""

import math
from pathlib import Path

import numpy as np

from rbgym.compiled.record import Record
from rbgym.quaternion import cos_sin, dot, scale, sub

FIRST, LAST = 2025.0, 2030.0  # years for which the coefficients hold
_ROWS = np.loadtxt(Path(__file__).with_name("igrf14.csv"), delimiter=",", skiprows=3)
_DEGREE = 13


def _coefficients(column: int) -> np.ndarray:
    """A column of the table by degree and order, times Schmidt's factors [T or T/year]."""
    found = np.zeros((_DEGREE + 1, _DEGREE + 1))
    for row in _ROWS:
        n, m = int(row[0]), int(row[1])
        factor = math.sqrt((2.0 if m else 1.0) * math.factorial(n - m) / math.factorial(n + m))
        found[n, m] = 1e-9 * factor * row[column]
    return found


_G, _H, _DG, _DH = (_coefficients(column) for column in range(2, 6))
# The dipole of 2025 [T]; its moment lies at EAST in the Earth's longitude [rad].
_G10, _G11, _H11 = _G[1, 0], _G[1, 1], _H[1, 1]
EQUATOR_FIELD = math.hypot(_G10, _G11, _H11)  # at the magnetic equator on the ground
DIPOLE_TILT = math.atan2(math.hypot(_G11, _H11), -_G10)
EAST = math.atan2(_H11, _G11)


class Dipole(Record):
    """A dipole at the Earth's centre. equator: field [T] above its equator at the perigee's height;
    cos_lean, sin_lean: of its angle from the Earth's south pole."""

    equator: float
    cos_lean: float
    sin_lean: float

    def flux(self, up, nearness, earth):
        """B [T]. up: unit vector from the Earth's centre; nearness: distance of the perigee over
        the distance; earth: longitude of the dipole's moment, in turns."""
        cos, sin = cos_sin(math.tau * earth)
        d = (self.sin_lean * cos, self.sin_lean * sin, -self.cos_lean)
        B = scale(self.equator, sub(scale(3.0 * dot(d, up), up), d))
        return scale(nearness * nearness * nearness, B)


class Harmonics(Record):
    """IGRF-14 to degree 13. lowest: Earth's radius over the perigee's distance; elapsed_years:
    since 2025."""

    lowest: float
    elapsed_years: float

    def flux(self, up, nearness, earth):
        cos, sin = cos_sin(math.tau * earth - EAST)  # of Greenwich
        x, y, w = cos * up[0] + sin * up[1], cos * up[1] - sin * up[0], up[2]
        ratio = self.lowest * nearness
        east, north, axial, radial = 0.0, 0.0, 0.0, 0.0
        c, s, c_before, s_before = 1.0, 0.0, 0.0, 0.0
        diagonal, power = 1.0, ratio * ratio  # A_mm, (a/r)^(m + 2)
        for m in range(_DEGREE + 1):
            a, a_below, b, b_below, size = diagonal, 0.0, 0.0, 0.0, power
            for n in range(m, _DEGREE + 1):
                if n > m:  # a is A_nm, b the derivative, A_n(m+1)
                    a, a_below = ((2 * n - 1) * w * a - (n + m - 1) * a_below) / (n - m), a
                if n == m + 1:
                    b = (2 * m + 1) * diagonal
                elif n > m + 1:
                    b, b_below = ((2 * n - 1) * w * b - (n + m) * b_below) / (n - m - 1), b
                g = _G[n, m] + self.elapsed_years * _DG[n, m]
                h = _H[n, m] + self.elapsed_years * _DH[n, m]
                wave = g * c + h * s
                east += size * m * a * (g * c_before + h * s_before)
                north += size * m * a * (h * c_before - g * s_before)
                axial += size * b * wave
                radial -= size * ((n + m + 1) * a + w * b) * wave
                size *= ratio
            c, s, c_before, s_before = x * c - y * s, x * s + y * c, c, s
            diagonal, power = diagonal * (2 * m + 1), power * ratio
        B_x, B_y = -(east + radial * x), -(north + radial * y)
        return cos * B_x - sin * B_y, sin * B_x + cos * B_y, -(axial + radial * w)
