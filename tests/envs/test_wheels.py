"""Reaction wheels: the books of the gyrostat, the reference solution, friction, limits."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

from family import at, motor_work
from family import quick_make as make
from family import quick_many as many
from rbgym import rows as layout
from rbgym.envs.actuators import ReactionWheels
from rbgym.quaternion import conjugate, multiply, rotate, rotate_inverse
from refusals import refused

pytestmark = pytest.mark.interpreted

WHEELS = "ReactionWheelSlew-v1"
TILTED = (0.8, 0.36, -0.48, 0.0)
TUMBLING = (0.3, -0.2, 0.4)
BIASED = (0.012, -0.02, 0.007, 0.015)


@pytest.mark.parametrize("integrator", ["quat_em", "akw", "convected"])
@pytest.mark.parametrize("actuator", ["pyramid", "wheels"])
def test_momentum_stays_to_the_bit_and_energy_changes_by_the_work_of_the_motors(
    actuator, integrator
):
    env = many(WHEELS, 8, substeps=1, actuator=actuator, integrator=integrator)
    env.reset(seed=0)
    rng, booked, reached = np.random.default_rng(0), 0.0, False
    start, energy = env.state["angular_momentum"], env.invariants()["energy"]
    push = np.sign(rng.standard_normal(env.action_space.shape))
    for step in range(150):
        before = env.state
        # Long enough for wheels to reach their limits, and then to and fro.
        env.step(push if step < 80 else rng.uniform(-1.0, 1.0, push.shape))
        after = env.state
        reached |= (np.abs(after["wheel_momentum"]) == env.actuator.momentum).any()
        booked = booked + motor_work(env.actuator, before, after)
        np.testing.assert_array_equal(after["angular_momentum"], start)
    lost = env.invariants()["energy"] - energy - booked
    assert np.abs(lost).max() < 1e-13 * env.invariants()["energy"].max()
    assert reached
    # From attitude, rates and wheels alone.
    body, wheels = after["angular_velocity"] @ env.body.inertia, after["wheel_momentum"]
    total = rotate(after["quaternion"], body + wheels @ env.actuator.matrix.T)
    np.testing.assert_allclose(total, start, rtol=0, atol=1e-16)


@pytest.mark.parametrize("actuator", ["pyramid", "wheels"])
def test_the_level_of_the_energy_moves_by_the_work_of_the_motors(actuator):
    # A level that is off by 1e-15 J is where the steps bring the energy of the body; one that is
    # off by much more, as by a wrong work, is given up.
    energies = []
    for more in (0.0, 1e-15):
        env = many(WHEELS, substeps=1, actuator=actuator)
        at(env, TILTED, TUMBLING)
        batch = env._episodes.batch
        batch.put_row(layout.E, batch.rows(layout.E, 1)[:, 0] + more)
        for _ in range(3):
            env.step(np.full(env.action_space.shape, 0.7))
        omega = env.state["angular_velocity"]
        energies.append(0.5 * np.sum(omega * (omega @ env.body.inertia), axis=1))
    np.testing.assert_allclose(energies[1] - energies[0], 1e-15, rtol=0, atol=1e-16)


@pytest.mark.compiled
def test_an_orbit_of_ten_thousand_steps_shows_no_trend():
    env = make(WHEELS, substeps=1, max_episode_steps=-1)
    env.reset(seed=1)
    start, energy, booked = env.state["angular_momentum"], env.invariants()["energy"], 0.0
    phases = np.arange(4)
    for step in range(10_000):
        before = env.state
        env.step(0.5 * np.sin(0.05 * step + phases))
        booked += motor_work(env.actuator, before, env.state)
    np.testing.assert_array_equal(env.state["angular_momentum"], start)
    # The sum of so many works is itself known to so much.
    assert abs(env.invariants()["energy"] - energy - booked) < 2e-12


def test_the_step_is_the_published_system_of_a_gyrostat():
    """e = (h/8) J^-1 (Pi_0 + Pi_1 - h_0 - h_1), solved by a library from the world momentum."""
    env = make(WHEELS, substeps=1, actuator=ReactionWheels(viscous=0.0, coulomb=0.0))
    at(env, TILTED, TUMBLING, wheel_momentum=BIASED[:3])
    before, h, J = env.state, env.dt, env.body.inertia
    action = np.array([0.7, -0.4, 0.9])
    env.step(action)
    after = env.state
    q_0, L = before["quaternion"], before["angular_momentum"]
    h_0 = before["wheel_momentum"]
    h_1 = h_0 - h * action * env.actuator.torque

    def equation(e):
        square = e @ e
        q_1 = multiply(q_0, np.array([1 - square, *(2 * e)]) / (1 + square))
        ends = rotate_inverse(q_0, L) + rotate_inverse(q_1, L) - h_0 - h_1
        return 8.0 / h * J @ e - ends

    e = fsolve(equation, 0.25 * h * np.array(TUMBLING), xtol=1e-15)
    square = e @ e
    wanted = multiply(q_0, np.array([1 - square, *(2 * e)]) / (1 + square))
    np.testing.assert_allclose(after["quaternion"], wanted, rtol=0, atol=1e-15)
    np.testing.assert_allclose(after["wheel_momentum"], h_1, rtol=0, atol=1e-18)


def reference(env, torques, seconds):
    """Attitude and rates of the gyrostat by DOP853; torques on the wheels, constant."""
    J, A, start = env.body.inertia, env.actuator.matrix, env.state

    def rate(t, y):
        q, omega, h = y[:4], y[4:7], y[7:]
        pull = -np.cross(omega, J @ omega + A @ h) - A @ torques
        return [*0.5 * multiply(q, np.array([0, *omega])), *np.linalg.solve(J, pull), *torques]

    y = np.concatenate([start[k] for k in ("quaternion", "angular_velocity", "wheel_momentum")])
    y = solve_ivp(rate, (0, seconds), y, method="DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
    return y[:4] / np.linalg.norm(y[:4]), y[4:7]


SCHEMES = {
    "quat_em": 2, "akw": 2, "imid": 2, "swc1": 2, "rrr": 2, "bbtrapwd": 2, "rkn4": 2,
    "mkrk_gauss4": 2, "backward_euler": 1, "quat_em:4": 4,
}  # fmt: skip


@pytest.mark.parametrize("integrator", SCHEMES)
def test_every_scheme_with_rotors_converges_to_the_motion_of_the_gyrostat(integrator):
    errors, action = [], np.array([0.9, -0.5, 0.7, 0.2])
    smooth = ReactionWheels.pyramid(viscous=0.0, coulomb=0.0)
    for substeps in (4, 8):
        env = make(WHEELS, dt=2.0, substeps=substeps, integrator=integrator, actuator=smooth)
        at(env, TILTED, TUMBLING, wheel_momentum=BIASED)
        q, omega = reference(env, -action * smooth.torque, 2.0)
        env.step(action)
        turn = multiply(conjugate(q), env.state["quaternion"])[1:]
        error = np.linalg.norm(turn) + np.linalg.norm(env.state["angular_velocity"] - omega)
        errors.append(error)
    assert np.log2(errors[0] / errors[1]) > SCHEMES[integrator] - 0.3
    assert errors[1] < 0.05


def test_a_wheel_at_its_limit_gives_no_more_and_reports_what_it_gave():
    env = make(WHEELS, substeps=1, actuator=ReactionWheels(viscous=0.0, coulomb=0.0))
    at(env, TILTED, wheel_momentum=(-0.0299, 0.0, 0.0))
    _, _, _, _, info = env.step([1.0, 0.0, 0.0])
    np.testing.assert_allclose(info["applied_torque"], [1e-4 / env.dt, 0, 0], rtol=0, atol=1e-17)
    observation, _, _, _, info = env.step([1.0, 0.0, 0.0])
    np.testing.assert_array_equal(info["applied_torque"], [0, 0, 0])
    assert env.state["wheel_momentum"][0] == -0.03
    np.testing.assert_array_equal(observation[-3:], np.float32([-1, 0, 0]))


@pytest.mark.parametrize("constant", [10.0, 1.0, 0.1])  # s, of the wheel; a step is 0.5 s
def test_a_wheel_gains_speed_as_the_closed_form_says_however_long_the_step(constant):
    """I s' = u - v s: s = (u / v) (1 - exp(-v t / I)), here of a body that hardly turns."""
    inertia, torque = 1e-4, 5e-3
    viscous = inertia / constant
    motors = {"inertia": inertia, "torque": torque, "viscous": viscous}
    wheels = ReactionWheels(momentum=1.0, start=0.0, **motors)
    env = make(WHEELS, body={"inertia": [1e6] * 3}, actuator=wheels, dt=0.5, substeps=1)
    at(env, (1.0, 0.0, 0.0, 0.0))
    for step in range(1, 20):
        env.step([-1.0, 0.0, 0.5])
        wanted = torque / viscous * -np.expm1(-0.5 * step / constant)
        speed = env.state["wheel_momentum"] / inertia
        np.testing.assert_allclose(speed, [wanted, 0.0, -0.5 * wanted], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("viscous", [1e-12, 1e-5])
def test_friction_turns_round_where_a_wheel_passes_zero_within_a_step(viscous):
    """I s' = -+u - v s - c sign(s), one piece after the other, of a body that hardly turns."""
    wheels = ReactionWheels(inertia=1e-4, momentum=1.0, viscous=viscous, coulomb=1e-3, start=0.0)
    env = make(WHEELS, body={"inertia": [1e6] * 3}, actuator=wheels, dt=1.0, substeps=1)
    at(env, (1.0, 0.0, 0.0, 0.0), wheel_momentum=(1e-3, -1e-3, 1e-3))
    env.step([0.8, -0.5, 0.1])  # the last is too weak to start again
    drive, I_v = wheels.torque * np.array([0.8, 0.5]), wheels.inertia / viscous
    until = I_v * np.log1p(viscous * 10.0 / (drive + wheels.coulomb))
    after = (drive - wheels.coulomb) / viscous * -np.expm1((until - 1.0) / I_v)
    speed = env.state["wheel_momentum"] / wheels.inertia
    np.testing.assert_allclose(speed, [-after[0], after[1], 0.0], rtol=1e-8, atol=1e-12)


def test_wheels_pass_zero_in_time_while_the_body_tumbles():
    ends = []
    for substeps in (6, 96):
        env, rng = many("InertialPointing-v0", 16, substeps=substeps), np.random.default_rng(3)
        rates, momenta, commands = rng.uniform(-1.0, 1.0, (3, 16, 3))
        state = {"angular_velocity": rates, "wheel_momentum": 1e-3 * momenta}
        env.reset(seed=0, options={"state": {"quaternion": [TILTED] * 16, **state}})
        env.step(commands)
        ends.append(env.state["wheel_momentum"])
    assert np.abs(ends[0] - ends[1]).max() < 1e-6  # N m s; friction takes 5e-5 in the period


def test_wheels_of_torque_and_momentum_alone_have_the_inertia_of_6000_rpm_and_no_friction():
    wheels = ReactionWheels(torque=0.1, momentum=4.0)
    assert wheels.momentum / wheels.inertia == pytest.approx(6000 * 2 * np.pi / 60, rel=1e-15)
    assert wheels.viscous == wheels.coulomb == 0.0
    env = make(WHEELS, substeps=1, actuator=ReactionWheels(coulomb=1e-3, viscous=1e-6))
    at(env, TILTED, wheel_momentum=(0.03, 0.0, 0.0))  # its friction helps to brake it
    braked = env.step([1.0, 0.0, 0.0])[4]["applied_torque"][0]
    assert 5e-3 + 1e-3 < braked <= env.episodes.setup.actuator.largest[0]


def test_a_motor_weaker_than_the_friction_does_not_turn_its_wheel():
    sticky = ReactionWheels(viscous=0.0, coulomb=1e-3)
    env = make(WHEELS, actuator=sticky)
    at(env, TILTED)
    for _ in range(20):
        _, _, _, _, info = env.step([0.19, 0.0, -0.19])  # of 5e-3 N m
    assert np.abs(env.state["wheel_momentum"]).max() < 1e-18
    assert np.abs(info["applied_torque"]).max() < 1e-15
    for _ in range(20):
        env.step([0.21, 0.0, -0.21])
    assert np.abs(env.state["wheel_momentum"][[0, 2]]).min() > 1e-5


@refused(
    ({"axes": [[1, 0, 0], [0, 1, 0], [1, 0, 0]]}, "span all three directions"),
    ({"axes": np.eye(3)[:2]}, "shape .3, 3. or .4, 3."),
    ({"axes": 2 * np.eye(3)}, "unit vectors"),
    ({"inertia": 0.0}, "inertia must be a positive"),
    ({"viscous": -1e-6}, "viscous must be a finite number from 0"),
    ({"start": 1.5}, r"start must be in \[0, 1\]"),
    ({"torque": 0.1, "momentum": 4.0, "inertia": 1e-4}, "inertia must be at least 0.0004"),
    ({"torque": 1e-3, "coulomb": 1e-3}, "coulomb must be less than its torque, 0.001 N m"),
)
def test_wheels_that_cannot_be_are_refused(arguments):
    ReactionWheels(**arguments)
