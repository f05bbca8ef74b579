"""Calls that are broken off wherever that may be, and hooks that fail: what is half done never goes
on."""

import copy
import gc
import pickle
import sys
from collections import Counter
from contextlib import suppress

import gymnasium as gym
import numpy as np

from fuzzing.environments import created

LANES, HORIZON = 3, 4
ANYTHING_ELSE = (ValueError, gym.error.ResetNeeded)  # what a step may say instead
BROKEN_OFF = (KeyboardInterrupt, RuntimeError, *ANYTHING_ELSE)


class Hook:
    """One of the env's hooks; fails at the call number `left`, of all hooks together."""

    left = 0

    def __init__(self, width, size):
        self.width, self.size = width, size

    def __call__(self, state, *args):
        Hook.left -= 1
        if Hook.left == 0:
            raise RuntimeError("a hook fails")
        values = self.size * state["angular_velocity"]
        return values[:, : self.width] if self.width else values[:, 0]


HOOKS = {
    "observation": Hook(2, 1.0),
    "reward": Hook(0, 1.0),
    "termination": lambda state: Hook(0, 1.0)(state) > 0.3,
    "disturbance": Hook(3, 1e-3),
}


class Interrupter:
    """An environment of which calls are broken off, and its like, to which nothing happens."""

    def __init__(self, env_id, vector, seed, **kwargs):
        self.rng, kwargs["max_episode_steps"] = np.random.default_rng(seed), HORIZON
        if vector:
            kwargs["num_envs"] = LANES
        self.env, self.like = (created(env_id, vector, **kwargs) for _ in range(2))
        self.vector, self.hooked, self.seen = vector, "reward" in kwargs, Counter()
        self.calls, self.lengths = {"step": self.step, "reset": self.reset}, {}
        self.start()

    def interrupt(self, count):
        """Break off so many calls, each after some whole ones."""
        for _ in range(count):
            for _ in range(self.rng.integers(3)):
                outcome(self.env, self.action())
            self.once()
            self.start()

    def once(self):
        """Break off a call: a step either is refused, or goes on from before it or after it."""
        name, seed = str(self.rng.choice(list(self.calls))), int(self.rng.integers(2**32))
        before, after = copy.deepcopy(self.env), copy.deepcopy(self.env)

        def call(env):
            self.calls[name](env, np.random.default_rng(seed))

        if name not in self.lengths:
            other = copy.deepcopy(self.env)
            for _ in range(2):  # the first finds the kernels
                other.reset(seed=seed)  # for a lane may have ended
                self.lengths[name] = instructions(lambda: call(other), sys.maxsize)
        with suppress(*BROKEN_OFF):
            if self.hooked and self.rng.random() < 0.3:
                Hook.left = int(self.rng.integers(1, 5))
                call(self.env)
            else:
                # Beyond the length too: calls of a name differ.
                at = int(self.rng.integers(1, 1.2 * self.lengths[name]))
                instructions(lambda: call(self.env), at)
        Hook.left = 0
        action = self.action()
        got = outcome(self.env, action)
        if "ResetNeeded" in str(got):
            self.seen[f"{name} refused"] += 1
            return
        self.seen[f"{name} went on"] += 1
        with suppress(*BROKEN_OFF):
            call(after)
        assert got in (outcome(before, action), outcome(after, action)), f"half of {name}"

    def start(self):
        """A whole reset leaves nothing behind of what was before."""
        seed, action = int(self.rng.integers(2**32)), self.action()
        for env in (self.env, self.like):
            env.reset(seed=seed)
        assert outcome(self.env, action) == outcome(self.like, action), "a reset is not whole"

    def action(self):
        return self.rng.uniform(-1, 1, self.env.action_space.shape)

    def step(self, env, rng):
        env.step(rng.uniform(-1, 1, env.action_space.shape))

    def reset(self, env, rng):
        """A reset, with or without seed, state and, in a vector, mask; some are refused."""
        seed = None if rng.random() < 0.3 else int(rng.integers(2**32))
        options = {}
        if rng.random() < 0.5:
            q = rng.normal(size=4)
            q /= np.linalg.norm(q) if rng.random() < 0.8 else 2.0
            options["state"] = {"quaternion": q, "angular_velocity": rng.uniform(-0.5, 0.5, 3)}
        if self.vector and rng.random() < 0.5:
            options["reset_mask"] = rng.random(LANES) < 0.5
        env.reset(seed=seed, options=options or None)


def outcome(env, action):
    """What a step returns, and the state afterwards, as bytes; or what it says instead."""
    try:
        return pickle.dumps((env.step(action)[:4], env.state))
    except ANYTHING_ELSE as error:
        return repr(error)


def instructions(call, at):
    """Call it, and break it off at the instruction number `at`; or how many there were."""
    count, before, collects = 0, sys.gettrace(), gc.isenabled()

    def trace(frame, event, arg):
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        if count == at:
            raise KeyboardInterrupt
        return trace

    gc.disable()  # what other calls have left behind is no part of this one
    sys.settrace(trace)
    try:
        with suppress(*ANYTHING_ELSE):
            call()
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
    return count
