"""The page of a task, from its docstring and its parts."""

import functools
import inspect
import math
import re
import textwrap
from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from rbgym.envs.actuators.effector import Effector
from rbgym.envs.base import AttitudeEnv
from rbgym.envs.parts.columns import BODY, Column, width
from rbgym.envs.parts.endings import Berth, Contacts, Docked, OutOfSize, Unloaded
from rbgym.envs.parts.goals import Axis, Goal, Spin, Target
from rbgym.envs.parts.observations import Hidden, More, TargetRate
from rbgym.envs.parts.rewards import Approach, Closeness, Miss, Shape
from rbgym.envs.parts.starts import Adrift, Spun, Start, Tilted, TurnedAway
from rbgym.envs.task import Task

_HEAD = "| index | what | bounds |\n|---|---|---|"


def page(env: AttitudeEnv, steps: int) -> str:
    """The docstring of an env; sections that it lacks come from the parts of its task. steps: its
    time limit."""
    task, goal, effector = env.task, env.goal, env.task.effector()
    limit = f"The time limit of `gym.make` is {steps} steps, {steps * task.dt:g} s. "
    limit += "Success does not end an episode: evaluations read it at the end."
    made = {
        "Physics": "",
        "Observation": f"Observation: Box, float32\n{_table(env.columns)}",
        "Action": _action(env.commands.values(), effector),
        "Reward": f"Reward\n{_wrapped(_reward(task, goal))}",
        "Start": f"Start\n{_wrapped(_start(task.start))}",
        "Success": f"Success, termination and truncation\n{_wrapped(_ends(task, goal))}",
        "Arguments": f"Arguments\n{_wrapped(_arguments(task, effector))}",
    }
    first, *own = re.split(r"^## ", inspect.cleandoc(env.__doc__ or ""), flags=re.MULTILINE)
    given = {re.split(r"\W", section)[0]: section.strip() for section in own}
    sections = {**made, **given}
    sections["Success"] += f"\n\n{limit}"
    return "\n\n## ".join([first.strip(), *filter(None, sections.values())])


def _table(columns: Mapping[str, Column]) -> str:
    return "\n".join([_HEAD, *map(_row, columns.values())])


def _row(one: Column) -> str:
    """The row of a quantity in the table."""
    low, high = np.array(one.low), np.array(one.high)
    if one.size == 4 and low[0] == 0.0:
        what = _described(replace(one, words="" if one.name == "quaternion" else one.words))
        text = f"| {one.first} | w of the {what}; of q and -q the one with w >= 0 | [0, 1] |\n"
        return text + f"| {one.first + 1}-{one.first + 3} | x, y, z of it | +-1 |"
    bounds = f"[{low.min():g}, {high.max():g}]"
    if (low == -high).all():
        each = [f"{value:.3g}" for value in high]
        bounds = "+-" + (each[0] if len(set(each)) == 1 else f"({', '.join(each)})")
    last = f"-{one.first + one.size - 1}" if one.size > 1 else ""
    return f"| {one.first}{last} | {_described(one)} | {bounds} |"


def _described(one: Column) -> str:
    """A description of a quantity, with its scale."""
    text = one.name.replace("_", " ")
    if one.words:
        text += f"{': ' if one.words[0].isupper() else ' '}{one.words}"
    frame = one.frame.partition(" [")[0]  # without the numbers of axes
    if frame:
        text += f" in {frame}" if frame.endswith("axes") else f", {frame}"
    is_plain = one.unit in ("", "1") and set(np.ravel(one.scale)) == {1.0}
    return text if is_plain else f"{text} / ({_amount(one)})"


def _amount(one: Column) -> str:
    """The scale of a quantity with its unit; for each axis if they differ."""
    if len(set(np.ravel(one.scale))) > 1:
        x, y, z = (f"{value:.3g}" for value in np.ravel(one.scale))
        return f"{x}, {y} and {z} {one.unit}"
    small = 0.0 < one.factor < 1e-3 and one.unit[:1].isalpha()
    return f"{1e6 * one.factor:.3g} u{one.unit}" if small else f"{one.factor:.4g} {one.unit}"


def _action(commands: Collection[Column], effector: Effector) -> str:
    if not commands or any(one.frame != BODY and one.name != "wheel_torque" for one in commands):
        return ""
    text = f"{', then '.join(map(_command, commands))}, held over the period. "
    text += "Values beyond +-1 are clipped."
    if effector.rotors is not None:
        text += (
            " Torque of a motor is positive along the wheel's axis, on the body; a wheel at its "
        )
        text += "largest momentum stores no more."
    box = f"Action: Box(-1, 1, ({width(commands)},)), float32"
    return f"{box}\n{_wrapped(text[0].upper() + text[1:])}"


