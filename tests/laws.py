"""A body and states to try laws of attitude on."""

import gymnasium as gym
import numpy as np

from family import QUICK, SLEW, at
from rbgym import RigidBody
from rbgym.agents import controllers
from rbgym.quaternion import from_rotation_vector

BODY = RigidBody([[3.0, 0.2, -0.1], [0.2, 2.0, 0.3], [-0.1, 0.3, 1.5]])
J = np.asarray(BODY.inertia)
FREE = (1e9, 1e9, 1e9)  # torque without limits


def drawn(count, seed=0):
    """Attitudes (count, 4) with either sign, and rates (count, 3)."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True), rng.normal(size=(count, 3))


def law_of(cls, limit=FREE, **gains):
    return cls(BODY, limit, rate_limit=2.0, dt=0.1, **gains)


def vee(matrix):
    """The vector of an antisymmetric matrix."""
    return np.array([matrix[2, 1], matrix[0, 2], matrix[1, 0]])


def flown(policy, env, steps, seed=0):
    """What is told at the end of so many steps under a policy."""
    (seen, info), memory = env.reset(seed=seed), None
    for _ in range(steps):
        action, memory = policy.predict(seen, memory)
        seen, *_, info = env.step(action)
    return info


def slew(name, vectors, steps, **gains):
    """Attitudes (steps, n, 4), rates and actions (steps, n, 3) after a start from rest at rotation
    vectors (n, 3)."""
    vectors = np.atleast_2d(vectors)
    env = gym.make_vec(SLEW, num_envs=len(vectors), **QUICK[SLEW])
    seen, _ = at(env, from_rotation_vector(vectors), 0 * vectors)
    law, memory, path = controllers.make(name, env, **gains), None, []
    for _ in range(steps):
        actions, memory = law.predict(seen, memory, np.zeros(len(vectors), bool))
        seen = env.step(actions)[0]
        state = env.unwrapped.state
        path.append((state["quaternion"], state["angular_velocity"], actions))
    return tuple(map(np.array, zip(*path, strict=True)))
