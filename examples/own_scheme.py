# %% [markdown]
# # A scheme of your own, measured
#
# An integrator is one class. You write the explicit midpoint rule on the rotation group and the
# classical Runge-Kutta scheme, and measure what they conserve, their orders, and what their
# accuracy costs. This needs `rbgym[plot]` and writes drifts.png and work_precision.png.

# %%
import math
from time import process_time

import rbgym
from rbgym.integrators import Explicit, Integrator
from rbgym.integrators.interface import CONSERVES_MOMENTUM
from rbgym.integrators.rotations import exponential
from rbgym.plot import style
from rbgym.quaternion import (
    add,
    angle_between,
    cross,
    qdot,
    qmul,
    qscale,
    scale,
    sub,
    times,
    to_body,
    to_world,
)
from rbgym.testing import integrator_step, measure

# %% [markdown]
# Half an Euler step gives the angular velocity half-way, and that turns the body over the whole
# step. `finish` gets a [`Step`](../api/integrators.rst), all in SI units: attitude `q`, momentum
# `L` in world axes and `Pi_0` in body axes, torque `u`, length `h`. It returns the new attitude,
# the new momentum in world axes, the work of `u` and the memory. Only a scheme that conserves
# energy needs the work; others return 0.0.


# %%
class LieMidpoint(Explicit):
    """The explicit midpoint rule on the rotation group."""

    def finish(self, potential, body, step, x):
        half = 0.5 * step.h
        omega = times(body.J_inv, sub(step.Pi_0, body.rotor))
        turn = exponential(scale(half, omega))
        pushed = add(step.Pi_0, scale(half, potential.torque(step.u, step.o_0)))
        omega = times(body.J_inv, sub(to_body(turn, pushed), body.rotor))  # half-way
        turn = exponential(scale(half, omega))
        middle = qmul(step.q, turn)
        T = potential.torque(step.u, to_body(turn, step.o_0))
        L = add(step.L, to_world(middle, scale(step.h, T)))
        return qmul(middle, turn), L, 0.0, step.memory


mine = Integrator(
    name="lie_midpoint",
    scheme=LieMidpoint(),
    title="explicit midpoint on the rotation group",
    source="Krysl (2005), International Journal for Numerical Methods in Engineering 63",
    order=2,
    conserves=CONSERVES_MOMENTUM,
)

# %% [markdown]
# The classical Runge-Kutta scheme advances the attitude and the momentum in body axes,
# $q' = q \circ (0, \Omega)/2$ and $\Pi' = \Pi \times \Omega + T$. At the end the momentum goes to
# world axes. It conserves nothing, and so declares nothing.


# %%
class RK4(Explicit):
    """The classical Runge-Kutta scheme of attitude and body momentum."""

    def moved_by(self, start, s, rate):
        """Attitude and momentum at the start, plus s times their rate."""
        (w, x, y, z), Pi = start
        (dw, dx, dy, dz), dPi = rate
        return (w + s * dw, x + s * dx, y + s * dy, z + s * dz), add(Pi, scale(s, dPi))

    def rate_of(self, potential, body, step, state):
        """The rate of both; attitudes are relative to that at the start of the step."""
        q, Pi = state
        omega = times(body.J_inv, sub(Pi, body.rotor))
        T = potential.torque(step.u, to_body(q, step.o_0))
        dq = qscale(0.5, qmul(q, (0.0, omega[0], omega[1], omega[2])))
        return dq, add(cross(Pi, omega), T)

    def finish(self, potential, body, step, x):
        h, start = step.h, ((1.0, 0.0, 0.0, 0.0), step.Pi_0)
        k1 = self.rate_of(potential, body, step, start)
        k2 = self.rate_of(potential, body, step, self.moved_by(start, 0.5 * h, k1))
        k3 = self.rate_of(potential, body, step, self.moved_by(start, 0.5 * h, k2))
        k4 = self.rate_of(potential, body, step, self.moved_by(start, h, k3))
        sum_2 = self.moved_by(self.moved_by(start, h / 6.0, k1), h / 3.0, k2)
        q, Pi = self.moved_by(self.moved_by(sum_2, h / 3.0, k3), h / 6.0, k4)
        q = qmul(step.q, qscale(1.0 / math.sqrt(qdot(q, q)), q))
        return q, to_world(q, Pi), 0.0, step.memory


