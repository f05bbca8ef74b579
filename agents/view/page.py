"""The page that a browser shows, and the thread that advances its simulation. All viewers share one
simulation, which that thread owns; controls send their events through a queue."""

import logging
import math
import queue
import time
from dataclasses import replace
from fractions import Fraction
from html import escape

import viser

from rbgym.agents.view import Speed
from rbgym.agents.view.controls import Controls
from rbgym.agents.view.scene import FAILED, RUNS, BrowserScene
from rbgym.agents.view.simulation import Scenario, Simulation, actors
from rbgym.engine.batch import IntegrationError

_LOG = logging.getLogger(__name__)
_FRAME = 1 / 30  # s between two updates of the bodies
_SLOW = 5  # frames between two updates of traces and legend
_IDLE = 0.25  # s between two checks of the controls while nothing moves
_WORK = 0.6 * _FRAME  # s of each frame for physics
_REST = 1.5  # s from the end of an episode to the next
_MOST_LATE = 0.2  # s of wall time to catch up at most; a longer delay is dropped


class Page:
    """A simulation on a server. `run` advances it until `stop`."""

    def __init__(self, server: viser.ViserServer, scenario: Scenario, speed: Speed = "1") -> None:
        self._server = server
        self.simulation = scenario.simulation()
        self._scene = BrowserScene(server)
        self._scene.start(self.simulation)
        self._scenario: Scenario | None = None  # of the latest `_prepare`
        self._pressed = queue.SimpleQueue[str]()
        self._last: float | None = None  # wall time up to which steps were made
        self._owed = 0.0  # simulated time left over, less than a step [s]
        self._problem, self._late, self._frames = "", False, 0
        self._over_since: float | None = None
        gui = server.gui
        gui.configure_theme(
            dark_mode=False, show_logo=False, show_share_button=False, control_width="medium",
            brand_color=(0, 114, 178),
        )  # fmt: skip
        gui.main_panel.dock_right()
        gui.main_panel.set_width(318)
        self._legend = gui.add_html(busy("Starting"))
        self.controls = Controls(gui, scenario, self._pressed.put, speed)
        self.controls.fit(scenario.env_id, actors(scenario.env_id))
        server.on_client_connect(self._welcome)

    def stop(self) -> None:
        self._pressed.put("stop")

    def run(self) -> None:
        """Advance the simulation until `stop`; it pauses without a viewer."""
        pressed = {"change"}
        while "stop" not in pressed:
            start = time.monotonic()
            moving = False
            try:
                moving = self._turn(start, pressed)
            except Exception as error:  # the page shows any error, and continues
                if self._problem != repr(error):
                    self._problem = repr(error)
                    _LOG.exception("the page continues after an error")
                    self._legend.content = busy(f"An error: {error}")
            left = start + _FRAME - time.monotonic()
            pressed = self._wait(max(0.001, left) if moving else _IDLE)

    def _wait(self, seconds: float) -> set[str]:
        """Wait for a control, at most so long; returns the names of all that were pressed."""
        found = set()
        try:
            found.add(self._pressed.get(timeout=seconds))
            while True:
                found.add(self._pressed.get_nowait())
        except queue.Empty:
            return found

    def _turn(self, now: float, pressed: set[str]) -> bool:
        """Do the work of one frame; returns whether anything moves."""
        scenario, paused = self.controls.scenario(), self.controls.value("paused")
        if scenario != self._scenario or "restart" in pressed:
            self._prepare(scenario)
            pressed.add("change")
        simulation = self.simulation
        self._make(0)
        moving = bool(self._server.get_clients()) and not paused and not simulation.over
        if moving:
            self._advance(now, float(Fraction(self.controls.value("speed"))))
        else:
            self._last = None  # time does not count from now on
            if paused and "step" in pressed:
                self._make(1)
        if moving or pressed:
            self._show(paused, at_once=bool(pressed))
        self._next_episode(now)
        return moving

    def _advance(self, now: float, speed: float) -> None:
        """Make the steps that are due, as many as the frame has time for."""
        passed = 0.0 if self._last is None else min(now - self._last, _MOST_LATE)
        self._last = now
        due, self._owed = divmod(self._owed + passed * speed, self.simulation.dt)
        steps, part = int(due), 1
        deadline = time.monotonic() + _WORK
        while steps > 0 and not self.simulation.over and time.monotonic() < deadline:
            part = 1 if self.controls.kicks else min(part, steps)
            self._make(part)
            steps -= part
            part *= 2
        self._late = steps > 0

    def _make(self, steps: int) -> None:
        """Set the push and make steps, perhaps none; while a key pushes, one at a time."""
        simulation, push = self.simulation, self.controls.torque(steps * self.simulation.dt)
        simulation.push(push * simulation.runs[0].strength)
        simulation.advance(steps)

    def _show(self, paused: bool, at_once: bool) -> None:
        slow = at_once or self._frames % _SLOW == 0
        self._scene.update(self.simulation, traced=slow)
        if slow:
            late = " · slower than asked" if self._late else ""
            note = " · paused" if paused else late
            self._legend.content = legend(self.simulation, note, self._problem)
        self._frames += 1

    def _next_episode(self, now: float) -> None:
        """Start the next seed a moment after every run of a task has ended."""
        task = self._scenario is not None and self._scenario.env_id is not None
        if self._problem or not (task and self.simulation.over and self.controls.value("repeats")):
            self._over_since = None
        elif self._over_since is None:
            self._over_since = now
        elif now - self._over_since > _REST:
            self._over_since = None
            self.controls.next_seed()

    def _prepare(self, scenario: Scenario) -> None:
        """Start a scenario; if it is impossible, show why and keep the present one."""
        self._legend.content = busy("Preparing")
        if self._scenario is not None and scenario.env_id != self._scenario.env_id:
            self.controls.choose_defaults(scenario.env_id, actors(scenario.env_id))
            scenario = self.controls.scenario()
        self._scenario, self._problem = scenario, ""
        try:
            # Compiles or loads the kernels of the first step.
            replace(scenario, policies=()).simulation().advance(1)
            simulation = scenario.simulation()
        except (ValueError, IntegrationError, ImportError) as error:
            self._problem = str(error)
            return
        other_count = len(simulation.runs) != len(self.simulation.runs)
        self.simulation = simulation
        self.controls.kicks = []  # a push does not outlive a run
        self._scene.start(simulation)
        self._last, self._owed = None, 0.0
        for client in self._server.get_clients().values() if other_count else ():
            self._scene.aim(client.camera)

    def _welcome(self, client: viser.ClientHandle) -> None:
        """Aim a new client's camera at the runs, and again when its window changes shape."""
        shape: list[tuple[int, int]] = []

        def aim(camera: viser.CameraHandle) -> None:
            seen = [(camera.image_width, camera.image_height)]
            if shape != seen:
                shape[:] = seen
                self._scene.aim(camera)

        client.camera.on_update(aim)
        aim(client.camera)
        self._pressed.put("change")


