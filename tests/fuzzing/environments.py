"""Targets of the environments: what makes, resets and steps them."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator

import rbgym
from fuzzing.contract import Target, all_finite
from fuzzing.core import target
from rbgym.envs import actuators, satellites
from rbgym.envs.orbit import Orbit
from rbgym.envs.parts.columns import Column
from rbgym.registration import ENVIRONMENTS
from rbgym.rows import FAILED

IDS = list(ENVIRONMENTS)
LANES = 3
HOOKS: dict[str, Any] = {
    "integrator": "quat_em",
    "body": rbgym.RigidBody([2e-3, 3e-3, 4e-3], mass=0.1),
    "actuator": "torque",
    "reward": {"closeness": 1.0, "change": 0.1},
    "observation": "quaternion",
    "sensor": {"attitude": 1e-3, "rate": 1e-4, "rate_bias": 1e-3},
    "termination": {
        "rate_limit": 5.0,
        "keep_out": {"axis": (0, 0, 1), "direction": (1, 0, 0), "half_angle": 0.1},
    },
    "disturbance": {"constant": (1e-3, 0, 0), "white_noise": 1e-4, "gravity_gradient": 1e-3},
    "randomization": {"inertia": 0.1, "mass": 0.1, "torque": 0.1, "gravity": 0.1},
    "faults": {"time": (0.1, 0.5), "kinds": ["stuck", "sensor"], "probability": 0.5},
    "constraints": {
        "keep_out": [{"axis": (0, 0, 1), "direction": (1, 0, 0), "half_angle": 0.1}],
        "rate": 0.1,
        "command": 0.9,
        "ends": False,
    },
    "difficulty": "medium",
    "orbit": {"altitude": 5e5},
    "reference": "nadir",
    "satellite": {"body": rbgym.RigidBody([2e-3, 3e-3, 4e-3]), "torque": 0.01, "dt": 0.1},
    "success": {"angle": 0.1, "rate": 0.01, "seconds": 1.0},
    "render_mode": "rgb_array",
    "autoreset_mode": "NextStep",
}
NUMBERS: dict[str, Any] = {
    "dt": 0.02,
    "substeps": 2,
    "mgl": 0.5,
    "torque_limit": (0.1, 0.1, 0.1),
    "torque_scale": 1.0,
    "rate_limit": 5.0,
    "preview": 0.1,
    "max_episode_steps": 10,
    "num_envs": LANES,
}
FLAGS: dict[str, Any] = {"initial": {}, "projection": True}
# Other words for them: an orbit needs no weight, a delay no shorter episode than itself.
SPOKEN = {
    "actuator": ("orbit",),
    "body": ("inertia", "mgl", "center_of_mass"),
    "dt": ("seconds", "minimum_pulse", "action", "step"),
    "integrator": ("order",),
    "max_episode_steps": ("Delay",),
    "orbit": ("Orbit",),
    "satellite": ("Satellite", "success", "dt"),
    "torque_limit": ("torque",),
}


def created(env_id: str, vector: bool = False, **kwargs: Any) -> Any:
    """An environment without wrappers."""
    spec = gym.spec(env_id)
    point = spec.vector_entry_point if vector else spec.entry_point
    return load_env_creator(point)(**kwargs)  # type: ignore[arg-type]


def _made(env_id: str, vector: bool, **kwargs: Any) -> None:
    created(env_id, vector, **kwargs)


def _run(env_id: str, vector: bool, **kwargs: Any) -> None:
    """Made, and stepped: for arguments that nothing is compiled anew for."""
    env = created(env_id, vector, **kwargs)
    observation, _ = env.reset(seed=0)
    for _ in range(2):
        all_finite([observation, env.state])
        rewards, info = env.step(np.ones(env.action_space.shape, np.float32))[1::3]
        all_finite(rewards)
    all_finite(env.state)
    del info


def _makers(env_id: str) -> list[Target]:
    found = []
    for vector in (False, True):
        kind = "make_vec" if vector else "make"
        for values, call in ((HOOKS, _made), (NUMBERS, _run), (FLAGS, _run)):
            drop = set() if vector else {"num_envs", "autoreset_mode"}
            names = tuple(name for name in values if name not in drop)
            base = {"num_envs": LANES} if vector else {}
            found.append(Target(
                f"gym.{kind}({env_id!r})", partial(call, env_id, vector), partial(dict, base),
                names, SPOKEN, tuple({*names} & {*NUMBERS}), names, also=_ALSO, wanted=values,
            ))  # fmt: skip
    return found


_ALSO = (rbgym.IntegrationError, gym.error.Error)


def snapshot(env: Any) -> list[Any]:
    """All that a refused call must leave alone."""
    episodes = env.unwrapped.episodes
    batch = episodes.batch
    return [
        batch.block_view().copy(), episodes.started, episodes.ready,
        str(env.unwrapped.np_random.bit_generator.state),
    ]  # fmt: skip


def _episodes(env_id: str) -> list[Target]:
    single, many = created(env_id), created(env_id, True, num_envs=LANES)
    found = []
    for kind, env, n in (("env", single, ()), ("vec", many, (LANES,))):
        env.reset(seed=1)
        state = {k: v for k, v in env.state.items() if k not in ("angular_momentum", "time")}
        if "target_quaternion" in state and not _has_target(env):
            del state["target_quaternion"]
        state.pop("target_angular_velocity", None)
        options = {"state": state}
        if n:
            options["reset_mask"] = np.array([True, False, True])
        found += [
            target(f"{kind}.reset of {env_id}", partial(_reset, env), seed=3, options=options,
                   _optional=("seed",), _numeric=(), _untouched=partial(snapshot, env),
                   _spoken={"options": tuple({*state, "state", "reset_mask"})}, _also=_ALSO),
            target(f"{kind}.reset of {env_id}: state", partial(_placed, env), **state,
                   _spoken=dict.fromkeys(state, ("state",)), _also=_ALSO,
                   _numeric=tuple(state), _untouched=partial(snapshot, env),
                   _optional=tuple(state)),
            target(f"{kind}.step of {env_id}", partial(_step, env),
                   action=np.zeros((*n, env.action_space.shape[-1]), np.float32) + 0.5,
                   _numeric=("action",), _untouched=partial(snapshot, env), _also=_ALSO),
            target(f"{kind}.set_state of {env_id}", partial(_put, env), state=env.get_state(),
                   _untouched=partial(snapshot, env), _spoken={"state": ("rows", "generator")}),
        ]  # fmt: skip
    return found


def _has_target(env: Any) -> bool:
    return type(env.goal).__name__ == "Target"


def _reset(env: Any, **kwargs: Any) -> None:
    observation, info = env.reset(**kwargs)
    all_finite([observation, env.state, dict(info)])


def _put(env: Any, state: Any) -> None:
    env.set_state(state)
    now = env.get_state()
    rows, put = np.atleast_2d(now["rows"], state["rows"])
    whole = rows[:, FAILED] == 0.0  # of a body that failed, what its step left is taken away
    assert np.array_equal(rows[whole], np.broadcast_to(put, rows.shape)[whole])
    assert np.array_equal(now["generator"], state["generator"])
    env.reset(seed=1)


def _placed(env: Any, **state: Any) -> None:
    observation, _ = env.reset(seed=1, options={"state": state})
    all_finite([observation, env.state])


def _step(env: Any, action: Any) -> None:
    observation, reward, terminated, truncated, info = env.step(action)
    all_finite([observation, reward, env.state, dict(info)])
    if np.any(terminated | truncated):
        env.reset(seed=1)


_SETTING = actuators.Setting(
    body=HOOKS["body"], dt=0.1, h=0.05, horizon=100.0, limits=np.ones(3), scale=1.0, rate=5.0
)
_ACTUATORS: dict[str, tuple[Any, dict[str, Any]]] = {
    "ReactionWheels": (actuators.ReactionWheels, {
        "axes": np.eye(3), "inertia": 1e-4, "torque": 5e-3, "momentum": 0.03, "viscous": 1e-6,
        "coulomb": 1e-4, "start": 0.3,
    }),
    "ReactionWheels.pyramid": (actuators.ReactionWheels.pyramid, {"cant": 0.5, "torque": 1e-3}),
    "MagneticCoils": (actuators.MagneticCoils, {
        "dipole": 1.0, "altitude": 5e5, "inclination": 1.7,
    }),
    "MagneticCoils, on an orbit": (actuators.MagneticCoils, {"dipole": 1.0, "orbit": Orbit(5e5)}),
    "Thrusters": (actuators.Thrusters, {"minimum_pulse": 0.01}),
    "Delay": (actuators.Delay, {"seconds": 0.2}),
    "Lag": (actuators.Lag, {"time_constant": 0.05}),
    "Forces": (actuators.Forces, {"force": 1.0}),
    "Scaling": (actuators.Scaling, {
        "force": 1.0, "smallest": 0.4, "largest_scale": 2.1, "rate": 2.0,
    }),
}  # fmt: skip


def _actuated(cls: Any, **given: Any) -> Any:
    """Made, and put into its setting."""
    one = cls(**given)
    own = one if isinstance(one, actuators.Effector) else actuators.Torque()
    return actuators.assemble(one, own, _SETTING)


def _actuators() -> list[Target]:
    return [
        target(f"rbgym.envs.actuators.{name}", partial(_actuated, cls), **given,
               _numeric=tuple(given), _spoken={"cant": ("ReactionWheels.axes",)})
        for name, (cls, given) in _ACTUATORS.items()
    ]  # fmt: skip


def _satellites() -> list[Target]:
    return [
        target("rbgym.envs.satellites.Satellite", satellites.Satellite, body=HOOKS["body"],
               wheels={"momentum": 0.1}, coils={"dipole": 0.2}, torque=(0.1, 0.1, 0.2), dt=0.5,
               angle=0.01, rate=1e-3, seconds=10.0,
               _numeric=("torque", "dt", "angle", "rate", "seconds"), _optional=("torque",),
               _spoken={"wheels": ("ReactionWheels",), "coils": ("MagneticCoils",)}),
    ]  # fmt: skip


def _orbits() -> list[Target]:
    given = {"altitude": 5e5, "inclination": 1.0, "eccentricity": 0.1, "perigee": 0.5,
             "equator_field": 3e-5, "tilt": 0.16}  # fmt: skip
    return [target("rbgym.envs.orbit.Orbit", Orbit, **given, _numeric=tuple(given))]


def _columns() -> list[Target]:
    return [target("rbgym.envs.parts.columns.Column", Column, name="field", size=3, unit="T",
                   frame="body axes", scale=(1.0, 1.0, 2.0), low=-1.0, high=(1.0, 1.0, 1.0),
                   words="of the Earth", _numeric=("size", "scale", "low", "high"))]  # fmt: skip


def _registered() -> list[Target]:
    """By way of Gymnasium, wrappers and all; and the vector environment of Stable-Baselines3."""
    goals = np.array([1.0, 0.0, 0.0, 0.0])
    reach, slew = created("AttitudeReach-v0"), created("AttitudeSlew-v1")
    slew.reset(seed=0)
    return [
        target("gym.make", gym.make, id="RigidTop-v0", dt=0.02, disable_env_checker=True,
               _attacked=("dt",), _numeric=("dt",), _optional=("dt",), _fine=lambda _: None),
        target("rbgym.rollout_actions", rbgym.rollout_actions, env=slew, state=slew.get_state(),
               actions=np.full((2, 3, 3), 0.5), _numeric=("actions",), _fine=lambda _: None,
               _spoken={"state": ("rows", "generator")}),
        target("AttitudeReach.compute_reward", reach.compute_reward, achieved_goal=goals,
               desired_goal=goals, info={}, _attacked=("achieved_goal", "desired_goal"),
               _plain=True),
    ]  # fmt: skip


def targets(ids: Sequence[str] = IDS) -> list[Target]:
    """All of them, for these tasks."""
    of_ids = [t for env_id in ids for t in (*_makers(env_id), *_episodes(env_id))]
    return [*_actuators(), *_satellites(), *_orbits(), *_columns(), *_registered(), *of_ids]
