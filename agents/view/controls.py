"""The controls of the page, and what they say.

Whatever a browser sends ends up in the value of a control; here it is brought within the range of
that control before anything is made of it.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import viser

from rbgym import integrators
from rbgym.agents.view.curves import CHANGES, GOAL, VALUES
from rbgym.agents.view.setup import BODIES, FREE, GIVEN, OFF, OWN, Setup
from rbgym.agents.view.task_run import NONE
from rbgym.agents.view.world import MOST
from rbgym.quaternion import Array
from rbgym.registration import ENVIRONMENTS

SPEEDS = ("1/100", "1/10", "1/4", "1/2", "1", "2", "5", "10", "100")
# What a key pushes about: axis and sign. W, A, S, D, Q, E and the arrows move viser's camera.
KEYS = {"L": (0, 1), "J": (0, -1), "I": (1, 1), "K": (1, -1), "O": (2, 1), "U": (2, -1)}
_KICK = 0.25  # s, for which a key pushes
_AXES = "xyz"
_HELP = (
    "In body axes, as a part of the largest torque, which goes with the body and its spin. "
    "Keys **L J** push about x, **I K** about y, **O U** about z; **space** pauses, **N** makes "
    "one step, **R** restarts."
)

Press: TypeAlias = Callable[[str, Any], None]


@dataclass(frozen=True)
class Asked:
    """What the controls say beside the setup; seconds: length of a video."""

    paused: bool
    speed: float
    curves: str
    repeats: bool
    seconds: float


class Controls:
    """All controls of a page.

    press: is called with "step", "restart", "csv", "npz" or "video" and the client who wants it,
    and with "wake" when anything else has changed. speed: one of SPEEDS.
    """

    def __init__(self, gui: viser.GuiApi, setup: Setup, press: Press, speed: str = "1") -> None:
        self._gui, self._press, self._setup = gui, press, setup
        self._own_policies = tuple(name for name in setup.policies if name != NONE)
        self._values: dict[str, Any] = {}
        self._kicks: list[tuple[int, int, float]] = []
        self._keep("paused", gui.add_checkbox("Pause", False, hint="or the space bar"))
        row = gui.add_button_group("", ("Step", "Restart"))
        row.on_click(lambda event: press(str(event.target.value).lower(), event.client))
        self._keep("speed", gui.add_dropdown("Speed", SPEEDS, initial_value=speed))
        tabs = gui.add_tab_group()
        for label, fill in (
            ("Run", self._run), ("Start", self._start), ("Push", self._push), ("Save", self._save)
        ):  # fmt: skip
            with tabs.add_tab(label):
                fill()
        self._hotkeys()
        self.fit(setup.scene, [])

    def _keep(self, name: str, handle: Any) -> None:
        self._values[name] = handle
        handle.on_update(lambda event: self._press("wake", event.client))

    def _pressed(self, name: str, event: Any) -> None:
        self._press(name, event.client)

    def _slider(self, name: str, label: str, low: float, high: float, step: float) -> None:
        value = _initial(self._setup, name)
        low, high = min(low, value), max(high, value)
        self._keep(name, self._gui.add_slider(label, low, high, step, value))

    # --- what is there --------------------------------------------------------------------

    def _run(self) -> None:
        gui, setup = self._gui, self._setup
        scenes = tuple(dict.fromkeys((FREE, setup.scene, *ENVIRONMENTS)))
        self._keep("scene", gui.add_dropdown("Scene", scenes, initial_value=setup.scene))
        names = tuple(dict.fromkeys((OFF, OWN, *integrators.names(), *setup.schemes)))
        for k in range(MOST):
            for kind, label, options, given, none in (
                ("scheme", "Scheme", names, setup.schemes, OFF),
                ("policy", "Acts", (NONE, *self._own_policies), setup.policies, NONE),
            ):
                value = given[k] if k < len(given) else none
                handle = gui.add_dropdown(f"{label} {k + 1}", options, initial_value=value)
                self._keep(f"{kind} {k}", handle)
        self._slider("dt", "Step [ms]", 0.5, 250.0, 0.5)
        self._slider("substeps", "Substeps", 0, 32, 1)
        curves = CHANGES if setup.scene == FREE else GOAL
        kinds = (CHANGES, VALUES, GOAL)
        self._keep("curves", gui.add_dropdown("Curves", kinds, initial_value=curves))
        self._keep("repeats", gui.add_checkbox("Next episode by itself", True))

    def _start(self) -> None:
        bodies = (*BODIES, GIVEN) if self._setup.inertia else (*BODIES,)
        body = self._gui.add_dropdown("Body", bodies, initial_value=self._setup.body)
        self._keep("body", body)
        for k, axis in enumerate(_AXES):
            self._slider(f"size {k}", f"Size {axis} [m]", 0.1, 2.0, 0.05)
        for k, axis in enumerate(_AXES):
            self._slider(f"rates {k}", f"Spin {axis} [rad/s]", -40.0, 40.0, 0.05)
        self._slider("tilt", "Tilt [°]", 0.0, 180.0, 1.0)
        self._slider("mgl", "Weight moment [N m]", 0.0, 50.0, 0.1)
        self._slider("seed", "Seed", 0, 999, 1)

    def _push(self) -> None:
        for k, axis in enumerate(_AXES):
            self._slider(f"torque {k}", f"Torque {axis}", -1.0, 1.0, 0.05)
        self._gui.add_button("Release").on_click(lambda event: self.release())
        self._slider("strength", "Strength", 0.1, 10.0, 0.1)
        self._gui.add_markdown(_HELP)

    def _save(self) -> None:
        for name, label in (
            ("csv", "Trajectory, CSV"), ("npz", "Trajectory, NumPy"), ("video", "Video, MP4")
        ):  # fmt: skip
            self._gui.add_button(label).on_click(partial(self._pressed, name))
        self._slider("seconds", "Video of the last [s]", 1, 30, 1)

    def _hotkeys(self) -> None:
        add: Any = self._gui.add_command
        pause = add("rbgym: pause", hotkey="space")
        pause.on_trigger(lambda event: self.toggle())
        for name, key in (("step", "N"), ("restart", "R")):
            add(f"rbgym: {name}", hotkey=key).on_trigger(partial(self._pressed, name))
        for key, (axis, sign) in KEYS.items():
            command = add(f"rbgym: push about {'+' if sign > 0 else '-'}{_AXES[axis]}", hotkey=key)
            command.on_trigger(lambda event, axis=axis, sign=sign: self.kick(axis, sign))

    # --- what they say --------------------------------------------------------------------

    def setup(self) -> Setup:
        """The setup that the controls ask for."""
        lanes = range(MOST)
        return replace(
            self._setup,
            scene=self._choice("scene"),
            schemes=tuple(self._choice(f"scheme {k}") for k in lanes),
            policies=tuple(self._choice(f"policy {k}") for k in lanes),
            dt=self._number("dt") / 1000,
            substeps=int(self._number("substeps")),
            body=self._choice("body"),
            size=self._three("size"),
            rates=self._three("rates"),
            tilt=self._number("tilt"),
            mgl=self._number("mgl"),
            seed=int(self._number("seed")),
        )

    def asked(self) -> Asked:
        """What else they ask for."""
        above, _, below = self._choice("speed").partition("/")
        return Asked(
            paused=bool(self._values["paused"].value),
            speed=float(above) / float(below or 1),
            curves=self._choice("curves"),
            repeats=bool(self._values["repeats"].value),
            seconds=self._number("seconds"),
        )

    def torque(self) -> Array:
        """The push (3,), in parts of the largest torque: of the sliders, and of keys just used."""
        u = np.array(self._three("torque"))
        self._kicks = [kick for kick in self._kicks if kick[2] > time.monotonic()]
        for axis, sign, _ in self._kicks:
            u[axis] += sign
        return np.asarray(np.clip(u, -1.0, 1.0) * self._number("strength"))

    def _number(self, name: str) -> float:
        handle = self._values[name]
        value = handle.value  # once: a browser may change it meanwhile
        value = value if math.isfinite(value) else _initial(self._setup, name)
        return float(min(max(value, handle.min), handle.max))

    def _three(self, name: str) -> tuple[float, float, float]:
        return self._number(f"{name} 0"), self._number(f"{name} 1"), self._number(f"{name} 2")

    def _choice(self, name: str) -> str:
        value, options = self._values[name].value, self._values[name].options  # each once
        return str(value if value in options else options[0])

    # --- what changes them ----------------------------------------------------------------

    def toggle(self) -> None:
        """Pause, or go on."""
        self._values["paused"].value = not self._values["paused"].value
        self._press("wake", None)

    def kick(self, axis: int, sign: int) -> None:
        """Push about an axis for a moment."""
        self._kicks = [*self._kicks[-10:], (axis, sign, time.monotonic() + _KICK)]
        self._press("wake", None)

    def release(self) -> None:
        """Push no more."""
        self._kicks = []
        for k in range(3):
            self._values[f"torque {k}"].value = 0.0
        self._press("wake", None)

    def fit(self, scene: str, policies: Sequence[str]) -> None:
        """Show what goes with a scene. policies: those who can act there."""
        free = scene == FREE
        for name, handle in self._values.items():
            kind = name.partition(" ")[0]
            if kind in ("dt", "body", "size", "rates", "tilt", "mgl"):
                handle.visible = free
            elif kind in ("substeps", "seed", "policy", "repeats"):
                handle.visible = not free
            if kind == "policy":
                handle.options = tuple(dict.fromkeys((NONE, *policies, *self._own_policies)))

    def begin(self, scene: str, policies: Sequence[str]) -> None:
        """Choose what a scene begins with, of those who can act there."""
        free = scene == FREE
        self.fit(scene, policies)
        schemes = Setup().schemes if free else (OWN, OFF, OFF)
        for k in range(MOST):
            self._values[f"scheme {k}"].value = schemes[k]
            self._values[f"policy {k}"].value = policies[0] if policies else NONE
        self._values["curves"].value = CHANGES if free else GOAL
        self._values["speed"].value = "1"

    def next_seed(self) -> None:
        """Ask for the next start of a task."""
        seed = self._values["seed"]
        seed.value = (int(seed.value) + 1) % 1000


def _initial(setup: Setup, name: str) -> float:
    """Where a slider is at first."""
    kind, _, axis = name.partition(" ")
    others = {"torque": 0.0, "strength": 1.0, "seconds": 6.0}
    if kind in others:
        return others[kind]
    value = getattr(setup, kind)
    number = float(value[int(axis)] if axis else value)
    return 1000 * number if kind == "dt" else number