def _command(one: Column) -> str:
    what = f"{'along' if one.unit == 'N' else 'about'} the {BODY}"
    if one.name == "wheel_torque":
        return f"torque of each motor as a fraction of {_amount(one)}"
    return f"{one.name.replace('_', ' ')} {what} as a fraction of {_amount(one)}"


def _reward(task: Task, goal: Goal) -> str:
    size, letters = _formula(task.dense(), goal, _rate_off(task, goal))
    meant = [f"a is {goal.angle_off}"] if goal.angle_off else []
    meant += [f"omega_d [rad/s] is {wanted}"] if (wanted := _wanted(task, goal)) else []
    where = f", where {'; '.join([*meant, *letters])}" if [*meant, *letters] else ""
    return (
        f'reward="dense": 1 / ({size}), in (0, 1]{where}. '
        "It is positive, so an early end never raises the return. "
        'reward="sparse": 1 in the success region, else 0.'
    )


def _ends(task: Task, goal: Goal) -> str:
    angle = f"a under {math.degrees(task.angle):.3g} degrees and " if goal.angle_off else ""
    fallen = " or the z axis falls below the horizontal" if task.lowest > -1.0 else ""
    return (
        f"Success: {angle}{_rate_off(task, goal)} under {task.rate:.3g} rad/s"
        f"{_clause(task.success())} in each of the last {task.settled_steps} steps, "
        f'{task.settled_steps * task.dt:g} s (`info["is_success"]`). '
        f"Terminates when |omega| exceeds {task.rate_limit:.4g} rad/s"
        f"{fallen}; truncated at the time limit, or if a step cannot be solved "
        f'(`info["integration_failed"]`). {_clause(task.ends)}{_clause(task.tally)}'
    )


def _arguments(task: Task, effector: Effector) -> str:
    moving = isinstance(task.more, TargetRate)
    preview = ", preview [s]: shows the target this time ahead" if moving else ""
    start = ", ".join(f"{name} {value:.4g}" for name, value in task.start._asdict().items())
    needs = effector.needs
    which = "any of the catalogue" if needs == "torque" else f"one that supports {needs}"
    substeps = str(task.substeps)
    if task.substeps != task.substeps_of_others:
        substeps += f", or {task.substeps_of_others} if another integrator is named"
    reference = "reference ('nadir'), " if _follows(task) else ""
    own = 'observation is "hidden" here; ' if isinstance(task.form, Hidden) else ""
    held, seconds = task.settled_steps * task.dt, ""
    if "seconds" in task.success_keys():
        seconds = f'; success={{"seconds": {held:g}}} keeps that of success'
    if task.split:
        own = 'observation is "quaternion" and reward "dense" or "sparse" here; '
    return (
        f"integrator ({which}), dt ({task.dt:g} s), substeps ({substeps}), body (a "
        f"RigidBody, or a dict of its arguments), {'mgl [N m], ' if task.gravity else ''}"
        f"{'torque_limit [N m], ' if effector.uses_limits else ''}torque_scale, projection, "
        "difficulty (easy, medium or hard), success, rate_limit and, where a body is turned or "
        "stopped, satellite: see docs/satellites.md, actuator: see docs/actuators.md, and the "
        "hooks reward, observation, sensor, termination, constraints, disturbance, orbit, "
        f"{reference}randomization, faults: {own}see docs/hooks.md. "
        "render_mode: see docs/rendering.md. "
        f"initial: {', '.join(map(repr, task.categories))}, or a dict with any of {start} "
        f"(angles in rad, rates in rad/s, lengths in m){preview}. Another dt keeps the number of "
        f"steps of an episode and of success, and so changes both times{seconds}: see "
        "docs/hooks.md."
    )


# --- sentences on the parts -----------------------------------------------------------------


def _follows(task: Task) -> bool:
    """Whether the argument `reference` moves its target."""
    return isinstance(task.goal, Target) and type(task.more) in (More, TargetRate)


def _wanted(task: Task, goal: Goal) -> str:
    """The angular velocity of the goal in words; "" if it is always zero."""
    match goal:
        case Spin():
            return "the target spin"
        case Target():
            moves = task.reference(task.dt).moves()
            unless = "" if moves else ", zero unless `reference` moves the target"
            return f"the target's angular velocity{unless}" if moves or _follows(task) else ""
        case Axis():
            rates = {"about the vertical": goal.precession, "about the z axis": goal.spin}
            return " and ".join(f"{rate:.4g} {axis}" for axis, rate in rates.items() if rate)
    return ""


