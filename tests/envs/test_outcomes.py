"""What a vector env returns is written again once nobody holds it, and not before."""

import gymnasium as gym
import numpy as np
import pytest

import rbgym

NAMES = (
    "seen", "rewards", "terminated", "truncated", "attitude_error", "applied_torque", "is_success",
    "integration_failed", "_is_success",
)  # fmt: skip


def stepping(n, task="RigidTop-v0", **kwargs):
    """A function that takes a step of n lanes, and returns all arrays of it by name."""
    env = gym.make_vec(task, num_envs=n, **kwargs)
    env.reset(seed=3)
    rng = np.random.default_rng(5)

    def step():
        action = rng.uniform(-1, 1, env.action_space.shape).astype(np.float32)
        seen, rewards, terminated, truncated, info = env.step(action)
        return {
            "seen": seen,
            "rewards": rewards,
            "terminated": terminated,
            "truncated": truncated,
            **{name: value for name, value in info.items() if isinstance(value, np.ndarray)},
            **{f"final {name}": value for name, value in info.get("final_info", {}).items()},
            "final_obs": list(info.get("final_obs", ())),
        }

    return step


def place(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("n", [5, 16])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("part", [lambda x: x, lambda x: x[2:], lambda x: x[1::2].T, memoryview])
def test_an_array_of_which_a_part_is_held_stays_as_it_is(n, name, part):
    step = stepping(n)
    for _ in range(4):
        step()
    kept = part(step()[name])
    expected = np.array(kept)
    for _ in range(9):
        step()
    np.testing.assert_array_equal(np.asarray(kept), expected)


ALWAYS = {"termination": lambda state: state["time"] > 0.1}
CASES = {
    "few": (16, {}),
    "many": (1531, {}),
    "hooks": (16, ALWAYS | {"observation": lambda state: state["quaternion"]}),
    "goals": (16, {"task": "AttitudeReach-v0"}),
    "the same step": (16, {"autoreset_mode": gym.vector.AutoresetMode.SAME_STEP} | ALWAYS),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("threads", [1, 2])
def test_all_steps_may_be_kept(case, threads):
    n, kwargs = CASES[case]
    rbgym.set_num_threads(threads)
    try:
        step, again = stepping(n, **kwargs), stepping(n, **kwargs)
        kept = [step() for _ in range(12)]
        for outcome in kept:
            np.testing.assert_equal(outcome, again())
    finally:
        rbgym.set_num_threads(1)


def test_memory_is_written_again_though_some_steps_are_kept():
    step = stepping(16)
    kept = [step() for _ in range(7)]
    places = [place(step()["seen"]) for _ in range(9)]
    assert len(set(places[1:])) == 1
    assert places[-1] not in {place(outcome["seen"]) for outcome in kept}


def test_memory_is_written_again_once_nobody_holds_it():
    step = stepping(16)
    assert len({place(step()["seen"]) for _ in range(9)}) == 1
    places, last = set(), None
    for _ in range(9):
        last = step()
        places.add(place(last["seen"]))
    assert len(places) == 2


def test_what_is_done_to_an_array_itself_does_not_last():
    step = stepping(16)
    for _ in range(3):
        outcome = step()
        assert outcome["seen"].shape == (16, 7)
        assert outcome["rewards"].shape == outcome["_is_success"].shape == (16,)
        outcome.pop("final_obs")
        arrays = list({id(value): value for value in outcome.values()}.values())
        assert all(value.flags.writeable for value in arrays)
        for value in arrays:
            value[:] = 0
            value.flags.writeable = False
        outcome["rewards"].shape = (4, 4)
        del outcome, arrays, value
    assert step()["_is_success"].all()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_reset_and_the_steps_behind_it_leave_what_is_held(mode):
    env = gym.make_vec("RigidTop-v0", num_envs=16, autoreset_mode=gym.vector.AutoresetMode(mode))
    seen, _ = env.reset(seed=3)
    action = np.zeros(env.action_space.shape, np.float32)
    outcome = env.step(action)
    kept, copies = (seen, *outcome[:4]), [x.copy() for x in (seen, *outcome[:4])]
    mask = np.arange(16) < 4
    env.reset(seed=4, options={"reset_mask": mask})
    env.step(action)
    for value, copied in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(value, copied)
