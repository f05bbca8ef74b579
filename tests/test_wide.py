"""Eight lanes at once, and calls kept in memory: compiled, as they are in Python."""

import copy

import gymnasium as gym
import numpy as np
import pytest
from numba import njit

import rbgym.envs  # noqa: F401
from rbgym.compiled import wide
from rbgym.compiled.calls import Repeated
from rbgym.compiled.jit import compiled

SOURCE = np.array([0.0, -0.0, 1e-300, -3.0, 0.5, 1.0, 2.0, np.nan, 4.0, -9.0] * 7)


@njit
def copies(target, source, bits):
    wide.copy_lanes(target, 2, source, 3, bits)


@njit
def flags(target, source, bits):
    wide.flag_lanes(target, 1, source, 2, 1.0, bits)


@njit
def spreads(target, source, bits):
    wide.spread_lanes(target, 1, 3, source, 2, 2, bits)


@njit
def spreads_all(target, source, bits):
    wide.spread_lanes(target, 2, 8, source, 0, 8, bits)


@njit
def clips(target, source, bits):
    wide.clip_lanes(target, 1, source, 2, 3)


@njit
def above(source):
    return wide.lanes_above(source, 1)


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        (copies, float),
        (flags, bool),
        (spreads, float),
        (spreads, np.float32),
        (spreads_all, float),
        (spreads_all, np.float32),
        (clips, float),
    ],
)
@pytest.mark.parametrize("bits", [wide.EVERY, 0b01001011])
def test_lanes_are_moved_as_in_python(kernel, kind, bits):
    made, wanted = np.zeros(70, kind), np.zeros(70, kind)
    kernel(made, SOURCE, bits)
    kernel.py_func(wanted, SOURCE, bits)
    np.testing.assert_array_equal(made, wanted)
    assert made.any()


@njit
def how_many(bits):
    return wide.how_many(bits)


def test_lanes_are_picked_as_in_python():
    bits = above(SOURCE)
    assert bits == above.py_func(SOURCE) == 0b10111010
    assert how_many(bits) == how_many.py_func(bits) == 5


@njit
def lists(places):
    wide.list_lanes(places, 1, 40, 0b10110010)


def test_lanes_are_listed_as_in_python():
    made, wanted = np.full(9, -1.0), np.full(9, -1.0)
    lists(made)
    lists.py_func(wanted)
    np.testing.assert_array_equal(made[:5], wanted[:5])
    assert made[:5].tolist() == [-1.0, 41.0, 44.0, 45.0, 47.0]


@njit
def takes(block, source, count):
    wide.take_lanes(block, source, 40, count, 1, 4)


@njit
def puts(target, block, count):
    wide.put_lanes(target, block, 40, count, 1, 4)


@pytest.mark.parametrize("count", [1, 3, 8, 11])
def test_lanes_from_anywhere_are_put_side_by_side_and_back(count):
    """Rows 1 to 3 of five; the last lane stands for those that are lacking."""
    rng = np.random.default_rng(0)
    source, places = rng.uniform(size=240), rng.permutation(np.arange(16))[:11]
    places = places // 8 * 120 + places % 8
    block = np.zeros(56)
    block[40 : 40 + 11] = places
    wanted = block.copy()
    takes(block, source, count)
    takes.py_func(wanted, source, count)
    np.testing.assert_array_equal(block, wanted)
    for lane in range(8):
        since = places[min(lane, count - 1)]
        np.testing.assert_array_equal(block[8 + lane : 32 : 8], source[since + 8 : since + 32 : 8])
    assert (block[:8] == 0).all()
    assert (block[32:40] == 0).all()
    block[8:32] = 2.0 * block[8:32]
    made, wanted = source.copy(), source.copy()
    puts(made, block, count)
    puts.py_func(wanted, block, count)
    np.testing.assert_array_equal(made, wanted)
    assert (made != source).sum() == 3 * min(count, 8)


@compiled
def refuse_negative(numbers):
    return -1 if numbers[0] >= 0.0 else 7


@compiled
def add_up(numbers, factor):
    numbers[1] += factor
    return numbers[0], numbers[1]


def test_calls_that_are_repeated_see_what_their_arrays_hold_now():
    numbers = np.array([1.0, 0.0])
    repeated = Repeated((refuse_negative, (numbers,)), (add_up, (numbers, 0.5)))
    assert [repeated.call() for _ in range(3)] == [(-1, 1, 0.5), (-1, 1, 1.0), (-1, 1, 1.5)]
    numbers[0] = -1.0
    assert repeated.call() == (7, 0, 0)
    assert numbers[1] == 1.5


@pytest.mark.parametrize("how", [copy.deepcopy, copy.copy])
def test_a_copy_of_an_env_that_has_been_stepped_has_calls_of_its_own(how):
    env = gym.make("RigidTop-v0").unwrapped
    env.reset(seed=3)
    action = np.array([0.3, -0.2, 0.1], np.float32)
    for _ in range(3):
        env.step(action)
    state = env.get_state()
    other = how(env)
    seen = [env.step(action)[0] for _ in range(4)]
    other.set_state(state)
    np.testing.assert_array_equal(seen, [other.step(action)[0] for _ in range(4)])
    if how is copy.deepcopy:
        env.reset(seed=4)
        kept = other.get_state()["rows"]
        env.step(action)
        np.testing.assert_array_equal(kept, other.get_state()["rows"])
