"""Arguments that slipped through once, or were refused without a word of what was wrong."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box

import rbgym
import rbgym.plot
from rbgym import invariants, potentials, quaternion, registration, validation
from rbgym.agents import controllers
from rbgym.agents.controllers import AttitudePD, AttitudePID, AxisPD, Detour, Idle, RateDamping
from rbgym.agents.judge.card import make_card
from rbgym.agents.judge.evaluation import evaluate
from rbgym.agents.policies.network import Network
from rbgym.agents.policies.trained import TrainedPolicy, load
from rbgym.agents.train.rollouts import rollout
from rbgym.agents.train.sb3.adapter import make_sb3_env
from rbgym.envs.parts.goals import Axis
from rbgym.envs.rendering import scene_of
from rbgym.envs.rendering.painter import Painter
from rbgym.testing import integrator_step

pytestmark = pytest.mark.interpreted

BODY = rbgym.RigidBody([2.0, 3.0, 4.0], mass=2.0)
HALF = (0.6, 0.0, 0.8, 0.0)
MASKED = np.ma.masked_array([1.0, 2.0, 2.5], mask=[0, 1, 0])
LAW = {"torque_limit": np.ones(3), "rate_limit": 1.0, "dt": 0.1}
ID = "RigidTop-v0"


def simulate(**more):
    return rbgym.simulate(**{"body": BODY, "dt": 0.1, "steps": 1, **more})


def flight(**more):
    return simulate(**{"integrator": "rkn4", "velocity": (0.0, 0.0, 0.0), **more})


def scalable(**more):
    return rbgym.simulate_scalable(BODY, **{"dt": 0.1, "steps": 60, **more})


def judged(seen, done=None):
    return evaluate(TrainedPolicy(Network.random((7, 3), 0), seen, {}, done), ID)


REFUSED = {
    "inertia": [lambda: rbgym.RigidBody(MASKED), lambda: rbgym.RigidBody.cone(1.0, 1.0, 1e200)],
    "parts": [lambda: rbgym.compound(3.0), lambda: rbgym.compound([(BODY, (0, 0, 0), None, 1)])],
    "center_of_mass": [lambda: rbgym.RigidBody([2, 3, 4], 1.0, (0.0, 0.0, 1e200))],
    "frequency": [lambda: AttitudePD(BODY, **LAW, frequency=1e200)],
    "g": [lambda: BODY.gravity_moment(np.nan), lambda: BODY.gravity_moment("9.81")],
    "body": [
        lambda: simulate(body="text"), lambda: flight(body=None),
        lambda: rbgym.simulate_scalable(3.0, dt=0.1, steps=1),
        lambda: AttitudePD(None, **LAW), lambda: rbgym.plot.polhode(simulate(), 3.0),
    ],
    "quaternion": [
        lambda: simulate(quaternion=np.array(HALF) + 0j), lambda: flight(quaternion=(1, 1, 0, 0)),
        lambda: scalable(quaternion=(1, 1, 0, 0)), lambda: invariants.norm_error(3.0),
    ],
    "torque": [
        lambda: simulate(torque=np.zeros((29, 3))), lambda: simulate(torque=(0.0, np.nan, 0.0)),
        lambda: simulate(torque=lambda t, q, w: np.zeros(2)), lambda: flight(torque=3.0),
        lambda: simulate(torque=lambda t, q, w: np.full(3, np.inf)),
        lambda: flight(torque=lambda *_: 1j), lambda: simulate(torque=lambda t, q, w: ["1"] * 3),
    ],
    "record_every": [lambda: simulate(record_every=0), lambda: scalable(record_every=0)],
    "steps": [
        lambda: simulate(steps=10**400), lambda: simulate(steps=2.5), lambda: scalable(steps=0),
    ],
    "dt": [
        lambda: simulate(dt=np.nan), lambda: simulate(dt=True), lambda: scalable(dt=0.0),
        lambda: integrator_step([1, 2, 2.5])(HALF, (0, 0, 1), "0.1"),
        lambda: AttitudePID(BODY, **LAW | {"dt": 0.0}),
        lambda: evaluate(controllers.make("pd", gym.make(ID)), ID, 1, dt=0.01),
    ],
    "integrator": [
        lambda: simulate(integrator="euler"),
        lambda: flight(integrator="quat_em"), lambda: flight(rotor_momentum=(0.0, 0.0, 1.0)),
        lambda: flight(potential=rbgym.HeavyTop(1.0)),
    ],
    "projection": [lambda: flight(projection=np.ones(3)), lambda: gym.make(ID, projection="no")],
    "h": [lambda: rbgym.Batch(BODY).advance(0.0), lambda: rbgym.Batch(BODY).jacobian(-0.0)],
    "state": [lambda: rbgym.Batch(BODY).restore([[1]])],
    "k": [lambda: simulate(potential=rbgym.GravityGradient(1e308))],
    "potential.mgl": [lambda: simulate(potential=rbgym.HeavyTop(np.nan))],
    "potential.axis": [lambda: simulate(potential=rbgym.HeavyTop(1.0, (0.0, 0.0, 2.0)))],
    "potential.sign": [lambda: potentials.checked(rbgym.SoftWall([]))],
    "p": [lambda: quaternion.multiply([["1"] * 4], HALF)],
    "q": [
        lambda: quaternion.normalized(np.zeros(4)), lambda: quaternion.conjugate([1j, 0, 0, 0]),
        lambda: quaternion.rotate(np.ones((2, 4)), np.ones((3, 3))),
    ],
    "energy": [lambda: invariants.relative_energy_error(1.0)],
    "angular_momentum": [lambda: invariants.momentum_error([])],
    "env_id": [
        lambda: registration.register(np.nan, "m", "N", 1),
        lambda: registration.register(ID, "m", "N", 1), lambda: rollout([], 3.0),
    ],
    "max_episode_steps": [
        lambda: registration.register("Refused-v0", "m", "N", 0),
        lambda: gym.make_vec(ID, max_episode_steps=np.ones(3)),
        *(lambda n=n: gym.make_vec(ID, max_episode_steps=n) for n in (0, -2, 2.5, np.nan)),
        *(lambda p=p: evaluate(p, ID, max_episode_steps=-1) for p in ("pd", "pretrained")),
    ],
    "substeps": [lambda: gym.make(ID, substeps=10**400)],
    "torque_limit": [
        lambda: gym.make(ID, torque_limit=["1", "1", "1"]),
        lambda: RateDamping(BODY, np.ones(4), rate_limit=1.0, dt=0.1),
    ],
    "autoreset_mode": [lambda: gym.make_vec(ID, autoreset_mode=7)],
    "num_envs": [lambda: gym.make_vec(ID, num_envs=10**400)],
    "reward": [lambda: gym.make("AttitudeReach-v0", reward=np.zeros(0))],
    "termination": [lambda: gym.make(ID, termination=np.zeros(3))],
    "initial": [lambda: gym.make(ID, initial={"tilt": np.complex64(1j)})],
    "names": [lambda: validation.validate(3.0), lambda: validation.validate_endurance("quat_em")],
    "cases": [lambda: validation.validate([], cases=3.0)],
    "trajectory": [lambda: rbgym.plot.summary(3.0)],
    "runs": [lambda: rbgym.plot.pointing({"a": 3.0})],
    "rate_limit": [
        lambda: AttitudePD(BODY, np.ones(3), rate_limit=np.nan, dt=0.1),
        lambda: evaluate(controllers.make("pd", gym.make(ID)), ID, 1, rate_limit=50.0),
        lambda: evaluate("pretrained", ID, 1, rate_limit=50.0),
    ],
    "estimator": [lambda: evaluate("pd", "AttitudeSlew-v1", 1, estimator="no")],
    "damping": [lambda: AttitudePD(BODY, **LAW, damping="1")],
    "tolerances": [
        lambda: controllers.make("lqr", gym.make("AttitudeSlew-v1"), tolerances=(0.1, 0.0)),
        lambda: controllers.make("lqr", gym.make(ID), tolerances=(0.1, 1.0, -1.0)),
    ],
    "margin": [lambda: Detour(BODY, **LAW, cones=[((0, 0, 1), 0.3)], column=7, margin=-1.0)],
    "goal": [lambda: controllers.SpinLQR(BODY, goal=Axis.at(0.3, 0.0, 5.0), **LAW)],
    "spin_time": [lambda: AxisPD(BODY, rbgym.HeavyTop(1.0), **LAW, spin_time=0.0)],
    "time": [lambda: RateDamping(BODY, **LAW, time=np.nan)],
    "channels": [lambda: Idle("3")],
    "observation": [
        lambda: Idle(3).predict([np.nan] * 7),
        lambda: Network.random((7, 3), 0).predict(["1"] * 7),
        lambda: gym.make(ID, observation=lambda state: [[np.nan]]),
    ],
    "action_space": [lambda b=b: judged(None, Box(*b, (3,))) for b in ((0.0, 1.0), (-2.0, 2.0))],
    "observation_space": [
        lambda b=b: judged(Box(*b)) for b in ((-1, 1, (7,)), (-np.inf, np.inf, (7,)), (-1, 1, (6,)))
    ],
    "gains": [lambda: controllers.at_work(Idle(3), gym.make(ID), damping=1.0)],
    "controller": [lambda: controllers.make([], gym.make(ID))],
    "env": [
        lambda: controllers.make("pd", "text"), lambda: controllers.for_env(None),
        lambda: scene_of(gym.make("CartPole-v1")),
    ],
    "lane": [lambda n=n: scene_of(gym.make(ID), n) for n in (1, -1, "a", None)],
    "size": [lambda s=s: Painter(s) for s in ((0, 0), (-3, 4), (3.5, 4), (3,), "x")],
    "layers": [lambda: Network(3.0), lambda: Network([3.0])],
    "sizes": [lambda: Network.random(3, 0), lambda: Network.random((3, True), 0)],
    "networks": [lambda: rollout(3.0, ID)],
    "seeds": [lambda: rollout(Network.random((7, 3), 0), ID, seeds=3)],
    "env_kwargs": [lambda: make_card(ID, env_kwargs=3.0)],
    "targets": [lambda: make_card(ID, "pd")],
    "episodes": [
        lambda: make_card(ID, episodes="1"), lambda: make_card(ID, episodes=1.5),
        *(lambda n=n: evaluate("pd", episodes=n) for n in (0, 257, np.nan, np.inf, 10**400)),
    ],
    "vectorization_mode": [lambda: make_sb3_env(ID, 1, vectorization_mode="none")],
    "policy": [
        lambda: evaluate("pretrained", "AttitudeSlew-v1", actuator="pyramid"),
        lambda: evaluate(load(ID), "AttitudeSlew-v1"),
    ],
    "name": [lambda: load(""), lambda: load(3.0), lambda: load("a\x00b")],
    "potential": [lambda: simulate(potential="gravity")],
    "angular_velocity": [
        lambda: simulate(angular_velocity=(1.0, np.inf, 0.0)),
        lambda: scalable(angular_velocity=(0.0, np.inf, 0.0)),
    ],
    "rotor_momentum": [lambda: simulate(rotor_momentum=(1.0, np.nan, 0.0))],
    "position": [lambda: flight(position=(0.0, 1.0))],
    "velocity": [
        lambda: flight(velocity=(0.0, np.nan, 1.0)), lambda: scalable(velocity=(0, 0, np.nan)),
    ],
    "force": [
        lambda: flight(force=lambda *_: 1.0), lambda: scalable(force=np.zeros((59, 3))),
        lambda: scalable(force=1.0), lambda: scalable(force=lambda t, state: np.zeros(2)),
    ],
    "scaling_force": [
        lambda: scalable(scaling_force=np.zeros(59)), lambda: scalable(scaling_force=np.nan),
        lambda: scalable(scaling_force=lambda t, state: np.inf),
    ],
    "moment": [lambda: scalable(moment=lambda t, state: None)],
    "scale": [lambda: scalable(scale=-1.0)],
    "scale_rate": [lambda: scalable(scale_rate=np.nan)],
    "rigid": [lambda: scalable(rigid="yes")],
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_the_argument_and_says_what_is_allowed(name):
    for call in REFUSED[name]:
        with pytest.raises(ValueError, match=rf"(?s)(^|\W){name}(\W|$).*must|must.*\W{name}\W"):
            call()


@pytest.mark.parametrize(
    ("seed", "options", "named"),
    [(np.array(3), None, "seed"), (None, [1], "options"), (3, "state", "options")],
)
def test_a_reset_refuses_a_seed_or_options_that_are_none_by_name(seed, options, named):
    for env in (gym.make(ID), gym.make_vec(ID, num_envs=2)):
        with pytest.raises(ValueError, match=named):
            env.unwrapped.reset(seed=seed, options=options)


@pytest.mark.parametrize("bad", [["1", "1", "1"], [1j, 0, 0], [True] * 3, MASKED, [b"1"] * 3, None])
def test_a_step_refuses_what_is_no_number_instead_of_reading_it(bad):
    env = gym.make(ID).unwrapped
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action must be"):
        env.step(bad)
    assert env.state["time"] == 0.0


def test_a_refused_registration_leaves_no_name_behind():
    before = dict(registration.ENVIRONMENTS)
    for bad in (np.nan, "", "no version", {}):
        with pytest.raises((ValueError, gym.error.Error)):
            registration.register(bad, "module", "Name", 10)
    assert before == registration.ENVIRONMENTS


def test_an_attitude_too_long_to_be_squared_is_normalised_without_a_warning():
    np.testing.assert_allclose(quaternion.normalized([1e200] * 4), 0.5)
    assert invariants.momentum_error([[0, 0, 1e-200], [0, 0, 2e-200]])[1] == 1.0
    assert invariants.vertical_momentum_error([[0, 0, 1e200], [0, 0, 2e200]])[1] == 1.0
    np.testing.assert_allclose(quaternion.normalized([1e-200] * 4), 0.5)


def test_motions_beyond_the_largest_float_are_an_integration_error():
    with pytest.raises(rbgym.IntegrationError):
        flight(angular_velocity=(1e200, 1e199, 0.0))
    with pytest.raises(rbgym.IntegrationError):
        scalable(velocity=(1e200, 0.0, 0.0))