def legend(simulation: Simulation, note: str = "", problem: str = "") -> str:
    """HTML with time and note, each run's name and its numbers or its end, a problem in red."""
    lines = [_GREY.format(f"t = {simulation.time:.2f} s{escape(note)}")]
    for k, (color, run) in enumerate(zip(RUNS, simulation.runs, strict=False)):
        dot = f'<span style="color:rgb{color};font-size:1.3em;line-height:1">&#9679;</span>'
        end = f"{'failed by' if run.failed else f'{run.ended} at'} t = {run.time:.2f} s"
        status = escape(end) if run.ended else _numbers(simulation, k)
        lines.append(f"{dot} <b>{escape(run.name)}</b>")
        lines.append((_RED if run.failed else _GREY).format(status))
    if problem:
        lines.append(_RED.format(escape(problem)))
    return _BOX.format("<br>".join(lines))


def _numbers(simulation: Simulation, k: int) -> str:
    """The angle of a task's run to its goal, or the drift of a free run's invariants."""
    now = simulation.runs[k].snapshot()
    if not math.isnan(now.goal_angle):
        return f"angle to the goal {math.degrees(now.goal_angle):.2f}&deg;, {now.energy:.3g} J"
    energy, momentum = simulation.changes(k)
    which = "vertical momentum" if simulation.vertical else "momentum"
    return f"changes: energy {energy:.2g}, {which} {momentum:.2g}"


def busy(what: str) -> str:
    """HTML that names the work in progress while nothing moves."""
    hint = _GREY.format("compiling takes some seconds the first time")
    return _BOX.format(f"{escape(what)} &hellip;<br>{hint}")


_BOX = '<div style="font-size:0.85em;line-height:1.45;padding:0.2em 0.9em">{}</div>'
_GREY = '<span style="color:#7a8391">{}</span>'
_RED = f'<span style="color:rgb{FAILED};font-weight:600">{{}}</span>'
