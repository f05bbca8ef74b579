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


def settling(law, env_id, satellite, **gains):
    """Success and settling time [s] on the first starts of the test set."""
    env = gym.make(env_id, satellite=satellite)
    found = evaluate(controllers.make(law, env, **gains), env_id, 64, satellite=satellite)
    return found.success_rate, found.settling_time


@pytest.mark.slow
@pytest.mark.parametrize("law", GAINS)
@pytest.mark.parametrize(
    ("env_id", "satellite"),
    [("AttitudeSlew-v1", "cubesat-6u"), ("InertialPointing-v0", "innocube-3u")],
)
def test_no_law_is_beaten_by_itself_with_other_gains(law, env_id, satellite):
    """By more than a tenth of its settling time, or a control period, at no less success."""
    made = controllers.make(law, gym.make(env_id, satellite=satellite))
    inner = getattr(made, "law", made)
    success, time = settling(law, env_id, satellite)
    for name in GAINS[law]:
        usual = getattr(inner, name)
        for factor in (0.8, 1.25):
            value = (usual[0] * factor, usual[1]) if name == "tolerances" else usual * factor
            gain = {"layer" if name == "h" else name: value}
            other, sooner = settling(law, env_id, satellite, **gain)
            assert other < success or sooner >= min(0.9 * time, time - inner.dt), gain
