"""Targets of the engine: batches of bodies, and integrators made of others."""

from functools import cache, partial
from typing import Any

import rbgym
from fuzzing.contract import Target
from fuzzing.core import BODY, Q, W, target
from rbgym import integrators


def _batch(**given: Any) -> Any:
    batch = rbgym.Batch(**given)
    batch.set_state(Q, W)
    batch.advance(0.01)
    return batch.measure()


@cache
def _two() -> rbgym.Batch:
    """The batch that is attacked; made when it is, because that compiles."""
    batch = rbgym.Batch(BODY, size=2)
    batch.set_state(Q, W)
    return batch


def _stepped(method: str, **given: Any) -> Any:
    getattr(_two(), method)(**given)
    state = _two().full_state()
    _two().set_state(Q, W)
    return state


def _untouched() -> Any:
    return _two().full_state()


def _batches() -> list[Target]:
    return [
        target("rbgym.Batch", _batch, bodies=[BODY, BODY], integrator="quat_em", potential=None,
               size=2, projection=True, _spoken={"bodies": ("body",), "size": ("bodies",)}),
        target("rbgym.Batch.set_state", partial(_stepped, "set_state"), quaternion=Q,
               angular_velocity=W, rotor_momentum=(0.0, 0.1, 0.0), lanes=[0, 1],
               _numeric=("quaternion", "angular_velocity", "rotor_momentum", "lanes"),
               _optional=("rotor_momentum", "lanes"), _untouched=_untouched),
        target("rbgym.Batch.set_state", partial(_stepped, "set_state"), quaternion=Q,
               angular_momentum=W, _numeric=("quaternion", "angular_momentum"),
               _untouched=_untouched, _spoken={"angular_momentum": ("angular_velocity",)}),
        target("rbgym.Batch.set_torque", partial(_stepped, "set_torque"), torque=W,
               _numeric=("torque",), _untouched=_untouched),
        target("rbgym.Batch.advance", partial(_stepped, "advance"), h=0.01, steps=2,
               _numeric=("h", "steps"), _untouched=_untouched),
    ]  # fmt: skip


def _made() -> list[Target]:
    return [
        target("rbgym.integrators.get", lambda **o: integrators.get("pdmv", **o), order=4),
        target("rbgym.integrators.compose", integrators.compose, base="imidm", order=4,
               _spoken={"base": ("integrator",)}),
        target("rbgym.integrators.MuntheKaas", lambda A, b, c: integrators.MuntheKaas(A, b, c),
               A=[[0.0, 0.0], [0.5, 0.0]], b=[0.0, 1.0], c=[0.0, 0.5],
               _numeric=("A", "b", "c"), _optional=("c",)),
    ]  # fmt: skip


def targets() -> list[Target]:
    """All of them."""
    return [*_batches(), *_made()]
