"""A native goal vector env on a line, with what an adapter could trip over, for test_sb3.

It returns its own buffers, which the next step overwrites; its infos are computed when read.
"""

from collections import Counter
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space


class LazyInfo(dict[str, Any]):
    """A vector info whose values are functions, called when read, and the reads counted."""

    reads: ClassVar[Counter[str]] = Counter()

    def __getitem__(self, key: str) -> Any:
        self.reads[key] += 1
        return super().__getitem__(key)()


class GoalLine(VectorEnv[Any, Any, Any]):
    """x += action; ends beyond x = 2 (terminated) and, lane i, after 3 + i steps (truncated)."""

    def __init__(
        self,
        num_envs: int = 3,
        autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP,
        render_mode: str | None = None,
    ) -> None:
        self.num_envs, self.render_mode = num_envs, render_mode
        self.metadata = {"autoreset_mode": autoreset_mode, "render_modes": ["rgb_array"]}
        box = spaces.Box(-np.inf, np.inf, (1,), np.float64)
        names = ("observation", "achieved_goal", "desired_goal")
        self.single_observation_space = spaces.Dict(dict.fromkeys(names, box))
        self.single_action_space = spaces.Box(-1, 1, (1,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.buffers = {name: np.zeros((num_envs, 1)) for name in names}
        self.clock, self.horizon = np.zeros(num_envs, int), 3 + np.arange(num_envs)
        self.last_reset: tuple[Any, Any] | None = None
        self.reward_calls = 0

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.last_reset = (seed, options)
        self._restart((options or {}).get("reset_mask", np.ones(self.num_envs, bool)))
        return self.buffers, LazyInfo({"x": self.buffers["observation"][:, 0].copy})

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        self.buffers["observation"] += actions
        self.buffers["achieved_goal"] += actions
        self.clock += 1
        x = self.buffers["observation"][:, 0]
        terminated, truncated = x > 2, self.clock >= self.horizon
        done, final_x = terminated | truncated, x.copy()
        infos = LazyInfo({"x": x.copy})
        if done.any() and self.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP:
            infos["final_obs"] = {k: v.copy() for k, v in self.buffers.items()}.copy
            final = {"x": final_x, "_x": done, "is_success": terminated, "_is_success": done}
            infos |= {"_final_obs": done.copy, "_final_info": done.copy, "final_info": final.copy}
            self._restart(done)
        return self.buffers, -np.abs(final_x - 2.0), terminated, truncated, infos

    def compute_reward(self, achieved: Any, desired: Any, infos: Any) -> Any:
        self.reward_calls += 1
        return -np.abs(achieved - desired)[..., 0]

    def render(self) -> tuple[np.ndarray, ...]:
        return tuple(np.full((4, 6, 3), lane, np.uint8) for lane in range(self.num_envs))

    def _restart(self, mask: np.ndarray) -> None:
        self.buffers["desired_goal"][:] = 2.0
        self.clock[mask] = 0
        for name in ("observation", "achieved_goal"):
            self.buffers[name][mask] = 0.1 * np.flatnonzero(mask)[:, None]
