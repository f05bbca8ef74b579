"""Environments: rbgym's own pass through env.step, foreign ones are read, and faults are found."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import step_functions as steps
from family import SMOOTH
from rbgym import GravityGradient, HeavyTop, NoPotential, SoftWall
from rbgym.quaternion import normalized
from rbgym.testing import EnvSubject, assert_torque_free_invariants, measure
from refusals import refused

INERTIA = steps.INERTIA
GRAVITY_CHECKS = [True, True, True, None, True, True]  # no order: the step is the environment's
TUMBLING = {"state": {"quaternion": (0.98, 0.14, -0.1, 0.1), "angular_velocity": (0.5, -0.4, 0.6)}}


class FreeBody(gym.Env):
    """Somebody else's environment: a free body behind a step function."""

    observation_space = Box(-np.inf, np.inf, (7,), np.float64)
    action_space = Box(-1.0, 1.0, (3,), np.float32)

    def __init__(self, step=steps.exact, horizon=40, leak=0.0, at_rest=False):
        self.advance, self.horizon, self.leak, self.at_rest = step, horizon, leak, at_rest

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.q = normalized(self.np_random.normal(size=4))
        self.omega = self.np_random.normal(size=3) * (0.0 if self.at_rest else 2.0)
        self.elapsed = 0
        return np.concatenate([self.q, self.omega]), {}

    def step(self, action):
        self.omega = self.omega + 0.05 * (np.asarray(action) + self.leak) / INERTIA
        self.q, self.omega = self.advance(self.q, self.omega, 0.05)
        self.elapsed += 1
        observation = np.concatenate([self.q, self.omega])
        return observation, 0.0, False, self.elapsed >= self.horizon, {}


def read(env):
    return env.unwrapped.q, env.unwrapped.omega


def place(env, q, omega):
    env.unwrapped.q, env.unwrapped.omega = q, omega


def read_all(vec):
    return np.stack(vec.get_attr("q")), np.stack(vec.get_attr("omega"))


def foreign(step=steps.exact, **options):
    own = {name: options.pop(name) for name in ("horizon", "leak", "at_rest") if name in options}
    env = FreeBody(step, **own)
    return EnvSubject(env, inertia=INERTIA, read=read, **{"place": place, "steps": 100, **options})


@pytest.mark.parametrize("env_id", ["RigidTop-v0", "AttitudeSlew-v1", "ReactionWheelSlew-v1"])
def test_machine_code_keeps_the_invariants_longer(env_id):
    with gym.make(env_id, **SMOOTH.get(env_id, {})) as env:
        assert_torque_free_invariants(env, steps=3000, options=TUMBLING)


@pytest.mark.interpreted
@pytest.mark.parametrize("env_id", ["RigidTop-v0", "AttitudeReach-v0", "ReactionWheelSlew-v1"])
@pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.name)
def test_vector_environments_keep_their_invariants_in_each_autoreset_mode(env_id, mode):
    kwargs = {"autoreset_mode": mode, "max_episode_steps": 9, **SMOOTH.get(env_id, {})}
    vec = gym.make_vec(env_id, num_envs=3, **kwargs)
    assert_torque_free_invariants(vec, steps=60, options=TUMBLING)
    vec.close()


def test_the_top_shows_its_symmetries_too():
    # The projection of the default's energy onto its level is no symmetric part of a step.
    fidelity = measure(gym.make("RigidTop-v0", projection=False))
    assert [verdict.passed for verdict in fidelity.verdicts[1:]] == GRAVITY_CHECKS[1:]
    fidelity = measure(gym.make("RigidTop-v0", integrator="quat_em"))
    assert [verdict.passed for verdict in fidelity.verdicts] == GRAVITY_CHECKS, fidelity
    assert str(fidelity).startswith("RigidTop-v0, 1000 steps of 0.02 s")


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("potential", "axis"),
    [(None, None),
     (NoPotential(), None),
     (HeavyTop(1.0), [0, 0, 1]),
     (SoftWall(), [0, 0, 1]),
     (GravityGradient(1.0, (0.6, 0.0, 0.8)), [0.6, 0, 0.8])],
)  # fmt: skip
def test_the_potential_says_which_momentum_is_kept(potential, axis):
    env = FreeBody()
    env.potential = potential
    found = EnvSubject(env).axis
    assert axis is found is None or found.tolist() == axis


