"""Steps that do not come to their end, and copies: nothing goes on from what is half done."""

import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from family import SLEW, many
from fuzzing.interrupting import HOOKS, Hook, Interrupter

pytestmark = pytest.mark.interpreted


@pytest.mark.parametrize("mode", AutoresetMode)
def test_after_an_interrupted_step_only_a_whole_reset_goes_on(mode):
    env = many(SLEW, 4, reward=HOOKS["reward"], max_episode_steps=2, autoreset_mode=mode)
    nothing = np.zeros((4, 3))
    env.reset(seed=0)
    env.step(nothing)
    Hook.left = 1
    with pytest.raises(RuntimeError, match="a hook fails"):
        env.step(nothing)  # which ended the episode
    with pytest.raises(gym.error.ResetNeeded, match=r"interrupted.*call reset"):
        env.step(nothing)
    with pytest.raises(gym.error.ResetNeeded, match="interrupted"):
        env.reset(options={"reset_mask": np.array([True, False, True, True])})
    env.reset()
    env.step(nothing)


def by_buffers(env):
    """A pickle whose arrays come for reading only, as from shared memory."""
    buffers = []
    content = pickle.dumps(env, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(content, buffers=[bytes(buffer) for buffer in buffers])


@pytest.mark.parametrize("copied", [copy.deepcopy, by_buffers])
def test_a_copy_goes_on_as_the_original_from_the_beginning_of_a_cache_line(copied):
    env = many(SLEW, 20)
    env.reset(seed=4)
    twin = copied(env)
    assert twin._episodes.batch.buffer.ctypes.data % 64 == 0
    for value in (0.3, -0.8):
        one, other = (e.step(np.full((20, 3), value))[0] for e in (env, twin))
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(env.reset(seed=9)[0], twin.reset(seed=9)[0])


# Where Python works the kernels out, an interruption may fall within them.
@pytest.mark.compiled
@pytest.mark.parametrize("hooks", [{}, HOOKS], ids=["named", "hooks"])
@pytest.mark.parametrize("mode", [None, *AutoresetMode], ids=lambda mode: mode and mode.name)
def test_no_step_goes_on_from_what_is_half_done(mode, hooks):
    kwargs = hooks if mode is None else hooks | {"autoreset_mode": mode}
    interrupter = Interrupter(SLEW, mode is not None, seed=3, **kwargs)
    interrupter.interrupt(50)
    assert {"step refused", "reset refused", "reset went on"} <= set(interrupter.seen)
