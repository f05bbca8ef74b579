"""The equations of motion solved by general solvers of differential equations."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.bodies import Array, Motion, State
from benchmarks.record import module
from rbgym import HeavyTop
from rbgym.potentials import CircularOrbit

Rates = Callable[[Any, Any], tuple[Any, ...]]


def _cross(a: Any, b: Any) -> tuple[Any, ...]:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _seen(w: Any, x: Any, y: Any, z: Any, d: Any) -> tuple[Any, ...]:
    """The world direction d in body axes."""
    a, b, c = d
    return (
        (1.0 - 2.0 * (y * y + z * z)) * a + 2.0 * (x * y + w * z) * b + 2.0 * (x * z - w * y) * c,
        2.0 * (x * y - w * z) * a + (1.0 - 2.0 * (x * x + z * z)) * b + 2.0 * (y * z + w * x) * c,
        2.0 * (x * z + w * y) * a + 2.0 * (y * z - w * x) * b + (1.0 - 2.0 * (x * x + y * y)) * c,
    )


def rates(motion: Motion, cos: Any = math.cos, sin: Any = math.sin) -> Rates:
    """Euler's equations about the principal axes, and the quaternion's: the rates of change of
    (w, x, y, z, p, q, r) at time t."""
    A, B, C = motion.J
    u_1, u_2, u_3 = motion.torque
    field = motion.potential

    def pull(t: Any, *attitude: Any) -> tuple[Any, ...]:
        if isinstance(field, HeavyTop):
            weight = [-field.mgl * c for c in _seen(*attitude, (0.0, 0.0, 1.0))]
            return _cross(field.axis, weight)
        assert isinstance(field, CircularOrbit)
        c, s = cos(field.rate * t), sin(field.rate * t)
        ahead = _cross(field.normal, field.direction)
        towards = [c * x + s * y for x, y in zip(field.direction, ahead, strict=True)]
        c_1, c_2, c_3 = _seen(*attitude, towards)
        k = 3.0 * field.rate**2
        return k * (C - B) * c_2 * c_3, k * (A - C) * c_3 * c_1, k * (B - A) * c_1 * c_2

    def found(t: Any, state: Any) -> tuple[Any, ...]:
        w, x, y, z, p, q, r = state
        T_1, T_2, T_3 = u_1, u_2, u_3
        if field is not None:
            P_1, P_2, P_3 = pull(t, w, x, y, z)
            T_1, T_2, T_3 = u_1 + P_1, u_2 + P_2, u_3 + P_3
        return (
            0.5 * (-x * p - y * q - z * r),
            0.5 * (w * p + y * r - z * q),
            0.5 * (w * q + z * p - x * r),
            0.5 * (w * r + x * q - y * p),
            (T_1 + (B - C) * q * r) / A,
            (T_2 + (C - A) * r * p) / B,
            (T_3 + (A - B) * p * q) / C,
        )

    return found


def reference(motion: Motion, t: float, steps: int = 400) -> State:
    """State at time t by Gragg's extrapolated midpoint rule of order 16, in NumPy's long doubles
    (Hairer, Norsett & Wanner 1993, section II.9)."""
    real = np.longdouble
    f = rates(
        motion._replace(J=tuple(map(real, motion.J)), torque=tuple(map(real, motion.torque))),
        np.cos,
        np.sin,
    )
    y, H = np.array([*motion.quaternion, *motion.omega], real), real(t) / steps
    y[:4] /= np.sqrt(y[:4] @ y[:4])
    for n in range(steps):
        table: list[Array] = []
        for k in range(1, 9):
            h, low = H / (2 * k), y
            high = y + h * np.array(f(n * H, y))
            for m in range(1, 2 * k):
                low, high = high, low + 2 * h * np.array(f(n * H + m * h, high))
            end = 0.5 * (low + high + h * np.array(f(n * H + H, high)))
            column = [end]
            for j, before in enumerate(table, 1):
                ratio = (real(k) / (k - j)) ** 2
                column.append(column[-1] + (column[-1] - before) / (ratio - 1))
            table = column
        y = table[-1]
    return np.array(y[:4], float), np.array(y[4:], float)


class SciPy:
    """DOP853, called from Python; dt only says where it is looked at."""

    def __init__(self, motion: Motion, dt: float, rtol: float = 1e-13) -> None:
        self.solve = module("scipy.integrate").solve_ivp
        self.motion, self.dt, self.rtol, self.now = motion, dt, rtol, 0.0
        rate = rates(motion)
        self.rates = lambda t, y: rate(t, y.tolist())
        self.start()

    def start(self) -> None:
        self.now, self.y = 0.0, np.array([*self.motion.quaternion, *self.motion.omega])

    def advance(self, steps: int) -> None:
        span = (self.now, self.now + steps * self.dt)
        found = self.solve(
            self.rates, span, self.y, "DOP853", t_eval=span[1:], rtol=self.rtol, atol=self.rtol
        )
        self.now, self.y = span[1], found.y[:, -1]

    def state(self) -> State:
        return self.y[:4].copy(), self.y[4:].copy()


class Diffrax:
    """Dopri8 with steps of fixed length, float64, compiled by JAX."""

    def __init__(self, motion: Motion, dt: float) -> None:
        jax, diffrax = module("jax"), module("diffrax")
        jax.config.update("jax_enable_x64", True)
        rate = rates(motion, jax.numpy.cos, jax.numpy.sin)
        solver = diffrax.Dopri8()
        term = diffrax.ODETerm(lambda t, y, args: jax.numpy.stack(rate(t, y)))

        def once(_: Any, held: Any) -> Any:
            t, y, kept = held
            y, _error, _dense, kept, _result = solver.step(term, t, t + dt, y, None, kept, False)
            return t + dt, y, kept

        self.run = jax.jit(lambda n, *held: jax.lax.fori_loop(0, n, once, held))
        y = jax.numpy.array([*motion.quaternion, *motion.omega])
        self.initial = jax.numpy.array(0.0), y, solver.init(term, 0.0, dt, y, None)
        self.start()

    def start(self) -> None:
        self.held = self.initial

    def advance(self, steps: int) -> None:
        self.held = self.run(steps, *self.held)
        self.held[1].block_until_ready()

    def state(self) -> State:
        y = np.asarray(self.held[1])
        return y[:4].copy(), y[4:].copy()
