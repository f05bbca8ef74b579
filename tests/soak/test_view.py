"""Minutes of the interactive page, in a browser and attacked without one; `make soak` runs it.

RBGYM_SOAK_SECONDS and RBGYM_SOAK_ATTACKS change for how long, and how many rounds.
"""

import os
import random
import re
import threading
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("viser")

import view_client
import view_page

SECONDS = float(os.environ.get("RBGYM_SOAK_SECONDS", "600"))
ROUNDS = int(os.environ.get("RBGYM_SOAK_ATTACKS", "12"))
EVERY = 5.0  # s between two measurements
# Which someone who comes sets right.
WISHES = {"Scheme 1": "quat_em", "Scene": "free body", "Pause": False, "Speed": "1",
          "Step [ms]": 20.0}  # fmt: skip


def resident(process):
    """Memory of a process [MB]."""
    text = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", text).group(1)) / 1024


def growth(sizes):
    """From the second third of the time to the last; what is held back for later comes and goes."""
    third = len(sizes) // 3
    return np.mean(sizes[-third:]) - np.mean(sizes[third : 2 * third])


@pytest.mark.skipif(view_page.chromium() is None, reason="there is no Chromium")
def test_ten_minutes_with_three_schemes_leak_no_memory():
    pytest.importorskip("playwright", reason="playwright is not installed: make .venv/.browser")
    schemes = ("-i", "quat_em", "-i", "imidm", "-i", "akw", "--dt", "0.02")
    with view_page.served(*schemes) as (url, process), view_page.window() as window:
        window.open(url)
        cdp = window.page.context.new_cdp_session(window.page)
        cdp.send("HeapProfiler.enable")
        server, heap, drawn, start = [], [], window.drawn(), time.monotonic()
        while time.monotonic() - start < SECONDS:
            turn = len(server)
            # In the first half the runs start anew every half minute; in the second they go on for
            # longer than is recorded.
            if turn % 6 == 2 and time.monotonic() - start < SECONDS / 2:
                window.page.get_by_role("button", name="Restart").click()
            if turn % 6 == 4:
                window.page.keyboard.press("l")
            window.page.wait_for_timeout(1000 * EVERY)
            cdp.send("HeapProfiler.collectGarbage")
            server.append(resident(process))
            heap.append(cdp.send("Runtime.getHeapUsage")["usedSize"] / 2**20)
        rate = (window.drawn() - drawn) / (time.monotonic() - start)
        assert window.errors() == []
    print(f"\n{rate:.1f} pictures a second; server and browser [MB], every {EVERY:g} s:")
    for sizes in (server, heap):
        print(np.round(sizes, 1))
        assert growth(sizes) < 5.0


def controls(line):
    """The uuids of the controls by their labels, as the page tells who comes."""
    found, end = {}, time.monotonic() + 30
    while not {"Seed", "Strength", *WISHES} - {"Scene"} <= found.keys():
        assert time.monotonic() < end
        for message in view_client.messages_of(line.recv(timeout=30)):
            label = message.get("props", {}).get("label")
            if label and "uuid" in message:
                found[label] = message["uuid"]
    return found


def times(line, seconds):
    """The simulated times that the page tells."""
    found, end = set(), time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            text = repr(view_client.messages_of(line.recv(timeout=0.2)))
        except TimeoutError:
            continue
        found |= {*re.findall(r"t = ([\d.]+) s", text)}
    return found


def assert_serves(port, known):
    """Someone who comes now can set things right, and sees the world move.

    Again and again, as what the attackers sent may still lie in the sockets, and undo it.
    """
    with view_client.looking(port) as line:
        end, moved = time.monotonic() + 60, False
        while not moved:
            assert time.monotonic() < end
            for label, value in WISHES.items():
                line.send(view_client.update(known[label], value))
            moved = len(times(line, 2.0)) >= 3


def idle(port, count):
    """Connections that never read, for some seconds."""
    lines = [view_client.looking(port) for _ in range(count)]
    time.sleep(8)
    for line in lines:
        line.close()


def test_the_page_outlives_minutes_of_attacks_without_growing():
    sizes = []
    with view_page.served("-i", "quat_em", "-i", "imidm", "--dt", "0.02") as (url, process):
        port = int(re.search(r":(\d+)/", url).group(1))
        with view_client.looking(port) as line:
            known = controls(line)
        # Other scenes compile for minutes: attacked are the controls of this one.
        tame = [v for k, v in known.items() if not k.startswith(("Scene", "Scheme", "Acts"))]
        for number in range(ROUNDS):
            draw = random.Random(time.time_ns())
            attackers = [
                threading.Thread(target=view_client.press_hard, args=(port, draw, tame, 4000)),
                threading.Thread(target=idle, args=(port, 20)),
            ]
            for one in attackers:
                one.start()
            for _ in range(300):
                view_client.knock(port, draw)
            for one in attackers:
                one.join(120)
                assert not one.is_alive()
            assert process.poll() is None
            assert_serves(port, known)
            sizes.append(resident(process))
            print(f"round {number}: {sizes[-1]:.1f} MB")
    assert growth(sizes) < 10.0
    assert len(process.output) < 20_000
    assert "Traceback" not in process.output, process.output
