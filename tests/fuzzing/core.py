"""Targets of the physics: bodies, simulations, potentials, integrators, quaternions."""

from functools import partial
from typing import Any

import gymnasium
import numpy as np

import rbgym
from fuzzing.contract import Target
from rbgym import integrators, invariants, potentials, quaternion

BODY = rbgym.RigidBody([2.0, 3.0, 4.0], mass=2.0)
Q, W = (0.6, 0.0, 0.8, 0.0), (0.3, -0.2, 0.5)
UNIT = (0.0, 0.0, 1.0)


def target(name: str, call: Any, /, **more: Any) -> Target:
    """Valid arguments and settings: a setting has a name that no argument has."""
    settings = {k[1:]: more.pop(k) for k in list(more) if k.startswith("_")}
    return Target(name, call, lambda: dict(more), **settings)


def _solids() -> list[Target]:
    of, R = {"mass": 2.0}, rbgym.RigidBody
    shapes: dict[str, dict[str, Any]] = {
        "box": {**of, "size": (0.1, 0.2, 0.3)},
        "ellipsoid": {**of, "semi_axes": (0.1, 0.2, 0.3)},
        "sphere": {**of, "radius": 0.3},
        "cylinder": {**of, "radius": 0.3, "height": 0.4},
        "cone": {**of, "radius": 0.3, "height": 0.4},
        "rod": {**of, "length": 0.4, "radius": 0.01},
        "cone_top": {"radius": 0.05, "height": 0.1, "density": 2700.0},
    }
    found = []
    for name, given in shapes.items():
        optional = ("radius",) if name == "rod" else ()
        spoken = dict.fromkeys(given, ("inertia", "mass"))
        found.append(
            target(f"rbgym.RigidBody.{name}", getattr(R, name), **given, _numeric=tuple(given),
                   _optional=optional, _spoken=spoken)
        )  # fmt: skip
    return found


def _bodies() -> list[Target]:
    R = rbgym.RigidBody
    shifted = R([2.0, 3.0, 4.0], mass=2.0, center_of_mass=(0.0, 0.0, 0.1))
    full = [[2.0, 0.1, 0.0], [0.1, 3.0, 0.2], [0.0, 0.2, 4.0]]
    numbers = ("inertia", "mass", "center_of_mass")
    return [
        target("rbgym.RigidBody", R, inertia=(2.0, 3.0, 4.0), mass=2.0,
               center_of_mass=(0.1, 0.0, 0.2), _numeric=numbers,
               _spoken={"mass": ("center_of_mass",), "inertia": ("center_of_mass",)}),
        target("rbgym.RigidBody", R, inertia=full, _numeric=("inertia",)),
        target("rbgym.RigidBody.about", shifted.about, point=(0.1, 0.2, 0.3), _numeric=("point",),
               _spoken={"point": ("center_of_mass", "inertia")}),
        target("rbgym.RigidBody.gravity_moment", shifted.gravity_moment, g=9.81, _numeric=("g",)),
        target("rbgym.compound", rbgym.compound, parts=[(BODY, (0.0, 0.1, 0.2), Q), (BODY,)],
               about=(0.0, 0.1, 0.0), _numeric=("about",), _optional=("about",),
               _spoken={"parts": ("position", "rotation", "body"),
                        "about": ("center_of_mass", "inertia")}),
        target("rbgym.Part", _part, body=BODY, position=(0.0, 0.1, 0.2), rotation=Q,
               _numeric=("position", "rotation"), _optional=("rotation",),
               _spoken={"body": ("parts",), "position": ("inertia",)}),
        *_solids(),
    ]  # fmt: skip


def _part(**given: Any) -> Any:
    return rbgym.compound([rbgym.Part(**given)])


def _samples() -> dict[str, Any]:
    t = np.arange(12) / 4.0
    torques = np.stack([np.sin(t), np.cos(2.0 * t), np.sin(3.0 * t)], axis=1)
    run = rbgym.simulate(BODY, dt=0.25, steps=11, angular_velocity=W, torque=torques[:11])
    return {"times": run.time, "quaternions": run.quaternion, "rates": run.angular_velocity,
            "torques": torques, "rotor_momentum": np.zeros((12, 3))}  # fmt: skip


