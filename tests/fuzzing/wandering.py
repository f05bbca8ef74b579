"""Random calls of a vector environment, in step with a model: single environments, lane by lane.

The model knows Gymnasium's rules of autoreset and nothing of how a batch works. Every number that
the two return must have the same bits.
"""

import copy
import pickle
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

import rbgym
from checks.runs import pick, same
from fuzzing.environments import created

LANES, HORIZON = 3, 6
TOLD = ("rate_error", "applied_torque", "attitude_error", "is_success", "integration_failed")
MOVES = ("step",) * 14 + ("reset", "seeded", "listed", "masked", "masked seeded", "placed",
                          "placed masked", "pickle", "deepcopy", "threads", "close",
                          "bad step", "bad reset", "many steps")  # fmt: skip


@dataclass
class Lane:
    """One lane of the model: an environment of its own, and what is expected of its clock."""

    env: Any
    clock: int = 0
    done: bool = False
    seen: Any = None
    info: dict[str, Any] = field(default_factory=dict)
    final: Any = None

    def reset(self, **arguments: Any) -> None:
        """Begin an episode."""
        self.seen, info = self.env.reset(**arguments)
        self.info, self.clock, self.done = {key: info[key] for key in TOLD}, 0, False

    def step(self, action: Any, mode: AutoresetMode) -> tuple[float, bool, bool]:
        """What the lane of a vector environment owes: reward, terminated, truncated."""
        self.final = None
        if self.done and mode is AutoresetMode.NEXT_STEP:
            self.reset()
            return 0.0, False, False
        self.seen, reward, terminated, truncated, info = self.env.step(action)
        self.info, self.clock = {key: info[key] for key in TOLD}, self.clock + 1
        self.done = terminated or truncated
        assert truncated or self.clock < HORIZON, "an episode outlives its horizon"
        if self.done and mode is AutoresetMode.SAME_STEP:
            self.final = self.seen
            self.reset()
        return reward, terminated, truncated


