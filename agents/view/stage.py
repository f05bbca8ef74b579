"""The bodies in the browser: meshes of each run, side by side, with their arrows and traces."""

from collections import deque

import numpy as np
import viser
from numpy.typing import ArrayLike

from rbgym.agents.view.runs import Look, Run
from rbgym.agents.view.world import World
from rbgym.envs.rendering import colors
from rbgym.envs.rendering.solids import Mesh, arrow, solid_of
from rbgym.quaternion import Array, rotate

# Of the runs, in bodies' names, plates and curves: Okabe and Ito (2008).
RUNS: tuple[colors.Color, ...] = ((230, 159, 0), (86, 180, 233), (0, 158, 115))
FAILED: colors.Color = (213, 60, 50)
_APART = 2.7  # between two runs, in radii of a body
_ARROW = 1.35  # length of the arrows at the start
_TRACE = 90  # points
_LEAST_CHANGE = 0.02  # of a length, below which an arrow is not drawn anew


class Stage:
    """What is drawn of a world; one at a time on a server."""

    def __init__(self, server: viser.ViserServer, world: World) -> None:
        server.scene.remove_by_name("/world")
        server.scene.add_frame("/world", show_axes=False)
        count = len(world.runs)
        self._actors = [
            _Actor(server, run, k, (_APART * (k - (count - 1) / 2), 0.0, 0.0))
            for k, run in enumerate(world.runs)
        ]
        self._server = server

    def update(self, world: World, traced: bool) -> None:
        """Show the runs as they are now, all in one message. traced: lengthen the traces too."""
        with self._server.atomic():
            for actor, run in zip(self._actors, world.runs, strict=True):
                if not actor.failed:
                    actor.show(run.look(), traced)
                if run.failed and not actor.failed:
                    actor.fail()


class _Actor:
    """One run on the stage, in a frame of its own; lengths in radii of its body."""

    def __init__(self, server: viser.ViserServer, run: Run, k: int, place: ArrayLike) -> None:
        scene, self._root, self.failed = server.scene, f"/world/{k}", False
        scene.add_frame(self._root, show_axes=False, position=np.asarray(place))
        look, mesh = run.look(), solid_of(run.body, run.potential)
        self._unit = max(mesh.radius, 0.6 * float(np.linalg.norm(look.position)))
        self._sizes = np.linalg.norm(look.angular_velocity), np.linalg.norm(look.angular_momentum)
        self._body = scene.add_frame(f"{self._root}/body", show_axes=False)
        self._parts = _add(server, f"{self._root}/body", mesh, 1 / self._unit)
        self._scale = 1.0
        self._ghost = None
        if look.target is not None:
            self._ghost = scene.add_frame(f"{self._root}/goal", show_axes=False)
            faint = mesh.tinted(colors.GOAL)
            _add(server, f"{self._root}/goal", faint, 1.02 / self._unit, opacity=0.18)
        self._arrows = {
            name: _Arrow(server, f"{self._root}/{name}", color)
            for name, color in (
                ("rate", colors.ANGULAR_VELOCITY),
                ("momentum", colors.ANGULAR_MOMENTUM),
                ("torque", colors.TORQUE),
            )
        }
        self._tip = _tip_of(mesh) / self._unit
        self._trace: deque[Array] = deque(maxlen=_TRACE)
        self._line = scene.add_line_segments(
            f"{self._root}/trace", np.zeros((1, 2, 3)), RUNS[k], line_width=2.0
        )
        scene.add_cylinder(
            f"{self._root}/plate", 0.45, 0.03, color=RUNS[k], position=(0.0, 0.0, -1.55)
        )
        scene.add_label(
            f"{self._root}/name", run.name, position=(0.0, 0.0, -1.75), anchor="top-center"
        )

    def show(self, look: Look, traced: bool) -> None:
        """Move everything to where it is."""
        place = look.position / self._unit
        self._body.wxyz, self._body.position = look.quaternion, place
        if abs(look.scale / self._scale - 1) > _LEAST_CHANGE:
            self._scale = look.scale
            for part in self._parts:
                part.scale = look.scale / self._unit
        if self._ghost is not None:
            self._ghost.wxyz = look.target
        q = look.quaternion
        rate, momentum = rotate(q, look.angular_velocity), look.angular_momentum
        self._arrows["rate"].point(place, rate, self._sizes[0])
        self._arrows["momentum"].point(place, momentum, self._sizes[1])
        self._arrows["torque"].point(place, rotate(q, look.torque), _reference(look.torque))
        if traced:
            self._trace.append(rotate(q, self._tip) + place)
            if len(self._trace) > 1:
                points = np.array(self._trace)
                self._line.points = np.stack([points[:-1], points[1:]], axis=1)

    def fail(self) -> None:
        """Turn red."""
        self.failed = True
        for part in self._parts:
            part.color = FAILED


class _Arrow:
    """An arrow whose length at the start is the same whatever it stands for."""

    def __init__(self, server: viser.ViserServer, name: str, color: colors.Color) -> None:
        mesh = arrow(1.0, 0.035, color)
        self._node = server.scene.add_mesh_simple(
            name, mesh.vertices, mesh.faces, color=color, flat_shading=False, visible=False
        )
        self._length, self._shown = 1.0, False

    def point(self, place: Array, vector: Array, size: float) -> None:
        """From `place` along a vector (3,), as long as it is of `size`; hidden where it is 0."""
        norm = float(np.linalg.norm(vector))
        shown = norm > 1e-9 * (size or 1.0) and norm > 0.0
        if shown != self._shown:
            self._node.visible = self._shown = shown
        if not shown:
            return
        self._node.position = place
        self._node.wxyz = _towards(vector / norm)
        length = _ARROW * float(np.clip(norm / (size or norm), 0.3, 1.3))
        if abs(length / self._length - 1) > _LEAST_CHANGE:
            self._length = length
            self._node.scale = (1.0, 1.0, length)


def _reference(torque: Array) -> float:
    """A size at which the arrow of a torque is drawn, whatever its unit."""
    return float(np.linalg.norm(torque))


def _add(
    server: viser.ViserServer, root: str, mesh: Mesh, scale: float, opacity: float | None = None
) -> list[viser.MeshHandle]:
    """The parts of a mesh, one for each colour."""
    tints, which = np.unique(mesh.colors, axis=0, return_inverse=True)
    return [
        server.scene.add_mesh_simple(
            f"{root}/{k}",
            mesh.vertices,
            mesh.faces[which == k],
            color=tuple(int(c) for c in tint),
            flat_shading=True,
            opacity=opacity,
            scale=scale,
        )
        for k, tint in enumerate(tints)
    ]


def _tip_of(mesh: Mesh) -> Array:
    """Where the longest axis of a solid pierces it, (3,)."""
    reach = np.abs(mesh.vertices).max(axis=0)
    axis = int(np.argmax(reach))
    return np.asarray(np.eye(3)[axis] * reach[axis])


def _towards(direction: Array) -> Array:
    """A quaternion (4,) that turns z to a unit vector."""
    x, y, z = direction
    if z < -0.999999:
        return np.array([0.0, 1.0, 0.0, 0.0])
    q = np.array([1.0 + z, -y, x, 0.0])
    return np.asarray(q / np.linalg.norm(q))