def _rate_off(task: Task, goal: Goal) -> str:
    if isinstance(goal, Spin):
        return "|omega_z - omega_d|"
    return "|omega - omega_d|" if _wanted(task, goal) else "|omega|"


def _formula(shape: Shape, goal: Goal, rate_off: str) -> tuple[str, list[str]]:
    """1/P + effort, and the meaning of its letters, without the goal's."""
    if isinstance(shape, Miss):
        parts = [f"a / {shape.angle:.3g}"] if goal.angle_off else []
        parts += [f"{rate_off} / {shape.rate:.3g}"]
        letters = []
        if shape.momentum < math.inf:
            parts += [f"|h| / {shape.momentum:g}"]
            letters = ["h [kg m^2/s] is the momentum of the wheels"]
        size = f"1 + {shape.steepness:g} (sqrt(1 + s) - 1) + {shape.effort_weight:g} mean(action^2)"
        s = f"sqrt({' + '.join(f'({one})^2' for one in parts)})" if parts[1:] else parts[0]
        return size, [*letters, f"s = {s} is the miss in tolerances"]
    if not isinstance(shape, Closeness | Approach):
        return "1/P + effort", []
    off = f"(2 sin(a/2) / {shape.scale:g})^2 + " if goal.angle_off else ""
    rate, effort = (f"{w:g} ".removeprefix("1 ") for w in (shape.rate_weight, shape.effort_weight))
    size = f"1 + {off}{rate}{rate_off}^2 + {effort}mean(action^2)"
    if isinstance(shape, Closeness):
        return size, []
    away = f" + (d / {shape.distance:g})^2 + {shape.speed_weight:g} |v|^2"
    return size + away, ["d [m] is the distance from the dock, v [m/s] the velocity"]


def _range(low: float, high: float) -> str:
    return f"[{low:.4g}, {high:.4g}]"


@functools.singledispatch
def _start(start: Start) -> str:
    """A sentence on the start of episodes, with a space after it."""
    raise NotImplementedError


@_start.register
def _(start: Tilted) -> str:
    precession = f"precession {start.precession:.4g} rad/s, " if start.precession else ""
    spins = start.mean_spin - start.spin, start.mean_spin + start.spin
    return (
        f"Tilt uniform in {_range(start.least_tilt, start.tilt)} rad in a uniform direction, "
        f"{precession}spin uniform in {_range(*spins)} rad/s, rates across the axis uniform "
        f"in a disc of {start.transverse:.4g} rad/s. "
    )


@_start.register
def _(start: TurnedAway) -> str:
    aims = f"The target is turned away from the world by up to {start.target_angle:.4g} rad. "
    aims = f"{aims}The body is turned away from it" if start.target_angle else "Turned away"
    rates = f"turns at {_range(start.least_rate, start.rate)} rad/s" if start.rate else "is at rest"
    return (
        f"{aims} by an angle in {_range(start.least_angle, start.angle)} rad, with the density "
        f"of Haar's measure: up to pi it is uniform over attitudes. The body {rates}; all axes are "
        "uniform. "
    )


@_start.register
def _(start: Adrift) -> str:
    return _start.dispatch(TurnedAway)(start) + (
        f"Its centre of mass is {_range(start.least_distance, start.distance)} m from the dock, "
        f"within {start.cone_angle:.4g} rad of the target's x axis, with a velocity of up to "
        f"{start.speed:.4g} m/s. "
    )


@_start.register
def _(start: Spun) -> str:
    return (
        f"A Haar-uniform attitude, a spin of {_range(start.least_spin, start.spin)} rad/s about "
        "the body z axis, of either sign, and rates across it uniform in a disc of "
        f"{start.transverse:.4g} rad/s, at the scale 1. The target spin is the body's spin at a "
        f"scale in {_range(start.least_scale, start.scale)}, its logarithm uniform. "
    )


def _clause(part: object) -> str:
    """A further condition of success, an end or a tally."""
    match part:
        case Docked():
            return f", d under {part.distance:g} m and |v| under {part.speed:g} m/s,"
        case Unloaded():
            return f", |h|, the momentum of the wheels, under {part.momentum:g} kg m^2/s,"
        case Berth():
            return (
                f"Terminates also beyond {part.far:g} m or {part.fast:g} m/s, in the station, or "
                f"when faster than {part.approach:g} m/s within {part.near:g} m of the dock. "
            )
        case OutOfSize():
            return f"Terminates also when the scale leaves [{part.least:g}, {part.most:g}]. "
        case Contacts():
            return f'`info["contacts"]` counts how often z came below {part.height:.2f}. '
    return ""


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 96, break_long_words=False, break_on_hyphens=False)
