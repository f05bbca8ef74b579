"""A network learns what a law commands, in the states to which the network itself leads.

Round by round the lanes fly, some steered by the law and the others by the network; in every state
that is met the law says what it would command, and the network is fitted to all that was said so
far. Source: Ross, Gordon & Bagnell (2011), A reduction of imitation learning and structured
prediction to no-regret online learning, Int. Conf. Artificial Intelligence and Statistics (DAgger).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

Floats = NDArray[np.float32]
# Share of the lanes that the law steers, round by round; from then on none.
_LED = (1.0, 0.4, 0.3, 0.2, 0.1)
_KEPT = 120_000  # states of a round
_BATCH, _RATE, _SMOOTH = 2048, 1e-3, 0.1


class Imitation:
    """What was said so far, and the network that is fitted to it.

    lanes: a vector env that resets itself (NEXT_STEP). law: a controller for it. actor: layers of
    PyTorch behind `shown`, which makes their inputs of observations (n, width). seeds: of the lanes
    in a round. length: steps of a round. rounds: how many are done.
    """

    def __init__(
        self,
        lanes: Any,
        law: Any,
        actor: nn.Module,
        shown: Callable[[torch.Tensor], torch.Tensor],
        seeds: Callable[[int], Sequence[int]],
        length: int,
    ) -> None:
        self.lanes, self.law, self.actor, self.shown, self.seeds = lanes, law, actor, shown, seeds
        self.rounds, self.steps, self.length = 0, 0, length
        self.optimiser = torch.optim.Adam(actor.parameters(), lr=_RATE)
        self.met: list[Floats] = []
        self.said: list[Floats] = []

    def one_round(self, epochs: int) -> None:
        """Fly an episode in every lane, and fit the network to all that was said."""
        rng = np.random.default_rng([self.rounds, self.lanes.num_envs])
        led = _LED[self.rounds] if self.rounds < len(_LED) else 0.0
        self._fly(rng.random(self.lanes.num_envs) < led, rng)
        shuffling = torch.Generator().manual_seed(self.rounds)
        inputs = self.shown(torch.from_numpy(np.concatenate(self.met)))
        wanted = torch.from_numpy(np.concatenate(self.said))
        for epoch in range(epochs):
            self.optimiser.param_groups[0]["lr"] = _RATE * (1.0 - epoch / epochs)
            for part in _parts(len(inputs), shuffling):
                self.optimiser.zero_grad()
                loss = nn.functional.smooth_l1_loss(
                    self.actor(inputs[part]), wanted[part], beta=_SMOOTH
                )
                loss.backward()  # type: ignore[no-untyped-call]
                self.optimiser.step()
        self.rounds += 1

    def _fly(self, led: NDArray[np.bool_], rng: np.random.Generator) -> None:
        observation, _ = self.lanes.reset(seed=self.seeds(self.rounds))
        memory, begins = None, np.ones(len(led), dtype=np.bool_)
        ended = ~begins
        met, said = [], []
        for _ in range(self.length):
            wanted, memory = self.law.predict(observation, memory, begins)
            wanted = np.clip(wanted, -1.0, 1.0).astype(np.float32)
            with torch.no_grad():
                own = self.actor(self.shown(torch.from_numpy(observation))).clamp(-1.0, 1.0)
            met.append(observation[~ended])  # what follows an end is no command
            said.append(wanted[~ended])
            commands = np.where(led[:, None], wanted, own.numpy())
            observation, _, terminated, truncated, _ = self.lanes.step(commands)
            begins, ended = ended, terminated | truncated
        self.steps += self.length * len(led)
        every, answers = np.concatenate(met), np.concatenate(said)
        some = rng.permutation(len(every))[:_KEPT]
        self.met.append(every[some])
        self.said.append(answers[some])


def _parts(count: int, shuffling: torch.Generator) -> tuple[torch.Tensor, ...]:
    """All numbers below `count`, in batches."""
    order = torch.randperm(count, generator=shuffling)
    return torch.split(order, _BATCH)
