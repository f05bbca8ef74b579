"""Potentials and schemes that users write."""

from typing import Any

import numpy as np
import pytest

import rbgym
from rbgym.compiled.jit import outlined
from rbgym.compiled.record import Record, constant
from rbgym.integrators import Explicit, Implicit, Integrator
from rbgym.integrators.cayley import AKW
from rbgym.potentials import HeavyTop, Potential
from rbgym.quaternion import add
from refusals import refused

pytestmark = pytest.mark.interpreted

BODY = rbgym.RigidBody(inertia=[[2.0, 0.3, -0.2], [0.3, 3.0, 0.1], [-0.2, 0.1, 4.0]])
MOTION = {"dt": 0.02, "steps": 50, "angular_velocity": (1.0, 2.0, -1.5)}


class OwnTop(Potential):
    """`HeavyTop`, as a user writes it."""

    mgl: float
    axis: tuple[float, float, float]

    def energy(self, o):
        return self.mgl * (self.axis[0] * o[0] + self.axis[1] * o[1] + self.axis[2] * o[2])

    def gradient(self, o):
        return (self.mgl * self.axis[0], self.mgl * self.axis[1], self.mgl * self.axis[2])


class Reversed(OwnTop):
    """Its gradient has the wrong sign."""

    def gradient(self, o):
        return (-self.mgl * self.axis[0], -self.mgl * self.axis[1], -self.mgl * self.axis[2])


def test_a_gradient_that_is_not_that_of_the_energy_is_refused():
    with pytest.raises(ValueError, match="potential must have the gradient of its energy"):
        rbgym.simulate(BODY, potential=Reversed(1.0, (0.0, 0.6, 0.8)), **MOTION)


class Sealed(Record):
    """Has no method `contents`."""

    weight: float
    is_open = constant(False)

    def is_empty(self):
        return not self.is_open()


@outlined
def unsealed(record):
    if record.is_empty():
        return 2.0 * record.weight
    return record.contents()


class Halfway(Potential):
    """Lacks its gradient."""

    mgl: float

    def energy(self, o):
        return self.mgl * o[2]


class Idle(Explicit):
    """Lacks `finish`."""


class Unsolved(Implicit):
    """Lacks its equation."""

    def fraction(self):
        return 0.5

    def finish(self, potential, body, step, x):
        return step.q, step.L, 0.0, step.memory

    def defect(self, potential, body, step, x, Pi_1, o_1):
        return 0.0, 1.0


class Midpoint(AKW):
    """AKW under a name of its own."""


AXIS = (0.6, 0.0, 0.8)
LACKING = r"potential must .*gradient\(.*Halfway\(mgl=1"


def own(scheme, order=2, **more):
    return Integrator("own", scheme, "a scheme of my own", "here", order, **more)


def test_an_own_potential_is_one_of_the_body_frame_and_conserves_the_energy():
    motion = rbgym.simulate(BODY, potential=OwnTop(20, AXIS), **MOTION)
    expected = rbgym.simulate(BODY, potential=HeavyTop(20.0, AXIS), **MOTION)
    np.testing.assert_allclose(motion.quaternion, expected.quaternion, rtol=0, atol=1e-9)
    np.testing.assert_allclose(motion.energy, expected.energy, rtol=1e-12)
    assert motion.drift()["energy"]["max"] < 1e-13


class Sum(Potential):
    one: Any
    other: Any

    def energy(self, o):
        return self.one.energy(o) + self.other.energy(o)

    def gradient(self, o):
        return add(self.one.gradient(o), self.other.gradient(o))


class Raised(OwnTop):
    """The same with a large constant, which is no physics."""

    def energy(self, o):
        return 50.0 * self.mgl + self.mgl * o[2]


class Steeper(HeavyTop):
    def gradient(self, o):
        return (0.0, 0.0, 2.0 * self.mgl)


def test_a_sum_of_own_potentials_is_one():
    motion = rbgym.simulate(BODY, potential=Sum(OwnTop(5, AXIS), OwnTop(15, AXIS)), **MOTION)
    expected = rbgym.simulate(BODY, potential=OwnTop(20, AXIS), **MOTION)
    np.testing.assert_allclose(motion.quaternion, expected.quaternion, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["quat_em", "akw_dg"])