def _simulations() -> list[Target]:
    start = {"quaternion": Q, "angular_velocity": W}
    common = ("dt", "steps", *start, "record_every")
    return [
        target("rbgym.simulate", rbgym.simulate, body=BODY, dt=0.01, steps=3, **start,
               torque=(0.1, 0.0, 0.2), rotor_momentum=(0.0, 0.1, 0.0), record_every=2,
               _numeric=(*common, "torque", "rotor_momentum"), _laws=("torque",),
               _optional=("torque", "rotor_momentum")),
        target("rbgym.simulate", rbgym.simulate, body=BODY, dt=0.01, steps=2, integrator="imidm",
               potential=rbgym.HeavyTop(1.0), projection=True,
               _attacked=("integrator", "potential", "projection", "body"),
               _spoken={"integrator": ("order",)}),
        target("rbgym.simulate", rbgym.simulate, body=BODY, dt=0.01, steps=2, **start,
               integrator="rkn4", position=(0.0, 0.0, 1.0), velocity=(1.0, 0.0, 0.0),
               record_every=1, force=(0.1, 0.0, 0.0), torque=(0.1, 0.0, 0.2),
               _numeric=(*common, "position", "velocity", "force", "torque"),
               _laws=("force", "torque"), _optional=("position", "velocity", "force", "torque")),
        target("rbgym.identify", rbgym.identify, **_samples(), attitude_noise=1e-3, rate_noise=1e-3,
               _numeric=(*_samples(), "attitude_noise", "rate_noise"),
               _optional=("torques", "rotor_momentum", "attitude_noise", "rate_noise"),
               _spoken={"torques": ("rates", "rotor_momentum"), "rotor_momentum": ("rates",),
                        "quaternions": ("rates",), "times": ("rates", "quaternions"),
                        "rates": ("times",)}),
        target("rbgym.simulate_scalable", rbgym.simulate_scalable, body=BODY, dt=0.01, steps=2,
               **start, scale=1.2, scale_rate=0.1, position=(0.0, 0.0, 1.0),
               velocity=(1.0, 0.0, 0.0), force=(0.1, 0.0, 0.0), scaling_force=0.1,
               moment=(0.1, 0.0, 0.0), record_every=1, rigid=False,
               _numeric=(*common, "scale", "scale_rate", "position", "velocity", "force",
                         "scaling_force", "moment"),
               _laws=("force", "scaling_force", "moment"),
               _optional=("force", "scaling_force", "moment")),
    ]  # fmt: skip


def _law(name: str, call: Any, **more: Any) -> Target:
    """A callable among the arguments that raises or returns rubbish."""
    title = getattr(call, "__name__", "simulate") + ": what a law returns"
    return target(title, _lawful(name, call), returned=(0.1, 0, 0),
                  _spoken={"returned": (name,)}, _numeric=("returned",), **more)  # fmt: skip


def _lawful(name: str, call: Any) -> Any:
    def inside(returned: Any) -> Any:
        given = {name: lambda *_: returned}
        return call(BODY, dt=0.01, steps=2, angular_velocity=W, **given)

    return inside


def _laws() -> list[Target]:
    return [
        _law("torque", rbgym.simulate), _law("force", partial(rbgym.simulate, integrator="rkn4")),
        _law("force", rbgym.simulate_scalable),
        _law("moment", rbgym.simulate_scalable),
    ]  # fmt: skip


_KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "HeavyTop": (rbgym.HeavyTop, {"mgl": 1.0, "axis": UNIT}),
    "SoftWall": (rbgym.SoftWall, {"sign": "printed", "axis": UNIT}),
    "GravityGradient": (rbgym.GravityGradient, {"k": 1e-3, "direction": UNIT}),
    "CircularOrbit": (
        rbgym.CircularOrbit, {"rate": 1e-3, "direction": (1.0, 0.0, 0.0), "normal": UNIT}
    ),
    "KeplerOrbit": (
        rbgym.KeplerOrbit,
        {"mu": 1.0, "position": (1.0, 0.0, 0.0), "velocity": (0.0, 1.0, 0.0)},
    ),
}  # fmt: skip


