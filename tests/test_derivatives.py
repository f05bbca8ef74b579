"""Derivatives of steps: against differences of them, and against what a scheme's structure says."""

import math

import numpy as np
import pytest
from numba import njit

import rbgym
from differences import errors_off, slope
from rbgym.compiled.dual import ITEM, WIDTH, as_duals, merge, refusals_in_one_line, unit
from rbgym.engine import derivatives
from refusals import refused

SIZE, H = 4, 0.05
TOP = rbgym.HeavyTop(3.0)
TORQUE = np.array([1.0, -2.0, 0.5])


def random_state():
    rng = np.random.default_rng(5)
    q = rng.normal(size=(SIZE, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True), 3.0 * rng.normal(size=(SIZE, 3))


def made(scheme, potential, q, omega, torque=TORQUE, moments=(6.0, 8.0, 3.0)):
    body = rbgym.RigidBody(list(moments))
    batch = rbgym.Batch(body, scheme, potential, size=SIZE)
    batch.set_state(q, omega)
    batch.set_torque(torque)
    return batch


def test_the_derivatives_along_the_moments_of_a_symmetric_body():
    q, omega = random_state()
    moments, eye = np.array([6.0, 6.0, 3.0]), np.eye(3)

    def end(moments):
        batch = made("exact:4", TOP, q, omega, moments=moments)
        batch.advance(H, 2)
        found = batch.measure()
        return found["quaternion"], found["angular_velocity"]

    there = end(moments)
    moves = [lambda e, c=c: errors_off(there, end(moments + e * eye[c])) for c in range(3)]
    found = made("exact:4", TOP, q, omega, moments=moments).jacobian(H, 2, of=("state", "inertia"))
    wanted = np.stack([slope(move) for move in moves], axis=2)
    np.testing.assert_allclose(found.inertia, wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.usefixtures("threads_afterwards")
def test_the_jacobian_of_a_range_is_that_of_the_whole_batch():
    rng = np.random.default_rng(6)
    size = 83  # eleven blocks, the last of them not full
    q, found = rng.normal(size=(size, 4)), []
    omega = rng.normal(size=(size, 3))
    for threads in (1, 2):
        batch = rbgym.Batch(rbgym.RigidBody([6.0, 8.0, 3.0]), "exact:4", TOP, size=size)
        batch.set_state(q / np.linalg.norm(q, axis=1, keepdims=True), omega)
        batch.set_torque(TORQUE)
        rbgym.set_num_threads(threads)
        found.append(batch.jacobian(H, 2, of=("state", "torque", "inertia", "mgl")))
    for name in ("state", "torque", "inertia", "mgl"):
        one, two = (getattr(jacobian, name) for jacobian in found)
        assert len(one) == size
        assert (one == two).all()


# Without any torque the energy has a level, with the least of it none: exact:4 knows that by itself
# of a free body, and by projection in a potential.
@pytest.mark.slow
@pytest.mark.parametrize("potential", [None, TOP])
@pytest.mark.parametrize("rate", [0.05, 1.0])
def test_the_jacobian_without_a_torque_is_that_next_to_it(potential, rate):
    q, omega = random_state()
    none, little = (
        made("exact:4", potential, q, rate * omega, np.full(3, u)).jacobian(H, 2) for u in (0, 1e-9)
    )
    assert np.abs(none.torque - little.torque).max() < 1e-6
    assert np.abs(none.state - little.state).max() < 1e-5


def test_a_free_body_keeps_every_change_of_its_momentum_to_the_bit():
    batch = made("akw", None, *random_state(), torque=np.zeros(3))
    found = batch.jacobian(H, 5, of=("state",), coordinates="momentum").state
    assert (found[:, 3:, 3:] == np.eye(3)).all()
    assert (found[:, 3:, :3] == 0.0).all()


def symplectic_form(Pi):
    """Of the errors (theta, Pi), both in body axes, at the body momentum Pi (Marsden & Ratiu 1999,
    13.7): w(a, b) = a_theta . b_Pi - b_theta . a_Pi + Pi . (a_theta x b_theta)."""
    n = len(Pi)
    form = np.zeros((n, 6, 6))
    form[:, :3, 3:], form[:, 3:, :3] = np.eye(3), -np.eye(3)
    form[:, :3, :3] = [[[0, z, -y], [-z, 0, x], [y, -x, 0]] for x, y, z in Pi]
    return form


def test_kicks_between_exact_motions_are_symplectic_and_akw_is_not():
    moments = np.array([6.0, 8.0, 3.0])

    def lack(scheme, potential):
        batch = made(scheme, potential, *random_state(), torque=np.zeros(3))
        batch.projection = False
        found = batch.jacobian(H, of=("state",)).state
        before = batch.measure()["angular_velocity"] * moments
        batch.advance(H)
        after = batch.measure()["angular_velocity"] * moments
        scale = np.ones(6)
        scale[3:] = moments
        map_ = scale[:, None] * found / scale  # of body momenta instead of rates
        moved = map_.transpose(0, 2, 1) @ symplectic_form(after) @ map_
        return np.abs(moved - symplectic_form(before)).max()

    assert lack("exact:4", TOP) < 1e-12
    assert lack("akw", None) > 1e-6


def test_the_gradient_of_the_energy_is_kept_by_a_scheme_that_keeps_the_energy():
    q, omega = random_state()
    batch = made("exact:4", TOP, q, omega, torque=np.zeros(3))
    moments, up = np.array([6.0, 8.0, 3.0]), np.array([0.0, 0.0, 1.0])

    def gradient(state):
        """Of the energy, along errors: theta turns o by o x theta, and V is mgl o_z."""
        o = rbgym.quaternion.rotate_inverse(state["quaternion"], up)
        pull = 3.0 * np.cross(up, o)
        return np.concatenate([pull, moments * state["angular_velocity"]], axis=1)

    found, before = batch.jacobian(H, of=("state",)).state, gradient(batch.measure())
    batch.advance(H)
    after = gradient(batch.measure())
    carried = np.einsum("ni,nij->nj", after, found)
    assert np.abs(carried - before).max() < 1e-11 * np.abs(before).max()


def test_products_are_those_with_the_jacobian_which_leaves_the_state_as_it_is():
    batch = made("exact:4", None, *random_state())
    before, found = batch.full_state(), batch.jacobian(H)
    assert (batch.full_state() == before).all()
    rng = np.random.default_rng(1)
    x, u, g = rng.normal(size=(SIZE, 6)), rng.normal(size=(SIZE, 3)), rng.normal(size=(SIZE, 6))
    of_state, of_torque = found.vjp(g)
    along = np.sum(of_state * x, axis=1) + np.sum(of_torque * u, axis=1)
    assert along == pytest.approx(np.sum(g * found.jvp(x, u), axis=1), rel=1e-12)


@pytest.mark.interpreted
def test_without_machine_code_the_error_says_that_derivatives_need_it(monkeypatch):
    monkeypatch.setattr(derivatives, "MACHINE_CODE", False)
    with pytest.raises(NotImplementedError, match="derivatives need machine code"):
        made("akw", None, *random_state()).jacobian(H)


@refused(
    ({"of": ("rates",)}, "of must be"),
    ({"of": ("mgl",)}, "HeavyTop"),
    ({"coordinates": "body"}, "coordinates must be"),
    ({"steps": 0}, "steps must be"),
    ({"h": math.nan}, "h must be"),
)
def test_bad_arguments_are_named(arguments):
    batch = made("akw", None, *random_state())
    batch.jacobian(**{"h": H, **arguments})


def test_a_step_that_is_refused_has_no_derivative():
    q, omega = random_state()
    batch = made("exact:4", None, q, 1e30 * omega)
    with pytest.raises(rbgym.IntegrationError, match="so no derivative"):
        batch.jacobian(H)


@pytest.mark.parametrize("numbers", range(1, 4000, 333))
def test_the_room_for_duals_begins_a_cache_line_as_their_vectors_must(numbers):
    room = derivatives.room_for_duals(numbers)
    assert room.shape == (numbers,)
    assert room.ctypes.data % 64 == 0


def functions(x, y):
    return (
        math.exp(x), math.log(x), math.tanh(x), math.asin(x), math.acos(x), math.atan2(x, y),
        math.atan2(y, -x), math.atan2(x, 2.0), math.atan2(2.0, x), math.pow(x, 1.5), x**y, x**2,
        (-x) ** 3, 2.0**y,
    )  # fmt: skip


@njit
def write_functions(out, x, y):
    duals = as_duals(out, 0, 1)
    found = functions_of_duals(merge(x, unit(0)), merge(y, unit(1)))
    for n in range(len(found)):
        duals[n] = found[n]


functions_of_duals = njit(functions)


def test_functions_of_a_dual_have_their_derivatives():
    x, y = 0.7, 1.3
    wanted = np.array(functions(x, y))
    room = derivatives.room_for_duals(len(wanted) * ITEM)
    write_functions(room, x, y)
    found = room.reshape(-1, ITEM)
    np.testing.assert_allclose(found[:, WIDTH], wanted, rtol=1e-15)
    along_x = slope(lambda e: np.array(functions(x + e, y)))
    along_y = slope(lambda e: np.array(functions(x, y + e)))
    assert found[:, :2] == pytest.approx(np.stack([along_x, along_y], axis=1), abs=1e-10)


def test_what_takes_no_dual_is_named_in_one_line():
    @njit
    def of_dual(x):
        return math.gamma(merge(x, unit(0)))

    said = r"^a part has no derivative: gamma takes no dual number, File .* line \d+$"
    with pytest.raises(ValueError, match=said), refusals_in_one_line():
        of_dual(1.0)
