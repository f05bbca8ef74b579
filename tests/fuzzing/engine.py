"""Targets of the engine: batches of bodies, and integrators made of others."""

from functools import cache, partial

import rbgym
from fuzzing.contract import target
from fuzzing.core import BODY, Q, W
from rbgym import integrators


def _batch(**given):
    batch = rbgym.Batch(**given)
    batch.set_state(Q, W)
    batch.advance(0.01)
    return batch.measure()


@cache
def _two():
    """The batch that is attacked; made when it is, because that compiles."""
    batch = rbgym.Batch(BODY, size=2)
    batch.set_state(Q, W)
    return batch


def _stepped(method, **given):
    getattr(_two(), method)(**given)
    state = _two().full_state()
    _two().set_state(Q, W)
    return state


def _on_two(method, **given):
    made = target(f"rbgym.Batch.{method}", partial(_stepped, method), **given)
    return made.but(untouched=lambda: _two().full_state())


def targets():
    return [
        target("rbgym.Batch", _batch, bodies=[BODY, BODY], integrator="quat_em", potential=None,
               size=2, projection=True),
        _on_two("set_state", quaternion=Q, angular_velocity=W, rotor_momentum=(0.0, 0.1, 0.0),
                lanes=[0, 1]),
        _on_two("set_state", quaternion=Q, angular_momentum=W),
        _on_two("set_torque", torque=W),
        _on_two("advance", h=0.01, steps=2),
        target("rbgym.integrators.get", partial(integrators.get, "pdmv"), order=4),
        target("rbgym.integrators.compose", integrators.compose, base="imidm", order=4),
        target("rbgym.integrators.MuntheKaas", integrators.MuntheKaas,
               A=[[0.0, 0.0], [0.5, 0.0]], b=[0.0, 1.0], c=[0.0, 0.5]),
    ]  # fmt: skip
