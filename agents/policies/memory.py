"""Memories of a network: what it reads besides the columns of an observation."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from rbgym.agents.controllers.acquiring import Acquiring, Fix
from rbgym.agents.controllers.filtering import right_jacobian
from rbgym.arguments import count, positive, real, vectors
from rbgym.envs.arguments import in_range, made_or_given
from rbgym.quaternion import canonicalized, conjugate, from_rotation_vector, multiply, to_matrix

_LIT = 0.1  # a cell's current, over its largest one, from which on it sees the Sun
# Ends of the parts of an `Attitude`'s memory: small turn, attitude, bias, covariance, known, doubt.
_ENDS = (3, 7, 10, 46, 47, 48)


class Memory:
    """Numbers (n, held) that go from step to step, and others (n, width) that the network reads
    after the observation; arrays of NumPy or PyTorch. name: in files and hyperparameters."""

    name: ClassVar[str]
    column: int
    width: int

    @property
    def held(self) -> int:
        return self.width

    @property
    def least(self) -> int:
        """The least number of columns of an observation."""
        return self.column + self.width

    def first(self, seen: Any) -> Any:
        """The memory before an episode's first observations (n, columns); zeros by default."""
        return 0.0 * seen[:, : self.held]

    def after(self, memory: Any, seen: Any) -> tuple[Any, Any]:
        """What the network reads with the observations, and the memory after them."""
        raise NotImplementedError

    def columns_of(self, seen: Any) -> Any:
        return seen[:, self.column : self.column + self.width]

    def append(self, seen: Any, memory: Any, begins: Any) -> tuple[Any, Any]:
        """Observations (n, columns) with what the network reads besides, and the memory. begins:
        (n,), episodes that forget first; memory: None for all. ValueError for other shapes."""
        size = len(seen)
        if begins is not None and np.shape(begins) != (size,):
            raise ValueError(f"episode_start must be of shape ({size},), got {begins!r}")
        if memory is None:
            memory, begins = np.zeros((size, self.held)), np.ones(size)
        if (memory := real("state", memory)).shape != (size, self.held):
            raise ValueError(f"state must be of shape {(size, self.held)}, got {memory.shape}")
        if begins is not None:
            memory = np.where(np.asarray(begins, bool)[:, None], self.first(seen), memory)
        read, memory = self.after(memory.astype(np.float32), seen)
        return np.hstack([seen, read]), memory


