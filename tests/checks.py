"""Does a vectorised environment keep Gymnasium's promises? `check_vector_env` finds out.

It makes random calls of the environment, and of Gymnasium's SyncVectorEnv of single ones. Every
number that the two return must have the same bits, whatever was called before, and whatever the
caller does to the arrays that it passed or got.
"""

import copy
import pickle
from collections.abc import Mapping
from functools import partial

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import batch_space

import rbgym

LANES, HORIZON = 3, 7
RESETS = ("reset", "seeded", "listed", "masked", "masked_seeded", "placed", "placed_masked")
REFUSED = ("bad_step", "bad_reset")
MOVES = ("step",) * 14 + RESETS + REFUSED + ("many_steps", "deepcopy", "pickle", "threads", "close")
NOWHERE = {"quaternion": [0.0] * 4, "angular_velocity": [0.0] * 3}
BAD_RESETS = [
    {"seed": -1}, {"seed": [1]}, {"seed": 1.5}, {"seed": 3, "options": {"state": NOWHERE}},
    {"options": {"reset_mask": [True]}}, {"options": {"reset_mask": np.zeros(LANES, bool)}},
]  # fmt: skip


def check_vector_env(env_id, *, env_kwargs=None, modes=tuple(AutoresetMode), check_pickle=False):
    """AssertionError if the native vector environment of an id breaks a promise of the vector API.

    env_kwargs: further arguments of the environment, whose episodes have seven steps.
    modes: the autoreset modes to examine.
    check_pickle: a pickled copy continues bit for bit, as a deep copy does.
    """
    left_out = () if check_pickle else ("pickle",)
    for mode in modes:
        wanderer = Wanderer(env_id, mode, 0, left_out, **(env_kwargs or {}))
        wanderer.wander(2)
        assert wanderer.ended, "no episode ended: nothing to check autoreset on"


