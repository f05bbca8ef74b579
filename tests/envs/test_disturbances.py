"""What pushes a satellite on an orbit: against the textbook's formulas, in the world's axes."""

import math

import numpy as np
import pytest

from family import SLEW, at
from family import quick_make as make
from family import quick_many as many
from orbits import OVAL, ROUND, newton, sun
from rbgym.envs.orbit import EARTH_RADIUS, EARTH_RATE
from rbgym.envs.parts.disturbances import density
from rbgym.quaternion import to_matrix
from refusals import refused
from slopes import largest_error

pytestmark = pytest.mark.interpreted

PLATES = [
    {"area": 0.03, "normal": (1, 0, 0), "centre": (0.1, 0.02, 0)},
    {"area": 0.05, "normal": (0, 0.6, 0.8), "centre": (0.01, 0.1, -0.03)},
]
BALL = {"area": 0.06, "centre": (0.02, 0, 0.05)}
DIPOLE = (0.01, -0.02, 0.03)


def pushed(env, q, **phases):
    """The torque [N m] that is put beside the command, body axes."""
    at(env, q, (0, 0, 0), **phases)
    batch = env.episodes.batch
    return batch.rows(batch.physics.actuator.disturbance_row(batch.physics), 3)[0]


def states(seed, n=40):
    rng = np.random.default_rng(seed)
    for q in rng.normal(size=(n, 4)):
        names = ("orbit_phase", "earth_phase", "season", "node")
        phases = dict(zip(names, rng.uniform(-0.5, 0.5, 4), strict=True))
        yield q / np.linalg.norm(q), phases


@pytest.mark.parametrize("surfaces", [PLATES, BALL])
@pytest.mark.parametrize("elements", [ROUND, OVAL])
def test_drag_is_that_of_the_textbook(elements, surfaces):
    elements = elements | {"altitude": 410e3}  # not where the table's formula changes
    env = make(SLEW, orbit=elements, disturbance={"drag": {"surfaces": surfaces}})
    for q, phases in states(1):
        place = {name: phases[name] for name in ("orbit_phase", "earth_phase")}
        r, v = newton(env.episodes.setup.orbit, phases["orbit_phase"])
        v = v - np.cross([0, 0, EARTH_RATE], r)
        R, torque = to_matrix(q), np.zeros(3)
        for one in np.atleast_1d(surfaces):
            n, c = one.get("normal"), R @ one["centre"]
            facing = np.linalg.norm(v) if n is None else max(v @ R @ n, 0)
            rho = density(np.linalg.norm(r) - EARTH_RADIUS)
            torque += np.cross(c, -0.5 * rho * 2.2 * one["area"] * facing * v)
        found = pushed(env, q, **place)
        np.testing.assert_allclose(found, R.T @ torque, rtol=1e-11, atol=1e-22)
        assert np.abs(found).max() <= env.episodes.setup.parts.disturbance.most


@pytest.mark.parametrize("surfaces", [PLATES, BALL])
def test_the_pressure_of_light_is_that_of_the_textbook_and_none_in_the_shadow(surfaces):
    light = {"specular": 0.5, "diffuse": 0.2, "surfaces": surfaces}
    env, dark = make(SLEW, orbit=OVAL, disturbance={"solar_pressure": light}), []
    for q, phases in states(2):
        s = sun(math.tau * phases["season"], math.tau * phases["node"])
        r, _ = newton(env.episodes.setup.orbit, phases["orbit_phase"])
        dark.append(r @ s < 0 and np.linalg.norm(np.cross(r, s)) < EARTH_RADIUS)
        R, torque = to_matrix(q), np.zeros(3)
        for one in np.atleast_1d(surfaces):
            P, c = 1361 / 299792458 * one["area"], R @ one["centre"]
            if "normal" in one:
                n = R @ one["normal"]
                cos = max(n @ s, 0)
                force = -P * cos * (0.5 * s + 2 * (0.5 * cos + 0.2 / 3) * n)
            else:
                force = -P * (1 + 4 / 9 * 0.2) * s
            torque += np.cross(c, force)
        found = pushed(env, q, **phases)
        expected = 0 * torque if dark[-1] else R.T @ torque
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-22)
        assert np.abs(found).max() <= env.episodes.setup.parts.disturbance.most
    assert 0 < np.mean(dark) < 0.5


@pytest.mark.parametrize("model", ["dipole", "igrf"])
def test_a_residual_dipole_turns_in_the_field_and_adds_to_a_steady_torque(model):
    steady = (1e-7, 0, -2e-7)
    given = {"residual_dipole": DIPOLE, "constant": steady}
    env = make(SLEW, orbit={**ROUND, "model": model}, disturbance=given)
    for q, phases in states(3, 10):
        place = {name: phases[name] for name in ("orbit_phase", "earth_phase")}
        B = to_matrix(q).T @ env.episodes.setup.orbit.record().field_at(*place.values())
        found = pushed(env, q, **place)
        np.testing.assert_allclose(found, steady + np.cross(DIPOLE, B), rtol=1e-12, atol=1e-20)


