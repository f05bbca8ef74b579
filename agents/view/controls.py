"""The controls of the page, and the scenario that they select."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import viser

from rbgym import integrators
from rbgym.agents.view import Speed
from rbgym.agents.view.simulation import BODIES, IDLE, MOST_RUNS, OWN, Scenario, Triple
from rbgym.quaternion import Array
from rbgym.registration import ENVIRONMENTS

# Axis and sign of a key's push. W, A, S, D, Q, E and the arrows move viser's camera.
KEYS = {"L": (0, 1), "J": (0, -1), "I": (1, 1), "K": (1, -1), "O": (2, 1), "U": (2, -1)}
_FREE, _OFF = "free body", "off"
_KICK = 0.25  # s of simulated time, in which a key pushes
_HELP = (
    "In body axes, as a fraction of the largest torque, which depends on the body and its spin. "
    "Keys, after a click on the picture: **L J** push about x, **I K** about y, **O U** about z; "
    "**space** pauses, **N** makes one step, **R** restarts."
)
_OF_BODIES = ("dt", "body", "size", "rates", "tilt", "mgl")
_OF_TASKS = ("substeps", "seed", "policy", "repeats")


class Controls:
    """All controls of a page. notify: called with "step" or "restart", else with "change"."""

    def __init__(
        self, gui: viser.GuiApi, scenario: Scenario, notify: Callable[[str], None], speed: Speed
    ) -> None:
        self._gui, self._scenario, self._notify = gui, scenario, notify
        self._handles: dict[str, Any] = {}
        self.kicks: list[tuple[int, int, float]] = []
        self._add("paused", gui.add_checkbox("Pause", False, hint="or the space bar"))
        row = gui.add_button_group("", ("Step", "Restart"))
        row.on_click(lambda event: notify(str(event.target.value).lower()))
        self._dropdown("speed", "Speed", get_args(Speed), speed)
        tabs = gui.add_tab_group()
        for label, fill in (("Run", self._run), ("Start", self._start), ("Push", self._push)):
            with tabs.add_tab(label):
                fill(scenario)
        add: Any = self._gui.add_command
        add("rbgym: pause", hotkey="space").on_trigger(lambda event: self.toggle())
        for name, key in (("step", "N"), ("restart", "R")):
            add(f"rbgym: {name}", hotkey=key).on_trigger(lambda event, name=name: notify(name))
        for key, (axis, sign) in KEYS.items():
            command = add(f"rbgym: push about {'+' if sign > 0 else '-'}{'xyz'[axis]}", hotkey=key)
            command.on_trigger(lambda event, axis=axis, sign=sign: self.kick(axis, sign))

    def _add(self, name: str, handle: Any) -> None:
        self._handles[name] = handle
        handle.on_update(lambda event: self._notify("change"))

    def _dropdown(self, name: str, label: str, options: Sequence[str], value: str) -> None:
        options = tuple(dict.fromkeys((*options, value)))
        self._add(name, self._gui.add_dropdown(label, options, initial_value=value))

    def _slider(self, name: str, label: str, span: Triple, value: float) -> None:
        """Add a slider whose range includes the value. span: lowest, highest and step."""
        low, high, step = span
        # A float: viser casts a browser's value to it; a 65-bit integer would cut off all browsers.
        handle = self._gui.add_slider(label, min(low, value), max(high, value), step, float(value))
        self._add(name, handle)

    def _three_sliders(self, name: str, label: str, span: Triple, values: Triple) -> None:
        for axis, value in zip("xyz", values, strict=True):
            self._slider(f"{name} {axis}", label.format(axis), span, value)

    def _run(self, scenario: Scenario) -> None:
        self._dropdown("env_id", "Scene", (_FREE, *ENVIRONMENTS), scenario.env_id or _FREE)
        schemes = (*scenario.schemes, _OFF, _OFF)
        policies = (*scenario.policies, IDLE, IDLE, IDLE)
        for k in range(MOST_RUNS):
            options = (_OFF, OWN, *integrators.names())
            self._dropdown(f"scheme {k}", f"Scheme {k + 1}", options, schemes[k])
            self._dropdown(f"policy {k}", f"Acts {k + 1}", (IDLE,), policies[k])
        self._slider("dt", "Step [s]", (0.0005, 0.25, 0.0005), scenario.dt)
        self._slider("substeps", "Substeps", (0, 32, 1), scenario.substeps)
        self._add("repeats", self._gui.add_checkbox("Next episode by itself", True))

    def _start(self, scenario: Scenario) -> None:
        self._dropdown("body", "Body", [*BODIES], scenario.body)
        self._three_sliders("size", "Size {} [m]", (0.1, 2.0, 0.05), scenario.size)
        self._three_sliders("rates", "Spin {} [rad/s]", (-40.0, 40.0, 0.05), scenario.rates)
        self._slider("tilt", "Tilt [°]", (0.0, 180.0, 1.0), scenario.tilt)
        self._slider("mgl", "Weight moment [N m]", (0.0, 50.0, 0.1), scenario.mgl)
        self._slider("seed", "Seed", (0, 999, 1), scenario.seed)

    def _push(self, scenario: Scenario) -> None:
        self._three_sliders("torque", "Torque {}", (-1.0, 1.0, 0.05), (0.0, 0.0, 0.0))
        self._gui.add_button("Release").on_click(lambda event: self.release())
        self._slider("strength", "Strength", (0.1, 10.0, 0.1), 1.0)
        self._gui.add_markdown(_HELP)

    def scenario(self) -> Scenario:
        on = [k for k in range(MOST_RUNS) if self.value(f"scheme {k}") != _OFF]
        env_id = self.value("env_id")
        return replace(
            self._scenario,
            env_id=None if env_id == _FREE else env_id,
            env_kwargs=self._scenario.env_kwargs if env_id == self._scenario.env_id else {},
            schemes=tuple(self.value(f"scheme {k}") for k in on),
            policies=tuple(self.value(f"policy {k}") for k in on),
            **{name: self.value(name) for name in (*_OF_BODIES, "seed", "substeps")},
        )

    def torque(self, seconds: float = 0.0) -> Array:
        """The push (3,) of sliders and keys in a step of so many seconds, in fractions of the
        largest torque. A key pushes for `_KICK`, to the nearest step, but at least one."""
        u = np.array(self.value("torque"))
        for axis, sign, _ in self.kicks:
            u[axis] += sign
        left = [(axis, sign, rest - seconds) for axis, sign, rest in self.kicks]
        self.kicks = [kick for kick in left if kick[2] > seconds / 2]
        return np.asarray(np.clip(u, -1.0, 1.0) * self.value("strength"))

    def value(self, name: str) -> Any:
        """The value, or three for axes. viser checks no range: bad ones are mended everywhere."""
        if name not in self._handles:
            return tuple(self.value(f"{name} {axis}") for axis in "xyz")
        handle = self._handles[name]
        if name in ("paused", "repeats"):
            return bool(handle.value)
        given = handle.value
        if hasattr(handle, "options"):
            valid = given if given in handle.options else handle.options[0]
        else:
            valid = min(max(handle.min, given), handle.max)  # the minimum for nan
        if valid != given:
            handle.value = valid
        return int(valid) if name in ("seed", "substeps") else valid

    def toggle(self) -> None:
        self._handles["paused"].value = not self._handles["paused"].value
        self._notify("change")

    def kick(self, axis: int, sign: int) -> None:
        self.kicks = [*self.kicks[-10:], (axis, sign, _KICK)]
        self._notify("change")

    def release(self) -> None:
        self.kicks = []
        for axis in "xyz":
            self._handles[f"torque {axis}"].value = 0.0
        self._notify("change")

    def fit(self, env_id: str | None, actors: Sequence[str]) -> None:
        """Show the controls of an environment, or of a free body. actors: the policies on offer."""
        for name, handle in self._handles.items():
            kind = name.partition(" ")[0]
            if kind in (*_OF_BODIES, *_OF_TASKS):
                handle.visible = (kind in _OF_BODIES) == (env_id is None)
            if kind == "policy":
                handle.options = tuple(dict.fromkeys((*actors, IDLE, *self._scenario.policies)))

    def choose_defaults(self, env_id: str | None, actors: Sequence[str]) -> None:
        self.fit(env_id, actors)
        schemes = (OWN, _OFF, _OFF) if env_id else Scenario.schemes
        for k in range(MOST_RUNS):
            self._handles[f"scheme {k}"].value = schemes[k]
            self._handles[f"policy {k}"].value = actors[0] if actors else IDLE
        self._handles["speed"].value = "1"

    def next_seed(self) -> None:
        handle, seed = self._handles["seed"], (self.value("seed") + 1) % 2**53
        handle.max = max(handle.max, seed)
        handle.value = seed
