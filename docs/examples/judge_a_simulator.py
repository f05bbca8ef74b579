"""Judge three simulators of a free rigid body: a naive one, one of rbgym's, and MuJoCo.

python docs/examples/judge_a_simulator.py

The body has moments (6, 8, 3) kg m^2; each simulator is given as a step function of attitude and
body rates. MuJoCo is left out where it is not installed.
"""

import importlib.util

import numpy as np
from numpy.typing import NDArray

from rbgym.quaternion import multiply
from rbgym.testing import StepSubject, integrator_step, measure

Array = NDArray[np.float64]
State = tuple[Array, Array]

INERTIA = np.array([6.0, 8.0, 3.0])
FREE_BODY = """
<mujoco>
  <option gravity="0 0 0" integrator="RK4"/>
  <worldbody>
    <body>
      <freejoint/>
      <inertial pos="0 0 0" mass="1" diaginertia="6 8 3"/>
    </body>
  </worldbody>
</mujoco>
"""


def explicit_euler(q: Array, omega: Array, dt: float) -> State:
    """What one writes first: q' = q omega / 2, J omega' = J omega x omega, one step of each."""
    q_rate = multiply(q, np.array([0.0, *omega])) / 2
    omega_rate = np.cross(INERTIA * omega, omega) / INERTIA
    return q + dt * q_rate, omega + dt * omega_rate


class MujocoStep:
    """A free body in MuJoCo, set to a state, stepped and read.

    A free joint's qpos is (x, y, z, qw, qx, qy, qz), body to world; its qvel is the velocity in
    world axes and then the angular velocity in body axes.
    """

    def __init__(self) -> None:
        import mujoco

        self.mujoco = mujoco
        self.model = mujoco.MjModel.from_xml_string(FREE_BODY)
        self.data = mujoco.MjData(self.model)

    def __call__(self, q: Array, omega: Array, dt: float) -> State:
        self.model.opt.timestep = dt
        self.mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[3:7], self.data.qvel[3:6] = q, omega
        self.mujoco.mj_step(self.model, self.data)
        return self.data.qpos[3:7].copy(), self.data.qvel[3:6].copy()


def subjects() -> dict[str, StepSubject]:
    """The simulators that can be judged here."""
    found = {
        "explicit Euler": StepSubject(explicit_euler, INERTIA),
        "rbgym quat_em": StepSubject(integrator_step(INERTIA, "quat_em"), INERTIA),
    }
    if importlib.util.find_spec("mujoco"):
        found["MuJoCo RK4"] = StepSubject(MujocoStep(), INERTIA)
    return found


def main() -> None:
    """Print one table for each simulator."""
    found = subjects()
    for name, subject in found.items():
        print(measure(subject, name=name), end="\n\n")
    if "MuJoCo RK4" not in found:
        print("MuJoCo RK4: skipped, mujoco is not installed")


if __name__ == "__main__":
    main()