class Wanderer:
    """A vector environment and its model, and what is done to both."""

    def __init__(self, env_id, mode, seed, left_out=(), **kwargs):
        self.rng, self.mode, self.left_out = np.random.default_rng(seed), mode, left_out
        kwargs = {"max_episode_steps": HORIZON, **kwargs}
        how = {"vectorization_mode": "vector_entry_point", "autoreset_mode": mode}
        self.vec = gym.make_vec(env_id, num_envs=LANES, **how, **kwargs)
        singles = [partial(gym.make, env_id, disable_env_checker=True, **kwargs)] * LANES
        self.model = SyncVectorEnv(singles, autoreset_mode=mode)
        self.done, self.ended, self.returned = np.zeros(LANES, bool), 0, []
        self._check_spaces()
        self.seeded()

    def wander(self, rounds):
        """In each round all calls in some order; after each, the states agree."""
        moves = [move for move in MOVES if move not in self.left_out]
        threads = rbgym.get_num_threads()
        try:
            for _ in range(rounds):
                for move in self.rng.permutation(moves):
                    getattr(self, move)()
                    self._check_states(move)
        finally:
            rbgym.set_num_threads(threads)

    def step(self):
        """One step of every lane, a masked reset first where lanes have to be reset by hand."""
        if self.mode is AutoresetMode.DISABLED and self.done.any():
            self._reset(mask=self.done)
        space = self.vec.action_space
        actions = self.rng.uniform(-1.5, 1.5, space.shape).astype(space.dtype)
        passed = actions.copy()
        *got, info = self.vec.step(passed)
        assert same(actions, passed), "a step changed the actions"
        passed[...] = np.nan
        *expected, told = self.model.step(actions)
        self.done = got[2] | got[3]
        self.ended += self.done.sum()
        ended = told.get("_final_obs", np.zeros(LANES, bool))
        assert same(info.get("_final_obs", np.zeros(LANES, bool)), ended), "lanes with final_obs"
        for lane in np.flatnonzero(ended):
            final = pick(info["final_obs"], lane)
            assert same(final, told["final_obs"][lane]), f"final_obs of lane {lane}"
        self._compare((*got, info), (*expected, told))

    def many_steps(self):
        """Up to two episodes in a row."""
        for _ in range(self.rng.integers(2, 2 * HORIZON)):
            self.step()

    def reset(self):
        self._reset()

    def seeded(self):
        """Lane i has the seed s + i."""
        self._reset(seed=int(self.rng.integers(2**32)))

    def listed(self):
        """Each lane a seed of its own, or none."""
        seeds = self.rng.integers(2**62, size=LANES).tolist()
        self._reset(seed=[None if self.rng.random() < 0.3 else seed for seed in seeds])

    def masked(self):
        self._reset(mask=self._mask())

    def masked_seeded(self):
        self._reset(mask=self._mask(), seed=int(self.rng.integers(2**32)))

    def placed(self):
        self._reset(state=self._state())

    def placed_masked(self):
        self._reset(mask=self._mask(), state=self._state())

    def pickle(self):
        self._goes_on(lambda env: pickle.loads(pickle.dumps(env)))

    def deepcopy(self):
        self._goes_on(copy.deepcopy)

    def _goes_on(self, copied):
        """In mid-episode; the original, stepped once more, does not disturb it."""
        self.step()
        old, self.vec = self.vec, copied(self.vec)
        if not self.done.any() or self.mode is not AutoresetMode.DISABLED:
            old.step(np.ones(old.action_space.shape, old.action_space.dtype))
        self.many_steps()

    def threads(self):
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

    def _reset(self, mask=None, seed=None, state=None):
        options = {k: v for k, v in (("reset_mask", mask), ("state", state)) if v is not None}
        got, expected = (
            env.reset(seed=seed, options=dict(options)) for env in (self.vec, self.model)
        )
        self.done = np.zeros(LANES, bool) if mask is None else self.done & ~mask
        self._compare(got, expected)

    def _compare(self, got, expected):
        """The same values and infos; and what was returned before is left alone."""
        *values, info = got
        *others, told = expected
        assert same(values, others), f"{values} beside {others}"
        for key, value in info.items():
            if isinstance(value, np.ndarray) and not key.startswith("_"):
                assert len(value) == len(info[f"_{key}"]) == LANES, f"the lanes of info[{key!r}]"
                assert info[f"_{key}"].dtype == bool, f"the mask of info[{key!r}]"
        for key in {k for k in told if f"_{k}" in told} - {"final_obs", "final_info"}:
            lanes = told[f"_{key}"]
            assert same(info[f"_{key}"], lanes), f"the lanes of info[{key!r}]"
            assert same(info[key][lanes], told[key][lanes]), f"info[{key!r}]"
        for array, spoilt in self.returned:
            assert same(array, spoilt), "an array that was returned changed later"
        self.returned = []
        for array in arrays_in([*values, info.get("final_obs")]):
            array[...] = np.nan if array.dtype.kind == "f" else ~array
            self.returned.append((array, array.copy()))

    def _check_spaces(self):
        mode = self.vec.metadata["autoreset_mode"]
        assert self.vec.num_envs == LANES
        assert mode is self.mode, f"metadata['autoreset_mode'] is {mode}, asked for {self.mode}"
        for name in ("observation", "action"):
            single = getattr(self.vec, f"single_{name}_space")
            assert single == getattr(self.model, f"single_{name}_space")
            assert getattr(self.vec, f"{name}_space") == batch_space(single, LANES)

    def _check_states(self, move):
        state = getattr(self.vec.unwrapped, "state", {})
        for i, lane in enumerate(self.model.envs if isinstance(state, dict) else ()):
            for name, value in lane.unwrapped.state.items():
                assert same(state[name][i], value), f"{name} of lane {i} after {move}"


def same(left, right):
    """Equal to the last bit, types included."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    if isinstance(left, tuple | list) and isinstance(right, tuple | list):
        return len(left) == len(right) and all(map(same, left, right))
    a, b = np.asarray(left), np.asarray(right)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(np.all(a == b)) if a.dtype == object else a.tobytes() == b.tobytes()


def arrays_in(value):
    """Every numeric array inside dicts, sequences and object arrays."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield value
    elif isinstance(value, Mapping | tuple | list | np.ndarray):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from arrays_in(part)


def pick(batch, lane):
    """A lane's part of `final_obs`: an object array, or batched as observations are."""
    if isinstance(batch, Mapping):
        return {key: pick(part, lane) for key, part in batch.items()}
    return tuple(pick(p, lane) for p in batch) if isinstance(batch, tuple) else batch[lane]
