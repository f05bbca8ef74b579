"""The page: what a browser shows of one world, and the thread that keeps it moving.

There is one world for all who look: what one of them chooses, all see. One thread owns it; controls
only leave word of what they want, and wake it.
"""

import contextlib
import logging
import threading
import time
from collections import deque
from typing import Any

import viser

from rbgym.agents.view.clock import Clock
from rbgym.agents.view.controls import Asked, Controls
from rbgym.agents.view.curves import Curves
from rbgym.agents.view.film import Reel, as_mp4
from rbgym.agents.view.saving import Records, Saver, as_csv, as_npz
from rbgym.agents.view.setup import Setup, build, policies_of, warm_up
from rbgym.agents.view.stage import FIELD, Stage, light_up, view_of
from rbgym.agents.view.status import busy_html, status_html
from rbgym.agents.view.world import World
from rbgym.engine.batch import IntegrationError

_LOG = logging.getLogger(__name__)
FRAME = 1 / 30  # s between two updates of the bodies
_SLOW = 5  # frames between two updates of traces and status,
_SLOWER = 10  # and of curves, which cost a browser without a graphics card the most
_IDLE = 0.25  # s between two looks at the controls while nothing moves
_WORK = 0.6 * FRAME  # s of each frame that physics may take
_REST = 1.5  # s from the end of an episode to the next


