"""Threads that step a batch: each range is taken once, and none goes on afterwards."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import rbgym
from rbgym import threads

pytestmark = pytest.mark.usefixtures("threads_afterwards")


def ranges(blocks, **kwargs):
    return threads.over_ranges(blocks, lambda first, last: (first, last), **kwargs)


def child(code):
    """What a fresh process that runs this code prints; it says nothing else."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("wanted", [1, 2, 3, np.int64(5)])
@pytest.mark.parametrize("blocks", [1, 8, 40, 41])
def test_each_block_is_taken_once_and_what_is_found_comes_in_order(blocks, wanted):
    rbgym.set_num_threads(wanted)
    largest, fewest = -(-blocks // 3), max(1, min(wanted, blocks // 4))
    for kwargs, number in (({"largest": 3}, largest), ({"fewest": 4}, fewest), ({}, 1)):
        edges = ranges(blocks, **kwargs)
        assert len(edges) == number
        taken = [block for first, last in edges for block in range(first, last)]
        assert taken == list(range(blocks))


@pytest.mark.parametrize("wrong", [0, -1, 1025, 1.0, True, "2", None])
def test_a_number_of_threads_that_is_none_is_refused_and_the_old_one_stays(wrong):
    rbgym.set_num_threads(2)
    with pytest.raises(ValueError, match=r"threads must be .*, got"):
        rbgym.set_num_threads(wrong)
    assert rbgym.get_num_threads() == 2


def test_several_threads_of_the_user_may_step_while_the_number_changes():
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

    steppers = [threading.Thread(target=step) for _ in range(3)]
    for one in steppers:
        one.start()
    for number in [2, 3, 1] * 50:
        rbgym.set_num_threads(number)
        time.sleep(0.002)
    stop.set()
    for one in steppers:
        one.join()
    assert wrong == []


@pytest.mark.parametrize("bad", [0, 3, 9])
def test_an_error_in_one_range_comes_when_all_others_have_ended(bad):
    rbgym.set_num_threads(2)
    running = []

    def work(first, last):
        running.append(first)
        time.sleep(0.02)
        running.remove(first)
        if first == bad:
            raise KeyError(first)

    with pytest.raises(KeyError, match=str(bad)):
        threads.over_ranges(12, work, largest=3)
    assert running == []


def test_a_range_whose_thread_cannot_start_is_worked_once(monkeypatch):
    rbgym.set_num_threads(4)
    start, worked, gate = threading.Thread.start, [], threading.Event()

    def fail_at_the_second(thread):
        if threading.active_count() > 2:
            raise RuntimeError("can't start new thread")
        start(thread)

    def work(first, last):
        gate.wait(0.05)  # the pool's thread is busy until all ranges are submitted
        worked.append(first)

    monkeypatch.setattr(threading.Thread, "start", fail_at_the_second)
    threads.over_ranges(12, work, largest=2)
    monkeypatch.undo()
    threads.over_ranges(4, lambda first, last: time.sleep(0.05), largest=2)  # drains the queue
    assert sorted(worked) == [0, 2, 4, 6, 8, 10]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals reach no thread here")
def test_an_interruption_comes_when_all_ranges_have_ended():
    rbgym.set_num_threads(2)
    main, begun, running = threading.main_thread().ident, threading.Event(), []
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it

    def work(first, last):
        if first == 0:
            return begun.wait(60)
        running.append(first)
        begun.set()
        time.sleep(0.1)  # the main thread waits by now
        signal.pthread_kill(main, signal.SIGINT)
        time.sleep(0.1)
        running.remove(first)

    with pytest.raises(KeyboardInterrupt):
        threads.over_ranges(2, work, fewest=1)
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
    assert child(code) == "[(0, 6), (6, 12)]\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot fork here")
def test_a_forked_process_has_threads_of_its_own():
    code = """
import os, rbgym
from rbgym import threads

def found():
    return threads.over_ranges(12, lambda first, last: first, largest=3)

rbgym.set_num_threads(3)
assert found() == [0, 3, 6, 9]
threads._lock.acquire()  # as another thread may hold it while the process forks
child = os.fork()
if child == 0:
    os._exit(found() != [0, 3, 6, 9])
threads._lock.release()
assert found() == [0, 3, 6, 9]
print(os.waitpid(child, 0)[1])
"""
    assert child(code) == "0\n"
