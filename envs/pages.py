"""The parts of a task's page that its declaration already says, in words."""

import math
from typing import Any

from rbgym.envs.actuators.models import MagneticCoils, ReactionWheels, Scaling
from rbgym.envs.parts.goals import Axis, Rest, Spin, Target
from rbgym.envs.parts.observations import Offset, Preview, TargetRate, WantedSpin, rows
from rbgym.envs.parts.rewards import Approach

_ATTITUDE = {
    Axis: "body to world",
    Rest: "body to world",
    Target: "body to target",
    Spin: "body to world",
}
_OFF = {
    Axis: "the angle of the body's z axis from where it is to be",
    Rest: "no angle: any attitude will do",
    Target: "the angle of the rotation from target to body",
}
_WITHOUT_ANGLE = (Rest, Spin)
_GAP: dict[type, str] = {Spin: "|omega_z - omega_d|"}


def filled(page: str, task: Any) -> str:
    """The page with its fields, {attitude} to {arguments}, filled."""
    fields = {
        "attitude": _attitude(task),
        "rates": f"| 4-6 | angular velocity in body axes / ({task.rate_limit:g} rad/s) "
        "| a little over the rate limit |",
        "more": _more(task),
        "shown": _shown(task),
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
    if isinstance(task.more, Offset):
        return (
            f"| 7-9 | position from the dock in body axes / ({task.more.distance:g} m) | +-1 |\n"
            f"| 10-12 | velocity in body axes / ({task.more.speed:g} m/s) | +-1 |"
        )
    if isinstance(task.more, WantedSpin):
        return f"| 7 | spin wanted / ({task.more.scale:g} rad/s) | +-1 |"
    rate = task.more.rate if isinstance(task.more, Preview) else task.more
    if not isinstance(rate, TargetRate):
        return ""
    return (
        f"| 7-9 | angular velocity of the target in body axes / ({rate.scale:g} rad/s) "
        f"| +-{rate.bound:.3g} |"
    )


def _shown(task: Any) -> str:
    """What the actuator adds to the observation."""
    first = 7 + rows(task.more)
    match task.actuator:
        case ReactionWheels() as wheels:
            last = first + wheels.matrix.shape[1] - 1
            return f"| {first}-{last} | momentum of each wheel / its largest | +-1 |"
        case MagneticCoils() as coils:
            field = f"{2e6 * coils.field:.3g} microtesla"
            return f"| {first}-{first + 2} | magnetic field in body axes / ({field}) | +-1 |"
        case Scaling() as scaling:
            low, high = scaling.smallest, scaling.largest_scale
            return (
                f"| {first} | scale s | [{low:g}, {high:g}] |\n"
                f"| {first + 1} | scale rate s' / ({scaling.rate:g} 1/s) | +-1 |"
            )
    return ""


def _reward(task: Any) -> str:
    shape, goal = task.shape, _goal(task)
    off = "" if goal in _WITHOUT_ANGLE else f"(2 sin(a/2) / {shape.scale:g})^2 + "
    gap = _GAP.get(goal, "|omega - omega_d|")
    size = f"1 + {off}{shape.rate_weight:g} {gap}^2 + {shape.effort_weight:g} mean(action^2)"
    flies, dock = "", ""
    if isinstance(shape, Approach):
        flies = f"\n+ (d / {shape.distance:g})^2 + {shape.speed_weight:g} |v|^2"
        dock = ";\nd [m] is the distance from the dock, v [m/s] the velocity"
    angle = "" if goal in _WITHOUT_ANGLE else f"a is {_OFF[goal]}, "
    return (
        f'reward="dense": 1 / ({size}{flies}),\n'
        f"in (0, 1]; {angle}omega_d the\n"
        f"angular velocity wanted [rad/s]{dock}. It is positive, so that ending early never\npays. "
        'reward="sparse": 1 in the success region, else 0.'
    )


def _ends(task: Any) -> str:
    goal = _goal(task)
    angle = f"a under {math.degrees(task.angle):g} degrees and "
    angle = "" if goal in _WITHOUT_ANGLE else angle
    gap = _GAP.get(goal, "|omega - omega_d|")
    dock = ""
    if task.docked:
        dock = f",\nd under {task.docked[0]:g} m and |v| under {task.docked[1]:g} m/s,"
    fallen = " or the z axis falls below the horizontal" if task.lowest > -1.0 else ""
    return (
        f"Success: {angle}{gap} under {task.rate:g} rad/s{dock}\n"
        f'in the last {task.settled_steps} steps (`info["is_success"]`). Terminates when\n'
        f"|omega| exceeds {task.rate_limit:g} rad/s{fallen};\n"
        "truncated at the time limit, or if a step cannot be solved\n"
        '(`info["integration_failed"]`).'
    )


def _arguments(task: Any) -> str:
    mgl = ", mgl [N m]" if task.gravity else ""
    moving = isinstance(task.more, TargetRate)
    preview = ", preview [s]: shows the target so far ahead" if moving else ""
    start = ", ".join(f"{name} {value:.4g}" for name, value in task.start._asdict().items())
    needs = task.actuator.needs
    which = "any of the catalogue" if needs == "torque" else f"one that supports {needs}"
    limit = "torque_limit [N m], " if task.actuator.uses_limits else ""
    return (
        f"integrator ({which}), dt ({task.dt:g} s), substeps ({task.substeps}),\n"
        f"body (a RigidBody, or a dict of its arguments){mgl},\n{limit}torque_scale,\n"
        "projection, difficulty (easy, medium or hard), actuator: see docs/actuators.md, and the\n"
        "hooks reward, observation, sensor, termination, disturbance, randomization: see\n"
        f"docs/hooks.md. render_mode: see docs/rendering.md. initial: dict with any of\n{start}\n"
        f"(angles in rad, rates in rad/s, lengths in m){preview}.\n"
        "Another dt changes neither max_episode_steps nor the steps that success takes, so an\n"
        "episode lasts another time: see docs/hooks.md."
    )
