"""The batch: one scheme steps many bodies together, in one kind of potential."""

import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym import integrators, potentials, threads
from rbgym import rows as layout
from rbgym.arguments import count, finite, flag, quietly, real
from rbgym.body import RigidBody
from rbgym.compiled.jit import Entry
from rbgym.engine import kernels
from rbgym.engine.actuation import Actuator, Direct
from rbgym.engine.advance import Advance
from rbgym.integrators.composition import choose_scheme
from rbgym.integrators.interface import SPIN, TOP, Scheme
from rbgym.potentials import HeavyTop, Potential
from rbgym.quaternion import Array, multiply, rotate, rotate_inverse
from rbgym.rows import LANES, Physics

if TYPE_CHECKING:
    from rbgym.engine.derivatives import Jacobian

_DIRECT = Direct()
_STATE = layout.CORRECTION  # rows of every body that its motion depends on
_SPIN = 4.0  # tolerated error of a slender body's spin, relative to its other rates
# Steps of one call of a kernel: a lane that is set aside at a step is stepped in vain to their end.
_AT_ONCE = 256
_UNIT = 1e-6  # how far the length of a user's quaternion may be from 1


class IntegrationError(RuntimeError):
    """A step's equation has no solution; the state is the last good one, with a composition that
    after the last good stage."""


