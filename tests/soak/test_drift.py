"""Up to a thousand million steps: what is conserved has no trend, and the attitude of `exact` is
late by no more than the last digit of the moments of inertia explains.

A hundred bodies with starts of their own for a million steps each, whose hundred slopes tell how
certain their mean is; and eight bodies for a thousand million steps each, or a hundred million.
"""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from rbgym import Batch, HeavyTop, RigidBody
from rbgym.quaternion import qconj, qmul, to_body
from test_elliptic import legendre

BODIES, STEPS, RECORDS = 100, 1_000_000, 100
LONG = {"exact:4": 10**9, "quat_em": 10**9, "exact": 10**8, "akw": 10**8, "scalable_em": 10**8}
FREE = RigidBody([6.0, 8.0, 3.0])
TOP = RigidBody([0.5, 0.7, 0.3])
SCHEMES = ["quat_em", "akw", "exact", "scalable_em"]
TOPS = [("quat_em", 1.0), ("akw", 1.0), ("scalable_em", 1.0), ("exact", 5.886), ("exact:4", 5.886),
        ("exact:6", 5.886)]  # fmt: skip
TREND = 1e-15  # relative, over the whole run: the promise of `rbgym validate` for energy
UNIT = 2.0**-53
# In units of the last place of the angle turned: that of a body whose moments of inertia, or whose
# level of the energy, are off by so much. Rounding the start's energy alone may take up four.
LATE = 8.0


def starts(count, speed):
    rng = np.random.default_rng(7)
    q = rng.normal(size=(count, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    return q, speed * rng.uniform(-1.0, 1.0, (count, 3))


def recorded(batch, h, steps):
    """Energy (n, bodies), momentum (n, bodies, 3) and quaternion length (n, bodies)."""
    energy, L, q = looked_at(batch, h, np.arange(1, RECORDS + 1) * (steps // RECORDS))
    return energy, L, np.linalg.norm(q, axis=-1)


def looked_at(batch, h, after):
    """Energy, momentum and attitude (n, bodies, ...) at the start and after so many steps each."""
    rows = [batch.measure()]
    for steps in np.diff(after, prepend=0):
        batch.advance(h, int(steps))
        rows.append(batch.measure())
    assert not batch.failed.any()
    return (np.array([row[name] for row in rows])
            for name in ("energy", "angular_momentum", "quaternion"))  # fmt: skip


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
    said = f"{what} drifts by {mean:.2e} +- {half:.2e}, allowed {bound:.1e}"
    assert abs(mean) + half < bound, said


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
@pytest.mark.parametrize(("name", "mgl"), TOPS)
def test_a_hundred_tops_keep_total_energy_and_vertical_momentum_for_a_million_steps(name, mgl, h):
    batch = Batch(TOP, name, HeavyTop(mgl), size=BODIES)
    batch.set_state(*starts(BODIES, 4.0))
    energy, L, length = recorded(batch, h, STEPS)
    errors = (energy - energy[0]) / (np.abs(energy[0]) + mgl)  # of which mgl is the weight's
    told(f"{name}, top, h = {h}, energy", errors, TREND)
    told(f"{name}, top, h = {h}, | |q| - 1 |", length - 1.0, TREND)
    if name.startswith("exact"):
        assert np.abs(errors).max() < 5e-15
        assert L[..., 2].tobytes() == np.broadcast_to(L[0, :, 2], L.shape[:2]).tobytes()
        return
    # Each step rounds it once: a random walk, whose deviation grows as the root of the steps.
    vertical = (L[..., 2] - L[0, :, 2]) / np.linalg.norm(L[0], axis=-1)
    told(f"{name}, top, h = {h}, vertical momentum", vertical, 4.0 * 2.0 * UNIT * STEPS**0.5)


@pytest.mark.parametrize("name", sorted(LONG))
def test_eight_bodies_keep_energy_and_momentum_for_up_to_a_thousand_million_steps_each(name):
    batch, steps = Batch(FREE, name, size=8), LONG[name]  # which take no longer than one
    batch.set_state(*starts(8, 1.0))
    energy, L, length = recorded(batch, 0.05, steps)
    told(f"{name}, {steps:,} steps, energy", energy / energy[0] - 1.0, TREND)
    told(f"{name}, {steps:,} steps, | |q| - 1 |", length - 1.0, TREND)
    assert L.tobytes() == np.broadcast_to(L[0], L.shape).tobytes()


def unit(q):
    """With all digits, and of unit length."""
    q = [mp.mpf(float(x)) for x in q]
    return tuple(x / mp.norm(mp.matrix(q)) for x in q)


def closed_form(q, L, t):
    """Attitude at time t of the free body with attitude q and world momentum L now, at once, by
    Legendre's integral and with 40 digits."""
    J, Pi = [mp.mpf(j) for j in FREE.moments.tolist()], to_body(q, tuple(map(mp.mpf, L.tolist())))
    return qmul(q, legendre(J, list(Pi), t))


def test_the_attitude_of_exact_is_late_by_its_last_digit_for_a_thousand_million_steps(capsys):
    # Mutations: energy not projected, and the error grows with the square of the steps.
    h, after = 0.05, 10 ** np.arange(5, 10)
    batch = Batch(FREE, "exact", size=8)
    batch.set_state(*starts(8, 1.0))
    turned = np.linalg.norm(batch.measure()["angular_velocity"], axis=1) * h
    energy, L, q = looked_at(batch, h, after)
    errors = np.empty((len(after), 8))
    with mp.workdps(40):
        for n, steps in enumerate(after.tolist()):
            for k in range(8):
                right = closed_form(unit(q[0, k]), L[0, k], mp.mpf(h) * steps)
                turn = qmul(qconj(right), unit(q[n + 1, k]))
                errors[n, k] = 2.0 * mp.norm(mp.matrix(turn[1:]))
    lack = np.abs(energy / energy[0] - 1.0).max()
    slope = np.polyfit(np.log10(after), np.log10(errors).mean(axis=1), 1)[0]
    late = errors / (after[:, None] * turned * UNIT)
    with capsys.disabled():
        for steps, error, ulp in zip(after, errors, late, strict=True):
            print(f"\nexact, {steps:>13,} steps: attitude off by {np.median(error):.1e} rad "
                  f"({error.max():.1e}), {np.median(ulp):.2f} ({ulp.max():.2f}) units in the last "
                  "place of the angle turned", end="")  # fmt: skip
        print(f"\nslope {slope:.2f}: one half is a random walk, one a rate that is off; energy off "
              f"by {lack:.1e} of it")  # fmt: skip
    assert slope < 1.1
    assert lack < 5e-15
    assert L.tobytes() == np.broadcast_to(L[0], L.shape).tobytes()
    assert late.max() < LATE
