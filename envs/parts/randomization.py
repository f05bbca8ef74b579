"""What differs from episode to episode besides the start."""

from collections.abc import Mapping

from rbgym.body import RigidBody
from rbgym.compiled.jit import inlined
from rbgym.engine.rows import J_INV, J, put_vector
from rbgym.envs.actuators.mounting import RANGES, Differing
from rbgym.envs.arguments import in_range, keys, triple
from rbgym.envs.parts import Part
from rbgym.quaternion import Array, Vector, scale

_OF_BODY = ("inertia", "mass", "gravity", "torque")


class Randomization(Part):
    """What differs from episode to episode; as it stands, nothing."""

    def vary(self, rows, buffer, i, a, b):
        """Give the lane its body and torque for the episode, from eight uniform numbers; returns
        the factor of its mass."""
        return 1.0


class Nominal(Randomization):
    """Every episode has the same body and the same torque."""


class Spread(Randomization):
    """Factors drawn uniformly from 1 +- a part of one, anew for each episode.

    inertia: of each principal second moment of the mass, so that every inertia drawn is that of a
    body; mass: of all of them and of the weight; gravity: of the weight; torque: of the torque
    limit. The rest is what they multiply: principal moments [kg m^2], weight moment and limits of
    the torque [N m].
    """

    inertia: float
    mass: float
    gravity: float
    torque: float
    moments: Vector
    mgl: float
    limits: Vector

    def vary(self, rows, buffer, i, a, b):
        mass, (x, y, z) = _factor(self.mass, a[3]), self.moments
        half = 0.5 * (x + y + z)
        # Second moments, at least zero; the moments of inertia are their sums in pairs.
        p_x = _factor(self.inertia, a[0]) * max(half - x, 0.0)
        p_y = _factor(self.inertia, a[1]) * max(half - y, 0.0)
        p_z = _factor(self.inertia, a[2]) * max(half - z, 0.0)
        moments = (mass * (p_y + p_z), mass * (p_z + p_x), mass * (p_x + p_y))
        put_vector(buffer, i, J, moments)
        put_vector(buffer, i, J_INV, (1.0 / moments[0], 1.0 / moments[1], 1.0 / moments[2]))
        physics = rows.physics
        if physics.actuator.has_limits():
            limits = scale(_factor(self.torque, b[0]), self.limits)
            put_vector(buffer, i, physics.actuator.own_row(physics), limits)
        mgl = mass * _factor(self.gravity, b[1]) * self.mgl
        physics.potential.weigh(physics, buffer, i, mgl)
        return mass


@inlined
def _factor(part, u):
    return 1.0 + part * (2.0 * u - 1.0)


def chosen(
    value: Mapping[str, float] | None, body: RigidBody, mgl: float, limits: Array
) -> tuple[Randomization, Differing | None]:
    """What the argument stands for: how bodies differ, and how actuators do."""
    most = {**dict.fromkeys(_OF_BODY, 0.9), **RANGES}
    given = keys("randomization", {} if value is None else value, most)
    found = {n: in_range(f"randomization[{n!r}]", given.get(n, 0.0), 0.0, most[n]) for n in most}
    differing = Differing(*(found[name] for name in RANGES))
    spread: Randomization = Nominal()
    if given.keys() & {*_OF_BODY}:
        factors = (found[name] for name in _OF_BODY)
        spread = Spread(*factors, triple("moments", body.moments), mgl, triple("limits", limits))
    return spread, differing if any(differing) else None
