"""Bodies beyond the plain rigid one: coils in a field, flight, scale, a wall."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from family import at, discrete_work, half_way
from family import quick_make as make
from family import quick_many as many
from rbgym import simulate_scalable
from rbgym.quaternion import angle_between, multiply, rotate, rotate_inverse

pytestmark = pytest.mark.interpreted

COILS, SPIN, FLYER, WALL = "MagneticDetumble-v1", "ScalableSpin-v0", "FreeFlyer-v0", "SoftWall-v0"
TILTED, SPUN = (0.8, 0.36, -0.48, 0.0), (0.2, -0.1, 3.0)


def field(orbit, earth, coils):
    """B in the world [T]: a dipole at the Earth's centre, by its textbook formula."""
    tilt = coils.around.inclination
    place = np.array([np.cos(orbit), np.cos(tilt) * np.sin(orbit), np.sin(tilt) * np.sin(orbit)])
    tilt = np.radians(9.6)
    moment = [np.sin(tilt) * np.cos(earth), np.sin(tilt) * np.sin(earth), -np.cos(tilt)]
    return coils.field * (3.0 * (place @ moment) * place - moment)


def test_the_field_is_that_of_a_dipole_and_the_torque_of_coils_is_across_it_and_the_books_close():
    env = make(COILS, integrator="quat_em", substeps=1)
    env.reset(seed=3)
    rng = np.random.default_rng(1)
    rates = {"orbit_phase": env.actuator.around.rate, "earth_phase": 7.2921159e-5}
    for _ in range(200):
        before, energy = env.state, env.invariants()["energy"]
        action = rng.uniform(-1, 1, 3)
        observation, *_, info = env.step(action)
        after, torque = env.state, info["applied_torque"]
        phases = np.array([[2 * np.pi * state[k] for k in rates] for state in (before, after)])
        way = env.dt * np.array([*rates.values()])
        assert np.exp(1j * (phases[1] - phases[0] - way)) == pytest.approx(np.ones(2), abs=1e-14)
        seen = rotate_inverse(after["quaternion"], field(*phases[1], env.actuator))
        seen /= 2.0 * env.actuator.field
        np.testing.assert_allclose(observation[7:], seen, rtol=0, atol=2e-7)
        B = field(*(phases[0] + 0.5 * way), env.actuator)
        # The attitude half-way is foretold to the order of the scheme.
        wanted = np.cross(action, rotate_inverse(half_way(before, after), B))
        np.testing.assert_allclose(torque, wanted, rtol=0, atol=2e-3 * np.linalg.norm(B))
        assert abs(torque @ action) < 1e-18
        change = after["angular_momentum"] - before["angular_momentum"]
        impulse = env.dt * rotate(half_way(before, after), torque)
        np.testing.assert_allclose(change, impulse, rtol=0, atol=1e-17)
        gained = env.invariants()["energy"] - energy
        assert abs(gained - discrete_work(before, after, torque)) < 1e-18
    slow = make(COILS, dt=20.0, substeps=1)  # from rest the body hardly turns, but the field moves
    at(slow, (1, 0, 0, 0), orbit_phase=0.0, earth_phase=0.0)
    B = field(*(10.0 * np.array([*rates.values()])), slow.actuator)
    assert slow.step([0, 0, 1.0])[4]["applied_torque"] == pytest.approx(np.cross([0, 0, 1], B))


@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_force_and_torque_of_a_flyer_close_their_books(spread):
    how = {"integrator": "quat_em", "substeps": 1}  # whose discrete impulse is known
    env = make(FLYER, **how, termination="none", randomization={"mass": spread})
    env.reset(seed=3)
    rng = np.random.default_rng(1)
    v = env.state["velocity"]
    env.step([1.0, 0, 0, 0, 0, 0])
    mass = 0.4 * env.dt / np.linalg.norm(env.state["velocity"] - v)
    assert (abs(mass - env.body.mass) < 1e-9) == (spread == 0)
    for _ in range(200):
        before, energy = env.state, env.invariants()["energy"]
        action = rng.uniform(-1, 1, 6)
        info = env.step(action)[4]
        after, R = env.state, half_way(before, env.state)
        force, torque = rotate(R, 0.4 * action[:3]), 0.03 * action[3:]
        gained = mass * (after["velocity"] - before["velocity"])
        np.testing.assert_allclose(gained, env.dt * force, rtol=0, atol=1e-15)
        turned = after["angular_momentum"] - before["angular_momentum"]
        np.testing.assert_allclose(turned, env.dt * rotate(R, torque), rtol=0, atol=1e-16)
        moved = after["position"] - before["position"]
        work = force @ moved + discrete_work(before, after, torque)
        assert abs(env.invariants()["energy"] - energy - work) < 1e-13
        np.testing.assert_allclose(info["applied_force"], 0.4 * action[:3], rtol=0, atol=1e-16)


