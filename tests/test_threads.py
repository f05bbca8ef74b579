"""Threads that step a batch: each range is taken once, and nobody goes on afterwards."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import rbgym
from rbgym import threads


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
