"""Gradients through the physics: steps of a vector environment as operations of PyTorch."""

from typing import Any, NamedTuple

import numpy as np
import torch

from rbgym.envs.derivatives import Differentiation


class Stepped(NamedTuple):
    """Of a step of n envs: observation (n, w) and reward (n,), which have gradients; ended (n,)
    bool, terminated or truncated."""

    observation: torch.Tensor
    reward: torch.Tensor
    ended: torch.Tensor


class _Step(torch.autograd.Function):
    """From errors of the state (n, s), which are zero, and actions (n, m): errors after the step,
    observation and reward. The derivatives are those of the step itself."""

    @staticmethod
    def forward(ctx: Any, error: Any, actions: Any, env: Any) -> Any:
        given = actions.detach().numpy()
        found = env.differentiation.of_step(given)
        resets = env.ended.numpy()[:, None]
        observation, reward, terminated, truncated, _ = env.env.step(given)
        env.ended = torch.from_numpy(terminated | truncated)
        observation = np.where(resets, observation, found.shown)  # not rounded to float32
        parts = (found.state, found.observation, found.reward[:, None])
        whole = np.concatenate(parts, axis=1)
        ctx.save_for_backward(torch.from_numpy(whole).to(actions.dtype))
        ctx.errors = error.shape[1]
        return (
            torch.zeros_like(error),
            torch.from_numpy(observation).to(actions.dtype),
            torch.from_numpy(reward).to(actions.dtype),
        )

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (whole,) = ctx.saved_tensors
        error, observation, reward = gradients
        along = torch.cat([error, observation, reward[:, None]], dim=1)
        found = torch.einsum("nij,ni->nj", whole, along)
        return found[:, : ctx.errors], found[:, ctx.errors :], None


class DifferentiableEnv:
    """A vector environment of rbgym whose steps PyTorch differentiates.

        env = DifferentiableEnv(gym.make_vec("RigidTop-v0", num_envs=64))
        observation = env.reset(seed=0)
        stepped = env.step(policy(observation))
        stepped.reward.sum().backward()

    The state itself is in the env; what carries its gradient from step to step is an error of it,
    always zero, see `rbgym.envs.derivatives.Linear`. `detach` cuts the gradient. A lane whose
    episode has ended passes none on: reset it, or let the env do so (NEXT_STEP, its default mode).
    Observations, rewards and derivatives are of the actions' type, computed in float64.

    Raises ValueError where a part of the env has no derivative: hooks that are callables, noise, a
    delay, pulses. A step raises IntegrationError where it cannot be solved.
    """

    def __init__(self, env: Any) -> None:
        self.env = env
        self.differentiation = Differentiation(env)
        self.ended = torch.zeros(env.num_envs, dtype=torch.bool)
        self._error: torch.Tensor | None = None

    def reset(self, *, seed: int | None = None) -> torch.Tensor:
        """Begin episodes; returns the observations (n, w), float32, without gradient."""
        observation, _ = self.env.reset(seed=seed)
        self.ended[:] = False
        self._error = None
        return torch.from_numpy(observation)

    def step(self, actions: torch.Tensor) -> Stepped:
        """A control period under actions (n, m), on the CPU; beyond +-1 they are cut, and have no
        gradient."""
        if self._error is None:
            size = self.env.num_envs, len(self.differentiation.names)
            self._error = torch.zeros(size, dtype=actions.dtype)
        error = torch.where(self.ended[:, None], self._error.detach(), self._error)
        resets = self.ended
        error, observation, reward = _Step.apply(error, actions, self)  # type: ignore[no-untyped-call]
        # Where an episode began instead of a step there is nothing to differentiate.
        self._error = torch.where(resets[:, None], error.detach(), error)
        observation = torch.where(resets[:, None], observation.detach(), observation)
        return Stepped(observation, torch.where(resets, reward.detach(), reward), self.ended)

    def detach(self) -> None:
        """Let no gradient pass from later steps to earlier ones."""
        self._error = None