@dataclass(frozen=True)
class Integral(Memory):
    """Sums up three columns of an observation, the vector part of an attitude error, so that a
    network can hold against a constant torque, which without a memory leaves an error.

    In a step m <- clip(m + share v / (1 + |v|^2 / edge^2)), within +-1: errors far beyond the edge
    count little, so that a slew does not wind it up. The network reads m. column: first of the
    three. edge: in the units of the column. share: of an error, per step. ValueError for bad ones.
    """

    column: int
    edge: float
    share: float

    name = "integral"
    width = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", count("column", self.column, least=0))
        for name in ("edge", "share"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        if self.edge < 1e-18:
            raise ValueError(f"edge must be at least 1e-18, got {self.edge!r}")

    @classmethod
    def over(cls, time: float, dt: float, edge: float, column: int) -> Self:
        """The one that a constant error of size `edge` fills in `time` [s], at a period dt [s]."""
        return cls(column, edge, 2.0 * dt / (positive("integral", time) * positive("edge", edge)))

    def after(self, memory: Any, seen: Any) -> tuple[Any, Any]:
        v = self.columns_of(seen)
        x, y, z = _parts(v)
        far = (x * x + y * y + z * z) / (self.edge * self.edge)
        memory = (memory + v * (self.share / (far + 1.0))).clip(-1.0, 1.0)
        return memory, memory


@dataclass(frozen=True)
class Trend(Memory):
    """Compares columns of an observation with what they were, so that a network can act on rates
    that no instrument measures, such as the change of a magnetic field.

    In a step the network reads x - m, and then m <- m + share (x - m); in the first step of an
    episode m = x. Where x changes by r in each step, x - m becomes r / share: the rate times the
    time of the lag, without the noise of a plain difference, and without a constant error of x.
    column, width: first of the columns, and their number. share: at most 1, which gives the
    difference from the step before. ValueError for bad ones.
    """

    column: int
    width: int
    share: float

    name = "trend"

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", count("column", self.column, least=0))
        object.__setattr__(self, "width", count("width", self.width))
        object.__setattr__(self, "share", in_range("share", positive("share", self.share), 0, 1))

    def first(self, seen: Any) -> Any:
        return self.columns_of(seen)

    def after(self, memory: Any, seen: Any) -> tuple[Any, Any]:
        change = self.columns_of(seen) - memory
        return change, memory + change * self.share


@dataclass(frozen=True)
class SunDirection(Memory):
    """Keeps the direction of the Sun in body axes: coarse cells measure it and gyros turn it, so
    that a network knows it in the shadow too, and with less noise.

    In a step s <- s + share sum(n (c - max(n . s, 0))) over the cells, of normals n and currents c;
    the first light counts fully, and the dark not at all. The network reads the unit vector along
    s, or zero before the first light. Then s turns with the body, by w = turn omega:
    s <- s + s x w + (s x w) x w / 2.
    column: first of the cells. rates: first column of the angular velocity. normals: of the
    cells, (k, 3), body axes. turn: angle [rad] in a step for a rate of 1 in its column. share: at
    most 1, divided by half the largest eigenvalue of sum(n n^T). ValueError for bad ones.

    Source: the observer of Mahony, Hamel & Pflimlin (2008), Nonlinear complementary filters on the
    special orthogonal group, IEEE Trans. Automatic Control 53(5), of one direction.
    """

    column: int
    rates: int
    normals: ArrayLike
    turn: float
    share: float

    name = "sun"
    width = 3

    def __post_init__(self) -> None:
        for name in ("column", "rates"):
            object.__setattr__(self, name, count(name, getattr(self, name), least=0))
        normals = vectors("normals", self.normals).tolist()
        object.__setattr__(self, "normals", tuple(map(tuple, normals)))
        object.__setattr__(self, "turn", positive("turn", self.turn))
        object.__setattr__(self, "share", in_range("share", positive("share", self.share), 0, 1))

    @property
    def least(self) -> int:
        return max(self.column + len(np.asarray(self.normals)), self.rates + 3)

    def after(self, memory: Any, seen: Any) -> tuple[Any, Any]:
        x, y, z = _parts(memory)
        normals: Any = self.normals
        cells = [seen[:, k : k + 1] for k in range(self.column, self.column + len(normals))]
        lit = sum(c * (c > _LIT) for c in cells) > 0.0
        one = 0.0 * x + 1.0  # a mask times a number would be of float64
        known = one * (x * x + y * y + z * z > 0.25)
        share = (one - (1.0 - self.share) * known) * lit
        found = [x, y, z]
        for (a, b, d), c in zip(normals, cells, strict=True):
            off = share * (c - (a * x + b * y + d * z).clip(0.0, None))
            found = [part + n * off for part, n in zip(found, (a, b, d), strict=True)]
        sun = _unit(*found)
        w = [self.turn * rate for rate in _parts(seen[:, self.rates : self.rates + 3])]
        first = _cross(sun, w)
        turned = [a + b + 0.5 * c for a, b, c in zip(sun, first, _cross(first, w), strict=True)]
        return _whole(memory, sun), _whole(memory, _unit(*turned))


@dataclass(frozen=True)
class Attitude(Memory):
    """Finds an attitude that no instrument measures, by the filter `Acquiring`, so that a network
    knows how the body is turned from its target, and its rates without the gyros' bias.

    The network reads the quaternion from target to body, with w >= 0, or zeros while the attitude
    is unknown; and the measured rates minus the estimated bias, in the units of their column.
    PyTorch differentiates as if the error of the estimate were constant: a small turn, of value
    zero, goes on with the gyros' rates.

    filter: an `Acquiring` without a star tracker, or a dict of its arguments, whose places have the
    target's quaternion. ValueError for bad ones.
    """

    filter: Acquiring

    name = "attitude"
    width = 7
    held = _ENDS[-1]

    def __post_init__(self) -> None:
        found = made_or_given("filter", Acquiring, self.filter)
        if "target_quaternion" not in found.places or found.tracker is not None:
            raise ValueError(
                "filter must have the place of the target_quaternion, and no star tracker, got "
                f"{self.filter!r}"
            )
        object.__setattr__(self, "filter", found)

    @property
    def least(self) -> int:
        return max(one.stop for one in self.filter.columns.values())

    def first(self, seen: Any) -> Any:
        return _like(seen, np.tile(np.eye(self.held)[3], (len(seen), 1)))

    def after(self, memory: Any, seen: Any) -> tuple[Any, Any]:
        rows, before = (_plain(one).astype(float) for one in (seen, memory))
        n, columns, limit = len(rows), self.filter.columns, self.filter.rate_limit
        _, q, bias, P, *rest = np.split(before, _ENDS[:-1], axis=1)
        known, doubt = (one[:, 0] for one in rest)
        fix = Fix(q, bias, P.reshape(n, 6, 6), known > 0.0, doubt, bias, bias)
        fix = self.filter.estimate(rows, fix, None)
        target = rows[:, columns["target_quaternion"]]
        aimed = canonicalized(multiply(conjugate(target), fix.attitude)) * fix.known[:, None]
        # The small turn tau, body axes: tau <- R^T tau + G dt omega, and q o (1, tau / 2).
        place, angle = columns["angular_velocity"], fix.rate * self.filter.dt
        turn, G = to_matrix(from_rotation_vector(angle)), right_jacobian(angle)
        rates = seen[:, place] - _like(seen, rows[:, place])  # zeros, with a gradient
        slopes = _like(seen, limit * self.filter.dt * np.swapaxes(G, 1, 2))
        tau = (_like(seen, turn) * memory[:, :3, None] + slopes * rates[:, :, None]).sum(1)
        axes = 0.5 * multiply(aimed[:, None], np.eye(4)[1:])
        read = _like(seen, np.hstack([aimed, fix.rate / limit]))
        read[:, :4] = read[:, :4] + (_like(seen, axes) * tau[:, :, None]).sum(1)
        read[:, 4:] = read[:, 4:] + rates
        flat = fix.covariance.reshape(n, 36), fix.known[:, None], fix.doubt[:, None]
        memory = _like(seen, np.hstack([np.zeros((n, 3)), fix.attitude, fix.bias, *flat]))
        memory[:, :3] = tau
        return read, memory


def _plain(array: Any) -> Any:
    """The values of an array of NumPy or PyTorch, in NumPy."""
    return array.detach().numpy() if hasattr(array, "detach") else array


def _like(array: Any, values: Any) -> Any:
    """Values as an array of NumPy or PyTorch, as `array` is."""
    if hasattr(array, "new_tensor"):
        return array.new_tensor(values)
    return np.asarray(values, dtype=array.dtype)


def _parts(v: Any) -> tuple[Any, Any, Any]:
    return v[:, :1], v[:, 1:2], v[:, 2:]


def _cross(a: Any, b: Any) -> tuple[Any, Any, Any]:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def _unit(x: Any, y: Any, z: Any) -> tuple[Any, Any, Any]:
    """The vector of size 1; a short one, of little light, becomes at most twice as long."""
    size = ((x * x + y * y + z * z + 1e-12) ** 0.5).clip(0.5, None)
    return x / size, y / size, z / size


def _whole(like: Any, parts: Any) -> Any:
    """The array of NumPy or PyTorch with these columns, of the shape of `like`."""
    whole = 1.0 * like
    for k, part in enumerate(parts):
        whole[:, k : k + 1] = part
    return whole


KINDS: dict[str, type[Memory]] = {x.name: x for x in (Integral, Trend, SunDirection, Attitude)}
