"""Bodies with formulas of their own move as the others do: symmetric ones with AKW, slow ones."""

from dataclasses import replace

import numpy as np
import pytest

from rbgym import Batch, HeavyTop, RigidBody, integrators
from rbgym.integrators.cayley import AKW, AKWWhenSymmetric, Cayley, WhenFreeAndSymmetric
from rbgym.integrators.interface import SLOW
from rbgym.integrators.splitting import ExactWhenFreeAndSlow
from rbgym.potentials.interface import AxialTop
from rbgym.quaternion import angle_between, normalized

SIZE = 64
WEIGHTS = [None, HeavyTop(5.886), HeavyTop(-3.0), HeavyTop(0.0)]


def moved(batches, h, steps, rates, torque=1.0):
    """What these batches measure after the same steps from the same random states."""
    rng = np.random.default_rng(5)
    q = normalized(rng.normal(size=(SIZE, 4)))
    omega, u = rng.normal(size=(SIZE, 3)) * rates, torque * rng.normal(size=(SIZE, 3))
    for batch in batches:
        batch.set_state(q, omega)
        batch.set_torque(u)
        batch.advance(h, steps)
    return [batch.measure() for batch in batches]


def assert_alike(one, other, lanes=slice(None), within=1e-11):
    size = np.abs(other["angular_velocity"]).max()
    for name in ("angular_velocity", "angular_momentum", "energy"):
        np.testing.assert_allclose(
            one[name][lanes], other[name][lanes], rtol=within, atol=within * size
        )
    apart = angle_between(one["quaternion"], other["quaternion"])[lanes]
    assert apart.max() < within * size


@pytest.mark.parametrize("moments", [(0.5, 0.5, 0.3), (0.3, 0.3, 0.5), (0.4, 0.4, 0.4)])
@pytest.mark.parametrize(("h", "steps"), [(0.002, 50), (0.02, 20), (0.2, 2)])
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("name", ["akw", "akw_dg"])
def test_symmetric_bodies_move_with_akw_as_they_do_by_the_equation_for_all(
    moments, h, steps, weight, name
):
    own, general = (
        Batch(RigidBody(moments), name, weight, size=SIZE, varies=v) for v in (False, True)
    )
    kind = AKWWhenSymmetric if weight else WhenFreeAndSymmetric
    assert type(own.physics.scheme) is kind
    assert isinstance(general.physics.scheme, Cayley)
    one, other = moved((own, general), h, steps, (1, 2, 5))
    assert not own.failed.any()
    assert_alike(one, other, ~general.failed)


def test_symmetric_bodies_move_with_convected_as_they_do_by_the_equation_for_all():
    batches = [Batch(RigidBody([2, 2, 1]), "convected", size=SIZE, varies=v) for v in (False, True)]
    assert type(batches[0].physics.scheme) is WhenFreeAndSymmetric
    assert_alike(*moved(batches, 0.05, 20, (1, 2, 5)))


def test_a_step_that_is_long_beside_the_swing_follows_the_root_from_a_step_of_no_length():
    """No textbook tells which root: that which small changes of the step lead to, from short ones
    on, which the equation for all finds too; and it conserves."""
    top, weight = RigidBody([0.3, 0.3, 0.1]), HeavyTop(30.0)
    batch = Batch(top, "akw", weight, size=SIZE)
    before, turns = None, []
    for h in np.linspace(0.01, 0.25, 121):
        (end,) = moved([batch], h, 1, (0.5, 0.5, 2), torque=0.0)
        assert not batch.failed.any()
        if before is not None:
            turns.append(angle_between(before, end["quaternion"]))
        before = end["quaternion"]
    assert np.max(turns) < 0.25  # 2 ms more turn the body by no more, so that no root was left


@pytest.mark.parametrize("h", [0.02, 0.15])
def test_a_lagrange_top_keeps_energy_spin_and_vertical_momentum_with_akw(h):
    batch = Batch(RigidBody([0.3, 0.3, 0.1]), "akw", HeavyTop(6.0), size=SIZE)
    (start,) = moved([batch], h, 1, (1, 1, 9), torque=0.0)
    batch.set_torque((0.0, 0.0, 0.0))
    batch.advance(h, 2000)
    end = batch.measure()
    assert not batch.failed.any()
    np.testing.assert_allclose(end["energy"], start["energy"], rtol=1e-12, atol=1e-12)
    L = [m["angular_momentum"][:, 2] for m in (start, end)]
    np.testing.assert_allclose(L[1], L[0], rtol=1e-11, atol=1e-11)
    spin = [m["angular_velocity"][:, 2] for m in (start, end)]
    np.testing.assert_allclose(spin[1], spin[0], rtol=1e-9, atol=1e-9)


class Own(AKW):
    """A scheme of a user."""


def test_what_is_not_quite_such_a_body_is_left_to_the_equation_for_all():
    symmetric, weight = RigidBody([1, 1, 1.5]), HeavyTop(2.0)
    own = replace(integrators.get("akw"), scheme=Own())
    for batch, kind in (
        (Batch(RigidBody([1, 1.0000001, 1.5]), "akw", weight), AKW),
        (Batch(symmetric, "akw", HeavyTop(2.0, (0.6, 0.0, 0.8))), AKW),
        (Batch(symmetric, own, weight), Own),
        (Batch(symmetric, "akw", weight), AKWWhenSymmetric),
    ):
        assert type(batch.physics.scheme) is kind
    batch = Batch(symmetric, "akw", weight)
    batch.set_state((1, 0, 0, 0), (1, 2, 3), rotor_momentum=(0.1, 0, 0))
    assert type(batch.physics.scheme) is AKW
    tops = Batch([symmetric] * 2, "akw", [weight, HeavyTop(2.0, (1.0, 0.0, 0.0))], size=2)
    assert type(tops.physics.potential) is HeavyTop
    assert type(Batch(symmetric, "akw", weight).physics.potential) is AxialTop
    assert type(Batch(symmetric, "akw", weight).potential) is HeavyTop


def test_slow_bodies_move_by_their_formulas_as_by_those_for_all():
    body, h = RigidBody([0.5, 0.7, 0.3]), 0.1
    own, general = (Batch(body, "exact:4", size=SIZE, slow=slow) for slow in (True, False))
    assert type(own.physics.scheme) is ExactWhenFreeAndSlow
    assert type(general.physics.scheme) is not ExactWhenFreeAndSlow
    for rates in (0.0, 0.1 * SLOW / h, SLOW / h / 3**0.5):
        assert_alike(*moved((own, general), h, 20, rates, torque=0.01), within=1e-12)


def test_bodies_that_turn_faster_than_was_expected_move_as_they_should():
    body = RigidBody([0.5, 0.7, 0.3])
    own, general = (Batch(body, "exact:4", size=SIZE, slow=slow) for slow in (True, False))
    assert_alike(*moved((own, general), 0.1, 10, (1, 4, 20)), within=1e-11)
    assert not own.failed.any()
