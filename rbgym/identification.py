"""Estimates the inertia of a rigid body from samples of its motion, with confidence intervals.

The momentum balance in world axes, R (J omega + h) = L_0 + integral of R u dt, is linear in J and
gives a first guess, which noise biases. Damped Gauss-Newton then fits the motion that rbgym's step
predicts from a start, a tensor and a bias of the rates to all samples, attitudes and rates weighted
by their noise (Maine and Iliff 1985, NASA RP-1138, sections 3 to 5). Derivatives are differences
of motions in one batch; the covariance is the inverse of the information matrix.
"""

import reprlib
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbgym.arguments import Array, positive, quietly, real
from rbgym.body import RigidBody
from rbgym.engine.batch import Batch
from rbgym.quaternion import conjugate, from_rotation_vector, multiply, rotate, to_matrix

_AT = ((0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2))  # indices of xx, yy, zz, xy, xz, yz
_ONES = np.zeros((6, 3, 3))  # the symmetric tensors that are 1 there
_ONES[range(6), _AT[0], _AT[1]] = _ONES[range(6), _AT[1], _AT[0]] = 1.0
_LOWER = np.tril_indices(3)
_UNIT = 1e-3  # largest error of a quaternion's length: logs have few digits
_NOISE = 1e-30, 1e30  # range of a noise and of a tensor, so that its square is a finite divisor
_LEAST = 1e-7  # least noise [rad], and relative to the rates: below is round-off
_EDGE = 1e-6  # least second moment of mass, relative to the largest: no plate is thinner
_STEP = 1e-6  # of the differences: an angle [rad], and relative to rates and tensor
_OBSERVABLE = 1e-14  # least eigenvalue of the scaled information of an observable tensor
_SHORT = 20.0  # turn of the shortest beginning that is fitted [rad]
_NONLINEAR = 0.5  # largest nonlinear part of a change by one standard deviation
_CHANCE = 1e-3  # probability that one of the tests rejects a correct record
_RARE = 3.09  # standard deviations that chance exceeds with this probability
_FROZEN = np.array([1.0, 5.0]) / 6.0  # instants, in a step, at which its halves take the momentum
_NODS = 4  # steps in each half, which resolve the nutation that rotors cause
_ROUNDS, _TURN, _LAGS = 60, 0.1, 4  # rounds of the fit; longest substep [rad]; lags of the test


class Identified(NamedTuple):
    """An inertia tensor from samples; see `rbgym.identify`.

    inertia: (3, 3) [kg m^2], body axes. covariance: (6, 6) of its xx, yy, zz, xy, xz, yz.
    rate_bias: (3,) [rad/s], body axes, added to the true rates. residual: (2,), standard deviation
    of the errors that remain, of attitudes [rad] and rates [rad/s], each axis. consistent: whether
    these errors are white, no larger than the given noise, without outliers, and linear in the
    estimates; otherwise clock, torques, model or a sample are wrong, or the record is too long,
    and the intervals mean nothing.
    """

    inertia: Array
    covariance: Array
    rate_bias: Array
    residual: Array
    consistent: bool

    @property
    def interval(self) -> Array:
        """Bounds of the 95 % interval of each component of the tensor, (2, 3, 3) [kg m^2]."""
        wide = np.einsum("k,kij->ij", 1.959964 * np.sqrt(np.diag(self.covariance)), _ONES)
        return np.stack([self.inertia - wide, self.inertia + wide])


class _Samples(NamedTuple):
    gaps: Array
    q: Array
    rates: Array
    torques: Array
    rotors: Array
    noise: Array  # of attitudes and of rates; nan where it is not given


class _Guess(NamedTuple):
    q: Array
    omega: Array
    inertia: Array
    bias: Array


