"""One rigid body in each engine, with the same start, in the engine's own conventions.

An engine advances by steps of its dt and shows its state in ours: quaternion scalar first, body to
world; angular velocity in body axes [rad/s].
"""

from typing import Any, NamedTuple, Protocol

import numpy as np

import rbgym
from benchmarks.record import Missing, module
from rbgym import HeavyTop
from rbgym.quaternion import rotate_inverse
from rbgym.validation.cases import PAPERS

Array = np.ndarray
State = tuple[Array, Array]
GRAVITY = 9.81  # [m/s^2]
FAST = 1e12  # a limit of an engine's that is to be none [rad/s]


class Motion(NamedTuple):
    """A body and how it starts.

    J: principal moments about the point that stays [kg m^2]; omega: rates, body axes [rad/s];
    arm: from that point to the centre of mass, along a principal axis [m]; torque: held, body axes
    [N m]. Without a potential the body is free.
    """

    name: str
    J: tuple[float, ...]
    omega: tuple[float, ...]
    quaternion: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)
    potential: Any = None
    torque: tuple[float, ...] = (0.0, 0.0, 0.0)
    mass: float = 1.0
    arm: tuple[float, ...] = (0.0, 0.0, 0.0)

    def exact(self, t: float) -> State:
        """State of a free body at time t in closed form."""
        path = rbgym.simulate(
            rbgym.RigidBody(self.J), integrator="exact", dt=t, steps=1, angular_velocity=self.omega
        )
        return path.quaternion[-1], path.angular_velocity[-1]


def _motion(kind: str) -> Motion:
    case = PAPERS[kind]
    return Motion(kind, tuple(float(j) for j in case.body.moments), tuple(case.omega))


BETSCH, KRENK = _motion("betsch_free"), _motion("krenk_brick")


class Engine(Protocol):
    """One body in an engine."""

    def advance(self, steps: int) -> None:
        """Make so many steps."""

    def state(self) -> State:
        """Quaternion (4,) and angular velocity (3,)."""


class Ours:
    """A scheme of rbgym; of many bodies the first is shown."""

    def __init__(self, motion: Motion, dt: float, scheme: str, size: int = 1) -> None:
        self.dt = dt
        body, potential = rbgym.RigidBody(motion.J), motion.potential
        self.batch = rbgym.Batch(body, scheme, potential, size=size)
        self.batch.set_torque(motion.torque)
        self.batch.set_state(motion.quaternion, motion.omega)
        self.initial = self.batch.buffer.copy()

    def start(self) -> None:
        self.batch.buffer[:] = self.initial

    def advance(self, steps: int) -> None:
        self.batch.advance(self.dt, steps)
        if self.batch.failed[0]:
            raise rbgym.IntegrationError("a step could not be solved")

    def state(self) -> State:
        found = self.batch.measure()
        return found["quaternion"][0], found["angular_velocity"][0]


# Contacts and resets after a blow-up are switched off, gravity acts on tops alone; everything else
# stays.
_MJCF = """
<mujoco>
  <option gravity="0 0 {gravity!r}" timestep="{dt!r}" integrator="{integrator}">
    <flag contact="disable" autoreset="disable"/>
  </option>
  <worldbody>
    <body>
      {joint}
      <inertial pos="{a[0]!r} {a[1]!r} {a[2]!r}" mass="{mass!r}"
                diaginertia="{J[0]!r} {J[1]!r} {J[2]!r}"/>
    </body>
  </worldbody>
</mujoco>
"""


def mujoco_quiet() -> Any:
    """The module, which writes no file of warnings: its numbers show what blows up."""
    mujoco = module("mujoco")
    mujoco.set_mju_user_warning(lambda message: None)
    return mujoco