rk4 = Integrator(
    name="rk4",
    scheme=RK4(),
    title="classical Runge-Kutta scheme of attitude and body momentum",
    source="Kutta (1901), Zeitschrift für Mathematik und Physik 46",
    order=4,
)

# %% [markdown]
# The checks of `rbgym.testing`, which judge any simulator. The midpoint rule keeps the momentum to
# round-off and has order two, as declared. Its energy drifts, and it does not return when time runs
# back.

# %%
INERTIA = [6.0, 8.0, 3.0]  # kg m^2
found = measure(integrator_step(INERTIA, mine), inertia=INERTIA)
print(found)

# %% [markdown]
# A free body spins about its unstable middle axis and turns over again and again: the largest
# errors of energy and angular momentum in 4,000 steps, relative to the start.

# %%
schemes = {"lie_midpoint": mine, "quat_em": "quat_em", "rk4": rk4, "rkn4": "rkn4"}
body = rbgym.RigidBody(INERTIA)
runs = {
    name: rbgym.simulate(
        body, integrator=scheme, dt=0.02, steps=4000, angular_velocity=(10.0, 0.1, 0.1)
    )
    for name, scheme in schemes.items()
}
print(f"{'scheme':14}{'energy':>10}{'momentum':>10}")
for name, run in runs.items():
    drift = run.drift()
    print(f"{name:14}{drift['energy']['max']:10.1e}{drift['angular_momentum']['max']:10.1e}")

# %%
figure = rbgym.plot.drifts(runs, "A free body, dt = 0.02 s")
figure.savefig("drifts.png")
figure

# %% [markdown]
# Conserving is not the same as being on time. A heavy top, 0.4 s: the error of the attitude [rad]
# and the processor time of one of 2,048 tops, with more and more steps. The reference is
# `exact:6`.

# %%
top, weight = rbgym.RigidBody(inertia=[0.5, 0.7, 0.3]), rbgym.HeavyTop(5.886)


def end(scheme, steps):
    """The attitude after 0.4 s, and the time that a top took [us]."""
    batch = rbgym.Batch(top, scheme, weight, size=2048)
    batch.set_state((0.96, 0.28, 0.0, 0.0), (1.0, 2.0, 10.0))
    start = process_time()
    batch.advance(0.4 / steps, steps)
    return batch.measure()["quaternion"][0], (process_time() - start) / 2048 * 1e6


truth = end("exact:6", 2000)[0]
curves = {}
for name, scheme in (*schemes.items(), ("exact:4", "exact:4")):
    end(scheme, 10)  # compiles
    points = [end(scheme, steps) for steps in (10, 20, 50, 100, 200, 500)]
    errors = [angle_between(q, truth).item() for q, _ in points]
    curves[name] = [time for _, time in points], errors

print(f"{'':12}{'20 steps':>17}{'100 steps':>20}{'500 steps':>20}")
for name, curve in curves.items():
    points = list(zip(*curve, strict=True))[1::2]
    print(f"{name:12}", *(f"{time:6.1f} us, {error:.1e}" for time, error in points))

# %%
with style.context():
    figure = style.picture(5.6, 3.9)
    axes = figure.subplots()
    for number, (name, curve) in enumerate(curves.items()):
        axes.loglog(*curve, label=name, **style.marked(number))
    axes.set(xlabel="time [us]", ylabel="error [rad]")
    axes.legend()
figure.savefig("work_precision.png")
figure

# %% [markdown]
# It runs wherever a name does: `gym.make("RigidTop-v0", integrator=mine)`. [Add something of your
# own](../extend.md) does the same for potentials, actuators, laws and tasks.
