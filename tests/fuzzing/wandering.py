"""Random calls of a vector environment, beside Gymnasium's SyncVectorEnv of single ones.

Every number that the two return must have the same bits.
"""

import copy
import pickle
from collections import Counter
from functools import partial

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import rbgym
from checks.runs import pick, same
from fuzzing.environments import created

LANES, HORIZON = 3, 6
TOLD = ("rate_error", "applied_torque", "attitude_error", "is_success", "integration_failed")
RESETS = ("reset", "seeded", "listed", "masked", "masked_seeded", "placed", "placed_masked")
MOVES = ("step",) * 14 + RESETS + ("pickle", "deepcopy", "threads", "close", "bad_step",
                                   "bad_reset", "many_steps")  # fmt: skip
NOWHERE = {"quaternion": [0.0] * 4, "angular_velocity": [0.0] * 3}
BAD_RESETS = [
    {"seed": -1}, {"seed": [1]}, {"seed": 1.5}, {"seed": 3, "options": {"state": NOWHERE}},
    {"options": {"reset_mask": [True]}}, {"options": {"reset_mask": np.zeros(LANES, bool)}},
]  # fmt: skip


class Wanderer:
    """A vector environment and its model, and what is done to both."""

    def __init__(self, env_id, mode, seed, **kwargs):
        self.rng, self.mode, self.moves = np.random.default_rng(seed), mode, Counter()
        kwargs["max_episode_steps"] = HORIZON
        self.vec = created(env_id, True, num_envs=LANES, autoreset_mode=mode, **kwargs)
        singles = [partial(created, env_id, **kwargs)] * LANES
        self.model = SyncVectorEnv(singles, autoreset_mode=mode)
        self.done = np.zeros(LANES, bool)
        self.seeded()

    def wander(self, count):
        """So many random calls; after each, the state of each lane is that of the model."""
        for _ in range(count):
            move = str(self.rng.choice(MOVES))
            self.moves[move] += 1
            getattr(self, move)()
            state = self.vec.state
            for i, lane in enumerate(self.model.envs):
                for name, value in lane.state.items():
                    assert same(state[name][i], value), f"{name} of lane {i} after {move}"

    def step(self):
        """One step of every lane, a masked reset first where lanes have to be reset by hand."""
        if self.mode is AutoresetMode.DISABLED and self.done.any():
            self._reset(mask=self.done)
        actions = self.rng.uniform(-1.5, 1.5, self.vec.action_space.shape).astype(np.float32)
        kept = actions.copy()
        *got, info = self.vec.step(actions)
        assert same(actions, kept), "a step changed the actions"
        *expected, told = self.model.step(actions)
        self._compare([*got, info], [*expected, told])
        self.done = got[2] | got[3]
        for i in np.flatnonzero(told.get("_final_obs", ())):
            assert info["_final_obs"][i]
            assert same(pick(info["final_obs"], i), told["final_obs"][i]), f"final_obs of lane {i}"

    def many_steps(self):
        """Up to two episodes in a row."""
        for _ in range(self.rng.integers(2, 2 * HORIZON)):
            self.step()

    def reset(self):
        """Every lane goes on to its next episode."""
        self._reset()

    def seeded(self):
        """Lane i has the seed s + i."""
        self._reset(seed=int(self.rng.integers(2**32)))

    def listed(self):
        """Each lane a seed of its own, or none."""
        seeds = self.rng.integers(2**62, size=LANES).tolist()
        self._reset(seed=[None if self.rng.random() < 0.3 else seed for seed in seeds])

    def masked(self):
        """Some lanes only."""
        self._reset(mask=self._mask())

    def masked_seeded(self):
        """Some lanes only, with seeds."""
        self._reset(mask=self._mask(), seed=int(self.rng.integers(2**32)))

    def placed(self):
        """Every lane put somewhere."""
        self._reset(state=self._state())

    def placed_masked(self):
        """Some lanes put somewhere."""
        self._reset(mask=self._mask(), state=self._state())

    def pickle(self):
        """Everything goes on as its own pickle."""
        self._replaced(lambda env: pickle.loads(pickle.dumps(env)))

    def deepcopy(self):
        """A copy goes on; the original, stepped once more, does not disturb it."""
        old = self.vec
        self._replaced(copy.deepcopy)
        if not self.done.any() or self.mode is not AutoresetMode.DISABLED:
            old.step(np.ones(old.action_space.shape, np.float32))

    def threads(self):
        """Another number of threads."""
        rbgym.set_num_threads(int(self.rng.integers(1, 5)))

    def close(self):
        """Closing what has no window closes nothing."""
        self.vec.close()

    def bad_step(self):
        """A step that is refused changes nothing."""
        actions = np.zeros(self.vec.action_space.shape)
        actions.flat[self.rng.integers(actions.size)] = self.rng.choice([np.nan, np.inf, -np.inf])
        with pytest.raises(ValueError):
            self.vec.step(actions)

    def bad_reset(self):
        """A reset that is refused changes nothing: neither state nor seeds."""
        with pytest.raises(ValueError):
            self.vec.reset(**BAD_RESETS[self.rng.integers(len(BAD_RESETS))])

    def _mask(self):
        mask = self.rng.random(LANES) < 0.5
        mask[self.rng.integers(LANES)] = True
        return mask

    def _state(self):
        q = self.rng.normal(size=4)
        rates = self.rng.uniform(-0.5, 0.5, 3)
        return {"quaternion": q / np.linalg.norm(q), "angular_velocity": rates}

    def _replaced(self, copied):
        self.vec = copied(self.vec)
        self.model.envs = tuple(copied(lane) for lane in self.model.envs)

    def _reset(self, mask=None, seed=None, state=None):
        options = {k: v for k, v in (("reset_mask", mask), ("state", state)) if v is not None}
        got, expected = (
            env.reset(seed=seed, options=dict(options)) for env in (self.vec, self.model)
        )
        self._compare(got, expected)
        self.done = np.zeros(LANES, bool) if mask is None else self.done & ~mask

    def _compare(self, got, expected):
        *values, info = got
        *others, told = expected
        assert same(values, others), f"{values} beside {others}"
        for key in TOLD:
            lanes = told[f"_{key}"]
            assert same(info[f"_{key}"], lanes), f"the lanes of info[{key!r}]"
            assert same(info[key][lanes], told[key][lanes]), f"info[{key!r}]"
