"""Threads that step a batch: each range is taken once, and nobody goes on afterwards."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import rbgym
from rbgym import threads
from rbgym.compiled.jit import compiled


@pytest.fixture(autouse=True)
def one_thread_afterwards():
    yield
    rbgym.set_num_threads(1)


def ranges(blocks, threads_wanted):
    rbgym.set_num_threads(threads_wanted)
    return threads.over_ranges(blocks, lambda first, last: (first, last), largest=3)


@pytest.mark.parametrize("wanted", [1, 2, 3, np.int64(5)])
def test_ranges_cover_all_blocks_in_order(wanted):
    edges = ranges(40, wanted)
    assert edges[0][0] == 0
    assert edges[-1][1] == 40
    assert [first for first, _ in edges[1:]] == [last for _, last in edges[:-1]]


@pytest.mark.parametrize("wrong", [0, -1, 1025, 1.0, True, "2", None])
def test_a_number_of_threads_that_is_none_is_refused_and_the_old_one_stays(wrong):
    rbgym.set_num_threads(2)
    with pytest.raises(ValueError, match=r"threads must be .*, got"):
        rbgym.set_num_threads(wrong)
    assert rbgym.get_num_threads() == 2


def test_the_number_may_change_while_others_step():
    """Nobody is refused by a pool that was closed, and each range is taken once."""
    rbgym.set_num_threads(2)
    stop, wrong = threading.Event(), []

    def step():
        while not stop.is_set():
            taken = np.zeros(40, int)

            def work(first, last, taken=taken):
                taken[first:last] += 1

            try:
                threads.over_ranges(40, work, largest=3)
            except Exception as error:
                wrong.append(error)
            if not (taken == 1).all():
                wrong.append(taken)

    steppers = [threading.Thread(target=step) for _ in range(2)]
    for one in steppers:
        one.start()
    for number in [2, 3] * 100:
        rbgym.set_num_threads(number)
        time.sleep(0.002)
    stop.set()
    for one in steppers:
        one.join()
    assert wrong == []


def test_an_error_in_one_range_comes_when_all_others_have_ended():
    rbgym.set_num_threads(2)
    running = []

    def work(first, last):
        if first == 0:
            raise KeyboardInterrupt
        running.append(first)
        time.sleep(0.05)
        running.remove(first)

    with pytest.raises(KeyboardInterrupt):
        threads.over_ranges(12, work, largest=3)
    assert running == []


@compiled
def mark(taken, slow, first, last, part):
    """How often each block was taken, and by which part; the parts of odd numbers take longer."""
    total = 0.0
    for _ in range(slow * (part % 2)):
        total += 1.0 / (1.0 + total)
    for block in range(first, last):
        taken[block] += 1.0
    return float(part), float(first), float(last), total


@pytest.mark.parametrize("wanted", [1, 2, 3, 5])
@pytest.mark.parametrize("pause", [0.0, 0.05], ids=["awake", "asleep"])
def test_a_kernel_takes_each_block_once_whether_threads_are_awake_or_asleep(wanted, pause):
    rbgym.set_num_threads(wanted)
    spread, taken = threads.Spread(mark, 4), np.zeros(41)
    for turn in range(1, 30):
        time.sleep(pause * (turn % 10 == 0))
        found = spread.over(spread.task(taken, 20_000 * (turn % 3)), 41)
        assert (taken == turn).all()
        assert [part for part, *_ in found] == list(range(min(wanted, 41 // 4)))
        edges = [found[0][1], *(last for _, _, last, _ in found)]
        assert edges == [41 * k // len(found) for k in range(len(found) + 1)]


def test_a_kernel_is_no_slower_to_end_where_no_thread_ever_comes(monkeypatch):
    """What is left at a post that nobody serves is done by the thread that left it."""
    monkeypatch.setattr(threads.posts, "serve", lambda post, looks: None)
    rbgym.set_num_threads(3)
    taken = np.zeros(40)
    spread = threads.Spread(mark, 4)
    spread.over(spread.task(taken, 0), 40)
    assert (taken == 1).all()


def test_kernels_of_several_threads_of_the_user_share_the_pool():
    rbgym.set_num_threads(2)
    spread, wrong = threads.Spread(mark, 4), []
    spread.over(spread.task(np.zeros(40), 0), 40)

    def step():
        taken = np.zeros(40)
        for turn in range(1, 300):
            spread.over(spread.task(taken, 5_000), 40)
            if not (taken == turn).all():
                wrong.append(taken.copy())

    steppers = [threading.Thread(target=step) for _ in range(3)]
    for one in steppers:
        one.start()
    for number in [3, 2] * 50:
        rbgym.set_num_threads(number)
        time.sleep(0.001)
    for one in steppers:
        one.join()
    assert wrong == []


def test_a_thread_may_go_on_after_the_main_one_has_ended():
    code = """
import threading, time, rbgym
from rbgym import threads

def train():
    time.sleep(0.5)
    print(threads.over_ranges(12, lambda first, last: (first, last), largest=6))

rbgym.set_num_threads(2)
threading.Thread(target=train).start()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[(0, 6), (6, 12)]\n", "")


def test_at_most_so_many_ranges_are_made_as_the_caller_has_room_for():
    rbgym.set_num_threads(5)
    spread, taken = threads.Spread(mark, 4), np.zeros(40)
    assert len(spread.over(spread.task(taken, 0), 40, most=2)) == 2
    assert (taken == 1).all()


def test_threads_that_are_claimed_for_good_hold_up_neither_steps_nor_the_end():
    """As after an interruption at the wrong moment."""
    code = """
import numpy as np, rbgym
from rbgym import RigidBody, Batch, threads
rbgym.set_num_threads(2)
batch = Batch(RigidBody([6, 8, 3]), "akw", size=1024)
batch.set_state((1, 0, 0, 0), (1, 2, 3))
batch.advance(0.01)
assert threads._pool.claim(2)
batch.advance(0.01)
print(batch.failed.any())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert (done.stdout, done.stderr) == ("False\n", "")
