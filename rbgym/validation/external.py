"""Motions whose ends others published (`external.json`), and free motions by power series. The
fastest turn of Bilimoria & Wie (1993) belongs to optimal control and is not among them."""

import json
import math
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from rbgym import integrators, potentials
from rbgym.body import RigidBody
from rbgym.engine.batch import Batch, IntegrationError
from rbgym.integrators import Integrator
from rbgym.quaternion import Array, angle_between, multiply
from rbgym.validation.cases import IDENTITY, Case, Claim, below
from rbgym.validation.declarations import FIRST_ORDER, TOLERANCE

UNIT = {"attitude": "rad", "rates": "rad/s"}


class External(NamedTuple):
    """A motion with a known end. attitudes (n, 4): at n instants, equally spaced up to the case's
    horizon; rates (3,): at its end [rad/s, body]. own: largest error of these, with round-off.
    spread: distance between the tools that published it, or the bound used instead."""

    case: Case
    source: str
    own: dict[str, float]
    spread: dict[str, float]
    attitudes: Array | None
    rates: Array | None

    def division(self, dt: float) -> tuple[float, int, int]:
        """A step near dt [s] that divides the horizon; steps to its end; and per instant."""
        instants = 1 if self.attitudes is None else len(self.attitudes)
        every = max(1, round(self.case.horizon / instants / dt))
        return self.case.horizon / (instants * every), instants * every, every

    def errors(self, attitudes: Array, rates: Array) -> dict[str, float]:
        """Largest errors of "attitude" [rad] and "rates" [rad/s] of states at the instants."""
        found = {}
        if self.attitudes is not None:
            found["attitude"] = float(np.max(angle_between(attitudes, self.attitudes)))
        if self.rates is not None:
            found["rates"] = float(np.linalg.norm(rates[-1] - self.rates))
        return found


def _published(kind: str, given: dict[str, Any]) -> External:
    scale = math.pi / 180.0 if "rate_unit" in given else 1.0
    name, *fields = given.get("potential", ("NoPotential",))
    potential = potentials.checked(getattr(potentials, name)(*fields))
    start, omega = given.get("quaternion", IDENTITY), tuple(scale * w for w in given["rates"])
    body, dt, horizon = RigidBody(given["moments"]), given["dt"], given["horizon"]
    own, spread = ({k: scale * v for k, v in given[name].items()} for name in ("own", "spread"))
    attitudes = np.array(given["attitudes"]) if "attitudes" in given else None
    rates = scale * np.array(given["end_rates"]) if "end_rates" in given else None
    case = Case(kind, body, omega, dt, horizon, potential, start)
    return External(case, given["source"], own, spread, attitudes, rates)


_TABLE = json.loads(files(__package__).joinpath("external.json").read_text("utf-8"))
EXTERNAL = {kind: _published(kind, given) for kind, given in _TABLE.items()}


def external_claims(name: str | Integrator, kind: str) -> list[Claim]:
    """Claims that a scheme's error at the known end falls with its order when the step is halved,
    and that schemes of exact free motions and kicks lie within the spread of the tools."""
    record, truth = integrators.get(name), EXTERNAL[kind]
    held = truth.case.potential.moves() and not record.composition
    order = min(record.order, 2) if held else record.order
    dt = truth.case.dt * (FIRST_ORDER if order == 1 else 1.0)
    coarse, fine = _errors(record, truth, dt), _errors(record, truth, dt / 2)
    claims = []
    for what, own in truth.own.items():
        label, bound = f"{what} error [{UNIT[what]}]", own + coarse[what] / 2 ** (order - TOLERANCE)
        said = f"order {order}, dt = {dt / 2:g} s"
        claims.append(below(record.name, kind, label, said, fine[what], bound))
        if record.name in integrators.KICKED:
            said, spread = f"within the spread, dt = {dt:g} s", truth.spread[what]
            claims.append(below(record.name, kind, label, said, coarse[what], spread))
    return claims


