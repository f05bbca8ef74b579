"""An info dictionary that is worked out late is the dictionary that it would have been."""

import copy
import json
import operator
import pickle

import gymnasium as gym
import numpy as np
import pytest

from family import make, many


@pytest.fixture
def pair():
    """A fresh info and the plain dictionary with the same entries."""
    env = gym.make("RigidTop-v0")
    env.reset(seed=3)
    return [env.unwrapped.reset(seed=3)[1] for _ in range(2)]


KEY = "energy"


@pytest.mark.parametrize(
    "operation",
    [
        lambda d: sorted(d),
        lambda d: list(reversed(d)) == list(d)[::-1],
        lambda d: sorted(d | {"x": 1}),
        lambda d: sorted({"x": 1} | d),
        lambda d: d.setdefault(KEY, 0.0),
        lambda d: d.setdefault("x", 0.0),
        lambda d: (d.pop(KEY, None), KEY in d, d.get(KEY)),
        lambda d: (operator.delitem(d, KEY), KEY in d),
        lambda d: (d.clear(), len(d), KEY in d),
        lambda d: len([d.popitem() for _ in range(2)]) + len(d),
        lambda d: d.get("x", 5),
    ],
)
def test_it_answers_like_the_plain_dictionary(pair, operation):
    lazy, other = pair
    assert operation(lazy) == operation(dict(other.items()))


def test_equality_and_its_opposite_compare_the_entries(pair):
    lazy, other = pair
    lazy["reward_terms"], other["reward_terms"] = {}, {}
    for vector in ("angular_momentum", "applied_torque"):
        lazy[vector], other[vector] = 0, 0
    assert lazy == other
    assert not lazy != other  # noqa: SIM202  (the operator is what is tested)
    other[KEY] += 1.0
    assert lazy != other


def stepped(count):
    """The info of a step: of one env, or of `count` as a vector."""
    made = many("RigidTop-v0", count) if count else make("RigidTop-v0")
    made.reset(seed=3)
    return made.step(made.action_space.sample())[4]


def entries(info):
    """Every entry of it, worked out, as bytes and plain values."""
    return {key: repr(value) for key, value in info.items()}


def test_json_has_every_entry_of_a_single_env():
    info = stepped(None)
    written = json.dumps(info, default=np.ndarray.tolist)
    assert json.loads(written).keys() == info.keys() >= {"energy", "is_success"}


@pytest.mark.parametrize("count", [None, 3, 9])
def test_a_deep_copy_is_as_late_as_the_original_and_has_its_entries(count):
    info = stepped(count)
    deep = copy.deepcopy(info)
    assert "energy" not in [*dict.__iter__(deep), *dict.__iter__(info)]
    assert entries(deep) == entries(info) == entries(pickle.loads(pickle.dumps(info)))
    assert type(pickle.loads(pickle.dumps(info))) is dict


@pytest.mark.parametrize("count", [None, 3, 9])
@pytest.mark.parametrize("read_first", [True, False])
def test_a_deep_copy_knows_nothing_of_what_is_done_to_the_original(count, read_first):
    info = stepped(count)
    expected = entries(copy.deepcopy(info))
    info["mine"] = [1]
    if read_first:
        entries(info)
    deep = copy.deepcopy(info)
    info["mine"].append(2)
    for value in [*info.values(), *info["reward_terms"].values()]:
        if isinstance(value, np.ndarray):
            value[...] = 0
    del info["energy"]
    assert deep.pop("mine") == [1]
    assert entries(deep) == expected


def test_what_holds_itself_is_copied_with_all_that_holds_it():
    info = stepped(None)
    info["self"] = info
    deep = copy.deepcopy([info, info])
    assert deep[0] is deep[1]
    assert deep[0]["self"] is deep[0]
    assert deep[0] is not info