def test_an_action_that_exerts_a_torque_breaks_energy_and_momentum():
    with pytest.raises(AssertionError, match="does not conserve energy, momentum:"):
        assert_torque_free_invariants(gym.make("RigidTop-v0"), steps=20, action=np.ones(3))


def test_a_correct_foreign_environment_passes_over_many_episodes():
    fidelity = measure(foreign())
    assert [verdict.passed for verdict in fidelity.verdicts] == [True] * 3 + [None] + [True] * 2


@pytest.mark.parametrize(
    ("step", "check"),
    [(steps.planar_rotations, "energy"),
     (steps.overturning, "momentum"),
     (steps.growing_quaternion, "norm"),
     (steps.faster_upward, "equivariance"),
     (steps.one_way, "time_reversal")],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_each_fault_of_a_foreign_environment_is_named(step, check):
    assert measure(foreign(step, horizon=200)).broken == (check,)


def test_without_a_way_to_place_the_body_symmetries_are_not_measured():
    fidelity = measure(foreign(place=None))
    assert fidelity.equivariance is fidelity.time_reversal is fidelity.order is None
    assert fidelity.broken == ()


@pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.name)
def test_the_report_says_which_lane_and_episode_is_at_fault(mode):
    def make(**arguments):
        return lambda: FreeBody(horizon=10, **arguments)

    vec = SyncVectorEnv([make(), make(leak=1e-3), make()], autoreset_mode=mode)
    subject = EnvSubject(vec, inertia=INERTIA, read=read_all, steps=44)
    with pytest.raises(AssertionError, match=r"worst at step \d+ of episode \d, lane 1"):
        assert_torque_free_invariants(subject)
    good = SyncVectorEnv([make(), make()], autoreset_mode=mode)
    assert_torque_free_invariants(good, inertia=INERTIA, read=read_all, steps=44)


def test_a_jump_at_the_end_of_an_episode_is_no_drift_and_its_last_step_counts():
    class LastStepWrong(FreeBody):
        def step(self, action):
            *rest, truncated, info = super().step(action)
            self.omega = self.omega * (1.1 if truncated else 1.0)
            return *rest, truncated, info

    env = LastStepWrong(horizon=10)
    fidelity = measure(env, inertia=INERTIA, read=read, steps=25)
    assert (fidelity.energy.step, fidelity.energy.max) == (10, pytest.approx(0.21))


def test_a_function_that_makes_the_environment_is_called_and_its_work_closed():
    closed = []

    class Closing(FreeBody):
        def close(self):
            closed.append(self)

    subject = EnvSubject(Closing, inertia=INERTIA, read=read, place=place, steps=20)
    assert measure(subject).broken == ()
    assert len(closed) > 1
    measure(Closing(), inertia=INERTIA, read=read, steps=20)
    before = len(closed)
    measure(Closing(), inertia=INERTIA, read=read, steps=20)
    assert len(closed) == before  # a ready environment is left open


@pytest.mark.interpreted
@refused(
    ({}, "read and inertia must be given"),
    ({"read": read}, "read and inertia must be given together"),
    ({"inertia": INERTIA}, "read and inertia must be given together"),
    ({"read": lambda env: (1, 2), "inertia": INERTIA}, "read must return"),
    ({"read": read, "inertia": INERTIA, "dt": 0.1}, "options must be among"),
)
def test_bad_arguments_are_refused_by_name(options):
    measure(FreeBody(), **options)


@refused(
    (lambda: measure(gym.make("AttitudeSlew-v1", disturbance={"gravity_gradient": 1e-3})), "orbit"),
    (lambda: measure(foreign(at_rest=True)), "FreeBody must move under zero action"),
    (lambda: measure(foreign(place=lambda *_: None)), "place must put each body of FreeBody"),
    (lambda: EnvSubject("RigidTop-v0"), "env must be an environment"),
)
def test_what_is_not_moved_not_placed_or_no_environment_is_no_pass(call):
    call()


def test_a_space_without_a_zero_needs_an_action():
    env = FreeBody()
    env.action_space = Discrete(3)
    with pytest.raises(ValueError, match="action must be given"):
        measure(env, inertia=INERTIA, read=read)
    assert measure(env, inertia=INERTIA, read=read, action=0, steps=20).broken == ()
