"""A perspective camera. Pure NumPy."""

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rbgym.envs.rendering.scene import Scene
from rbgym.quaternion import Array

_FIELD = math.radians(26.0)  # half of it is to either side of the middle

_HIGH = 0.475  # of the picture's height is above the middle of what is seen


@dataclass(frozen=True, eq=False)
class Camera:
    """A camera at `eye` (3,) [m] that looks at `center` (3,), the world's z axis upwards.

    size: (width, height) of the picture [pixels]. field: angle between its nearer edges [rad].
    """

    eye: Array
    center: Array
    size: tuple[int, int]
    field: float = _FIELD

    @classmethod
    def around(
        cls,
        center: ArrayLike,
        radius: float,
        size: tuple[int, int],
        seen_from: tuple[float, float],
    ) -> "Camera":
        """The camera to whose picture the sphere of this `radius` [m] about `center` is inscribed.

        seen_from: azimuth, from the x axis towards y, and elevation [rad], of the camera.
        """
        azimuth, elevation = seen_from
        center = np.asarray(center, dtype=np.float64)
        flat = math.cos(elevation)
        towards = np.array(
            [flat * math.cos(azimuth), flat * math.sin(azimuth), math.sin(elevation)]
        )
        return cls(center + radius / math.sin(_FIELD / 2) * towards, center, size)

    @functools.cached_property
    def axes(self) -> Array:
        """Unit vectors to the right, upwards and forwards in the picture, as rows (3, 3)."""
        forward = self.center - self.eye
        forward = forward / np.linalg.norm(forward)
        right = np.cross(forward, (0.0, 0.0, 1.0))
        right /= np.linalg.norm(right)
        return np.stack([right, np.cross(right, forward), forward])

    @functools.cached_property
    def scale(self) -> float:
        """Pixels per unit of the tangent of the angle off the middle."""
        return min(self.size) / 2 / math.tan(self.field / 2)

    @property
    def middle(self) -> Array:
        """Pixel (2,) at which `center` is seen: a little high, as there are words below."""
        width, height = self.size
        return np.array([0.5 * width, _HIGH * height])

    @classmethod
    def of(cls, scene: Scene, size: tuple[int, int]) -> "Camera":
        """The camera that a scene asks for."""
        return cls.around(scene.center, scene.radius, size, scene.seen_from)

    def project(self, points: ArrayLike) -> tuple[Array, Array]:
        """Pixels (n, 2), right and down from the upper left corner, and depths (n,) [m] along the
        line of sight, of points (n, 3)."""
        seen = (np.asarray(points, dtype=np.float64) - self.eye) @ self.axes.T
        depth = np.maximum(seen[:, 2], 1e-9)
        return self.middle + self.scale * seen[:, :2] * (1.0, -1.0) / depth[:, None], depth

    def depth(self, point: ArrayLike) -> float:
        """Depth of one point (3,) [m]."""
        return float(self.axes[2] @ (np.asarray(point) - self.eye))
