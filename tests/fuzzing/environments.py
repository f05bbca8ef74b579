"""Targets of the environments: what makes, resets and steps them."""

from functools import partial

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator

import rbgym
from fuzzing.contract import all_finite, target
from rbgym.envs import actuators, satellites
from rbgym.envs.orbit import Orbit
from rbgym.envs.parts.columns import Column
from rbgym.registration import ENVIRONMENTS
from rbgym.rows import FAILED

IDS = list(ENVIRONMENTS)
LANES = 3
CONE = {"axis": (0, 0, 1), "direction": (1, 0, 0), "half_angle": 0.1}
HOOKS = {
    "integrator": "quat_em",
    "body": rbgym.RigidBody([2e-3, 3e-3, 4e-3], mass=0.1),
    "actuator": "torque",
    "reward": {"closeness": 1.0, "change": 0.1},
    "observation": "quaternion",
    "sensor": {"attitude": 1e-3, "rate": 1e-4, "rate_bias": 1e-3},
    "termination": {"rate_limit": 5.0},
    "disturbance": {"constant": (1e-3, 0, 0), "white_noise": 1e-4, "gravity_gradient": 1e-3},
    "randomization": {"inertia": 0.1, "mass": 0.1, "torque": 0.1, "axes": 0.1},
    "faults": {"time": (0.1, 0.5), "kinds": ["stuck", "sensor"], "probability": 0.5},
    "constraints": {"keep_out": [CONE], "rate": 0.1, "command": 0.9, "ends": False},
    "difficulty": "medium",
    "orbit": {"altitude": 5e5},
    "reference": "nadir",
    "satellite": {"body": rbgym.RigidBody([2e-3, 3e-3, 4e-3]), "torque": 0.01, "dt": 0.1},
    "success": {"angle": 0.1, "rate": 0.01, "seconds": 1.0},
    "render_mode": "rgb_array",
}
# What nothing is compiled anew for.
NUMBERS = {
    "dt": 0.02, "substeps": 2, "mgl": 0.5, "torque_limit": (0.1, 0.1, 0.1), "torque_scale": 1.0,
    "rate_limit": 5.0, "preview": 0.1, "max_episode_steps": 10, "initial": {}, "projection": True,
    "info": ["is_success"],
}  # fmt: skip
OF_LANES = {"num_envs": LANES, "autoreset_mode": "NextStep"}


def created(env_id, vector=False, **kwargs):
    """An environment without wrappers."""
    spec = gym.spec(env_id)
    return load_env_creator(spec.vector_entry_point if vector else spec.entry_point)(**kwargs)


def _made(env_id, vector, **kwargs):
    created(env_id, vector, **kwargs)


def _run(env_id, vector, **kwargs):
    env = created(env_id, vector, **kwargs)
    all_finite([env.reset(seed=0)[0], env.state])
    for _ in range(2):
        all_finite(env.step(np.ones(env.action_space.shape, np.float32))[:2])
    all_finite(env.state)


def _makers(env_id):
    """Each argument of an env by itself."""
    yield target(f"gym.make({env_id!r})", partial(_made, env_id, False), **HOOKS).but(alone=True)
    yield target(f"gym.make({env_id!r})", partial(_run, env_id, False), **NUMBERS).but(alone=True)
    for call, given in ((_made, HOOKS), (_run, NUMBERS), (_run, OF_LANES)):
        call = partial(call, env_id, True, **({} if given is OF_LANES else {"num_envs": LANES}))
        yield target(f"gym.make_vec({env_id!r})", call, **given).but(alone=True)


def snapshot(env):
    """All that a refused call must leave alone."""
    episodes = env.unwrapped.episodes
    batch = episodes.batch
    return [
        batch.block_view().copy(), episodes.started, episodes.ready,
        str(env.unwrapped.np_random.bit_generator.state),
    ]  # fmt: skip


def _calls(env_id):
    for lanes in ((), (LANES,)):
        env = created(env_id, bool(lanes), **({"num_envs": LANES} if lanes else {}))
        env.reset(seed=1)
        derived = {"angular_momentum", "time", "target_angular_velocity"}
        if type(env.goal).__name__ != "Target":
            derived.add("target_quaternion")
        state = {name: value for name, value in env.state.items() if name not in derived}
        options = {"state": state}
        if lanes:
            options["reset_mask"] = np.array([True, False, True])
        action = np.full((*lanes, env.action_space.shape[-1]), 0.5, np.float32)
        named = ("state", "reset_mask", *state)
        kind = "vec" if lanes else "env"
        for made in (
            target(f"{kind}.reset of {env_id}", partial(_reset, env), seed=3,
                   options=options).but(loose=("seed",), spoken=named),
            target(f"{kind}.reset of {env_id}: state", partial(_placed, env), **state
                   ).but(spoken=("state",)),
            target(f"{kind}.step of {env_id}", partial(_step, env), action=action),
            target(f"{kind}.set_state of {env_id}", partial(_put, env), state=env.get_state()),
        ):  # fmt: skip
            yield made.but(untouched=partial(snapshot, env))


def _reset(env, **kwargs):
    observation, info = env.reset(**kwargs)
    all_finite([observation, env.state, dict(info)])


def _placed(env, **state):
    all_finite([env.reset(seed=1, options={"state": state})[0], env.state])


def _step(env, action):
    observation, reward, terminated, truncated, info = env.step(action)
    all_finite([observation, reward, env.state, dict(info)])
    if np.any(terminated | truncated):
        env.reset(seed=1)


def _put(env, state):
    env.set_state(state)
    now = env.get_state()
    rows, put = np.atleast_2d(now["rows"], state["rows"])
    whole = rows[:, FAILED] == 0.0  # of a body that failed, what its step left is taken away
    assert np.array_equal(rows[whole], np.broadcast_to(put, rows.shape)[whole])
    assert np.array_equal(now["generator"], state["generator"])
    env.reset(seed=1)


