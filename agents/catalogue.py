"""The controllers by name, which the command line knows before it imports what computes."""

# Name -> the law's class, or the module that chooses among its own. `for_env` of either, of an env,
# single or vector, raises ValueError, which says for which envs the law is, where it does not fit.
CONTROLLERS = {
    "pd": "pd",
    "pid": "attitude.AttitudePID",
    "quaternion_feedback": "attitude.QuaternionFeedback",
    "hysteretic": "attitude.Hysteretic",
    "geometric": "attitude.GeometricTracking",
    "lqr": "lqr",
    "bang_bang": "attitude.BangBang",
    "mpc": "predictive.ModelPredictive",
    "ilqr": "predictive.PlannedSlew",
    "detour": "attitude.Detour",
    "swing_up": "lqr.SwingUp",
    "magnetic_rate": "actuators.MagneticRate",
    "b_dot": "actuators.BDot",
    "supervisor": "supervising.Supervisor",
    "sun_pointing": "sun.SunPointing",
    "scale": "actuators.SpinByScale",
    "idle": "base.Idle",
}
# They plan for milliseconds in each period, or seconds at the start, so nobody gets them unasked.
PLANNERS = {"mpc", "ilqr"}


def names() -> list[str]:
    """Names of all controllers."""
    return list(CONTROLLERS)