def _errors(record: Integrator, truth: External, dt: float) -> dict[str, float]:
    h, steps, every = truth.division(dt)
    try:
        run = truth.case.run(record, h, steps, record_every=every)
    except IntegrationError:
        return dict.fromkeys(truth.own, math.nan)
    return truth.errors(run.quaternion[1:], run.angular_velocity[1:])


LAST_PLACE = 2.0**-53
PROMISED = 3e-15 / LAST_PLACE  # error of `free_rotation`, and as much again per radian turned
# Where the energy is nearly stationary, the projection turns a body by up to this if the energies
# of start and end differ by two last places: see `_projection` in rbgym/engine/steps.py.
PROJECTED = 1.0 / math.sqrt(1e-4)
TERMS, STEPS = 14, 200


def random_bodies(n: int = 1000, seed: int = 20) -> tuple[Array, Array]:
    """Moments and momenta (n, 3) of free bodies from rods to discs, a third nearly symmetric."""
    rng = np.random.default_rng(seed)
    sizes = 10.0 ** rng.uniform(-2.0, 0.0, (n, 3))
    sizes[: n // 3, 1] = sizes[: n // 3, 0] * (1.0 + 10.0 ** rng.uniform(-18.0, -1.0, n // 3))
    sizes = rng.permuted(sizes, axis=1)
    J, along = sizes.sum(axis=1, keepdims=True) - sizes, rng.standard_normal((n, 3))
    speed = 10.0 ** rng.uniform(-3.0, 1.0, (n, 1))
    return J, J * along * speed / np.linalg.norm(along, axis=1, keepdims=True)


def series(J: Array, momenta: Array) -> tuple[Array, Array]:
    """Attitude, from the identity, and body momentum (n, 7) after one second, and their rounding
    remainders (n, 7): power series of Euler's equations in compensated summation."""
    y = np.hstack([np.tile(IDENTITY, (len(J), 1)), momenta])
    rest, c, omega = np.zeros_like(y), np.zeros((TERMS + 1, *y.shape)), np.zeros((TERMS, len(J), 4))
    for _ in range(STEPS):
        c[0] = y
        for k in range(TERMS):
            omega[k, :, 1:] = c[k, :, 4:] / J
            turning = omega[k::-1]
            c[k + 1, :, :4] = multiply(c[: k + 1, :, :4], turning).sum(axis=0) / (2 * k + 2)
            c[k + 1, :, 4:] = np.cross(c[: k + 1, :, 4:], turning[..., 1:]).sum(axis=0) / (k + 1)
        change = rest + sum(c[k] / float(STEPS) ** k for k in range(TERMS, 0, -1))
        total = y + change
        back = total - y
        y, rest = total, (y - (total - back)) + (change - back)
    return y, rest


def last_places() -> list[Claim]:
    """Claims on the errors of `exact` over a thousand free bodies, in units of 2^-53."""
    J, momenta = random_bodies()
    y, rest = series(J, momenta)
    size, turned = (np.linalg.norm(v, axis=1) for v in (momenta, momenta / J))
    claims = []
    for projection in (True, False):
        batch = Batch([RigidBody(j) for j in J], "exact", size=len(J), projection=projection)
        batch.set_state(IDENTITY, angular_momentum=momenta)
        batch.advance(1.0)
        q, omega = (batch.measure()[name] for name in ("quaternion", "angular_velocity"))
        q = q * np.sign(np.sum(q * y[:, :4], axis=1, keepdims=True))
        lack = np.hstack([q, omega * J]) - y - rest
        angle, change = (np.linalg.norm(v, axis=1) for v in (lack[:, :4], lack[:, 4:]))
        for what, errors in (("attitude", 2.0 * angle), ("momentum", change / size)):
            for how, pick, more in (("median", np.median, 0.0), ("largest", np.max, PROJECTED)):
                label = f"{how} {what} error [2^-53]" + ("" if projection else ", unprojected")
                bound = PROMISED * float(1.0 + pick(turned)) + more * projection
                value = float(pick(errors)) / LAST_PLACE
                claims.append(below("exact", "random_free", label, "round-off", value, bound))
    return claims
