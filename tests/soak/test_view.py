"""Minutes of the interactive page in a browser; `make soak` runs it.

RBGYM_SOAK_SECONDS changes for how long.
"""

import os
import re
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("viser")

import view_page

SECONDS = float(os.environ.get("RBGYM_SOAK_SECONDS", "600"))
EVERY = 5.0  # s between two measurements


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
