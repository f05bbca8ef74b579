"""Gradients through the physics: PyTorch differentiates the steps of a vector environment."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from torch.autograd.function import once_differentiable

from rbgym.agents.policies.memory import Memory
from rbgym.envs.base import AttitudeVectorEnv
from rbgym.envs.derivatives import Differentiation


class Stepped(NamedTuple):
    """A step's results: observation (n, w), reward (n,), both with gradients; ended (n,) bool."""

    observation: torch.Tensor
    reward: torch.Tensor
    ended: torch.Tensor


class _Step(torch.autograd.Function):
    """A step as a function of state errors (n, s), all zero, and actions (n, m). Returns the state
    errors after the step, observation and reward, with the derivatives of the step itself."""

    @staticmethod
    def forward(ctx: Any, error: Any, actions: Any, env: Any) -> Any:
        given = actions.detach().numpy()
        found = env.differentiation.of_step(given, strict=False)
        episodes = env.differentiation.episodes
        begins, resets = episodes.at_start(), episodes.done & env.resets_itself
        observation, reward, terminated, truncated, _ = env.env.step(given)
        env.ended = torch.from_numpy(terminated | truncated)
        env.terminated = torch.from_numpy(terminated)
        tensor, ctx.errors = torch.zeros(error.shape, dtype=actions.dtype), error.shape[1]
        dtype = tensor.numpy().dtype
        ctx.whole, shown = found.whole.astype(dtype), found.shown.astype(dtype)
        # A step that resets a lane, or that cannot be solved, has no derivative.
        none = resets | episodes.batch.failed
        ctx.whole[none], shown[none] = 0.0, observation[none]
        ctx.whole[begins, :, : ctx.errors] = 0.0  # nothing before a start led to it
        return tensor, torch.from_numpy(shown), torch.from_numpy(reward.astype(dtype))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> Any:
        error, observation, reward = (gradient.numpy() for gradient in gradients)
        along = np.concatenate([error, observation, reward[:, None]], axis=1)
        found = torch.from_numpy(np.matmul(along[:, None], ctx.whole)[:, 0])
        return found[:, : ctx.errors], found[:, ctx.errors :], None


class DifferentiableEnv:
    """A vector environment of rbgym whose steps PyTorch differentiates.

        env = DifferentiableEnv(gym.make_vec("RigidTop-v0", num_envs=64))
        observation = env.reset(seed=0)
        stepped = env.step(policy(observation))
        stepped.reward.sum().backward()

    An error of the state, always zero, carries the gradient from step to step, see
    `rbgym.envs.derivatives.Linear`. `detach` cuts the gradient. So does the end of an episode, also
    one whose step cannot be solved: reset the lane, or let the env do it (NEXT_STEP, its default
    mode). Call `detach` after `env.set_state`. ended, terminated: (n,) bool, of the last step.
    Observations, rewards and derivatives have the dtype of the actions and are computed in float64.

    memory: that of a network, see `rbgym.agents.policies.Network`. What it reads is appended to the
    observations; gradients pass through it too.

    Raises ValueError where a part of the env has no derivative, see
    `rbgym.envs.derivatives.Differentiation`, in the mode SAME_STEP, and for a memory in DISABLED.
    """

    def __init__(self, env: Any, memory: Memory | None = None) -> None:
        if not isinstance(env, AttitudeVectorEnv):
            raise ValueError(f"env must be a vector environment of rbgym, unwrapped, got {env!r}")
        if env.autoreset_mode is AutoresetMode.SAME_STEP:
            raise ValueError("env must reset in the mode NEXT_STEP or DISABLED, got SAME_STEP")
        self.resets_itself = env.autoreset_mode is AutoresetMode.NEXT_STEP
        if not (memory is None or self.resets_itself):
            raise ValueError("env must reset in the mode NEXT_STEP for a memory, got DISABLED")
        self.env, self.memory = env, memory
        self.remembered = torch.zeros(env.num_envs, 0 if memory is None else memory.held)
        self.differentiation = Differentiation(env)
        self.ended = self.terminated = torch.zeros(env.num_envs, dtype=torch.bool)
        self._error: torch.Tensor | None = None

    def reset(self, *, seed: int | Sequence[int] | None = None) -> torch.Tensor:
        """Start episodes; returns the observations (n, w), float32, without gradient."""
        observation, _ = self.env.reset(seed=seed)
        self.ended = self.terminated = torch.zeros(self.env.num_envs, dtype=torch.bool)
        self.detach()
        return self._with_memory(torch.from_numpy(observation), ~self.ended)

    def restart(self, lanes: torch.Tensor, observation: torch.Tensor) -> torch.Tensor:
        """Begin the next episode in these lanes, (n,) bool. observation: the last one of all lanes.
        Returns it with the first observations of the lanes that begin, and cuts the gradient."""
        seen, _ = self.env.reset(options={"reset_mask": lanes.numpy()})
        self.ended, self.terminated = self.ended & ~lanes, self.terminated & ~lanes
        self.detach()
        before = self.remembered
        first = self._with_memory(torch.from_numpy(seen), lanes)
        self.remembered = torch.where(lanes[:, None], self.remembered, before)
        return torch.where(lanes[:, None], first, observation)

    def step(self, actions: torch.Tensor) -> Stepped:
        """Step a control period under actions (n, m), on the CPU; beyond +-1, no gradient."""
        kinds = torch.float32, torch.float64
        shape, given = self.env.action_space.shape, isinstance(actions, torch.Tensor)
        if not given or actions.shape != shape or actions.dtype not in kinds:
            raise ValueError(
                f"actions must be a tensor of float32 or float64 of shape {shape}, got {actions!r}"
            )
        if self._error is None:
            size = self.env.num_envs, len(self.differentiation.names)
            self._error = torch.zeros(size, dtype=actions.dtype)
        begins = self.ended
        self._error, observation, reward = _Step.apply(self._error, actions, self)  # type: ignore[no-untyped-call]
        return Stepped(self._with_memory(observation, begins), reward, self.ended)

    def detach(self) -> None:
        """Cut the gradient between later steps and earlier ones."""
        self._error, self.remembered = None, self.remembered.detach()

    def _with_memory(self, observation: torch.Tensor, begins: torch.Tensor) -> torch.Tensor:
        """The observation and what the network reads besides; it forgets where one begins."""
        if self.memory is None:
            return observation
        before = torch.where(begins[:, None], self.memory.first(observation), self.remembered)
        read, self.remembered = self.memory.after(before, observation)
        return torch.cat([observation, read], dim=1)
