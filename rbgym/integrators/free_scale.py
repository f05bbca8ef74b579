"""The scalable body of Moller & Glocker (2012) with a free size, for the engine.

It takes the step of `rbgym.scalable_step`. Of its state, the engine's rows hold attitude and
momentum, and the memory holds scale, scaling momentum and scaling force. The rows of the inertia
hold s^2 Theta, the inertia at the current size, so that angular velocity and rotational energy mean
the same as for every other body. It is not in the catalogue: "scalable_em" becomes this scheme for
a body whose size is free.
"""

import math

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import constant
from rbgym.integrators.interface import Explicit, Hasty
from rbgym.quaternion import scale
from rbgym.rows import J_INV, LANES, J, put_vector, vector, vector_if
from rbgym.scalable_step import FullState, Inertia, Load, end_of_step, fast_root, find_root, step_of

# Rows of the memory: s, sigma [kg m^2/s], S [N m] and the three moments Theta at s = 1.
SCALE, SCALING, FORCE, REFERENCE = 0, 1, 2, 3

_ZERO = (0.0, 0.0, 0.0)


@inlined
def _scalable(step):
    """The same step for `rbgym.scalable_step`."""
    s, sigma, force, moments = step.memory
    half_trace = 0.5 * (moments[0] + moments[1] + moments[2])
    # The torque u is the moment u/s: M has the impulse h |A_m|^2 R_m M, and |A_m|^2 is nearly s.
    load = Load(_ZERO, force, scale(1.0 / s, step.u))
    now = FullState(_ZERO, _ZERO, step.q, s, sigma, step.L)
    return step_of(Inertia(1.0, half_trace, moments), now, load, step.h, False)


@inlined
def _outcome(step, scalable, good, root):
    _, end = end_of_step(scalable, root)
    w = end.q[0] if good else math.nan  # the engine rejects a NaN
    q = (w, end.q[1], end.q[2], end.q[3])
    _, _, force, moments = step.memory
    return q, end.L, 0.0, (end.s, end.sigma, force, moments)


class FreeScaleFar(Explicit):
    """Solves every step that has a solution, one body after the other."""

    memory_size = constant(6)

    def root(self, scalable):
        """Whether the step has a solution, and the solution."""
        return find_root(scalable)

    def finish(self, potential, body, step, x):
        scalable = _scalable(step)
        good, root = self.root(scalable)
        return _outcome(step, scalable, good, root)

    def load_memory(self, buffer, i, m):
        s, sigma = buffer[m + SCALE * LANES], buffer[m + SCALING * LANES]
        return s, sigma, buffer[m + FORCE * LANES], vector(buffer, m, REFERENCE)

    def store_memory(self, buffer, i, m, memory, unchanged):
        s, sigma, _, moments = memory
        k, n = m + SCALE * LANES, m + SCALING * LANES
        buffer[k] = buffer[k] if unchanged else s
        buffer[n] = buffer[n] if unchanged else sigma
        inverse = (1.0 / moments[0], 1.0 / moments[1], 1.0 / moments[2])
        J_0, J_inv_0 = vector(buffer, i, J), vector(buffer, i, J_INV)
        put_vector(buffer, i, J, vector_if(unchanged, J_0, scale(s * s, moments)))
        put_vector(buffer, i, J_INV, vector_if(unchanged, J_inv_0, scale(1.0 / (s * s), inverse)))


class FreeScale(FreeScaleFar, Hasty):
    """Solves the steps that few corrections solve; the others go to `FreeScaleFar`."""

    thorough = constant(FreeScaleFar())

    def root(self, scalable):
        return fast_root(scalable)
