"""Lanes are independent: of the others, of the number of threads, of who begins an episode."""

import numpy as np
import pytest

import rbgym
from family import SLEW, many
from rbgym import threads
from rbgym.engine.advance import Advance
from rbgym.envs import episodes
from rbgym.rows import FAILED, WAITING

LANES, FIRST = 43, 9  # the seed of the first lane
IN_FRONT = {
    "actuator": {"delay": {"seconds": 0.5}, "lag": {"time_constant": 0.3}, "pyramid": {}},
    "randomization": {"delay": 0.3},
}
# Steps so long that the quick passes leave many of them to the thorough code.
LONG = {"dt": 0.4, "substeps": 3}
HARD = {
    "one stage a step": {"integrator": "quat_em", **LONG},
    "three stages a step": {"integrator": "exact:4", "dt": 1.0, "substeps": 2},
    "delay, lag and wheels": {"integrator": "quat_em", **LONG, **IN_FRONT},
}


@pytest.fixture
def set_aside(monkeypatch):
    """How many lanes were set aside, one number for each call that had any."""
    numbers, finish = [], Advance.finish

    def counted(self, buffer, *args):
        numbers.append((buffer.reshape(-1, self.rows, 8)[:, FAILED] == WAITING).sum())
        return finish(self, buffer, *args)

    monkeypatch.setattr(Advance, "finish", counted)
    return numbers


@pytest.fixture
def a_few_blocks_at_a_time(monkeypatch, threads_afterwards):
    monkeypatch.setitem(threads.over_ranges.__kwdefaults__, "fewest", 2)
    monkeypatch.setattr(episodes, "FEWEST_BLOCKS", 2)


def stepped(env, steps, lanes=slice(None)):
    """What so many steps under random commands return, and the rows after each."""
    rng, found = np.random.default_rng(1), []
    for _ in range(steps):
        actions = rng.uniform(-1.2, 1.2, (LANES, env.action_space.shape[1]))
        found += [*env.step(actions[lanes]), env.get_state()["rows"]]
    return found


def flown(env, steps, lanes=slice(None)):
    """The same, and what a reset has returned before."""
    begun = env.reset(seed=FIRST + (lanes.start or 0))
    return [*begun, *stepped(env, steps, lanes)]


def of_lanes(found, lanes):
    """The part that some lanes have in what all have returned."""
    if isinstance(found, dict):
        return {name: value[lanes] for name, value in found.items()}
    return found[lanes]


@pytest.mark.filterwarnings("ignore:.*loses the spin")
@pytest.mark.parametrize("case", HARD)
def test_a_lane_that_is_set_aside_ends_the_period_as_it_would_alone(case, set_aside):
    together = flown(many("RigidTop-v0", LANES, **HARD[case]), 5)
    assert len(set_aside) == 5
    assert 0 < max(set_aside) < LANES
    alone = many("RigidTop-v0", 1, **HARD[case])
    for lane in range(LANES):
        own = slice(lane, lane + 1)
        wanted = [of_lanes(value, own) for value in together]
        np.testing.assert_equal(flown(alone, 5, own), wanted)


@pytest.mark.filterwarnings("ignore:.*loses the spin")
def test_steps_after_one_that_was_set_aside_are_driven_as_in_periods_of_one_step_each(set_aside):
    """Behind a lag, which moves on at every step, and by wheels, which have friction."""
    actuator = {"lag": {"time_constant": 0.3}, "pyramid": {}}
    kwargs = {"integrator": "quat_em", "actuator": actuator, "autoreset_mode": "Disabled"}
    whole = many("RigidTop-v0", LANES, dt=0.4, substeps=3, **kwargs)
    each = many("RigidTop-v0", LANES, dt=0.4 / 3, substeps=1, **kwargs)
    actions = np.random.default_rng(1).uniform(-1, 1, whole.action_space.shape)
    for env, periods in ((whole, 1), (each, 3)):
        env.reset(seed=FIRST)
        for _ in range(periods):
            env.episodes.step(actions)  # on and on, though some episodes have ended
    assert set_aside[0] > 0
    np.testing.assert_equal(whole.state | {"time": 0.0}, each.state | {"time": 0.0})


@pytest.mark.filterwarnings("ignore:.*loses the spin")
@pytest.mark.parametrize("case", HARD)
def test_what_comes_does_not_depend_on_threads_nor_on_how_many_blocks_go_together(
    case, a_few_blocks_at_a_time, monkeypatch
):
    kwargs, found = HARD[case] | {"max_episode_steps": 4}, []
    for number in (1, 2, 3):
        rbgym.set_num_threads(number)
        found.append(flown(many("RigidTop-v0", LANES, **kwargs), 9))
    monkeypatch.undo()
    whole = flown(many("RigidTop-v0", LANES, **kwargs), 9)
    for one in found:
        np.testing.assert_equal(one, whole)


# Everything that differs from episode to episode, and moves beside the body.
UNCERTAIN = IN_FRONT | {
    "sensor": {"attitude": 1e-3, "rate": 1e-4, "rate_bias": 1e-3},
    "disturbance": {"white_noise": 1e-4},
    "randomization": {"inertia": 0.2, "delay": 0.3, "failure": 0.5},
}


@pytest.mark.interpreted
@pytest.mark.parametrize("chosen", [[0], [42], [3, 8, 9, 17], [*range(1, LANES)]])
def test_a_reset_of_a_few_lanes_is_theirs_alone(chosen):
    env, whole = (many(SLEW, LANES, **UNCERTAIN) for _ in range(2))
    flown(env, 3)
    flown(whole, 5)
    before, mask = env.get_state()["rows"], np.zeros(LANES, bool)
    mask[chosen] = True
    begun = env.reset(seed=77, options={"reset_mask": mask})
    np.testing.assert_array_equal(env.get_state()["rows"][~mask], before[~mask])
    found, wanted = [*begun, *stepped(env, 3)], [*whole.reset(seed=77), *stepped(whole, 3)]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_equal(of_lanes(one, mask), of_lanes(other, mask))
