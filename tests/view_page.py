"""The page of `rbgym view` in a real browser: Debian's Chromium, without a window."""

import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager

# Software WebGL; and nothing that would have the browser call home.
FLAGS = [
    "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
_REPEATS = """key => { window.repeats = setInterval(() => document.activeElement.dispatchEvent(
    new KeyboardEvent("keydown", {key, code: "Key" + key.toUpperCase(), bubbles: true})), 50) }"""
_DRAWN = "() => window.__viserTestpoints?.rendererInfo?.render.frame ?? 0"


def chromium():
    """The path of a Chromium, None where there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def served(*arguments):
    """`rbgym view` in a process of its own; yields its address and the process."""
    start = "from rbgym.agents.commands.cli import main; main()"
    command = [sys.executable, "-P", "-c", start, "view", "--no-open", "--port", "0", *arguments]
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = subprocess.Popen(command, text=True, **both)
    try:
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + process.stdout.read()
        yield found.group(), process
    finally:
        process.terminate()
        try:
            process.output = process.communicate(timeout=20)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            raise


class Window:
    """A browser window that shows the page."""

    def __init__(self, page):
        self.page, self.said = page, []
        page.on("console", lambda message: self.said.append((message.type, message.text)))
        page.on("pageerror", lambda error: self.said.append(("error", str(error))))

    def open(self, url):
        """Load the page, and wait until something is drawn."""
        self.page.goto(url)
        self.page.wait_for_selector("canvas")
        self.wait(lambda: self.drawn() > 3)
        self.wait(lambda: "t = " in self.status(), seconds=300.0)  # it may compile

    def drawn(self):
        return self.page.evaluate(_DRAWN)

    def status(self):
        """The text of the panel."""
        return self.page.inner_text("body")

    def time(self):
        """The simulated time that is shown [s], nan while the page prepares a world."""
        found = re.search(r"t = ([\d.]+) s", self.status())
        return float(found.group(1)) if found else float("nan")

    def wait(self, it, seconds=120.0):
        held = self.holds(it, seconds)
        assert held, f"waited in vain; the panel: {self.status()[:600]}"

    def holds(self, it, seconds):
        """Whether something holds within some seconds."""
        end = time.monotonic() + seconds
        while not (held := it()) and time.monotonic() < end:
            self.page.wait_for_timeout(100)
        return held

    @contextmanager
    def held(self, key):
        """A key held down, which repeats however long a picture takes."""
        self.page.keyboard.down(key)
        self.page.evaluate(_REPEATS, key)
        try:
            yield
        finally:
            self.page.evaluate("() => clearInterval(window.repeats)")
            self.page.keyboard.up(key)

    def picture(self):
        """What the canvas shows, as PNG."""
        return self.page.locator("canvas").first.screenshot()

    def tab(self, name):
        self.page.get_by_role("tab", name=name, exact=True).click()

    def choose(self, label, option):
        self.field(label).click()
        self.page.get_by_role("option", name=option, exact=True).first.click()

    def field(self, label):
        """The control that has a label."""
        return self.page.get_by_label(label, exact=True)

    def put(self, label, number):
        """Write a number into the field of a slider."""
        row = 'ancestor::div[contains(@class, "Flex-root")][1]//input[@inputmode="decimal"]'
        field = self.page.locator(f'xpath=//label[normalize-space()="{label}"]/{row}')
        field.fill(str(number))
        field.press("Enter")

    def errors(self):
        """What the console says in earnest."""
        return [text for kind, text in self.said if kind == "error"]


@contextmanager
def window(size=(800, 600)):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), headless=True, args=FLAGS)
        page = browser.new_page(viewport={"width": size[0], "height": size[1]})
        page.set_default_timeout(20_000)
        try:
            yield Window(page)
        finally:
            browser.close()
