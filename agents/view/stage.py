"""The bodies in the browser: meshes of each run, side by side, with their arrows and traces."""

import numpy as np
import viser
from numpy.typing import ArrayLike

from rbgym.agents.view.history import COLUMNS
from rbgym.agents.view.runs import Look, Run
from rbgym.agents.view.world import World
from rbgym.envs.rendering import colors
from rbgym.envs.rendering.scene import drawn_length
from rbgym.envs.rendering.solids import Mesh, arrow, solid_of
from rbgym.potentials import HeavyTop
from rbgym.quaternion import Array, rotate

# Of the runs, in bodies' names, plates and curves: Okabe and Ito (2008).
RUNS: tuple[colors.Color, ...] = ((230, 159, 0), (86, 180, 233), (0, 158, 115))
FAILED: colors.Color = (213, 60, 50)
FIELD = np.radians(36.0)  # of view, from below to above
_APART = 2.5  # between two runs, in radii of a body
_ARROW = 1.35  # length of the longest arrows
_LEAST_ARROW = 0.08  # of one that is shown
_TRACE = 80  # records
_LEAST_CHANGE = 0.02  # of a length, below which an arrow is not drawn anew


def view_of(runs: int, aspect: float) -> tuple[Array, Array]:
    """Where a camera stands that sees so many runs, and what it looks at.

    aspect: width of its picture by height.
    """
    wide, high = _APART * (runs - 1) / 2 + 1.5, 1.75
    away = max(wide / max(aspect, 0.1), high) / np.tan(FIELD / 2) + 1.0
    look_at = np.array([0.0, 0.0, -0.2])
    direction = np.array([0.12, -1.0, 0.3])
    return look_at + away * direction / np.linalg.norm(direction), look_at


def light_up(scene: viser.SceneApi) -> None:
    """Light from all sides, without shadows or reflections: it is cheap without a graphics card."""
    scene.configure_environment_map(None)
    scene.configure_default_lights(cast_shadow=False)
    scene.add_light_ambient("/ambient", intensity=1.6)


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
        """Show the runs as they are now, all in one message. traced: with their traces."""
        with self._server.atomic():
            for actor, run, history in zip(self._actors, world.runs, world.histories, strict=True):
                if not actor.failed:
                    actor.show(run.look())
                    if traced:
                        actor.trace(history.last(_TRACE))
                if run.failed and not actor.failed:
                    actor.fail()


class _Actor:
    """One run on the stage, in a frame of its own; lengths in radii of its body."""

    def __init__(self, server: viser.ViserServer, run: Run, k: int, place: ArrayLike) -> None:
        scene, self._root, self.failed = server.scene, f"/world/{k}", False
        scene.add_frame(self._root, show_axes=False, position=np.asarray(place))
        look, mesh = run.look(), solid_of(run.body, run.potential)
        self._unit = max(mesh.radius, 0.6 * float(np.linalg.norm(look.position)))
        self._limits = (run.rate, run.rate * float(run.body.moments.max()), run.strength)
        self._body = scene.add_frame(f"{self._root}/body", show_axes=False)
        self._parts = _add(server, f"{self._root}/body", mesh, 1 / self._unit)
        self._scale = 1.0
        self._ghost = None
        if look.target is not None:
            self._ghost = scene.add_frame(f"{self._root}/goal", show_axes=False)
            faint = mesh.tinted(colors.GOAL)
            _add(server, f"{self._root}/goal", faint, 1.02 / self._unit, opacity=0.18)
        self._arrows = [
            _Arrow(server, f"{self._root}/{name}", color)
            for name, color in (
                ("rate", colors.ANGULAR_VELOCITY),
                ("momentum", colors.ANGULAR_MOMENTUM),
                ("torque", colors.TORQUE),
            )
        ]
        self._tip = _tip_of(mesh) / self._unit
        self._line = scene.add_line_segments(
            f"{self._root}/trace",
            np.zeros((1, 2, 3)),
            RUNS[k],
            thickness=2.0,
            thickness_units="screen",
        )
        scene.add_cylinder(
            f"{self._root}/plate", 0.45, 0.03, color=RUNS[k], position=(0.0, 0.0, -1.35)
        )
        if isinstance(run.potential, HeavyTop):
            scene.add_icosphere(f"{self._root}/pivot", 0.05, color=colors.INK)
        scene.add_label(
            f"{self._root}/name", run.name, position=(0.0, 0.0, -1.5), anchor="top-center"
        )

    def show(self, look: Look) -> None:
        """Move everything to where it is."""
        place = look.position / self._unit
        self._body.wxyz, self._body.position = look.quaternion, place
        if abs(look.scale / self._scale - 1) > _LEAST_CHANGE:
            self._scale = look.scale
            for part in self._parts:
                part.scale = look.scale / self._unit
        if self._ghost is not None and look.target is not None:
            self._ghost.wxyz = look.target
        q = look.quaternion
        vectors = (rotate(q, look.angular_velocity), look.angular_momentum, rotate(q, look.torque))
        for arrow_, vector, limit in zip(self._arrows, vectors, self._limits, strict=True):
            arrow_.point(place, vector, limit)

    def trace(self, records: Array) -> None:
        """Draw where the longest axis of the body has been, of records (n, WIDTH)."""
        places = records[:, COLUMNS["position"]] / self._unit
        ends = np.broadcast_to(self._tip, places.shape)
        points = places + rotate(records[:, COLUMNS["quaternion"]], ends)
        if len(points) > 1:
            self._line.points = np.stack([points[:-1], points[1:]], axis=1)

    def fail(self) -> None:
        """Turn red."""
        self.failed = True
        for part in self._parts:
            part.color = FAILED


class _Arrow:
    """A vector of the motion; a node of the scene that is turned and stretched."""

    def __init__(self, server: viser.ViserServer, name: str, color: colors.Color) -> None:
        mesh = arrow(1.0, 0.035, color)
        self._node = server.scene.add_mesh_simple(
            name, mesh.vertices, mesh.faces, color=color, visible=False
        )
        self._length, self._shown = 1.0, False

    def point(self, place: Array, vector: Array, limit: float) -> None:
        """From `place` along a vector (3,), at full length for one of size `limit`."""
        size = float(np.linalg.norm(vector))
        length = drawn_length(size, limit, _ARROW)
        shown = length > _LEAST_ARROW
        if shown != self._shown:
            self._node.visible = self._shown = shown
        if not shown:
            return
        self._node.position, self._node.wxyz = place, _towards(vector / size)
        if abs(length / self._length - 1) > _LEAST_CHANGE:
            self._length = length
            self._node.scale = (1.0, 1.0, length)


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
            color=tint,
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