@pytest.mark.compiled
def test_what_is_around_turns_a_body_as_its_torque_says_and_has_derivatives():
    given = {
        "residual_dipole": (10, -20, 30),
        "drag": {"surfaces": [one | {"area": 500} for one in PLATES]},
        "solar_pressure": {"diffuse": 0.4, "surfaces": [one | {"area": 500} for one in PLATES]},
    }
    orbit = {"altitude": 300e3, "inclination": 0.9, "model": "igrf"}
    env = make(SLEW, orbit=orbit, disturbance=given)
    q, phases = next(states(4))
    torque = pushed(env, q, **phases)
    env.step(np.zeros(3))
    turned = env.body.inertia @ env.state["angular_velocity"]
    np.testing.assert_allclose(turned, env.dt * torque, rtol=1e-3)
    cells = {"gyro": {"scale_factor": 0.01}, "magnetometer": {}, "coarse_sun": {"noise": 0.1}}
    several = many(SLEW, 4, orbit=orbit, disturbance=given, sensor=cells)
    several.reset(seed=1)
    assert largest_error(several, np.zeros((4, 3)), 1e-4) < 1e-8


def test_the_density_is_that_of_the_table():
    for km, rho in ((0, 1.225), (400, 3.725e-12), (425, 3.725e-12 * math.exp(-25 / 58.515)),
                    (1500, 3.019e-15 * math.exp(-500 / 268))):  # fmt: skip
        assert density(1e3 * km) == pytest.approx(rho, rel=1e-12)


@refused(
    ({"residual_dipole": DIPOLE}, None, "orbit must be given with disturbance by the surroundings"),
    ({"residual_dipole": 1}, ROUND, r"residual_dipole'\] must be finite real numbers of shape"),
    ({"drag": {}}, ROUND, r"disturbance\['drag'\]\['surfaces'\] must be a dict of a surface, or"),
    ({"drag": {"surfaces": {"centre": (0, 0, 1)}}}, ROUND, r"\[0\]\['area'\] must be in \[0"),
    ({"drag": {"surfaces": [*PLATES, BALL]}}, ROUND, "must have a normal in all surfaces or in no"),
    ({"drag": {"surfaces": BALL, "coefficient": -1}}, ROUND, r"\['coefficient'\] must be in \[0"),
    ({"solar_pressure": {"specular": 0.7, "diffuse": 0.4, "surfaces": BALL}}, ROUND,
     r"\['diffuse'\] must be in \[0, 0.3\]"),
    ({"drags": {}}, ROUND, "got 'drags'; did you mean 'drag'"),
    ({"residual_dipole": DIPOLE}, {**ROUND, "model": "wmm"}, "Orbit.model must be"),
    ({"residual_dipole": DIPOLE}, {**ROUND, "model": "igrf", "year": 2031}, "Orbit.year must be"),
    ({"residual_dipole": DIPOLE}, {**ROUND, "model": "igrf", "tilt": 0}, "tilt must be left"),
    ({"residual_dipole": DIPOLE}, {**ROUND, "year": 2026.0}, "year must be left out with a dipole"),
)  # fmt: skip
def test_what_is_around_and_cannot_be_is_refused(disturbance, orbit):
    make(SLEW, disturbance=disturbance, orbit=orbit)


@pytest.mark.parametrize("elements", [ROUND, OVAL])
def test_what_is_around_is_where_the_elements_say_and_what_instruments_see(elements):
    instruments = {"coarse_sun": {}, "magnetometer": {}, "ephemeris": {}}
    env = make(SLEW, orbit=elements | {"altitude": 410e3}, sensor=instruments)
    for q, phases in states(7, 8):
        at(env, q, (0, 0, 0), **phases)
        around, field = env.surroundings, env.columns["magnetic_field"]
        r, v = newton(env.episodes.setup.orbit, phases["orbit_phase"])
        np.testing.assert_allclose(around["position"], r, rtol=1e-9)
        wind = v - np.cross([0, 0, EARTH_RATE], r)
        np.testing.assert_allclose(around["air_velocity"], wind, rtol=1e-9, atol=1e-6)
        air = density(np.linalg.norm(r) - EARTH_RADIUS)
        assert around["air_density"] == pytest.approx(air, rel=1e-9)
        toward = sun(math.tau * phases["season"], math.tau * phases["node"])
        np.testing.assert_allclose(around["sun_direction"], toward, rtol=0, atol=1e-9)
        along = r @ toward
        assert around["is_lit"] == (along > 0 or r @ r - along**2 > EARTH_RADIUS**2)
        seen, _ = at(env, q, (0, 0, 0), **phases)
        B = to_matrix(q) @ (seen[field.place] * field.factor)
        np.testing.assert_allclose(B, around["magnetic_field"], rtol=0, atol=1e-10)
    plain = make(SLEW)
    plain.reset(seed=0)
    with pytest.raises(ValueError, match="env must have an orbit for its surroundings"):
        _ = plain.surroundings