def _potentials() -> list[Target]:
    return [
        target(f"rbgym.potentials.{name}", partial(_used, cls), **given,
               _numeric=tuple(key for key in given if key != "sign"),
               _spoken=dict.fromkeys(given, ("potential",)))
        for name, (cls, given) in _KINDS.items()
    ]  # fmt: skip


def _used(cls: Any, **given: Any) -> Any:
    potential = potentials.checked(cls(**given))
    return potential, rbgym.simulate(
        BODY, dt=1e-4, steps=1, integrator="quat_em", angular_velocity=W, potential=potential
    )


def _catalogue() -> list[Target]:
    import itertools

    fresh = itertools.count()
    return [
        target("rbgym.integrators.known", integrators.known, name="imidm:4",
               _spoken={"name": ("integrator",)}),
        target("rbgym.integrators.get", integrators.get, name="imidm", _spoken={
            "name": ("integrator", "order")}),
        target("rbgym.integrators.get", lambda **o: integrators.get("rkn4", **o),
               renormalise_every=10, momentum_normalised=False, gyroscopic=True,
               _spoken=dict.fromkeys(("momentum_normalised", "gyroscopic"), ("options",))),
        target("rbgym.set_num_threads", _threads, threads=2, _fine=lambda _: None),
        target("rbgym.potentials.checked", potentials.checked, potential=rbgym.HeavyTop(1.0)),
        target("rbgym.registration.register", _registered, env_id="Fuzzed-v0", module="m",
               name="N", max_episode_steps=10, _untouched=_registry,
               _also=(gymnasium.error.Error,), fresh=fresh,
               _attacked=("env_id", "module", "name", "max_episode_steps")),
    ]  # fmt: skip


def _threads(threads: Any) -> None:
    kept = rbgym.get_num_threads()
    try:
        rbgym.set_num_threads(threads)
    finally:
        assert rbgym.get_num_threads() in (kept, threads)
        rbgym.set_num_threads(kept)


def _registry() -> Any:
    import gymnasium

    from rbgym.registration import ENVIRONMENTS

    return list(ENVIRONMENTS), list(gymnasium.registry)


def _registered(fresh: Any, **given: Any) -> None:
    import gymnasium

    from rbgym import registration

    kept = dict(registration.ENVIRONMENTS), dict(gymnasium.registry)
    registration.register(**given)
    for now, old in zip((registration.ENVIRONMENTS, gymnasium.registry), kept, strict=True):
        now.clear()
        now.update(old)


def _quaternions() -> list[Target]:
    M = quaternion.to_matrix(Q)
    arguments: dict[str, dict[str, Any]] = {
        "multiply": {"p": Q, "q": Q}, "conjugate": {"q": Q}, "normalized": {"q": Q},
        "canonicalized": {"q": Q}, "to_matrix": {"q": Q}, "from_matrix": {"matrix": M},
        "from_rotation_vector": {"rotation_vector": W}, "rotate": {"q": Q, "v": W},
        "rotate_inverse": {"q": Q, "v": W}, "angle_between": {"p": Q, "q": Q},
    }  # fmt: skip
    return [
        target(f"rbgym.quaternion.{name}", getattr(quaternion, name), **given,
               _numeric=tuple(given), _plain=True)
        for name, given in arguments.items()
    ]  # fmt: skip


def _measures() -> list[Target]:
    L, E, q = np.tile(W, (3, 1)), np.ones(3), np.tile(Q, (3, 1))
    given: dict[str, dict[str, Any]] = {
        "relative_energy_error": {"energy": E, "scale": 2.0},
        "momentum_error": {"angular_momentum": L},
        "vertical_momentum_error": {"angular_momentum": L},
        "norm_error": {"quaternion": q},
    }
    return [
        target(f"rbgym.invariants.{name}", getattr(invariants, name), **values,
               _plain=True)
        for name, values in given.items()
    ]  # fmt: skip


def targets() -> list[Target]:
    """All of them."""
    return [*_bodies(), *_simulations(), *_laws(), *_potentials(), *_catalogue(), *_quaternions(),
            *_measures()]  # fmt: skip