@quietly
def identify(
    times: ArrayLike,
    quaternions: ArrayLike,
    rates: ArrayLike,
    torques: ArrayLike | None = None,
    rotor_momentum: ArrayLike | None = None,
    *,
    attitude_noise: float | None = None,
    rate_noise: float | None = None,
) -> Identified:
    """The inertia tensor of a free rigid body and a constant bias of its rates, with intervals.

    times: (n,) [s], rising, n at least 8, in gaps of any length. quaternions: (n, 4), body to
    world, of either sign; they are normalised. rates: (n, 3) [rad/s], body axes. torques:
    (n - 1, 3) [N m], body axes, constant from each sample to the next, or (n, 3), whose last row is
    not used. rotor_momentum: (n, 3) [kg m^2/s], body axes, of rotors relative to the body, linear
    in between; the tensor includes the rotors. attitude_noise [rad], rate_noise [rad/s]: standard
    deviations of white noise, each axis; None to estimate them from the samples.

    Raises ValueError for bad arguments, for samples half a turn apart, and if the samples do not
    determine the tensor: without torque and rotors its scale is unknown, and in a turn about one
    axis other components.
    """
    data = _checked(times, quaternions, rates, torques, rotor_momentum, attitude_noise, rate_noise)
    guess = _balance(data)
    # The balance may not predict the end of a long record: fit longer and longer beginnings.
    turns = np.cumsum(np.linalg.norm(data.rates[1:], axis=1) * data.gaps)
    lengths = [len(turns)]
    while lengths[0] > 32 and turns[lengths[0] - 1] > _SHORT:
        lengths.insert(0, lengths[0] // 2)
    for length in lengths[:-1]:
        q, rates, torques, rotors = (one[: length + 1] for one in data[1:5])
        beginning = _Samples(data.gaps[:length], q, rates, torques, rotors, data.noise)
        guess, *_ = _fit(beginning, guess, 5, 1e-2)
    guess, r, H, gain = _fit(data, guess, _ROUNDS, 1e-4)
    information, size = _information(H, _noise(data, r))
    if not np.linalg.eigvalsh(information.sum(axis=0))[0] > _OBSERVABLE:
        raise _unobservable(data)
    # Degrees of freedom that the fit's 15 parameters take from attitudes and from rates.
    spent = np.trace(np.linalg.solve(information.sum(axis=0), information), axis1=1, axis2=2)
    information, size = _information(H, _noise(data, r, spent))
    covariance = np.linalg.inv(information.sum(axis=0)) / np.outer(size, size)
    left = np.sqrt(np.sum(r * r, axis=(0, 2)) / (3 * len(r) - spent))
    most = data.noise * (1.0 + _RARE / np.sqrt(6.0 * len(r)))
    values, vectors = np.linalg.eigh(information.sum(axis=0))
    worst = vectors[:, 0] / np.sqrt(values[0]) / size  # one sigma along the worst known direction
    bent = (_errors(data, _moved(guess, worst))[0] - r - H @ worst) / _noise(data, r)[:, None]
    straight = np.sum(bent**2) < _NONLINEAR**2
    fitted = straight and abs(gain) < 1e-2 and not np.any(left >= most)
    # A wrong sample would be an outlier: the largest error must be within the limit of chance.
    largest = np.max(np.abs(r).max(axis=(0, 2)) / np.maximum(left, _least(data)))
    normal = largest < NormalDist().inv_cdf(1.0 - _CHANCE / (2.0 * r.size))
    consistent = bool(fitted and normal and _is_white(data, r))
    return Identified(guess.inertia, covariance[6:12, 6:12], guess.bias, left, consistent)


def _fit(data: _Samples, guess: _Guess, rounds: int, enough: float) -> tuple[Any, ...]:
    """The guess after `rounds` or once one gains less than `enough`; its `_errors`; last gain."""
    (r, H), damping, gain = _errors(data, guess), 1e-3, np.inf
    for _ in range(rounds):
        information, size = _information(H, _noise(data, r))
        slope = np.einsum("ntx,ntxc->c", r / _noise(data, r)[:, None] ** 2, H) / size
        damped = information.sum(axis=0) + damping * np.eye(15)
        trial = _moved(guess, -np.linalg.solve(damped, slope) / size)
        new = _errors(data, trial)
        gain = _cost(data, r) - _cost(data, new[0])
        damping *= 0.1 if gain >= 0.0 else 10.0
        if gain >= 0.0:
            guess, (r, H) = trial, new
        if abs(gain) < enough or damping > 1e9:
            break
    return guess, r, H, gain


def _checked(t: Any, q: Any, rates: Any, u: Any, h: Any, *noise: Any) -> _Samples:
    times = _rows("times", t)
    count = times.size
    if times.ndim != 1 or count < 8:
        raise ValueError(f"times must be at least 8 instants, got shape {times.shape}")
    gaps = np.diff(times)
    _refuse("times", "rise from each to the next", times, np.r_[True, gaps > 0.0])
    attitudes, omega = _rows("quaternions", q, (count, 4)), _rows("rates", rates, (count, 3))
    lengths = np.linalg.norm(attitudes, axis=1, keepdims=True)
    _refuse("quaternions", "have unit length", attitudes, np.abs(lengths - 1.0) < _UNIT)
    shapes = (count - 1, 3), (count, 3)
    torques = np.zeros(shapes[0]) if u is None else _rows("torques", u, *shapes, used=count - 1)
    rotors = np.zeros(shapes[1]) if h is None else _rows("rotor_momentum", h, shapes[1])
    if not (np.any(torques) or np.any(rotors)):
        given = " and ".join("none" if one is None else "zeros" for one in (u, h))
        raise ValueError(
            "torques or rotor_momentum must be given and not zero: a free motion does not show the "
            f"scale of the tensor, got {given}"
        )
    speed = np.linalg.norm(omega, axis=1)
    turned = np.maximum(speed[1:], speed[:-1]) * gaps
    if not np.all(turned < np.pi):
        k = int(np.argmax(turned))
        row = k + int(speed[k + 1] > speed[k])
        raise ValueError(
            "times must be less than half a turn apart at these rates, got a gap of "
            f"{gaps[k]:.6g} s with {omega[row].tolist()} in row {row}"
        )
    for name, sigma in zip(("attitude_noise", "rate_noise"), noise, strict=True):
        if sigma is not None and not _NOISE[0] <= positive(name, sigma) <= _NOISE[1]:
            raise ValueError(f"{name} must be from {_NOISE[0]:g} to {_NOISE[1]:g}, got {sigma!r}")
    sigmas = np.array(noise, dtype=np.float64)  # None becomes nan
    return _Samples(gaps, attitudes / lengths, omega, torques, rotors, sigmas)


def _rows(name: str, given: Any, *shapes: tuple[int, ...], used: int | None = None) -> Array:
    """The used rows of one of these shapes, if any; ValueError names the first that is not finite.
    used: their number, None for all."""
    allowed = "be finite real numbers" + " or".join(f" of shape {shape}" for shape in shapes)
    try:
        array = np.atleast_1d(real(name, given))
    except ValueError:
        raise ValueError(f"{name} must {allowed}, got {reprlib.repr(given)}") from None
    if shapes and array.shape not in shapes:
        raise ValueError(f"{name} must {allowed}, got shape {array.shape}")
    array = array[:used]
    of_row = tuple(range(1, array.ndim))
    _refuse(name, allowed, array, np.isfinite(array).all(axis=of_row))
    return array


def _refuse(name: str, allowed: str, array: Array, good: Any) -> None:
    """Raise ValueError with the first row that is not good."""
    if not good.all():
        k = int(np.argmin(good))
        raise ValueError(f"{name} must {allowed}, got {array[k].tolist()} in row {k}")


def _unobservable(data: _Samples) -> ValueError:
    return ValueError(
        "rates must be of a body that turns about more than one axis, by torques or rotors that "
        f"determine its tensor, got {len(data.rates)} of at most "
        f"{np.abs(data.rates).max():.3g} rad/s"
    )


def _balance(data: _Samples) -> _Guess:
    """The tensor from the momentum balance, linear in it and in the momentum at the start."""
    turns = rotation_vector(multiply(conjugate(data.q[:-1]), data.q[1:]))
    mean = (data.rates[1:] + data.rates[:-1]) / 2.0
    bias = np.sum(mean * data.gaps[:, None] - turns, axis=0) / data.gaps.sum()
    R, between = to_matrix(data.q), multiply(data.q[:-1], from_rotation_vector(turns / 2.0))
    kicks = np.cumsum(rotate(between, data.torques * data.gaps[:, None]), axis=0)
    y = np.concatenate([np.zeros((1, 3)), kicks]) - rotate(data.q, data.rotors)
    columns = np.einsum("nij,kjl,nl->nik", R, _ONES, data.rates - bias)
    start = np.broadcast_to(-np.eye(3), (*columns.shape[:2], 3))
    A = np.concatenate([columns, start], axis=2).reshape(-1, 9)
    found, _, rank, _ = np.linalg.lstsq(A, y.reshape(-1), rcond=1e-10)
    if rank < 9:
        raise _unobservable(data)
    if not _NOISE[0] < (size := np.abs(found[:6]).max()) < _NOISE[1]:  # the fit squares it
        raise ValueError(
            "torques and rotor_momentum must give a tensor between 1e-30 and 1e30 kg m^2, "
            f"got one of {size:.3g}"
        )
    inertia = _valid(np.einsum("k,kij->ij", found[:6], _ONES), 0.05)
    return _Guess(data.q[0], data.rates[0] - bias, inertia, bias)


def _valid(inertia: Array, edge: float) -> Array:
    """The tensor if a distribution of mass can have it, else one near it that it can: no second
    moment of mass is negative, and each is at least `edge` times the largest."""
    values, axes = np.linalg.eigh(np.trace(inertia) / 2.0 * np.eye(3) - inertia)
    if values[0] > edge * values[2]:
        return inertia
    largest = max(values[2], np.abs(values).max() * 1e-3)
    spread = (axes * np.maximum(values, 1.001 * edge * largest)) @ axes.T
    return np.asarray(np.trace(spread) * np.eye(3) - spread)


def _moved(guess: _Guess, change: Array) -> _Guess:
    q = multiply(guess.q, from_rotation_vector(change[:3]))
    inertia = guess.inertia + np.einsum("k,kij->ij", change[6:12], _ONES)
    return _Guess(q, guess.omega + change[3:6], _valid(inertia, _EDGE), guess.bias + change[12:])


def _errors(data: _Samples, guess: _Guess) -> tuple[Array, Array]:
    """Prediction minus samples (n, 2, 3), a rotation vector in body axes [rad] and rates [rad/s],
    and its derivatives (n, 2, 3, 15) by attitude and rates at the start, tensor and bias; NaN if a
    step cannot be solved. The tensor changes through the Cholesky factor of the second moments of
    mass, so that each is the tensor of a body."""
    factor = np.linalg.cholesky(np.trace(guess.inertia) / 2.0 * np.eye(3) - guess.inertia)
    steps = _STEP * np.repeat(
        [1.0, np.sqrt(np.mean(data.rates**2)), np.abs(factor).max()], [3, 3, 6]
    )
    lanes = np.concatenate([np.zeros((1, 12)), np.diag(steps), -np.diag(steps)])
    factors = np.tile(factor, (25, 1, 1))
    factors[:, _LOWER[0], _LOWER[1]] += lanes[:, 6:]
    spread = factors @ factors.transpose(0, 2, 1)
    tensors = np.trace(spread, axis1=1, axis2=2)[:, None, None] * np.eye(3) - spread
    q, omega = _motions(data, tensors, multiply(guess.q, from_rotation_vector(lanes[:, :3])),
                        guess.omega + lanes[:, 3:6])  # fmt: skip
    off = rotation_vector(multiply(conjugate(data.q)[:, None], q))
    all_errors = np.stack([off, omega + guess.bias - data.rates[:, None]], axis=2)
    H = np.zeros((len(q), 2, 3, 15))
    H[..., :12] = np.moveaxis((all_errors[:, 1:13] - all_errors[:, 13:]) / 2.0, 1, 3) / steps
    moved = (tensors[7:13] - tensors[19:25])[:, _AT[0], _AT[1]].T / 2.0 / steps[6:]
    H[..., 6:12] = H[..., 6:12] @ np.linalg.inv(moved)
    H[:, 1, :, 12:] = np.eye(3)
    return all_errors[:, 0], H


def _motions(data: _Samples, tensors: Array, q: Array, omega: Array) -> tuple[Array, Array]:
    """Attitudes (n, lanes, 4) and rates (n, lanes, 3) of bodies with these tensors and starts."""
    batch = Batch([RigidBody((J + J.T) / 2) for J in tensors], size=len(tensors), projection=False)
    rotors, turning = data.rotors, bool(np.any(data.rotors))
    try:
        batch.set_state(q, omega, rotor_momentum=rotors[0])
    except ValueError as error:
        raise ValueError(
            "rates, torques and rotor_momentum must give a tensor of finite energy, got "
            + " and ".join(f"at most {np.abs(one).max():.3g}" for one in data[2:5])
        ) from error
    # Maps rotor momentum to the change of the rates.
    slowed: Array = np.linalg.inv(np.array([body.inertia for body in batch.bodies]))
    turns, nods = (
        np.maximum(speed[1:], speed[:-1]) * data.gaps / _TURN
        for speed in np.linalg.norm([data.rates, rotors @ slowed[0]], axis=2)
    )
    counts = np.ceil(np.maximum(turns, nods / _NODS) + 0.5).astype(int)
    found = [batch.measure()]
    for k, (gap, count) in enumerate(zip(data.gaps, counts, strict=True)):
        if k == 0 or not np.array_equal(data.torques[k], data.torques[k - 1]):
            batch.set_torque(data.torques[k])
        if turning:
            held, gained = rotors[k], rotors[k + 1] - rotors[k]
            for instant in (np.arange(count)[:, None] + _FROZEN).ravel() / count:
                frozen = rotors[k] + instant * gained
                _transfer(batch, slowed, held, frozen)
                batch.advance(gap / count / (2 * _NODS), _NODS)
                held = frozen
            _transfer(batch, slowed, held, rotors[k + 1])
        else:
            batch.advance(gap / count, int(count))
        found.append(batch.measure())
    lost = np.where(batch.failed, np.nan, 0.0)[:, None]
    names = "quaternion", "angular_velocity"
    first, second = (np.stack([one[name] for one in found]) + lost for name in names)
    return first, second


def _transfer(batch: Batch, slowed: Array, held: Array, momentum: Array) -> None:
    """Move momentum from the bodies to their rotors; the sum is constant up to round-off."""
    now = batch.measure()
    omega = now["angular_velocity"] - slowed @ (momentum - held)
    batch.set_state(now["quaternion"], omega, rotor_momentum=momentum)


def rotation_vector(q: Array) -> Array:
    """Rotation vectors (..., 3) [rad] of unit quaternions (..., 4), the shorter way round."""
    q = np.where(q[..., :1] < 0.0, -q, q)
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, q[..., :1])
    return q[..., 1:] * np.where(sine > 1e-9, angle / np.maximum(sine, 1e-9), 2.0)


