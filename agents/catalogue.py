"""The names of the controllers, which the command line needs before it imports any kernel."""

# Name -> the law's class, or a module that selects one of its classes. Both have `for_env(env)`, of
# a single or a vector env: a ValueError says which envs the law fits.
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
# They plan for milliseconds in each period or seconds at the start, so they run only on request.
PLANNERS = {"mpc", "ilqr"}


def names() -> list[str]:
    """Names of all controllers."""
    return list(CONTROLLERS)