class Page:
    """A world on a server. `run` keeps it moving until `stop`."""

    def __init__(self, server: viser.ViserServer, setup: Setup, speed: str = "1") -> None:
        self.frames = 0  # that were sent
        self._server = server
        self._setup: Setup | None = None
        self._world: World | None = None
        self._stage: Stage | None = None
        self._clock, self._saver = Clock(), Saver()
        self._stopped, self._awake = threading.Event(), threading.Event()
        self._pressed: deque[tuple[str, Any]] = deque()
        self._problem, self._late = "", False
        self._over_since: float | None = None
        gui = server.gui
        gui.configure_theme(
            dark_mode=False, show_logo=False, show_share_button=False, control_width="medium",
            brand_color=(0, 114, 178),
        )  # fmt: skip
        gui.main_panel.dock_right()
        gui.main_panel.set_width(318)
        self._status = gui.add_html(busy_html("Starting"))
        self._curves = Curves(gui)
        self._controls = Controls(gui, setup, self._press, speed)
        self._controls.fit(setup.scene, policies_of(setup.scene))
        light_up(server.scene)
        server.initial_camera.fov = FIELD
        server.on_client_connect(self._welcome)

    def _press(self, name: str, client: Any) -> None:
        if name != "wake" and len(self._pressed) < 20:
            self._pressed.append((name, client))
        self._awake.set()

    def stop(self) -> None:
        """End `run` soon."""
        self._stopped.set()
        self._awake.set()

    def run(self) -> None:
        """Keep the world moving for all who look; it stands still while nobody does."""
        woken = True
        while not self._stopped.is_set():
            start = time.monotonic()
            try:
                moving = self._turn(start, woken)
            except Exception as error:  # whatever it is, who looks is told, and the page goes on
                moving = False
                self._trouble(error)
            left = FRAME - (time.monotonic() - start)
            woken = self._awake.wait(max(0.001, left) if moving else _IDLE)
            if woken:  # else whoever wakes it from here on must be heard
                self._awake.clear()
        self._saver.close()

    def _trouble(self, error: Exception) -> None:
        if self._problem != repr(error):
            self._problem = repr(error)
            _LOG.error("the page goes on after an error", exc_info=error)
            self._tell(busy_html(f"An error: {error}"))

    # --- one turn of the thread -------------------------------------------------------------

    def _turn(self, now: float, woken: bool) -> bool:
        """Do what is due; returns whether anything moves."""
        pressed = [self._pressed.popleft() for _ in range(len(self._pressed))]
        names = {name for name, _ in pressed}
        setup, asked = self._controls.setup(), self._controls.asked()
        if setup != self._setup or "restart" in names:
            self._rebuild(setup)
            woken = True
        world = self._world
        if world is None:
            return False
        for name, client in pressed:
            self._save(name, client, asked, world)
        world.push(self._controls.torque() * world.strength)
        moving = bool(self._server.get_clients()) and not asked.paused and not world.over
        if moving:
            self._advance(world, now, asked.speed)
        else:
            self._clock.stop()
        if asked.paused and "step" in names:
            world.advance(1)
        if moving or woken:
            self._show(world, asked, woken)
        self._next_episode(world, asked, now)
        return moving

    def _advance(self, world: World, now: float, speed: float) -> None:
        """Make the steps that are due, but no more than there is time for."""
        steps, part = self._clock.due(now, world.dt, speed), 1
        deadline = time.monotonic() + _WORK
        while steps > 0 and not world.over:
            world.advance(min(part, steps))
            steps -= part
            part *= 2
            if time.monotonic() > deadline:
                break
        self._late = steps > 0

    def _show(self, world: World, asked: Asked, woken: bool) -> None:
        slow = woken or self.frames % _SLOW == 0
        if self._stage is not None:
            self._stage.update(world, traced=slow)
        if woken or self.frames % _SLOWER == 0:
            self._curves.update(world, asked.curves)
        if slow:
            note = " · paused" if asked.paused else ""
            note += " · slower than asked" if self._late and not asked.paused else ""
            self._tell(status_html(world, note, self._problem))
        self.frames += 1

    def _tell(self, html: str) -> None:
        if self._status.content != html:
            self._status.content = html

    def _next_episode(self, world: World, asked: Asked, now: float) -> None:
        """Go on with the next seed a moment after every run of a task has ended."""
        if self._problem or world.is_free or not (world.over and asked.repeats):
            self._over_since = None
        elif self._over_since is None:
            self._over_since = now
        elif now - self._over_since > _REST:
            self._over_since = None
            self._controls.next_seed()

    def _rebuild(self, setup: Setup) -> None:
        """Begin anew; where that cannot be, say why, and keep what there was."""
        self._tell(busy_html("Preparing"))
        if self._setup is not None and setup.scene != self._setup.scene:
            policies = policies_of(setup.scene)
            self._controls.begin(setup.scene, policies)
            setup = self._controls.setup()
        self._setup, self._problem = setup, ""
        try:
            warm_up(setup)
            world = build(setup)
        except (ValueError, IntegrationError, ImportError) as error:
            self._problem = str(error)
            return
        count = 0 if self._world is None else len(self._world.runs)
        self._world, self._stage = world, Stage(self._server, world)
        if len(world.runs) != count:
            self._aim(*self._server.get_clients().values())
        self._clock.stop()

    def _aim(self, *clients: viser.ClientHandle) -> None:
        """Turn the cameras of clients to all runs."""
        runs = 1 if self._world is None else len(self._world.runs)
        for client in clients:
            aspect = _aspect(client.camera)
            if aspect is None:
                continue
            position, look_at = view_of(runs, aspect)
            with contextlib.suppress(ValueError):  # it says that its camera has no up, or no view
                client.camera.position, client.camera.look_at = position, look_at

    def _welcome(self, client: viser.ClientHandle) -> None:
        """Turn its camera to the runs, and again when its picture gets another shape."""
        seen: list[float] = []

        def aim(camera: viser.CameraHandle) -> None:
            aspect = _aspect(camera)
            if aspect is not None and seen != [aspect]:
                seen[:] = [aspect]
                self._aim(client)

        client.camera.on_update(aim)
        aim(client.camera)
        self._press("wake", client)

    def _save(self, name: str, client: Any, asked: Asked, world: World) -> None:
        """Make a file beside this thread, of the records as they are now."""
        if client is None or name not in ("csv", "npz", "video"):
            return
        if name == "video":
            reel = Reel.of(world, self._controls.setup().scene, asked.seconds, asked.speed)
            self._saver.save("rbgym.mp4", as_mp4, reel, client)
        else:
            make = as_csv if name == "csv" else as_npz
            self._saver.save(f"rbgym.{name}", make, Records.of(world), client)


def _aspect(camera: viser.CameraHandle) -> float | None:
    """Width of its picture by height; None while it has no height, which it may say at any time."""
    height = camera.image_height
    return camera.image_width / height if height else None