def test_the_round_off_of_a_large_constant_in_an_energy_fails_no_step(name):
    body, upright = rbgym.RigidBody(inertia=[0.5, 0.7, 0.3]), (0.0, 0.0, 1.0)
    motion = {"dt": 0.01, "steps": 100, "angular_velocity": (1.0, 0.5, 0.2),
              "quaternion": (0.8, 0.6, 0.0, 0.0), "integrator": name}  # fmt: skip
    found, expected = (
        rbgym.simulate(body, potential=one, **motion)
        for one in (Raised(20, upright), HeavyTop(20.0))
    )
    np.testing.assert_allclose(found.quaternion, expected.quaternion, rtol=0, atol=1e-9)
    assert found.drift()["energy"]["max"] < 1e-15


def test_a_tableau_of_one_implicit_stage_turns_a_body_from_rest_as_imidm_does():
    motion = {"dt": 0.1, "steps": 3, "torque": (0.1, -0.2, 0.3)}
    one_stage = rbgym.integrators.MuntheKaas([[0.5]], [1.0], [0.5])
    found, expected = (rbgym.simulate(BODY, integrator=s, **motion) for s in (one_stage, "imidm"))
    np.testing.assert_allclose(found.quaternion, expected.quaternion, rtol=0, atol=1e-14)


@refused(
    (lambda: rbgym.potentials.checked(Steeper(1.0)), "subclass of Potential itself, not of HeavyT"),
    (lambda: rbgym.Batch(BODY, "akw", [OwnTop(1, AXIS), OwnTop(2, AXIS)], size=2), "size=2 of one"),
    (lambda: rbgym.Batch(BODY, "akw", [None, rbgym.HeavyTop(1.0)], size=2), "of one kind"),
    (lambda: rbgym.potentials.checked(Halfway(1.0)), LACKING),
    (lambda: rbgym.Batch(BODY, potential=Halfway(1.0)), LACKING),
    (
        lambda: rbgym.potentials.checked(OwnTop(np.nan, (0.0, 0.0, 1.0))),
        r"potential\.mgl must be finite",
    ),
    (lambda: own(Idle()), "scheme must .*finish"),
    (lambda: own(Unsolved()), "scheme must .*equation"),
    (lambda: own("akw"), "scheme must .*Explicit"),
    (lambda: own(Midpoint(), order=0), "order must be a positive integer"),
    (lambda: own(Midpoint(), supports=("push",)), "supports must be .* of .*'torque'"),
    (lambda: own(Midpoint(), conserves={"magnetic": ()}), "conserves must .*'heavy_top'.*magnetic"),
    (lambda: own(Midpoint(), conserves={"none": "energy"}), r"conserves\['none'\] must be a tuple"),
    (lambda: rbgym.Batch(BODY, own(Midpoint(), supports=()), HeavyTop(1.0)), "support 'potential'"),
    (lambda: rbgym.Batch(BODY, own(Midpoint(), supports=())).set_torque(AXIS), "support 'torque'"),
)
def test_an_own_potential_or_scheme_says_what_it_lacks(call):
    call()


@pytest.mark.parametrize(
    ("base", "given", "message"),
    [
        (OwnTop, {"floor": "later"}, "may only add methods to OwnTop"),
        (Potential, {"offset": 0.0, "stiffness": "later"}, "must have fields with defaults last"),
        (Potential, {"count": 0.0}, "count must have another name"),
    ],
)
def test_fields_that_would_be_mixed_up_are_refused(base, given, message):
    set_already = {name: value for name, value in given.items() if value != "later"}
    with pytest.raises(TypeError, match=message):
        type("Mixed", (base,), {"__annotations__": dict.fromkeys(given, float), **set_already})


def test_a_subclass_of_an_implicit_scheme_is_solved_like_it():
    motion = rbgym.simulate(BODY, integrator=own(Midpoint()), potential=HeavyTop(20.0), **MOTION)
    expected = rbgym.simulate(BODY, integrator="akw", potential=HeavyTop(20.0), **MOTION)
    assert np.array_equal(motion.quaternion, expected.quaternion)


@pytest.mark.compiled
def test_what_is_not_reached_by_class_is_not_compiled():
    assert unsealed(Sealed(3.0)) == 6.0
