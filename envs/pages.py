"""The parts of a task's page that its declaration already says, in words."""

import math
from typing import Any

from rbgym.envs.parts.goals import Axis, Rest, Target
from rbgym.envs.parts.observations import Preview, TargetRate

_ATTITUDE = {
    Axis: "body to world",
    Rest: "body to world",
    Target: "body to target",
}
_OFF = {
    Axis: "the angle of the body's z axis from where it is to be",
    Rest: "no angle: any attitude will do",
    Target: "the angle of the rotation from target to body",
}


def filled(page: str, task: Any) -> str:
    """The page with its fields, {attitude} to {arguments}, filled."""
    fields = {
        "attitude": _attitude(task),
        "rates": f"| 4-6 | angular velocity in body axes / ({task.rate_limit:g} rad/s) "
        "| a little over the rate limit |",
        "more": _more(task),
        "reward": _reward(task),
        "ends": _ends(task),
        "arguments": _arguments(task),
    }
    for name, text in fields.items():
        page = page.replace("{" + name + "}", text.replace("\n", "\n    "))
    return page


def _goal(task: Any) -> type:
    return type(task.default_goal())


def _attitude(task: Any) -> str:
    frame = _ATTITUDE[_goal(task)]
    return (
        "| index | what | bounds |\n"
        "|---|---|---|\n"
        f"| 0 | w of the quaternion, {frame}; of q and -q the one with w >= 0 | [0, 1] |\n"
        "| 1-3 | x, y, z of it | [-1, 1] |"
    )


def _more(task: Any) -> str:
    rate = task.more.rate if isinstance(task.more, Preview) else task.more
    if not isinstance(rate, TargetRate):
        return ""
    return (
        f"| 7-9 | angular velocity of the target in body axes / ({rate.scale:g} rad/s) "
        f"| +-{rate.bound:.3g} |"
    )


def _reward(task: Any) -> str:
    scale, rate, effort = task.shape
    off = "" if _goal(task) is Rest else f"(2 sin(a/2) / {scale:g})^2 + "
    size = f"1 + {off}{rate:g} |omega - omega_d|^2 + {effort:g} mean(action^2)"
    return (
        f'reward="dense": 1 / ({size}),\n'
        f"in (0, 1]; a is {_OFF[_goal(task)]}, omega_d the\n"
        "angular velocity wanted [rad/s]. It is positive, so that ending early never pays.\n"
        'reward="sparse": 1 in the success region, else 0.'
    )


def _ends(task: Any) -> str:
    angle = "" if _goal(task) is Rest else f"a under {math.degrees(task.angle):g} degrees and "
    fallen = " or the z axis falls below the horizontal" if task.lowest > -1.0 else ""
    return (
        f"Success: {angle}|omega - omega_d| under {task.rate:g} rad/s\n"
        f'in the last {task.settled_steps} steps (`info["is_success"]`). Terminates when\n'
        f"|omega| exceeds {task.rate_limit:g} rad/s{fallen};\n"
        "truncated at the time limit, or if a step cannot be solved\n"
        '(`info["integration_failed"]`).'
    )


def _arguments(task: Any) -> str:
    mgl = ", mgl [N m]" if task.gravity else ""
    preview = ", preview [s]: shows the target so far ahead" if _more(task) else ""
    start = ", ".join(f"{name} {value:.4g}" for name, value in task.start._asdict().items())
    return (
        f"integrator (any of the catalogue), dt ({task.dt:g} s), substeps ({task.substeps}),\n"
        f"body (a RigidBody){mgl},\n"
        "torque_limit [N m], torque_scale, projection, difficulty (easy, medium or hard), and the\n"
        "hooks reward, observation, sensor, termination, disturbance, randomization: see\n"
        f"docs/hooks.md. initial: dict with any of\n{start}\n"
        f"(angles in rad, rates in rad/s){preview}."
    )
