"""Minutes of wishes faster than the page of `rbgym view` can grant; `make soak` runs it.

RBGYM_SOAK_ATTACKS changes how many rounds. Memory, log and service are looked at after each.
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

ROUNDS = int(os.environ.get("RBGYM_SOAK_ATTACKS", "12"))


def resident(process):
    """Memory of a process [MB]."""
    text = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", text).group(1)) / 1024


def controls(line):
    """The uuids of the controls by their labels, as the page tells who comes."""
    found, end = {}, time.monotonic() + 30
    while not {"Pause", "Seed", "Strength", "Step [ms]"} <= found.keys():
        assert time.monotonic() < end
        for message in view_client.messages_of(line.recv(timeout=30)):
            label = message.get("props", {}).get("label")
            if label and "uuid" in message:
                found[label] = message["uuid"]
    return found


def times(line, seconds):
    """The simulated times that the page tells."""
    found, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            text = repr(view_client.messages_of(line.recv(timeout=0.2)))
        except TimeoutError:
            continue
        found += map(float, re.findall(r"t = ([\d.]+) s", text))
    return found


def assert_serves(port, known):
    """Someone who comes now can set things right, and sees the world move.

    Again and again, as what the attackers sent may still lie in the sockets, and undo it.
    """
    with view_client.looking(port) as line:
        end = time.monotonic() + 60
        while True:
            for label, value in (
                ("Scheme 1", "quat_em"), ("Scene", "free body"), ("Pause", False), ("Speed", "1"),
                ("Step [ms]", 20.0),
            ):  # fmt: skip
                line.send(view_client.update(known[label], value))
            if len(set(times(line, 2.0))) >= 3:
                return
            assert time.monotonic() < end


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
            attacks = [
                (view_client.press_hard, (port, draw, tame, 4000)),
                (idle, (port, 20)),
            ]
            attackers = [threading.Thread(target=f, args=given) for f, given in attacks]
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
    third = len(sizes) // 3
    assert np.mean(sizes[-third:]) - np.mean(sizes[third : 2 * third]) < 10.0
    assert len(process.output) < 20_000
    assert "Traceback" not in process.output, process.output
