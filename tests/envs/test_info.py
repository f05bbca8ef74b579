"""An info dictionary that is worked out late is the dictionary that it would have been."""

import operator

import gymnasium as gym
import pytest


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
