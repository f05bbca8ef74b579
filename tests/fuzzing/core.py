"""Targets of the physics: bodies, simulations, potentials, integrators, quaternions."""

import itertools
from functools import partial
from unittest.mock import patch

import gymnasium
import numpy as np

import rbgym
from fuzzing.contract import target
from rbgym import RigidBody, integrators, invariants, potentials, quaternion, registration

BODY = RigidBody([2.0, 3.0, 4.0], mass=2.0)
Q, W = (0.6, 0.0, 0.8, 0.0), (0.3, -0.2, 0.5)
UNIT = (0.0, 0.0, 1.0)


def _bodies():
    shifted = RigidBody([2.0, 3.0, 4.0], mass=2.0, center_of_mass=(0.0, 0.0, 0.1))
    full = [[2.0, 0.1, 0.0], [0.1, 3.0, 0.2], [0.0, 0.2, 4.0]]
    solids = {
        "box": {"mass": 2.0, "size": (0.1, 0.2, 0.3)},
        "ellipsoid": {"mass": 2.0, "semi_axes": (0.1, 0.2, 0.3)},
        "sphere": {"mass": 2.0, "radius": 0.3},
        "cylinder": {"mass": 2.0, "radius": 0.3, "height": 0.4},
        "cone": {"mass": 2.0, "radius": 0.3, "height": 0.4},
        "rod": {"mass": 2.0, "length": 0.4, "radius": 0.01},
        "cone_top": {"radius": 0.05, "height": 0.1, "density": 2700.0},
    }
    yield target("rbgym.RigidBody", RigidBody, inertia=(2.0, 3.0, 4.0), mass=2.0,
                 center_of_mass=(0.1, 0.0, 0.2))  # fmt: skip
    yield target("rbgym.RigidBody", RigidBody, inertia=full)
    yield target("rbgym.RigidBody.about", shifted.about, point=(0.1, 0.2, 0.3))
    yield target("rbgym.RigidBody.gravity_moment", shifted.gravity_moment, g=9.81)
    yield target("rbgym.compound", rbgym.compound, parts=[(BODY, (0.0, 0.1, 0.2), Q), (BODY,)],
                 about=(0.0, 0.1, 0.0))  # fmt: skip
    yield target("rbgym.PlacedBody", _part, body=BODY, position=(0.0, 0.1, 0.2), rotation=Q)
    for name, given in solids.items():
        solid = target(f"rbgym.RigidBody.{name}", getattr(RigidBody, name), **given)
        yield solid.but(spoken=("inertia", "mass"))


def _part(**given):
    return rbgym.compound([rbgym.PlacedBody(**given)])


def _simulations():
    start = {"quaternion": Q, "angular_velocity": W, "record_every": 1}
    moving = {"position": UNIT, "velocity": (1.0, 0.0, 0.0), "force": (0.1, 0.0, 0.0)}
    samples = _samples()
    simulate = partial(rbgym.simulate, BODY)
    yield target("rbgym.simulate", simulate, dt=0.01, steps=3, **start, torque=(0.1, 0.0, 0.2),
                 rotor_momentum=(0.0, 0.1, 0.0))  # fmt: skip
    yield target("rbgym.simulate", partial(rbgym.simulate, dt=0.01, steps=2), body=BODY,
                 integrator="imidm", potential=rbgym.HeavyTop(1.0), projection=True)  # fmt: skip
    yield target("rbgym.simulate", partial(simulate, integrator="rkn4"), dt=0.01, steps=2,
                 **start, **moving, torque=(0.1, 0.0, 0.2))  # fmt: skip
    yield target("rbgym.simulate_scalable", rbgym.simulate_scalable, body=BODY, dt=0.01, steps=2,
                 **start, **moving, scale=1.2, scale_rate=0.1, scaling_force=0.1,
                 moment=(0.1, 0.0, 0.0), rigid=False)  # fmt: skip
    yield target("rbgym.identify", rbgym.identify, **samples, attitude_noise=1e-3, rate_noise=1e-3)