_SETTING = actuators.Setting(
    body=HOOKS["body"], dt=0.1, h=0.05, horizon=100.0, limits=np.ones(3), scale=1.0, rate=5.0
)
_WHEELS = {"axes": np.eye(3), "inertia": 1e-4, "torque": 5e-3, "momentum": 0.03, "viscous": 1e-6,
           "coulomb": 1e-4, "start": 0.3}  # fmt: skip
_SCALING = {"force": 1.0, "smallest": 0.4, "largest_scale": 2.1, "rate": 2.0}
_ACTUATORS = {
    "ReactionWheels": (actuators.ReactionWheels, _WHEELS),
    "ReactionWheels.pyramid": (actuators.ReactionWheels.pyramid, {"cant": 0.5, "torque": 1e-3}),
    "MagneticCoils": (
        actuators.MagneticCoils, {"dipole": 1.0, "altitude": 5e5, "inclination": 1.7}
    ),
    "MagneticCoils, on an orbit": (actuators.MagneticCoils, {"dipole": 1.0, "orbit": Orbit(5e5)}),
    "Thrusters": (actuators.Thrusters, {"minimum_pulse": 0.01}),
    "Delay": (actuators.Delay, {"seconds": 0.2}),
    "Lag": (actuators.Lag, {"time_constant": 0.05}),
    "FlexibleModes": (
        actuators.FlexibleModes, {"coupling": (0.1, 0.0, 0.0), "frequency": 2.0, "damping": 0.01}
    ),
    "FlexibleModes.slosh": (
        actuators.FlexibleModes.slosh, {"mass": 0.1, "place": (0.1, 0.0, 0.0),
                                        "axis": (1.0, 0.0, 0.0), "frequency": 2.0, "damping": 0.01}
    ),
    "Forces": (actuators.Forces, {"force": 1.0}),
    "Scaling": (actuators.Scaling, _SCALING),
}  # fmt: skip


def _actuated(cls, **given):
    """Made, and put into its setting."""
    one = cls(**given)
    own = one if isinstance(one, actuators.Effector) else actuators.Torque()
    return actuators.assemble(one, own, _SETTING)


def _parts():
    for name, (cls, given) in _ACTUATORS.items():
        yield target(f"rbgym.envs.actuators.{name}", partial(_actuated, cls), **given)
    yield target("rbgym.envs.satellites.Satellite", satellites.Satellite, body=HOOKS["body"],
                 wheels={"momentum": 0.1}, coils={"dipole": 0.2}, torque=(0.1, 0.1, 0.2), dt=0.5,
                 angle=0.01, rate=1e-3, seconds=10.0)  # fmt: skip
    yield target("rbgym.envs.orbit.Orbit", Orbit, altitude=5e5, inclination=1.0, eccentricity=0.1,
                 perigee=0.5, equator_field=3e-5, tilt=0.16, j2=True, node=1.0, anomaly=2.0,
                 date="2026-03-20T14:46Z")  # fmt: skip
    yield target("rbgym.envs.parts.columns.Column", Column, name="field", size=3, unit="T",
                 frame="body axes", scale=(1.0, 1.0, 2.0), low=-1.0, high=(1.0, 1.0, 1.0),
                 words="of the Earth")  # fmt: skip


def _drawn():
    """What differs from episode to episode, given; and how it is drawn."""
    spread = {"inertia": 0.1, "mass": 0.1, "torque": 0.1, "delay": 0.1, "misalignment": 0.1}
    how = {"actuator": {"delay": {"seconds": 1.0}}, "sensor": {"rate_bias": 1e-3}}
    for lanes in ((), (LANES,)):
        many = {"num_envs": LANES} if lanes else {}
        env = created("AttitudeSlew-v1", bool(lanes), randomization=spread, **how, **many)
        env.reset(seed=1)
        call = partial(_flown, env)
        yield target(f"{'vec' if lanes else 'env'}.reset: parameters", call, **env.parameters).but(
            untouched=partial(snapshot, env), spoken=("parameters",)
        )
    how["randomization"] = {"torque": {"uniform": (0.5, 2.0)}, "mass": {"normal": (1.0, 0.1)},
                            "inertia": {"log_uniform": (0.5, 2.0)}}  # fmt: skip
    yield target("randomization", partial(_run, "AttitudeSlew-v1", True, num_envs=LANES), **how)


def _flown(env, **parameters):
    all_finite([env.reset(seed=1, options={"parameters": parameters})[0], env.parameters])
    all_finite([env.step(np.ones(env.action_space.shape, np.float32))[0], env.state])


def _registered():
    """By way of Gymnasium, wrappers and all; and what is given states or goals."""
    goal = np.array([1.0, 0.0, 0.0, 0.0])
    reach, slew = created("AttitudeReach-v0"), created("AttitudeSlew-v1")
    slew.reset(seed=0)
    make = partial(gym.make, "RigidTop-v0", disable_env_checker=True)
    yield target("gym.make", make, dt=0.02).but(finite=False)
    yield target("rbgym.rollout_actions", rbgym.rollout_actions, env=slew, state=slew.get_state(),
                 actions=np.full((2, 3, 3), 0.5)).but(finite=False)  # fmt: skip
    yield target("AttitudeReach.compute_reward", partial(reach.compute_reward, info={}),
                 achieved_goal=goal, desired_goal=goal).but(plain=True)  # fmt: skip


def targets(ids=IDS):
    """All of them, for these tasks."""
    of_ids = [made for env_id in ids for made in (*_makers(env_id), *_calls(env_id))]
    return [*_parts(), *_registered(), *_drawn(), *of_ids]