def _least(data: _Samples) -> Array:
    return _LEAST * np.array([1.0, np.sqrt(np.mean(data.rates**2))])


def _noise(data: _Samples, r: Array, spent: ArrayLike = 0.0) -> Array:
    """Standard deviations (2,) of the noise: the given ones, or those of the errors."""
    shown = np.sqrt(np.sum(r * r, axis=(0, 2)) / (3 * len(r) - np.asarray(spent)))
    return np.where(np.isnan(data.noise), np.maximum(shown, _least(data)), data.noise)


def _cost(data: _Samples, r: Array) -> float:
    """Minus the log-likelihood, with noise that is not given at its most likely value."""
    squares, sigma = np.sum(r * r, axis=(0, 2)), _noise(data, r)
    cost = np.sum(squares / sigma**2 / 2.0 + 3 * len(r) * np.log(sigma))
    return float(cost) if np.isfinite(cost) else np.inf


def _information(H: Array, sigma: Array) -> tuple[Array, Array]:
    """The information of attitudes and of rates (2, 15, 15), for parameters scaled by `size` (15,),
    so that the sum has a unit diagonal; and that size."""
    found = np.einsum("ntxi,ntxj->tij", H, H, optimize=True) / sigma[:, None, None] ** 2
    size = np.maximum(np.sqrt(np.diag(found.sum(axis=0))), 1e-300)
    return found / np.outer(size, size), size


def _is_white(data: _Samples, r: Array) -> bool:
    """Whether errors of neighbouring samples are independent (Box and Pierce 1970): the sum of
    squared correlations, chi-squared, is below the value that chance exceeds once in a thousand."""
    n, series = len(r), r.reshape(len(r), 6)
    power = np.maximum(np.sum(series**2, axis=0), n * np.repeat(_least(data) ** 2, 3))
    found = [np.sum(series[k:] * series[:-k], axis=0) / power for k in range(1, _LAGS + 1)]
    part = 2.0 / (9.0 * 6 * _LAGS)  # the quantile by Wilson and Hilferty (1931)
    return bool(n * np.sum(np.square(found)) < 6 * _LAGS * (1.0 - part + _RARE * part**0.5) ** 3)