def mujoco_body(motion: Motion, integrator: str, dt: float) -> tuple[Any, Any]:
    """MuJoCo's model and data of a body on a free joint, or of a top on a ball joint, its inertia
    taken about the centre of mass; quaternions are ours, both joints turn with body rates."""
    if not isinstance(motion.potential, HeavyTop | None):
        raise Missing(f"there is no joint in {type(motion.potential).__name__}")
    mujoco, a = mujoco_quiet(), np.array(motion.arm)
    about = np.array(motion.J) - motion.mass * (a @ a - a * a)
    free = motion.potential is None
    text = _MJCF.format(
        gravity=0.0 if free else -GRAVITY,
        dt=dt,
        integrator=integrator,
        joint="<freejoint/>" if free else '<joint type="ball"/>',
        a=motion.arm,
        mass=motion.mass,
        J=about.tolist(),
    )
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[-4:], data.qvel[-3:] = motion.quaternion, motion.omega
    data.qfrc_applied[-3:] = motion.torque
    mujoco.mj_forward(model, data)
    return model, data


class MuJoCo:
    """A body on a free joint, a top on a ball joint."""

    def __init__(self, motion: Motion, dt: float, integrator: str) -> None:
        self.step = module("mujoco").mj_step
        self.model, self.data = mujoco_body(motion, integrator, dt)

    def advance(self, steps: int) -> None:
        self.step(self.model, self.data, nstep=steps)

    def state(self) -> State:
        return self.data.qpos[-4:].copy(), self.data.qvel[-3:].copy()


class PyBullet:
    """A base without links; quaternions scalar last, rates in world axes."""

    def __init__(self, motion: Motion, dt: float, maximal: bool = False) -> None:
        self.engine = engine = module("pybullet")
        client = module("pybullet_utils.bullet_client")
        self.world = world = client.BulletClient(connection_mode=engine.DIRECT)
        world.setGravity(0, 0, 0)
        world.setTimeStep(dt)
        shape = world.createCollisionShape(engine.GEOM_SPHERE, radius=0.1)
        self.body = world.createMultiBody(1.0, shape, useMaximalCoordinates=maximal)
        world.changeDynamics(
            self.body, -1, linearDamping=0.0, angularDamping=0.0, maxJointVelocity=FAST,
            localInertiaDiagonal=motion.J,
        )  # fmt: skip
        world.resetBaseVelocity(self.body, [0, 0, 0], motion.omega)

    def advance(self, steps: int) -> None:
        step = self.world.stepSimulation
        for _ in range(steps):
            step()

    def state(self) -> State:
        _, (x, y, z, w) = self.world.getBasePositionAndOrientation(self.body)
        q = np.array([w, x, y, z])
        _, omega = self.world.getBaseVelocity(self.body)
        return q, rotate_inverse(q / np.linalg.norm(q), np.array(omega))


class Basilisk:
    """The hub of a spacecraft: modified Rodrigues parameters, body rates."""

    def __init__(self, motion: Motion, dt: float, integrator: str = "RK4") -> None:
        if motion.potential is not None:
            raise Missing("a hub alone has no fixed point and no gravity gradient")
        spacecraft = module("Basilisk.simulation.spacecraft")
        integrators = module("Basilisk.simulation.svIntegrators")
        self.base = module("Basilisk.utilities.SimulationBaseClass").SimBaseClass()
        self.dt, self.now = round(1e9 * dt), 0
        self.base.CreateNewProcess("process").addTask(self.base.CreateNewTask("task", self.dt))
        self.hub = spacecraft.Spacecraft()
        self.hub.hub.mHub = 1.0
        self.hub.hub.IHubPntBc_B = np.diag(motion.J).tolist()
        self.hub.hub.omega_BN_BInit = [[w] for w in motion.omega]
        self.integrator = getattr(integrators, f"svIntegrator{integrator}")(self.hub)
        self.hub.setIntegrator(self.integrator)
        self.base.AddModelToTask("task", self.hub)
        self.base.InitializeSimulation()
        self.base.ConfigureStopTime(0)
        self.base.ExecuteSimulation()

    def advance(self, steps: int) -> None:
        self.now += steps * self.dt
        self.base.ConfigureStopTime(self.now)
        self.base.ExecuteSimulation()

    def state(self) -> State:
        read = self.hub.scStateOutMsg.read()
        s = np.array(read.sigma_BN)
        q = np.array([1.0 - s @ s, *(2.0 * s)]) / (1.0 + s @ s)
        return q, np.array(read.omega_BN_B)
