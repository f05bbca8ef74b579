"""The equations of a free body solved by general solvers of differential equations."""

from typing import Any

import numpy as np

from benchmarks.bodies import Array, Motion, State
from benchmarks.record import module


def _euler_rates(motion: Motion) -> tuple[float, float, float]:
    a, b, c = motion.J
    return (b - c) / a, (c - a) / b, (a - b) / c


class SciPy:
    """Euler's equations and the quaternion's, by DOP853; dt only says where it is looked at."""

    def __init__(self, motion: Motion, dt: float, rtol: float = 1e-13) -> None:
        self.solve = module("scipy.integrate").solve_ivp
        self.dt, self.now, self.rtol = dt, 0.0, rtol
        self.y = np.array([1.0, 0.0, 0.0, 0.0, *motion.omega])
        k_1, k_2, k_3 = _euler_rates(motion)

        def rates(t: float, y: Array) -> tuple[float, ...]:
            q_0, q_1, q_2, q_3, p, q, r = y.tolist()
            return (
                0.5 * (-q_1 * p - q_2 * q - q_3 * r),
                0.5 * (q_0 * p + q_2 * r - q_3 * q),
                0.5 * (q_0 * q + q_3 * p - q_1 * r),
                0.5 * (q_0 * r + q_1 * q - q_2 * p),
                k_1 * q * r,
                k_2 * r * p,
                k_3 * p * q,
            )

        self.rates = rates

    def advance(self, steps: int) -> None:
        span = (0.0, steps * self.dt)
        found = self.solve(
            self.rates, span, self.y, "DOP853", t_eval=span[1:], rtol=self.rtol, atol=self.rtol
        )
        self.y = found.y[:, -1]

    def state(self) -> State:
        return self.y[:4].copy(), self.y[4:].copy()


class Diffrax:
    """The same equations by Dopri8 with steps of fixed length, float64, compiled by JAX."""

    def __init__(self, motion: Motion, dt: float) -> None:
        jax, diffrax = module("jax"), module("diffrax")
        jax.config.update("jax_enable_x64", True)
        k = _euler_rates(motion)

        def rates(t: Any, y: Any, args: Any) -> Any:
            w, x, y_, z, p, q, r = y
            turn = (-x * p - y_ * q - z * r, w * p + y_ * r - z * q,
                    w * q + z * p - x * r, w * r + x * q - y_ * p)  # fmt: skip
            return jax.numpy.stack(
                [*(0.5 * v for v in turn), k[0] * q * r, k[1] * r * p, k[2] * p * q]
            )

        solver, term = diffrax.Dopri8(), diffrax.ODETerm(rates)

        def once(_: Any, held: Any) -> Any:
            y, kept = held
            y, _error, _dense, kept, _result = solver.step(term, 0.0, dt, y, None, kept, False)
            return y, kept

        self.run = jax.jit(lambda n, y, kept: jax.lax.fori_loop(0, n, once, (y, kept)))
        self.y = jax.numpy.array([1.0, 0.0, 0.0, 0.0, *motion.omega])
        self.kept = solver.init(term, 0.0, dt, self.y, None)

    def advance(self, steps: int) -> None:
        self.y, self.kept = self.run(steps, self.y, self.kept)
        self.y.block_until_ready()

    def state(self) -> State:
        y = np.asarray(self.y)
        return y[:4].copy(), y[4:].copy()
