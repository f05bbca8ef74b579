"""A perspective camera. Pure NumPy."""

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.envs.rendering.scene import Scene
from rbgym.quaternion import Array

_FIELD = math.radians(26.0)  # half of it is to either side of the middle

_HIGH = 0.475  # of the picture's height is above the middle of what is seen
_NEAR = 0.05  # of the distance to the middle: what is nearer is not drawn
_ASIDE = 4.0  # of the picture's longer edge, from its middle: what is farther off is not drawn


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
        """The camera in whose picture the sphere of this `radius` [m] about `center` just fits.

        seen_from: azimuth, from the x axis towards y, and elevation [rad], of the camera.
        """
        azimuth, elevation = seen_from
        center = np.asarray(center, dtype=np.float64)
        flat = math.cos(elevation)
        towards = np.array(
            [flat * math.cos(azimuth), flat * math.sin(azimuth), math.sin(elevation)]
        )
        # As far as it is high above the middle there is room; below there is a little more.
        half = math.atan(2 * _HIGH * math.tan(_FIELD / 2))
        return cls(center + radius / math.sin(half) * towards, center, size)

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
        line of sight, of points (n, 3); of points before `near`, as if they were there."""
        seen = (np.asarray(points, dtype=np.float64) - self.eye) @ self.axes.T
        depth = np.maximum(seen[:, 2], self.near)
        return self.middle + self.scale * seen[:, :2] * (1.0, -1.0) / depth[:, None], depth

    @functools.cached_property
    def near(self) -> float:
        """Least depth [m] at which anything is drawn."""
        return _NEAR * float(np.linalg.norm(self.center - self.eye))

    def cut(self, segments: Array) -> tuple[Array, NDArray[np.intp]]:
        """Those parts of straight lines (n, 2, 3) that can be drawn, (k, 2, 3), and of which lines
        they are, (k,): before the near plane, and no farther aside than some picture widths."""
        seen = (segments - self.eye) @ self.axes.T
        aside = _ASIDE * max(self.size) / self.scale * seen[..., 2]
        inside = np.stack(
            [seen[..., 2] - self.near]
            + [aside + sign * seen[..., k] for k in (0, 1) for sign in (1.0, -1.0)]
        )
        start, end = inside[..., 0], inside[..., 1]
        # Each plane is crossed at this share of the line, inwards or outwards.
        share = start / np.where(start == end, 1.0, start - end)
        enter = np.where((start < 0) & (end >= 0), share, 0.0).max(axis=0)
        leave = np.where((start >= 0) & (end < 0), share, 1.0).min(axis=0)
        kept = np.flatnonzero((enter < leave) & ~((start < 0) & (end < 0)).any(axis=0))
        ends = np.stack([enter[kept], leave[kept]], axis=1)[..., None]
        return (1.0 - ends) * segments[kept, :1] + ends * segments[kept, 1:], kept

    def depth(self, point: ArrayLike) -> float:
        """Depth of one point (3,) [m]."""
        return float(self.axes[2] @ (np.asarray(point) - self.eye))
