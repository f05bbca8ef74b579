"""The bodies in the browser: meshes of the runs next to each other, with arrows and traces."""

from collections.abc import Sequence

import numpy as np
import viser
from numpy.typing import ArrayLike

from rbgym.agents.view.simulation import Run, Simulation, Snapshot
from rbgym.envs.rendering import colors
from rbgym.envs.rendering.scene import drawn_length
from rbgym.envs.rendering.solids import Mesh, solid_of
from rbgym.potentials import HeavyTop
from rbgym.quaternion import rotate

# Colours of the runs, in their names and plates: Okabe and Ito (2008).
RUNS: tuple[colors.Color, ...] = ((230, 159, 0), (86, 180, 233), (0, 158, 115))
FAILED: colors.Color = (213, 60, 50)
_FIELD = np.radians(36.0)  # vertical field of view
_APART = 2.5  # distance between two runs, in radii of a body
_ARROW = 1.35  # length of the longest arrows
_LEAST_ARROW = 0.08  # length from which on an arrow is shown


class BrowserScene:
    """The scene of a simulation: its bodies, light and camera."""

    def __init__(self, server: viser.ViserServer) -> None:
        self._server = server
        self._bodies: list[_Body] = []
        # Light from all sides, without shadows or reflections, is cheap without a graphics card.
        server.scene.configure_environment_map(None)
        server.scene.configure_default_lights(cast_shadow=False)
        server.scene.add_light_ambient("/ambient", intensity=1.6)
        server.initial_camera.fov = _FIELD

    def start(self, simulation: Simulation) -> None:
        scene = self._server.scene
        scene.remove_by_name("/runs")
        scene.add_frame("/runs", show_axes=False)
        middle = (len(simulation.runs) - 1) / 2
        self._bodies = [
            _Body(scene, run, k, (_APART * (k - middle), 0.0, 0.0))
            for k, run in enumerate(simulation.runs)
        ]

    def update(self, simulation: Simulation, traced: bool) -> None:
        """Show the present state of the runs, in one message. traced: with their traces."""
        with self._server.atomic():
            for k, (body, run) in enumerate(zip(self._bodies, simulation.runs, strict=True)):
                if body.failed:
                    continue
                body.show(run.snapshot())
                if traced:
                    body.trace(simulation.trails[k])
                if run.failed:
                    body.fail()

    def aim(self, camera: viser.CameraHandle) -> None:
        """Aim a camera at all runs, if the size of its picture is known."""
        if camera.image_height:
            wide, high = _APART * (len(self._bodies) - 1) / 2 + 1.5, 1.75
            aspect = max(camera.image_width / camera.image_height, 0.1)
            away = max(wide / aspect, high) / np.tan(_FIELD / 2) + 1.0
            look_at, direction = np.array([0.0, 0.0, -0.2]), np.array([0.12, -1.0, 0.3])
            camera.position = look_at + away * direction / np.linalg.norm(direction)
            camera.look_at = look_at


class _Body:
    """One run, in its own frame; lengths in radii of its body."""

    def __init__(self, scene: viser.SceneApi, run: Run, k: int, place: ArrayLike) -> None:
        root, self.failed = f"/runs/{k}", False
        scene.add_frame(root, show_axes=False, position=np.asarray(place))
        start, mesh = run.snapshot(), solid_of(run.body, run.potential)
        self._radius = max(mesh.radius, 0.6 * float(np.linalg.norm(start.position)))
        self._body = scene.add_frame(f"{root}/body", show_axes=False)
        self._parts = _add_mesh(scene, f"{root}/body", mesh, 1 / self._radius)
        self._goal, self._dock = None, np.array(run.dock) / self._radius
        if start.target is not None:
            self._goal = scene.add_frame(f"{root}/goal", show_axes=False)
            ghost = mesh.tinted(colors.GOAL)
            _add_mesh(scene, f"{root}/goal", ghost, 1.02 / self._radius, opacity=0.18)
        self._limits = (run.rate, run.rate * float(run.body.moments.max()), run.strength)
        tints = colors.ANGULAR_VELOCITY, colors.ANGULAR_MOMENTUM, colors.TORQUE
        self._arrows = [
            scene.add_arrows(
                f"{root}/{name}", np.zeros((1, 2, 3)), tint,
                shaft_radius=0.0175, head_radius=0.05, head_length=0.15,
            )
            for name, tint in zip(("rate", "momentum", "torque"), tints, strict=True)
        ]  # fmt: skip
        reach = np.abs(mesh.vertices).max(axis=0)
        longest = int(np.argmax(reach))
        self._tip = np.eye(3)[longest] * reach[longest] / self._radius
        self._line = scene.add_line_segments(
            f"{root}/trace", np.zeros((1, 2, 3)), RUNS[k], thickness=2.0, thickness_units="screen"
        )
        scene.add_cylinder(f"{root}/plate", 0.45, 0.03, color=RUNS[k], position=(0.0, 0.0, -1.35))
        if isinstance(run.potential, HeavyTop):
            scene.add_icosphere(f"{root}/pivot", 0.05, color=colors.INK)
        scene.add_label(f"{root}/name", run.name, position=(0.0, 0.0, -1.5), anchor="top-center")

    def show(self, now: Snapshot) -> None:
        q, place = now.quaternion, now.position / self._radius
        self._body.wxyz, self._body.position = q, place
        for part in self._parts:
            part.scale = round(now.scale, 2) / self._radius
        if self._goal is not None and now.target is not None:
            self._goal.wxyz, self._goal.position = now.target, rotate(now.target, self._dock)
        vectors = (rotate(q, now.angular_velocity), now.angular_momentum, rotate(q, now.torque))
        for arrow, vector, limit in zip(self._arrows, vectors, self._limits, strict=True):
            size = float(np.linalg.norm(vector))
            length = drawn_length(size, limit, _ARROW)
            arrow.visible = length > _LEAST_ARROW
            if arrow.visible:
                arrow.points = np.array([[place, place + length / size * vector]])

    def trace(self, snapshots: Sequence[Snapshot]) -> None:
        """Draw the path of the tip of the body's longest axis."""
        if len(snapshots) > 1:
            q = np.array([one.quaternion for one in snapshots])
            places = np.array([one.position for one in snapshots]) / self._radius
            points = places + rotate(q, np.outer([one.scale for one in snapshots], self._tip))
            self._line.points = np.stack([points[:-1], points[1:]], axis=1)

    def fail(self) -> None:
        self.failed = True
        for part in self._parts:
            part.color = FAILED


def _add_mesh(
    scene: viser.SceneApi, root: str, mesh: Mesh, scale: float, opacity: float | None = None
) -> list[viser.MeshHandle]:
    """Add a mesh to the scene as parts, one for each colour."""
    tints, which = np.unique(mesh.colors, axis=0, return_inverse=True)
    return [
        scene.add_mesh_simple(
            f"{root}/{k}", mesh.vertices, mesh.faces[which.reshape(-1) == k], color=tint,
            flat_shading=True, opacity=opacity, scale=scale,
        )
        for k, tint in enumerate(tints)
    ]  # fmt: skip