class Wanderer:
    """A vector environment and its model, and what is done to both."""

    def __init__(self, env_id: str, mode: AutoresetMode, seed: int, **kwargs: Any) -> None:
        self.rng, self.mode = np.random.default_rng(seed), mode
        kwargs["max_episode_steps"] = HORIZON
        self.vec = created(env_id, True, num_envs=LANES, autoreset_mode=mode, **kwargs)
        self.lanes = [Lane(created(env_id, **kwargs)) for _ in range(LANES)]
        self.moves: Counter[str] = Counter()
        self.seeded()

    def wander(self, count: int) -> None:
        """So many random calls; after each, everything agrees."""
        for _ in range(count):
            move = str(self.rng.choice(MOVES))
            self.moves[move] += 1
            getattr(self, move.replace(" ", "_"))()
            self.agree()

    def agree(self) -> None:
        """The state of each lane, its clock included, is that of the model."""
        state = self.vec.state
        for i, lane in enumerate(self.lanes):
            assert state["time"][i] == lane.clock * self.vec.dt, f"the clock of lane {i} is wrong"
            for name, value in lane.env.state.items():
                assert same(np.asarray(state[name][i]), np.asarray(value)), f"{name} of lane {i}"

    # --- moves ------------------------------------------------------------------------------

    def step(self) -> None:
        """One step of every lane, a masked reset first where lanes have to be reset by hand."""
        if self.mode is AutoresetMode.DISABLED and any(lane.done for lane in self.lanes):
            self._reset(np.array([lane.done for lane in self.lanes]))
        actions = self.rng.uniform(-1.5, 1.5, self.vec.action_space.shape).astype(np.float32)
        kept = actions.copy()
        seen, rewards, terminated, truncated, info = self.vec.step(actions)
        assert same(actions, kept), "a step changed the actions"
        for i, lane in enumerate(self.lanes):
            expected = lane.step(actions[i].copy(), self.mode)
            got = rewards[i].item(), terminated[i].item(), truncated[i].item()
            assert same(got, expected), f"lane {i} gave {got}, expected {expected}"
            if lane.final is not None:
                assert info["_final_obs"][i]
                assert same(info["final_obs"][i], lane.final), f"final_obs of lane {i}"
            self._compare(i, seen, info)

    def many_steps(self) -> None:
        """Up to two episodes in a row."""
        for _ in range(self.rng.integers(2, 2 * HORIZON)):
            self.step()

    def reset(self) -> None:
        """Every lane goes on to its next episode."""
        self._reset(None)

    def seeded(self) -> None:
        """Lane i has the seed s + i."""
        seed = int(self.rng.integers(2**32))
        self._reset(None, seed, [seed + i for i in range(LANES)])

    def listed(self) -> None:
        """Each lane a seed of its own, or none."""
        seeds = [
            None if self.rng.random() < 0.3 else int(s) for s in self.rng.integers(2**62, size=3)
        ]
        self._reset(None, seeds, seeds)

    def masked(self) -> None:
        """Some lanes only."""
        self._reset(self._mask())

    def masked_seeded(self) -> None:
        """Some lanes only, with seeds."""
        seed = int(self.rng.integers(2**32))
        self._reset(self._mask(), seed, [seed + i for i in range(LANES)])

    def placed(self) -> None:
        """Every lane put somewhere, all at one place or each at its own."""
        self._reset(None, state=self._state())

    def placed_masked(self) -> None:
        """Some lanes put somewhere."""
        self._reset(self._mask(), state=self._state())

    def pickle(self) -> None:
        """Everything goes on as its own pickle."""
        self.vec = pickle.loads(pickle.dumps(self.vec))
        for lane in self.lanes:
            lane.env = pickle.loads(pickle.dumps(lane.env))

    def deepcopy(self) -> None:
        """A copy goes on; the original, stepped once more, does not disturb it."""
        old, self.vec = self.vec, copy.deepcopy(self.vec)
        if not old.episodes.done.any() or self.mode is not AutoresetMode.DISABLED:
            old.step(np.ones(old.action_space.shape, np.float32))
        for lane in self.lanes:
            lane.env = copy.deepcopy(lane.env)

    def threads(self) -> None:
        """Another number of threads."""
        rbgym.set_num_threads(int(self.rng.integers(1, 5)))

    def close(self) -> None:
        """Closing what has no window closes nothing."""
        self.vec.close()

    def bad_step(self) -> None:
        """A step that is refused changes nothing."""
        actions = np.zeros(self.vec.action_space.shape)
        actions.flat[self.rng.integers(actions.size)] = self.rng.choice([np.nan, np.inf, -np.inf])
        self._refused(lambda: self.vec.step(actions))

    def bad_reset(self) -> None:
        """A reset that is refused changes nothing: neither state nor seeds."""
        bad = {"quaternion": [0.0] * 4, "angular_velocity": [0.0] * 3}
        arguments = [
            {"seed": -1}, {"seed": [1]}, {"seed": 1.5}, {"seed": 3, "options": {"state": bad}},
            {"options": {"reset_mask": [True]}}, {"options": {"reset_mask": np.zeros(LANES, bool)}},
        ]  # fmt: skip
        chosen = arguments[self.rng.integers(len(arguments))]
        self._refused(lambda: self.vec.reset(**chosen))

    # --- how ----------------------------------------------------------------------------------

    def _refused(self, call: Any) -> None:
        try:
            call()
        except ValueError:
            return
        raise AssertionError("what must be refused was taken")

    def _mask(self) -> Any:
        mask = self.rng.random(LANES) < 0.5
        mask[self.rng.integers(LANES)] = True
        return mask

    def _state(self) -> dict[str, Any]:
        shape = (LANES,) if self.rng.random() < 0.5 else ()
        q = self.rng.normal(size=(*shape, 4))
        return {
            "quaternion": q / np.linalg.norm(q, axis=-1, keepdims=True),
            "angular_velocity": self.rng.uniform(-0.5, 0.5, (*shape, 3)),
        }

    def _reset(self, mask: Any, seed: Any = None, seeds: Any = None, state: Any = None) -> None:
        options = {k: v for k, v in (("reset_mask", mask), ("state", state)) if v is not None}
        seen, info = self.vec.reset(seed=seed, options=options or None)
        for i, lane in enumerate(self.lanes):
            if mask is None or mask[i]:
                own = state and {k: v[i] if v.ndim > 1 else v for k, v in state.items()}
                lane.reset(seed=seeds and seeds[i], options=own and {"state": own})
            if mask is None:
                self._compare(i, seen, info)
            else:
                assert same(pick(seen, i), lane.seen), f"observation of lane {i} after a reset"
                assert info["_rate_error"][i] == mask[i]

    def _compare(self, i: int, seen: Any, info: Any) -> None:
        lane = self.lanes[i]
        assert same(pick(seen, i), lane.seen), f"observation of lane {i}"
        for key, value in lane.info.items():
            assert same(np.asarray(info[key][i]), np.asarray(value)), f"info[{key!r}] of lane {i}"
