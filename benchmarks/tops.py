"""The steady top of Krenk & Nielsen (2013), section 5.2, in the engines that can hold a point.

A cone on its tip precesses without nutation, so that the place of its centre of mass is known for
all times. MuJoCo holds the tip by a ball joint, SciPy solves the equations about the tip.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import rbgym
from benchmarks.bodies import Array, State, mujoco_quiet
from benchmarks.record import module
from rbgym import IntegrationError, integrators
from rbgym.quaternion import rotate, rotate_inverse
from rbgym.validation.cases import PAPERS
from rbgym.validation.papers import centre_of_mass, steady_precession

TOP = PAPERS["betsch_top"]
ARM, GRAVITY = 0.075, 9.81  # [m], [m/s^2]
STEPS, LOOKS, DT = 100_000, 200, 0.01
UP = np.array([0.0, 0.0, 1.0])

_MJCF = """
<mujoco>
  <option gravity="0 0 -{gravity}" timestep="{dt!r}" integrator="{integrator}">
    <flag contact="disable" autoreset="disable"/>
  </option>
  <worldbody>
    <body>
      <joint type="ball"/>
      <inertial pos="0 0 {arm}" mass="{mass!r}" diaginertia="{J[0]!r} {J[1]!r} {J[2]!r}"/>
    </body>
  </worldbody>
</mujoco>
"""


class MuJoCo:
    """A body on a ball joint, its inertia told about the centre of mass."""

    def __init__(self, dt: float, integrator: str) -> None:
        self.mujoco = mujoco_quiet()
        mass = float(TOP.body.mass)
        about = [float(j) for j in TOP.body.moments - mass * ARM**2 * np.array([1.0, 1.0, 0.0])]
        text = _MJCF.format(
            dt=dt, integrator=integrator, mass=mass, J=about, arm=ARM, gravity=GRAVITY
        )
        self.model = self.mujoco.MjModel.from_xml_string(text)
        self.data = self.mujoco.MjData(self.model)
        self.data.qpos[:], self.data.qvel[:] = TOP.quaternion, TOP.omega

    def advance(self, steps: int) -> None:
        self.mujoco.mj_step(self.model, self.data, nstep=steps)

    def state(self) -> State:
        return self.data.qpos.copy(), self.data.qvel.copy()


class SciPy:
    """Euler's equations about the tip, by DOP853."""

    def __init__(self, dt: float) -> None:
        self.solve = module("scipy.integrate").solve_ivp
        self.dt, self.y = dt, np.array([*TOP.quaternion, *TOP.omega])

    @staticmethod
    def rates(t: float, y: Array) -> Array:
        q, omega, J = y[:4], y[4:], TOP.body.moments
        # The weight along -UP in the world, with the arm along the body's third axis.
        pull = -TOP.body.mass * GRAVITY * ARM * np.cross([0.0, 0.0, 1.0], rotate_inverse(q, UP))
        w, v = q[0], q[1:]
        turn = 0.5 * np.array([-v @ omega, *(w * omega + np.cross(v, omega))])
        return np.array([*turn, *((np.cross(J * omega, omega) + pull) / J)])

    def advance(self, steps: int) -> None:
        span = (0.0, steps * self.dt)
        found = self.solve(
            self.rates, span, self.y, "DOP853", t_eval=span[1:], rtol=1e-12, atol=1e-13
        )
        self.y = found.y[:, -1]

    def state(self) -> State:
        return self.y[:4].copy(), self.y[4:].copy()


class Ours:
    """A scheme of rbgym."""

    def __init__(self, dt: float, scheme: str) -> None:
        self.batch, self.dt = rbgym.Batch(TOP.body, scheme, TOP.potential), dt
        self.batch.set_state(TOP.quaternion, TOP.omega)

    def advance(self, steps: int) -> None:
        self.batch.advance(self.dt, steps)
        if self.batch.failed[0]:
            raise IntegrationError("a step could not be solved")

    def state(self) -> State:
        found = self.batch.measure()
        return found["quaternion"][0], found["angular_velocity"][0]


Maker = Callable[[float], Any]
MAKERS: dict[str, tuple[Maker, int]] = {
    **{
        f"MuJoCo {name}": (partial(MuJoCo, integrator=name), STEPS)
        for name in ("Euler", "implicit", "implicitfast", "discrete", "RK4")
    },
    "SciPy DOP853, rtol 1e-12": (SciPy, 2_000),
    **{f"rbgym {name}": (partial(Ours, scheme=name), STEPS) for name in integrators.names()},
}


def invariants(state: State) -> tuple[float, float]:
    """Total energy [J], and the vertical part of the angular momentum [kg m^2/s]."""
    q, omega = state[0] / np.linalg.norm(state[0]), state[1]
    height = ARM * rotate(q, UP)[2]
    energy = 0.5 * TOP.body.moments @ omega**2 + TOP.body.mass * GRAVITY * height
    return float(energy), float(rotate(q, TOP.body.moments * omega)[2])


def run(make: Maker, steps: int) -> dict[str, Any]:
    """Largest relative errors of both, or where it ended."""
    start = invariants((np.array(TOP.quaternion), np.array(TOP.omega)))
    engine, done, worst = make(DT), 0, [0.0, 0.0]
    while done < steps:
        count = min(max(1, steps // LOOKS), steps - done)
        try:
            engine.advance(count)
        except IntegrationError:
            return {"refused_at": done + count}
        done, now = done + count, invariants(engine.state())
        lacks = [abs(x / x_0 - 1.0) for x, x_0 in zip(now, start, strict=True)]
        if not max(lacks) < 100.0:
            return {"blown_up_at": done}
        worst = [max(pair) for pair in zip(worst, lacks, strict=True)]
    return {"steps": steps, "energy": worst[0], "momentum": worst[1]}


def place(make: Maker, dt: float, t: float = 1.0) -> float | None:
    """Relative error of the place of the centre of mass at time t; None if it did not get there."""
    engine = make(dt)
    try:
        engine.advance(round(t / dt))
    except IntegrationError:
        return None
    q = engine.state()[0]
    found = centre_of_mass((q / np.linalg.norm(q))[None])[0]
    error = float(np.linalg.norm(found - steady_precession(np.array([t]))[0]))
    return error if np.isfinite(error) else None