def _samples():
    t = np.arange(12) / 4.0
    torques = np.stack([np.sin(t), np.cos(2.0 * t), np.sin(3.0 * t)], axis=1)
    run = rbgym.simulate(BODY, dt=0.25, steps=11, angular_velocity=W, torque=torques[:11])
    return {"times": run.time, "quaternions": run.quaternion, "rates": run.angular_velocity,
            "torques": torques, "rotor_momentum": np.zeros((12, 3))}  # fmt: skip


def _potentials():
    kinds = {
        "HeavyTop": {"mgl": 1.0, "axis": UNIT},
        "SoftWall": {"sign": "printed", "axis": UNIT},
        "GravityGradient": {"k": 1e-3, "direction": UNIT},
        "CircularOrbit": {"rate": 1e-3, "direction": (1.0, 0.0, 0.0), "normal": UNIT},
        "KeplerOrbit": {"mu": 1.0, "position": (1.0, 0.0, 0.0), "velocity": (0.0, 1.0, 0.0)},
    }
    for name, given in kinds.items():
        made = target(f"rbgym.potentials.{name}", partial(_used, getattr(rbgym, name)), **given)
        yield made.but(spoken=("potential",))


def _used(cls, **given):
    potential = potentials.checked(cls(**given))
    return potential, rbgym.simulate(
        BODY, dt=1e-4, steps=1, integrator="quat_em", angular_velocity=W, potential=potential
    )


def _catalogue():
    yield target("rbgym.integrators.known", integrators.known, name="imidm:4")
    yield target("rbgym.integrators.get", integrators.get, name="imidm")
    rkn4 = target("rbgym.integrators.get", partial(integrators.get, "rkn4"), renormalise_every=10,
                  momentum_normalisation=False, gyroscopic=True)  # fmt: skip
    yield rkn4.but(spoken=("options",))
    yield target("rbgym.set_num_threads", _threads, threads=2)
    yield target("rbgym.potentials.checked", potentials.checked, potential=rbgym.HeavyTop(1.0))
    yield target("rbgym.registration.register", _registered, env_id="Fuzzed-v0", module="m",
                 name="N", max_episode_steps=10).but(untouched=_registry)  # fmt: skip


def _threads(threads):
    kept = rbgym.get_num_threads()
    try:
        rbgym.set_num_threads(threads)
    finally:
        assert rbgym.get_num_threads() in (kept, threads)
        rbgym.set_num_threads(kept)


def _registry():
    return list(registration.ENVIRONMENTS), list(gymnasium.registry)


def _registered(**given):
    with patch.dict(registration.ENVIRONMENTS), patch.dict(gymnasium.registry):
        registration.register(**given)


def _arithmetic():
    arguments = {
        "multiply": {"p": Q, "q": Q},
        "conjugate": {"q": Q},
        "normalized": {"q": Q},
        "canonicalized": {"q": Q},
        "to_matrix": {"q": Q},
        "from_matrix": {"matrix": quaternion.to_matrix(Q)},
        "from_rotation_vector": {"rotation_vector": W},
        "from_roll_pitch_yaw": {"angles": W},
        "to_roll_pitch_yaw": {"q": Q},
        "rotate": {"q": Q, "v": W},
        "rotate_inverse": {"q": Q, "v": W},
        "angle_between": {"p": Q, "q": Q},
    }
    momentum = {"angular_momentum": np.tile(W, (3, 1))}
    measured = {
        "relative_energy_error": {"energy": np.ones(3), "scale": 2.0},
        "momentum_error": momentum,
        "vertical_momentum_error": momentum,
        "norm_error": {"quaternion": np.tile(Q, (3, 1))},
    }
    for module, functions in ((quaternion, arguments), (invariants, measured)):
        for name, given in functions.items():
            found = target(f"{module.__name__}.{name}", getattr(module, name), **given)
            yield found.but(plain=True)


def targets():
    return [*itertools.chain(_bodies(), _simulations(), _potentials(), _catalogue(), _arithmetic())]