@pytest.mark.parametrize("integrator", ["quat_em", "rkn4", "exact"])
def test_a_flight_converges_to_the_reference(integrator):
    push = np.array([0.9, -0.5, 0.7, 0.4, 0.8, -0.6])
    errors = []
    for substeps in (4, 8):
        env = make(FLYER, dt=8.0, substeps=substeps, integrator=integrator, termination="none")
        at(env, TILTED, (0.2, -0.3, 0.1), position=(1.0, 0.5, -0.2), velocity=(0.01, 0.02, -0.03))
        J, start = env.body.inertia, env.state

        def rate(t, y, J=J):
            q, omega = y[3:7] / np.linalg.norm(y[3:7]), y[7:10]
            turning = np.linalg.solve(J, 0.03 * push[3:] - np.cross(omega, J @ omega))
            spin = 0.5 * multiply(q, np.array([0.0, *omega]))
            return [*y[10:], *spin, *turning, *(rotate(q, 0.4 * push[:3]) / 10.0)]

        names = ("position", "quaternion", "angular_velocity", "velocity")
        y = np.concatenate([start[name] for name in names])
        end = solve_ivp(rate, (0, 8.0), y, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
        env.step(push)
        errors.append(np.linalg.norm(env.state["position"] - end[:3]))
        errors[-1] += np.linalg.norm(env.state["velocity"] - end[10:])
    assert np.log2(errors[0] / errors[1]) > 1.7
    assert errors[1] < 0.05


def test_a_dock_forbids_the_station_haste_and_going_astray():
    env = make(FLYER)
    cases = {
        "station": ({"position": (-0.3, 0.0, 0.0)}, True),
        "free": ({"position": (0.5, 0.0, 0.0)}, False),
        "hasty": ({"position": (0.25, 0, 0), "velocity": (-0.2, 0, 0)}, True),
        "calm": ({"position": (0.25, 0, 0), "velocity": (-0.1, 0, 0)}, False),
        "astray": ({"position": (0.0, 4.1, 0.0)}, True),
        "fast": ({"position": (2.0, 0, 0), "velocity": (0, 1.1, 0)}, True),
    }
    for name, (state, over) in cases.items():
        at(env, (1, 0, 0, 0), **state)
        assert env.step(np.zeros(6))[2] is over, name
    at(env, (1, 0, 0, 0), position=(0.5, 0.0, 0.0))  # 0.3 m halve the reward
    assert env.step(np.zeros(6))[1] == pytest.approx(1 / (1 + (0.5 / 0.3) ** 2), rel=1e-6)
    brief = make(FLYER, success={"seconds": 0.2})
    for speed in (0.02, 0.04):  # below 0.03 m/s it is docked
        at(brief, (1, 0, 0, 0), position=(0, 0, 0), velocity=(0, speed, 0))
        assert brief.step(np.zeros(6))[4]["is_success"] == (speed < 0.03)
    # The station turns with the target.
    turned = (np.sqrt(0.5), 0, 0, np.sqrt(0.5))
    at(env, turned, target_quaternion=turned, position=(0.0, -0.3, 0.0))
    assert env.step(np.zeros(6))[2] is True


def test_a_body_that_scales_keeps_its_momentum_and_gains_the_work_of_the_force():
    env = make(SPIN, substeps=1, dt=0.0125, termination="none")
    env.reset(seed=3)
    start, energy, work = env.state["angular_momentum"], env.invariants()["energy"], 0.0
    rng = np.random.default_rng(1)
    for _ in range(200):
        before, action = env.state, 0.3 * rng.uniform(-1, 1, 1) - 0.1
        info = env.step(action)[4]
        work += 400.0 * action[0] * (env.state["scale"] - before["scale"])
        assert abs(env.invariants()["energy"] - energy - work) < 1e-13 * energy
        np.testing.assert_array_equal(env.state["angular_momentum"], start)
    assert abs(info["scale"] - 1.0) > 0.1


@pytest.mark.parametrize(
    ("dt", "substeps", "steps", "spin", "scale_rate"),
    [(0.01, 1, 50, SPUN, -0.2), (0.1, 8, 5, SPUN, 0.3), (0.15, 1, 5, (2.0, -1.0, 9.0), -0.5)],
)
def test_the_environment_steps_the_body_of_simulate_scalable(dt, substeps, steps, spin, scale_rate):
    """The last case takes more corrections than those that all lanes make together."""
    env = make(SPIN, substeps=substeps, dt=dt, termination="none")
    at(env, TILTED, spin, scale=0.9, scale_rate=scale_rate)
    forces = np.random.default_rng(2).uniform(-1, 1, steps)
    path = simulate_scalable(
        env.body, dt=dt / substeps, steps=steps * substeps, quaternion=TILTED, scale=0.9,
        scale_rate=scale_rate, angular_velocity=spin, record_every=substeps,
        scaling_force=400.0 * np.repeat(forces, substeps),
    )  # fmt: skip
    for n, force in enumerate(forces, 1):
        env.step([force])
        state = env.state
        assert abs(state["scale"] - path.scale[n]) < 1e-13
        assert abs(state["scale_rate"] - path.scale_rate[n]) < 1e-11
        assert np.abs(state["angular_velocity"] - path.angular_velocity[n]).max() < 1e-11
        assert angle_between(state["quaternion"], path.quaternion[n]) < 1e-11


def test_a_body_out_of_size_ends_the_episode_and_the_next_one_has_its_size_again():
    env = many(SPIN, n=8)
    env.reset(seed=0)
    for _ in range(60):
        _, _, over, _, info = env.step(np.ones((8, 1)))
        if over.any():
            break
    assert (info["scale"][over] > 2.0).all()
    info = env.step(np.zeros((8, 1)))[4]
    np.testing.assert_array_equal(info["scale"][over], 1.0)
    np.testing.assert_array_equal(info["scale_rate"][over], 0.0)
    moments = np.linalg.eigvalsh(env.body.inertia)
    q, omega, L = (env.state[k] for k in ("quaternion", "angular_velocity", "angular_momentum"))
    assert rotate(q, omega * moments[[1, 2, 0]])[over] == pytest.approx(L[over], abs=1e-13)


def test_a_start_that_is_given_does_not_depend_on_the_episode_before():
    env = make(SPIN)
    state = {"quaternion": TILTED, "angular_velocity": (0.2, -0.1, 3.0)}
    for seed in range(20):
        env.reset(seed=seed)
        env.step([0.5])
        first = env.reset(options={"state": state})[0], env.state
        again = env.reset(options={"state": state})[0], env.state
        np.testing.assert_array_equal(first[0], again[0])
        np.testing.assert_array_equal(first[1]["angular_momentum"], again[1]["angular_momentum"])
        assert env.state["target_spin"] == 3.0


def test_every_spin_that_is_wanted_can_be_had_at_a_size_that_is_allowed():
    env = many(SPIN, n=512)
    env.reset(seed=0)
    state = env.state
    scale = np.sqrt(state["angular_velocity"][:, 2] / state["target_spin"])
    assert np.mean(state["target_spin"] > 0.0) == pytest.approx(0.5, abs=0.1)
    assert 0.6 <= scale.min() < 0.62
    assert 1.57 < scale.max() <= 1.6
    # Twice the force that holds the body at half its size.
    omega = state["angular_velocity"]
    holding = 8.0 * np.einsum("ni,ij,nj->n", omega, env.body.inertia, omega)
    assert 2.0 * holding.max() < 400.0


@pytest.mark.compiled
def test_contacts_with_the_wall_are_counted():
    env = many(WALL, n=32, dt=0.02, max_episode_steps=-1)
    env.reset(seed=0)
    below, count = np.zeros(32, bool), np.zeros(32)
    for _ in range(700):
        info = env.step(np.zeros((32, 3)))[4]
        z = rotate(env.state["quaternion"], np.array([0.0, 0.0, 1.0]))[:, 2]
        now = z < 0.01 ** (1 / 9) - 1.1
        count += now & ~below
        below = now
        np.testing.assert_array_equal(info["contacts"], count)
    assert count.max() >= 2
    assert z.min() > -0.75
    np.testing.assert_array_equal(env.reset(seed=1)[1]["contacts"], np.zeros(32))


def test_the_goal_above_the_wall_can_be_held_and_is_no_rest_of_its_own():
    env = make(WALL)
    angle = np.radians(100.0)
    at(env, (np.cos(angle / 2), np.sin(angle / 2), 0, 0))
    pull = env.potential.slope(np.cos(angle)) * np.sin(angle)
    assert pull == pytest.approx(1.1248, abs=1e-3)
    assert pull < env.torque_limit[0]
    info = env.step(np.zeros(3))[4]
    assert info["rate_error"] > 0.01
