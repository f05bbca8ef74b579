"""Random numbers of an episode: a counter-based generator keyed by (seed, episode).

Start states depend only on that key, so test sets, checkpoints and batches of any size agree.
Philox 4x64-10 of Salmon et al. (2011), the same stream as numpy.random.Philox(key=(seed, episode)).
"""

import math

import numpy as np

from rbgym.compiled.dual import frozen
from rbgym.compiled.jit import inlined
from rbgym.compiled.record import Record
from rbgym.quaternion import cos_sin

_M0 = np.uint64(0xD2E7470EE14C6C93)
_M1 = np.uint64(0xCA5A826395121157)
_W0 = np.uint64(0x9E3779B97F4A7C15)
_W1 = np.uint64(0xBB67AE8584CAA73B)
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_CUT = 0.5 * math.erfc(3.0 * math.sqrt(0.5))  # probability of a normal number above 3


@inlined
def _high(a, low, high):
    """Upper 64 bits of a product. The second factor comes in two halves, because the compiler turns
    a product of two whole numbers into 128 bits, which it does not vectorise."""
    a0, a1 = a & _LOW, a >> _32
    middle = a1 * low + ((a0 * low) >> _32)
    return a1 * high + (middle >> _32) + (((middle & _LOW) + a0 * high) >> _32)


@inlined
def _philox(counter, key0, key1):
    c0, c1, c2, c3 = counter, np.uint64(0), np.uint64(0), np.uint64(0)
    for _ in range(10):
        c0, c1, c2, c3 = (
            _high(c2, _M1 & _LOW, _M1 >> _32) ^ c1 ^ key0,
            _M1 * c2,
            _high(c0, _M0 & _LOW, _M0 >> _32) ^ c3 ^ key1,
            _M0 * c0,
        )
        key0, key1 = key0 + _W0, key1 + _W1
    return c0, c1, c2, c3


@inlined
def _unit(x):
    return np.float64(x >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inlined
def numbers(seed, episode, block):
    """Four numbers uniform in [0, 1). block: from 1 on, one for each use. All are uint64."""
    x = _philox(block, seed, episode)
    return (_unit(x[0]), _unit(x[1]), _unit(x[2]), _unit(x[3]))


@inlined
def on_circle(u):
    """A uniform direction in the plane, from a uniform number."""
    return cos_sin(math.tau * u - math.pi)


@inlined
def on_sphere(u, v):
    """A uniform direction in space, from two uniform numbers."""
    z, around = 2.0 * u - 1.0, on_circle(v)
    across = math.sqrt(max(1.0 - z * z, 0.0))
    return (across * around[0], across * around[1], z)


class Uniform(Record):
    """A distribution of a number drawn for each episode: uniform in center +- spread."""

    center: float
    spread: float

    def quantile(self, u):
        """The quantile u of the distribution, u in [0, 1)."""
        return self.center + self.spread * (2.0 * u - 1.0)

    @property
    def highest(self) -> float:
        """The largest number that it draws."""
        return float(self.quantile(1.0))


class Above(Uniform):
    """Uniform from center to center + spread."""

    def quantile(self, u):
        return self.center + self.spread * u


class LogUniform(Uniform):
    """Its logarithm is uniform in center +- spread."""

    def quantile(self, u):
        return math.exp(self.center + self.spread * (2.0 * u - 1.0))


class Normal(Uniform):
    """Normal with standard deviation spread, truncated at three standard deviations."""

    def quantile(self, u):
        p, x = _CUT + (1.0 - 2.0 * _CUT) * u, 0.0
        for _ in range(12):  # Newton's method; started at zero it cannot overshoot
            above = 0.5 * math.erfc(-math.sqrt(0.5) * x) - p
            x -= math.sqrt(math.tau) * math.exp(0.5 * x * x) * above
        return self.center + self.spread * x


# Noise: a number for each use in each step, from the episode's key.
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_PARTS = 1.0 / 4294967296.0
LARGEST_NORMAL = 6.67  # bound of `normal`: sqrt(2 log(2**32))


@inlined
def _mixed(x):
    """SplitMix64 (Steele, Lea & Flood 2014), a few instructions that vectorise."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


@inlined
def normal(key, step, use):
    """Standard normal number, at most 6.67 in size (Box & Muller 1958, from two 32-bit numbers).

    key: integer below 2**53; step: of the episode; use: 0 to 15, one for each purpose in a step.
    A constant for derivatives.
    """
    counter = np.uint64(frozen(step)) * np.uint64(16) + np.uint64(use)
    x = _mixed(np.uint64(frozen(key)) * np.uint64(2048) + (counter + np.uint64(1)) * _W0)
    u, v = np.float64((x >> _32) + np.uint64(1)), np.float64(x & _LOW)
    return math.sqrt(-2.0 * math.log(_PARTS * u)) * on_circle(_PARTS * v)[0]


@inlined
def normals(key, step, use):
    """Three normal numbers, for use, use + 1 and use + 2."""
    return (normal(key, step, use), normal(key, step, use + 1), normal(key, step, use + 2))
