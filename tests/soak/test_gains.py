"""A sweep about the gains that laws take of a satellite."""

import gymnasium as gym
import pytest

from rbgym.agents import controllers
from rbgym.agents.judge import evaluate

# Of each law the gains, or what they are called where the law has them; factors to try.
GAINS = {
    "pd": ("frequency", "damping"),
    "quaternion_feedback": ("frequency", "damping"),
    "geometric": ("frequency", "damping"),
    "pid": ("frequency", "damping", "integral_time"),
    "lqr": ("tolerances",),
    "bang_bang": ("h", "braking"),
}


def settling(law, env_id, kwargs, **gains):
    """Success and settling time [s] on the first starts of the test set."""
    env = gym.make(env_id, **kwargs)
    found = evaluate(controllers.make(law, env, **gains), env_id, 64, **kwargs)
    return found.success_rate, found.settling_time


def beaten(law, env_id, names, **kwargs):
    """Gains with which the law settles sooner by more than a tenth of its time, and by a control
    period, at no less success."""
    made = controllers.make(law, gym.make(env_id, **kwargs))
    inner = getattr(made, "law", made)
    success, time = settling(law, env_id, kwargs)
    for name in names:
        usual = getattr(inner, name)
        for factor in (0.8, 1.25):
            value = (usual[0] * factor, usual[1]) if name == "tolerances" else usual * factor
            gain = {"layer" if name == "h" else name: value}
            other, sooner = settling(law, env_id, kwargs, **gain)
            if other >= success and sooner < min(0.9 * time, time - inner.dt):
                yield gain


@pytest.mark.parametrize("law", GAINS)
@pytest.mark.parametrize(
    ("env_id", "satellite"),
    [("AttitudeSlew-v1", "cubesat-6u"), ("InertialPointing-v0", "innocube-3u")],
)
def test_no_law_is_beaten_by_itself_with_other_gains(law, env_id, satellite):
    assert not list(beaten(law, env_id, GAINS[law], satellite=satellite))


@pytest.mark.parametrize(
    ("env_id", "part"), [("FreeFlyer-v0", 1.0), ("FreeFlyer-v0", 0.2), ("TumblingCapture-v0", 1.0)]
)
def test_docking_is_not_beaten_by_itself_with_other_gains(env_id, part):
    names = "frequency", "damping", "approach", "near", "creep"
    assert settling("pd", env_id, {"torque_scale": part})[0] == 1.0
    assert not list(beaten("pd", env_id, names, torque_scale=part))
