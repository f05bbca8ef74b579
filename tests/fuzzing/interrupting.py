"""Calls that are broken off wherever that may be, and hooks that fail: what is half done never goes
on."""

import copy
import gc
import pickle
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from fuzzing.environments import created

LANES, HORIZON = 3, 4
ANYTHING_ELSE = (ValueError, gym.error.ResetNeeded)  # what a step may say instead


class Hook:
    """One of the env's hooks; fails at the call number `left`, of all hooks together."""

    left: ClassVar[int] = 0

    def __init__(self, width: int, size: float) -> None:
        self.width, self.size = width, size

    def __call__(self, state: Any, *args: Any) -> Any:
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

    def __init__(self, env_id: str, vector: bool, seed: int, **kwargs: Any) -> None:
        self.rng, kwargs["max_episode_steps"] = np.random.default_rng(seed), HORIZON
        if vector:
            kwargs["num_envs"] = LANES
        self.env, self.like = (created(env_id, vector, **kwargs) for _ in range(2))
        self.hooked, self.seen = "reward" in kwargs, Counter[str]()
        self.calls: dict[str, Callable[[Any], Any]] = {"step": self.step, "reset": self.reset}
        self.lengths: dict[str, int] = {}
        self.start()

    def interrupt(self, count: int) -> None:
        """Break off so many calls, each after some whole ones."""
        for _ in range(count):
            for _ in range(self.rng.integers(3)):
                outcome(self.env, self.action())
            self.once()
            self.start()

    def once(self) -> None:
        """Break off a call: a step either is refused, or goes on from before it or after it."""
        name, seed = str(self.rng.choice(list(self.calls))), int(self.rng.integers(2**32))
        before, after = copy.deepcopy(self.env), copy.deepcopy(self.env)

        def call(env: Any) -> None:
            self.calls[name](env, np.random.default_rng(seed))

        if name not in self.lengths:
            other = copy.deepcopy(self.env)
            for _ in range(2):  # the first finds the kernels
                other.reset(seed=seed)  # for a lane may have ended
                self.lengths[name] = instructions(lambda: call(other), sys.maxsize)
        if self.hooked and self.rng.random() < 0.3:
            Hook.left = int(self.rng.integers(1, 5))
            attempt(lambda: call(self.env))
            Hook.left = 0
        else:
            # Beyond the length too: calls of a name differ.
            at = int(self.rng.integers(1, 1.2 * self.lengths[name]))
            attempt(lambda: instructions(lambda: call(self.env), at))
        action = self.action()
        got = outcome(self.env, action)
        if "ResetNeeded" in str(got):
            self.seen[f"{name} refused"] += 1
            return
        self.seen[f"{name} went on"] += 1
        attempt(lambda: call(after))
        assert got in (outcome(before, action), outcome(after, action)), f"half of {name}"

    def start(self) -> None:
        """A whole reset leaves nothing behind of what was before."""
        seed, action = int(self.rng.integers(2**32)), self.action()
        for env in (self.env, self.like):
            env.reset(seed=seed)
        assert outcome(self.env, action) == outcome(self.like, action), "a reset is not whole"

    # --- calls ------------------------------------------------------------------------------

    def action(self) -> Any:
        return self.rng.uniform(-1, 1, self.env.action_space.shape)

    def step(self, env: Any, rng: Any) -> None:
        """A step."""
        env.step(rng.uniform(-1, 1, env.action_space.shape))

    def reset(self, env: Any, rng: Any) -> None:
        """A reset, with or without seed, state and, in a vector, mask; some are refused."""
        seed = None if rng.random() < 0.3 else int(rng.integers(2**32))
        options: dict[str, Any] = {}
        if rng.random() < 0.5:
            q = rng.normal(size=4)
            q /= np.linalg.norm(q) if rng.random() < 0.8 else 2.0
            options["state"] = {"quaternion": q, "angular_velocity": rng.uniform(-0.5, 0.5, 3)}
        if env.action_space.shape != env.episodes.commands.shape[1:] and rng.random() < 0.5:
            options["reset_mask"] = rng.random(LANES) < 0.5
        env.reset(seed=seed, options=options or None)


def outcome(env: Any, action: Any) -> Any:
    """What a step returns, and the state afterwards, as bytes; or what it says instead."""
    try:
        return pickle.dumps((env.step(action)[:4], env.state))
    except ANYTHING_ELSE as error:
        return repr(error)


def attempt(call: Callable[[], Any]) -> None:
    """Call it, whatever comes of that."""
    try:
        call()
    except (KeyboardInterrupt, RuntimeError, *ANYTHING_ELSE):
        pass


def instructions(call: Callable[[], Any], at: int) -> int:
    """Call it, and break it off at the instruction number `at`; or how many there were."""
    count, before, collects = 0, sys.gettrace(), gc.isenabled()

    def trace(frame: Any, event: str, arg: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        if count == at:
            raise KeyboardInterrupt
        return trace

    gc.disable()  # what other calls have left behind is no part of this one
    sys.settrace(trace)
    try:
        call()
    except ANYTHING_ELSE:
        pass
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
    return count
