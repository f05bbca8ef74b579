"""A hundred million steps of the default schemes: what is conserved has no trend.

Counted as bodies times steps: a hundred bodies with starts of their own for a million steps each,
whose hundred slopes tell how certain their mean is; and one body for a hundred million steps.
"""

import math

import numpy as np
import pytest
from scipy import stats

from rbgym import Batch, HeavyTop, RigidBody
from rbgym.testing.strategies import normalized_any

BODIES, STEPS, RECORDS = 100, 1_000_000, 100
LONG = 100_000_000
FREE = RigidBody([6.0, 8.0, 3.0])
TOP = RigidBody([0.5, 0.7, 0.3])
SCHEMES = ["quat_em", "akw", "exact", "scalable_em"]
TREND = 1e-15  # relative, over the whole run: the promise of `rbgym validate` for energy
UNIT = 2.0**-53


def starts(count, speed):
    rng = np.random.default_rng(7)
    q = np.array([normalized_any(v) for v in rng.normal(size=(count, 4))])
    return q, speed * rng.uniform(-1.0, 1.0, (count, 3))


def recorded(batch, h, steps):
    """Energy (n, bodies), momentum (n, bodies, 3) and quaternion length (n, bodies)."""
    rows = [batch.measure()]
    for _ in range(RECORDS):
        batch.advance(h, steps // RECORDS)
        rows.append(batch.measure())
    assert not batch.failed.any()
    energy, L, q = (np.array([row[name] for row in rows])
                    for name in ("energy", "angular_momentum", "quaternion"))  # fmt: skip
    return energy, L, np.linalg.norm(q, axis=-1)


def trend(errors):
    """Mean slope of the columns over the whole run, and half of its 95 % confidence interval."""
    x = np.linspace(-0.5, 0.5, len(errors))
    slopes = x @ errors / (x @ x)
    spread = slopes.std(ddof=1) / math.sqrt(len(slopes))
    return slopes.mean(), stats.t.ppf(0.975, len(slopes) - 1) * spread


def told(what, errors, bound):
    """The trend is within the bound with all of its interval; it is printed, for `pytest -s`."""
    mean, half = trend(errors)
    worst = np.abs(errors).max()
    print(f"{what}: trend {mean:+.1e} +- {half:.1e} over the run, largest error {worst:.1e}")
    assert abs(mean) + half < bound, (
        f"{what} drifts by {mean:.2e} +- {half:.2e}, allowed {bound:.1e}"
    )


@pytest.mark.parametrize("h", [0.01, 0.05])
@pytest.mark.parametrize("name", SCHEMES)
def test_a_hundred_free_bodies_keep_energy_momentum_and_length_for_a_million_steps(name, h):
    batch = Batch(FREE, name, size=BODIES)
    batch.set_state(*starts(BODIES, 1.0))
    energy, L, length = recorded(batch, h, STEPS)
    told(f"{name}, h = {h}, energy", energy / energy[0] - 1.0, TREND)
    told(f"{name}, h = {h}, | |q| - 1 |", length - 1.0, TREND)
    assert L.tobytes() == np.broadcast_to(L[0], L.shape).tobytes()


@pytest.mark.parametrize("h", [0.01, 0.05])
@pytest.mark.parametrize("name", ["quat_em", "akw", "scalable_em"])
def test_a_hundred_tops_keep_total_energy_and_vertical_momentum_for_a_million_steps(name, h):
    batch = Batch(TOP, name, HeavyTop(1.0), size=BODIES)
    batch.set_state(*starts(BODIES, 4.0))
    energy, L, length = recorded(batch, h, STEPS)
    size = np.abs(energy[0]) + 1.0  # of which 1 J is the weight's
    told(f"{name}, top, h = {h}, energy", (energy - energy[0]) / size, TREND)
    told(f"{name}, top, h = {h}, | |q| - 1 |", length - 1.0, TREND)
    # Each step rounds it once: a random walk, whose deviation grows as the root of the steps.
    vertical = (L[..., 2] - L[0, :, 2]) / np.linalg.norm(L[0], axis=-1)
    told(f"{name}, top, h = {h}, vertical momentum", vertical, 4.0 * 2.0 * UNIT * STEPS**0.5)


@pytest.mark.parametrize("name", SCHEMES)
def test_eight_bodies_keep_energy_and_momentum_for_a_hundred_million_steps_each(name):
    batch = Batch(FREE, name, size=8)  # which take no longer than one
    batch.set_state(*starts(8, 1.0))
    energy, L, length = recorded(batch, 0.05, LONG)
    told(f"{name}, {LONG:,} steps, energy", energy / energy[0] - 1.0, TREND)
    told(f"{name}, {LONG:,} steps, | |q| - 1 |", length - 1.0, TREND)
    assert L.tobytes() == np.broadcast_to(L[0], L.shape).tobytes()