class Batch:
    """Steps bodies together.

    bodies: one RigidBody for all, or one for each. integrator: a name, or an `Integrator` from
    `rbgym.integrators.get`. potential: None, one for all, or one of the same class for each.
    projection: remove the energy's error at each step, for schemes that conserve energy: round-off,
    or that of the step for `exact` in a potential or with rotors. Rotors that a state has once stay
    part of all bodies' steps, as `exact` takes others with them. actuator: turns commands into
    torque, see `rbgym.engine.actuation`. task_rows: gives the number of extra rows that a task
    needs with this `Physics`. varies, turns: whether a body's principal moments, and its axes, may
    change later. If the moments stay, and the first two are equal for every body, the scheme may
    use shorter formulas.
    """

    def __init__(
        self,
        bodies: RigidBody | Sequence[RigidBody],
        integrator: str | integrators.Integrator = integrators.DEFAULT,
        potential: Potential | Sequence[Potential] | None = None,
        *,
        size: int = 1,
        projection: bool = True,
        actuator: Actuator = _DIRECT,
        task_rows: Callable[[Physics], int] | None = None,
        varies: bool = False,
        turns: bool = False,
    ) -> None:
        self.integrator = integrators.get(integrator)
        size = self.size = count("size", size)
        self.projection = flag("projection", projection)
        each, fields = _bodies(bodies, size), _potentials(potential, size)
        # A user's potential is a constant of the kernel, the numbers of one of ours are rows.
        own = [repr(one) if type(one).of_lane is Potential.of_lane else "" for one in fields]
        several = len({*zip(map(type, fields), own, strict=True)}) > 1
        if len(each) != size or len(fields) != size or several:
            raise ValueError(
                f"bodies and potential must be one for all or size={size} of one kind, your own "
                "potentials with equal numbers, "
                f"got {len(each)} bodies and {len(fields)} potentials"
            )
        if not fields[0].is_free():
            integrators.supporting("potential", "a potential", self.integrator)
        self.bodies, self.potential, self.varies = each, fields[0], varies
        kinds, which = _unique_pairs(each, fields)
        # For each body, the quaternion from principal axes to the body frame.
        self._turns = np.array([body.principal_quaternion for body, _ in kinds])[which]
        turned = turns or bool(np.any(self._turns != (1.0, 0.0, 0.0, 0.0)))
        frame = layout.TurnedFrame() if turned else layout.PrincipalFrame()
        # Kernels that step are compiled for `physics`, those that read the state for `observed`:
        # once for all schemes without memory.
        symmetric = not varies and all(body.moments[0] == body.moments[1] for body, _ in kinds)
        field = kinds[0][1]
        self._has_rotors = actuator.turns_rotors()
        rotors = layout.Rotors() if self._has_rotors else layout.NoRotors()
        scheme, _ = choose_scheme(self.integrator, field, self._has_rotors, symmetric)
        physics = Physics(scheme, field, frame, actuator, rotors)
        self.observed = physics if self.integrator.memory else physics._replace(scheme=Scheme())
        self.channels = actuator.channels()
        self.blocks = -(-size // LANES)
        self.block_rows = physics.row_count() + (task_rows(physics) if task_rows else 0)
        self._use(physics)
        self._of_symmetric = type(scheme) is not type(self.of_any_inertia().scheme)
        self._view = aligned_zeros(self.blocks, self.block_rows, LANES)
        self.buffer = self._view.reshape(-1)
        self._no_commands = np.zeros((0, self.channels))
        self._fill(kinds, which)

    def _fill(self, kinds: list[tuple[RigidBody, Potential]], which: NDArray[np.intp]) -> None:
        table = [[*body.moments, *(1 / body.moments), *field.rows_for(body)]
                 for body, field in kinds]  # fmt: skip
        lanes = np.arange(self.blocks * LANES)
        filled = np.minimum(lanes, self.size - 1)  # spare lanes: the last body, at rest
        values, turns = np.array(table)[which[filled]], self._turns[filled]
        self.put_rows(layout.J, values[:, :6], lanes)
        self.put_rows(self.physics.potential_row(), values[:, 6:], lanes)
        self.put_rows(self.physics.frame_row(), turns[:, : self.physics.frame.row_count()], lanes)
        self.put_rows(layout.Q, turns, lanes)
        if len(kinds) > 1:
            self._start(lanes)
            return
        # All bodies are equal: start the first one in Python, which compiles nothing, and copy it.
        with np.errstate(all="ignore"):
            kernels.start_lane(self.physics, self.buffer, 0)
        self._view[:] = self._view[0, :, 0, np.newaxis]

    def straighten(self, lanes: NDArray[np.intp]) -> None:
        """Reset the principal axes of these lanes to those of their bodies."""
        row, frame = self.physics.frame_row(), self.physics.frame
        self.put_rows(row, self._turns[lanes, : frame.row_count()], lanes)

    def _give_rotors(self) -> None:
        if not self._has_rotors:
            self._has_rotors, rotors = True, layout.Rotors()
            self.observed = self.observed._replace(rotors=rotors)
            self._use(self.of_any_inertia()._replace(rotors=rotors))

    def _use(self, physics: Physics) -> None:
        self.physics, self._of_symmetric = physics, False
        # Without commands the frame does not matter, so all bodies share one kernel.
        self._advance = Advance(physics._replace(frame=layout.PrincipalFrame()), self.block_rows)
        # Kernels of derivatives, by kind, made on first use.
        self.differentiate: dict[Any, Entry] = {}

    def of_any_inertia(self) -> Physics:
        """The `Physics` with the scheme for any inertia, not only for equal moments."""
        scheme, _ = choose_scheme(self.integrator, self.physics.potential, self._has_rotors)
        return self.physics._replace(scheme=scheme)

    def follow(self, moments: Array) -> bool:
        """Switch to the formulas for any inertia if new principal moments (n, 3) need them; returns
        whether this changes `physics`."""
        # Comparing bytes takes a tenth of the time, for one body.
        if not self._of_symmetric or moments[:, 0].tobytes() == moments[:, 1].tobytes():
            return False
        self._use(self.of_any_inertia())
        return True

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "buffer"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # A copied or unpickled array may not begin a cache line, and may be read-only.
        self._view = aligned_zeros(*self._view.shape)
        self._view[...] = state["_view"]
        self.buffer = self._view.reshape(-1)

    def block_view(self) -> Array:
        """A view of the buffer as (block, row, lane)."""
        return self._view

    def rows(self, row: int, count: int) -> Array:
        """Copy of `count` rows from `row` on, shape (size, count)."""
        part = self.block_view()[:, row : row + count].transpose(0, 2, 1)
        return part.reshape(self.blocks * LANES, count)[: self.size].copy()

    def put_rows(self, row: int, values: Array, lanes: NDArray[np.intp] | None = None) -> None:
        """Write rows of these lanes (default all); values (lanes, count)."""
        k = np.arange(self.size) if lanes is None else lanes
        self.block_view()[k // LANES, row : row + values.shape[1], k % LANES] = values

    def put_row(self, row: int, value: ArrayLike, lanes: NDArray[np.intp] | None = None) -> None:
        """Write one row of these lanes (default all); value (lanes,), or one for all of them."""
        k = np.arange(self.size) if lanes is None else lanes
        self.block_view()[k // LANES, row, k % LANES] = value

    @quietly
    def set_state(
        self,
        quaternion: ArrayLike,
        angular_velocity: ArrayLike | None = None,
        *,
        angular_momentum: ArrayLike | None = None,
        rotor_momentum: ArrayLike | None = None,
        lanes: ArrayLike | None = None,
    ) -> None:
        """Restart bodies from new states.

        quaternion: (4,) or (k, 4), body to world. angular_velocity: (3,) or (k, 3), body axes
        [rad/s]; or angular_momentum, world axes [kg m^2/s], with that of rotors. rotor_momentum:
        constant momentum of rotors, body axes [kg m^2/s], default 0. lanes: (k,), default all
        bodies. Raises ValueError, with the state unchanged, for wrong shapes, non-finite values and
        quaternions without unit length.
        """
        k = self._lanes(lanes)
        if (angular_velocity is None) == (angular_momentum is None):
            raise ValueError("exactly one of angular_velocity and angular_momentum must be given")
        q = _rows("quaternion", quaternion, len(k), 4)
        norm = np.linalg.norm(q, axis=1)
        off = np.abs(norm - 1)
        if np.any(off > _UNIT):
            n = int(np.argmax(off))
            raise ValueError(f"quaternion must have unit length, got {q[n]} of length {norm[n]}")
        given_rotor = np.zeros(3) if rotor_momentum is None else rotor_momentum
        rotor = _rows("rotor_momentum", given_rotor, len(k), 3)
        if np.any(rotor):
            integrators.supporting("rotors", "rotor_momentum", self.integrator)
        frame, moments = self._turns[k], self.rows(layout.J, 3)[k]
        # A quaternion of unit length stays the same to the last bit.
        q = np.where(off[:, None] < 4e-16, q, q / norm[:, None])
        principal = multiply(q, frame)
        rotor = rotate_inverse(frame, rotor)
        if angular_velocity is not None:
            omega = _rows("angular_velocity", angular_velocity, len(k), 3)
            momentum = rotate(principal, moments * rotate_inverse(frame, omega) + rotor)
        else:
            momentum = _rows("angular_momentum", angular_momentum, len(k), 3)
        relative = rotate_inverse(principal, momentum) - rotor
        if not np.isfinite(np.sum(relative * relative / moments, axis=1)).all():
            name = "angular_momentum" if angular_velocity is None else "angular_velocity"
            given = angular_momentum if angular_velocity is None else angular_velocity
            raise ValueError(f"{name} must give a finite energy, got {given!r}")
        self.put_rows(layout.Q, principal, k)
        self.put_rows(layout.L, momentum + 0.0, k)  # turns -0.0, which would not last, into 0.0
        self.put_rows(layout.ROTOR, rotor, k)
        if rotor.any():
            self._give_rotors()
        self._start(k)

    def _lanes(self, lanes: ArrayLike | None) -> NDArray[np.intp]:
        if lanes is None:
            return np.arange(self.size)
        allowed = f"different integers from 0 to {self.size - 1}, shape (k,)"
        real("lanes", lanes, allowed)
        given = np.atleast_1d(np.asarray(lanes))
        wrong = np.any((given < 0) | (given >= self.size)) or len(np.unique(given)) < given.size
        if given.dtype.kind not in "iu" or given.ndim > 1 or wrong:
            raise ValueError(f"lanes must be {allowed}, got {lanes!r}")
        return given.astype(np.intp)

    def full_state(self) -> Array:
        """All numbers that a body's motion depends on, (size, k); see `restore`."""
        beyond = self.physics.row_count() - layout.CORE
        return np.concatenate([self.rows(0, _STATE), self.rows(layout.CORE, beyond)], axis=1)

    def restore(self, state: ArrayLike, lanes: ArrayLike | None = None) -> None:
        """Restore a state from `full_state`: the motion continues bit for bit.

        Raises ValueError unless it comes from a batch of the same kind.
        """
        k, width = self._lanes(lanes), _STATE + self.physics.row_count() - layout.CORE
        state = finite("state", state, (len(k), width))
        if state[:, layout.ROTOR : layout.ROTOR + 3].any():
            self._give_rotors()
        self.follow(state[:, layout.J : layout.J + 3])
        self.put_rows(0, state[:, :_STATE], k)
        self.put_rows(layout.CORE, state[:, _STATE:], k)
        self.put_rows(layout.FAILED, np.zeros((len(k), 1)), k)

    def memory(self) -> Array:
        """The scheme's memory between steps, (size, k); the scheme's file says what it is."""
        return self.rows(self.physics.memory_row(), self.integrator.memory)

    def _start(self, bodies: NDArray[np.intp]) -> None:
        kernels.start(self.observed, self.buffer, self.block_rows, bodies)

    def measure(self) -> dict[str, Array]:
        """quaternion (n, 4), angular_velocity (n, 3) [rad/s, body], angular_momentum (n, 3)
        [kg m^2/s, world] and total energy (n,) [J], computed from attitude and momentum."""
        out = np.empty((11, self.blocks * LANES))
        kernels.measure(self.observed, self.buffer, self.block_rows, out)
        out = out[:, : self.size]
        return {
            "quaternion": out[:4].T.copy(),
            "angular_velocity": out[4:7].T.copy(),
            "angular_momentum": out[7:10].T.copy(),
            "energy": out[10].copy(),
        }

    def set_torque(self, torque: ArrayLike) -> None:
        """Hold this torque [N m], body axes, (3,) or (size, 3), until the next call."""
        u = _rows("torque", torque, self.size, 3)
        if np.any(u):
            integrators.supporting("torque", "a torque", self.integrator)
        self.put_rows(layout.TORQUE, rotate_inverse(self._turns, u))
        self.put_rows(layout.FRESH, np.ones((self.size, 1)))

    def advance(self, h: float, steps: int = 1) -> None:
        """Advance by `steps` steps of length h [s] under the held torque. A body that `failed` does
        not move until `set_state` or `restore` frees it.

        Raises ValueError unless h is a finite number other than 0 and steps a positive integer.
        """
        stepping = self.stepping(h, steps)
        for k in range(0, stepping.substeps, _AT_ONCE):
            part = stepping._replace(substeps=min(_AT_ONCE, stepping.substeps - k))
            work = partial(self._advance, self.buffer, self._no_commands, part)
            threads.over_ranges(self.blocks, work)

    def jacobian(
        self,
        h: float,
        steps: int = 1,
        *,
        of: tuple[str, ...] = ("state", "torque"),
        coordinates: str = "rates",
    ) -> "Jacobian":
        """Derivatives of `advance(h, steps)` at the current state, which does not change.

        of: the inputs, some of "state", "torque", "inertia", "mgl"; always the state. coordinates:
        of the state, at both ends: a rotation vector in body axes [rad] and, with "rates", the
        angular velocity in body axes, or, with "momentum", the angular momentum in world axes. The
        derivatives are those of the step itself, exact to round-off, with its projections; a scheme
        with memory starts from the memory that fits attitude and rates.

        Raises ValueError for bad arguments, IntegrationError if a step cannot be solved.
        """
        # Imported on first use: it takes a while to compile.
        from rbgym.engine.derivatives import jacobian

        return jacobian(self, h, steps, of, coordinates)

    def stepping(self, h: float, steps: int) -> kernels.Stepping:
        """The kernel's argument for `steps` steps of length h [s], both checked."""
        length = float(finite("h", h, ()))
        if length == 0.0:
            raise ValueError(f"h must not be 0, got {h!r}")
        projection = 1.0 if self.projection else 0.0
        _, composition = choose_scheme(self.integrator, self.physics.potential, self._has_rotors)
        return kernels.Stepping(count("steps", steps), length, composition, projection)

    def warn_of_spin(self, h: float) -> None:
        """Warn if steps of length h [s] are too long for the spin of such a slender heavy top.

        The attitude in a swing has an error of about (h^2 mgl / J)^(p/2), p the order and J the
        moment across the axis. If a scheme derives the rates from the momentum and does not
        conserve the spin, the spin has J/J_a times that error, relative to the other rates; J_a is
        the moment about the axis. quat_em multiplies the spin by exp(h^2 dV / (8 J_a)) while the
        potential rises by dV.
        """
        record, potential = self.integrator, self.potential
        if not isinstance(potential, HeavyTop) or not potential.mgl or record.of_rates:
            return
        axis, J = np.array(potential.axis), float(self.bodies[0].moments.max())
        J_a = float(axis @ self.bodies[0].inertia @ axis)
        slender = J / (_SPIN * J_a)
        longest = (J / abs(potential.mgl)) ** 0.5 * slender ** (-1.0 / record.order)
        if SPIN in record.conserves.get(TOP, ()) or slender <= 1.0 or h <= longest:
            return
        warnings.warn(
            f"{record.name!r} loses the spin of a body with moments of {J_a:.3g} kg m^2 about the "
            f"axis and {J:.3g} across it in steps of {h:g} s: use steps of at most {longest:.2g} "
            "s, or 'exact:4' or 'akw', which conserve the spin",
            stacklevel=3,
        )

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Which bodies stopped at a step that could not be solved, (size,), and stay there until
        `set_state` or `restore` frees them."""
        return self.rows(layout.FAILED, 1)[:, 0] > 0

    @property
    def redone(self) -> Array:
        """How many steps of each body needed the robust solver, (size,)."""
        return self.rows(layout.REDONE, 1)[:, 0]

    @property
    def largest_correction(self) -> Array:
        """Largest rotation [rad] of the energy projection since the start, (size,)."""
        return np.sqrt(self.rows(layout.CORRECTION, 1)[:, 0])


def aligned_zeros(*shape: int) -> Array:
    """Zeros aligned to a cache line, so that no row of a block crosses two."""
    size = math.prod(shape)
    spare = np.zeros(size + 8)
    first = -spare.ctypes.data // 8 % 8
    return spare[first : first + size].reshape(shape)


def _bodies(bodies: Any, size: int) -> list[RigidBody]:
    """One body for each lane."""
    if isinstance(bodies, RigidBody):
        return [bodies] * size
    if not isinstance(bodies, list | tuple) or not all(isinstance(b, RigidBody) for b in bodies):
        raise ValueError(f"bodies must be a rbgym.RigidBody, or a list of them, got {bodies!r}")
    return list(bodies)


def _potentials(potential: Any, size: int) -> list[Potential]:
    """One checked potential for each body; note that a potential is itself a tuple."""
    if type(potential) in (list, tuple):
        found = {id(one): potentials.checked(one) for one in {id(p): p for p in potential}.values()}
        return [found[id(one)] for one in potential]
    return [potentials.checked(potential)] * size


def _unique_pairs(
    bodies: list[RigidBody], fields: list[Potential]
) -> tuple[list[tuple[RigidBody, Potential]], NDArray[np.intp]]:
    """The different pairs, and the index of each lane's pair. The potentials are of the faster
    class for such bodies, if that is the same for all."""
    pairs = {(id(b), id(f)): (b, f) for b, f in zip(bodies, fields, strict=True)}
    places = {pair: k for k, pair in enumerate(pairs)}
    which = np.array([places[id(b), id(f)] for b, f in zip(bodies, fields, strict=True)])
    special = [(body, field.of_class_for(body)) for body, field in pairs.values()]
    alike = len({type(field) for _, field in special}) == 1
    return special if alike else list(pairs.values()), which


def _rows(name: str, value: Any, count: int, width: int) -> Array:
    """The value as a fresh array (count, width); a single row is repeated."""
    return np.broadcast_to(finite(name, value, (width,), (count, width)), (count, width)).copy()
