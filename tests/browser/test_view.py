"""`rbgym view` in a real browser; `make test-browser` runs it where there is a Chromium.

The tests share a server and a window, and go on from where the one before left the page.
"""

import re

import pytest

import view_page

pytestmark = [
    pytest.mark.skipif(view_page.chromium() is None, reason="there is no Chromium"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
pytest.importorskip("playwright", reason="playwright is not installed: make .venv/.browser")


_COLOR_OF_FAILURE = """() => {
    const said = [...document.querySelectorAll("span")];
    const failed = said.find(node => node.textContent.startsWith("failed by t ="));
    return failed && getComputedStyle(failed).color;
}"""


@pytest.fixture(scope="module")
def window():
    with view_page.served() as (url, _), view_page.window() as window:
        window.open(url)
        yield window
        assert window.errors() == []


def at_rest(window):
    """Pause, and the picture once it has come to rest."""
    if not window.field("Pause").is_checked():
        window.field("Pause").check()
    window.wait(lambda: "paused" in window.status())
    window.wait(lambda: unchanged(window))
    return window.picture()


def unchanged(window):
    """Whether the picture stays what it is for a second: what was asked for may be on its way."""
    before = window.picture()
    window.page.wait_for_timeout(1000)
    return window.picture() == before


def energy_change(window):
    """What the panel says of the first body."""
    return float(re.search(r"changes: energy ([\d.e+-]+)", window.status()).group(1))


def test_the_page_loads_and_its_bodies_move(window):
    first, time = window.picture(), window.time()
    window.wait(lambda: window.time() > time + 0.5)
    assert window.picture() != first
    for name in ("forward_euler", "imidm", "exact:4"):
        assert name in window.status()
    assert window.errors() == []


def test_it_pauses_steps_restarts_and_goes_on(window):
    at_rest(window)
    time = window.time()
    window.page.get_by_role("button", name="Step").click()
    window.wait(lambda: window.time() == pytest.approx(time + 0.05))
    window.page.keyboard.press("n")
    window.wait(lambda: window.time() == pytest.approx(time + 0.10))
    window.page.keyboard.press("r")
    window.wait(lambda: window.time() == 0.0)
    window.page.keyboard.press("Space")
    window.wait(lambda: window.time() > 0.2)
    assert not window.field("Pause").is_checked()
    at_rest(window)


@pytest.mark.parametrize(("label", "number"), [
    ("Size x [m]", 0.4), ("Size y [m]", 0.7), ("Size z [m]", 1.5), ("Tilt [°]", 50),
    ("Weight moment [N m]", 9), ("Spin x [rad/s]", 4), ("Spin y [rad/s]", -4),
    ("Spin z [rad/s]", 9),
])  # fmt: skip
def test_every_slider_of_the_start_changes_the_picture(window, label, number):
    window.tab("Start")
    before = at_rest(window)
    window.put(label, number)
    window.wait(lambda: window.picture() != before and window.time() == 0.0)


def test_another_body_is_another_picture(window):
    window.tab("Start")
    window.put("Weight moment [N m]", 0)
    before = at_rest(window)
    window.choose("Body", "cylinder")
    window.wait(lambda: window.picture() != before)


def test_torques_of_sliders_and_keys_are_shown_and_act(window):
    at_rest(window)
    window.tab("Run")
    window.put("Step [s]", 0.02)
    window.wait(lambda: window.time() == 0.0)
    window.tab("Push")
    window.put("Strength", 0.5)
    for axis, share in zip("xyz", (0.5, -0.25, 0.75), strict=True):
        before = at_rest(window)
        window.put(f"Torque {axis}", share)
        window.wait(lambda before=before: window.picture() != before)
    window.field("Pause").uncheck()
    window.wait(lambda: window.time() > 1.0)
    assert energy_change(window) == 0  # it is counted from the end of a push on
    window.page.get_by_role("button", name="Release").click()
    seen = []
    for key in "jlikuo":
        window.field("Pause").uncheck()
        window.wait(lambda: energy_change(window) > 0)
        at_rest(window)
        window.page.mouse.click(100, 400)  # on the picture: now no control has the keys
        still = window.picture()
        with window.held(key):
            window.wait(lambda: energy_change(window) == 0)
            seen.append(window.holds(lambda still=still: window.picture() != still, seconds=2.0))
    assert any(seen)  # the body can hide an arrow


def test_a_scheme_that_explodes_is_shown_in_red(window):
    window.tab("Start")
    window.put("Spin y [rad/s]", 30)
    window.field("Pause").uncheck()
    window.wait(lambda: "failed by t =" in window.status())
    window.wait(lambda: window.page.evaluate(_COLOR_OF_FAILURE) == "rgb(213, 60, 50)")
    time = window.time()
    window.wait(lambda: window.time() > time + 0.5)  # the other goes on


def test_a_task_is_flown_by_a_controller_from_another_start(window):
    window.tab("Run")
    window.choose("Scene", "RigidTop-v0")
    # The trained policy comes first, and with it torch.
    window.wait(lambda: "angle to the goal" in window.status())
    window.choose("Acts 1", "lqr")
    window.wait(lambda: "lqr, exact:4" in window.status())
    window.choose("Scheme 1", "akw")
    window.put("Substeps", 8)
    window.wait(lambda: "lqr, akw" in window.status())
    time = window.time()
    window.wait(lambda: window.time() > time + 0.3)
    at_rest(window)
    window.tab("Start")
    window.put("Seed", 12)
    window.wait(lambda: window.time() == 0.0)
    window.field("Pause").uncheck()


def test_every_run_of_a_task_can_have_an_actor_of_its_own(window):
    window.tab("Run")
    for run, name in ((2, "pd"), (3, "lqr")):
        window.choose(f"Scheme {run}", "the task's own")
        window.choose(f"Acts {run}", name)
        window.wait(lambda name=name: f"{name}, exact:4" in window.status())
    window.choose("Scheme 3", "off")


def test_what_cannot_be_is_said_and_the_page_goes_on(window):
    window.tab("Run")
    window.choose("Scene", "ScalableSpin-v0")
    window.wait(lambda: "scalable_em" in window.status())  # compiles
    window.choose("Scheme 1", "forward_euler")
    window.wait(lambda: "integrator must support" in window.status())
    window.choose("Scheme 1", "the task's own")
    window.wait(lambda: "integrator must support" not in window.status())
    time = window.time()
    window.wait(lambda: window.time() != time)
