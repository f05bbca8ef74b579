"""Exports a policy as one C99 file that needs only the C library's mathematics."""

import json
import re
import textwrap
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from rbgym.agents import controllers
from rbgym.agents.controllers import acquiring, attitude, sun, supervising
from rbgym.agents.controllers.base import Plant
from rbgym.agents.export.contract import checked_env, contract, row
from rbgym.agents.judge.episodes import require_period
from rbgym.agents.policies import Network, TrainedPolicy, forward
from rbgym.agents.policies.forward import Stack
from rbgym.agents.policies.memory import Attitude
from rbgym.agents.policies.network import quaternions_of
from rbgym.agents.run_folder import made_folder, replacing, write_json
from rbgym.potentials import HeavyTop, SoftWall
from rbgym.potentials import soft_wall as wall
from rbgym.quaternion import conjugate, multiply

# Attributes of laws that have to be the env's.
_UNITS = ("dt", "rate_limit", "torque_limit", "strength", "dipole", "field", "wheels", "other",
          "force_limit", "distance", "speed", "spin_scale")  # fmt: skip
VECTORS = 16  # golden vectors, from one episode
# Tolerances between a build's answers and `predict`, as fractions of a full command: one unit in
# the last place if the arithmetic is the same, round-off of float32 if not.
EXACT, ROUNDED = 2.0**-23, 1e-4
_GOAL = ("sin_nutation", "cos_nutation", "precession", "spin")
# Sizes of the memory's fields, where they are not three.
_WIDTHS = {"attitude": 4, "covariance": 36, "known": 1, "doubt": 1, "mode": 1, "last": 4, "way": 1,
           "kept": "REMEMBERED"}  # fmt: skip
# The law's piece of C.
_LAWS: dict[type, str] = {
    controllers.AttitudePD: "attitude_pd",
    controllers.AttitudePID: "attitude_pid",
    controllers.QuaternionFeedback: "quaternion_feedback",
    controllers.BangBang: "bang_bang",
    controllers.Hysteretic: "hysteretic",
    controllers.GeometricTracking: "geometric",
    controllers.Detour: "detour",
    controllers.PosePD: "attitude_pd",
    controllers.RateDamping: "rate_damping",
    controllers.SunPointing: "sun_pointing",
    controllers.AxisPD: "axis_pd",
    controllers.AttitudeLQR: "attitude_lqr",
    controllers.UprightLQR: "upright_lqr",
    controllers.SpinLQR: "upright_lqr",
    controllers.SwingUp: "swing_up",
    controllers.SpinByScale: "scale",
    controllers.PrecessionLQR: "precession_lqr",
    controllers.MagneticRate: "magnetic_rate",
    controllers.BDot: "b_dot",
}


def export_c(
    folder: str | Path, policy: Any, env: Any, about: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Write policy.c and policy.json into a folder, made if missing; returns the contract.

    policy: a Network or a TrainedPolicy that has one, or a law that docs/export.md names, also for
    wheels or coils; a linear law u = K x is a Network of one layer. The golden vectors of a law
    with memory are consecutive. env: a single env whose observations the policy reads, without
    wrappers that change them; a copy of it flies for the golden vectors. about: further entries of
    the contract. Raises ValueError, which names the laws that can be written, for any other policy.
    """
    if isinstance(folder, str | Path) and (Path(folder) / "policy.safetensors").exists():
        raise ValueError(f"folder must not hold a policy, whose policy.json differs, got {folder}")
    base = checked_env(env)
    policy = bare(policy, base)
    if isinstance(policy, controllers.Controller):
        _require_env(policy, base)
    content = contract(base, policy, about)
    pieces, numbers, sharp = _parts(policy, sum(one["size"] for one in content["observation"]))
    seen, answers = met(base, policy)
    remembered = policy.memory.width if isinstance(policy, Network) and policy.memory else 0
    sizes = {"OBSERVATIONS": seen.shape[1], "ACTIONS": answers.shape[1], "REMEMBERED": remembered,
             "VECTORS": len(seen), "PERIOD": base.dt, "PATIENCE": acquiring.DOUBTS}  # fmt: skip
    sizes |= {f"TOLERANCE_{kind.upper()}": EXACT if kind == sharp else ROUNDED
              for kind in ("float", "double", "rounded")}  # fmt: skip
    test = _piece("self_test").replace("@SEEN@", _initialiser(seen))
    test = test.replace("@ANSWERS@", _initialiser(answers))
    code = _with_helpers("\n".join([*pieces, _piece("act")]))
    named = {name.upper(): value for name, value in numbers.items()}
    used = {name: x for name, x in named.items() if re.search(rf"\b{name}\b", code)}
    macros = "".join(f"#define {name} {value!r}\n" for name, value in sizes.items())
    text = (_comment(content), macros, _frame(code), _constants(used), code, test)
    folder = made_folder(folder)
    golden = {"observations": seen.tolist(), "actions": answers.tolist()}
    with replacing(folder / "policy.c") as temporary:
        temporary.write_text("\n".join(text), "ascii")
    write_json(folder / "policy.json", {**content, "golden": golden})
    return content


def _require_env(policy: Any, env: Any) -> None:
    """ValueError for a law that reads or commands in other units than the env."""
    law: Any = getattr(policy, "pointing", policy)
    plant = Plant(env, getattr(getattr(law, "law", law), "out", getattr(law, "out", None)))
    has = {**plant.given, "wheels": plant.wheels, "other": plant.unloads}
    while law is not None:
        for name in _UNITS:
            own: Any = getattr(law, name, None)
            here = None if name == "dt" and own == 0 else has.get(name)
            if own is not None and here is not None and not np.array_equal(own, here):
                raise ValueError(
                    f"policy must be made for an env with {name} {here!r}, got {own!r}"
                )
        law = getattr(law, "law", None)


def bare(policy: Any, env: Any) -> Any:
    """The network of a trained policy, with the env's quaternion columns; a law as it is.
    ValueError for a policy of another rate limit or, with a memory, of another control period."""
    spec = gym.envs.registry.get(env.spec.id) if env.spec else None
    if isinstance(policy, TrainedPolicy) and spec and spec.vector_entry_point:
        given = {name: one for name, one in env.spec.kwargs.items() if name not in spec.kwargs}
        require_period(policy, spec.id, given)
    found = policy.network if isinstance(policy, TrainedPolicy) else policy
    known = isinstance(found, Network) and found.width == spaces.flatdim(env.observation_space)
    return replace(found, quaternions=quaternions_of(env)) if known else found


def met(env: Any, policy: Any) -> tuple[Any, Any]:
    """Fly the episode of seed 0 in a copy of env; returns observations (n, width) and the policy's
    answers to them (n, channels), both float32. The observations are spread over the episode; for a
    law with memory they are its first."""
    # The user's hooks are shared, as many cannot be copied.
    env = deepcopy(env, {id(hook): hook for hook in env.episodes.setup.hooks.values()})
    observation, _ = env.reset(seed=0)
    seen, answers = list[Any](), list[Any]()
    memory: Any = None
    over, modes = False, isinstance(policy, controllers.Supervisor)
    while not over and len(seen) < (10 * VECTORS if memory is None else VECTORS):
        seen.append(row(env, policy, observation))
        action, memory = policy.predict(seen[-1], memory)
        answers.append(action)
        observation, _, terminated, truncated, _ = env.step(action)
        over = terminated or truncated
        if modes and len(seen) in (5, 10):  # stop it, then face the Sun, to reach the other modes
            q = env.state["quaternion"]
            if len(seen) == 10:
                q = multiply(q, conjugate(sun.off_sun(memory.fix.sun))[0])
            state = {"quaternion": q, "angular_velocity": np.zeros(3)}
            observation, _ = env.reset(options={"state": state})
    spread = np.linspace(0, len(seen) - 1, VECTORS).astype(int)
    picked = spread if memory is None else range(min(VECTORS, len(seen)))
    return np.array(seen)[picked], np.array(answers)[picked]


def _parts(policy: Any, width: int) -> tuple[list[str], dict[str, Any], str]:
    """The pieces, numbers by name, more than the code needs, and the C type in which the code
    equals `predict`. width: number of columns that the policy is given."""
    if isinstance(policy, Network):
        numbers, remembers = _of_network(policy), policy.memory
        if isinstance(remembers, Attitude):  # its sums are rounded in another order
            pieces = map(_piece, ("find_sun", "acquire", "attitude", "network"))
            return [*pieces], numbers | _of_filter(remembers.filter), "none"
        pieces = map(_piece, [*([remembers.name] if remembers else []), "network"])
        return [*pieces], numbers, "float"
    if isinstance(policy, controllers.Supervisor):
        return _of_supervisor(policy)
    law, out, numbers = policy, [], {}
    if isinstance(law, controllers.Unloading) and law.least > law.first and not law.pulse:
        coils: Any = law.other  # from the field
        numbers = {"unloading": law.rate, "full": law.full, "field_column": law.first,
                   "field": 2.0 * coils.field}  # fmt: skip
        out, law = ["unload"], law.law
    if isinstance(law, controllers.Allocated):
        wheels, null = law.wheels, law.null[0] if len(law.null) else np.zeros(len(law.share))
        numbers |= {"axes": law.axes.T, "share": law.share, "null_space": null, "rate": law.rate,
                    "motor": law.motor, "first": law.first, "momentum": wheels.momentum,
                    "wheel_inertia": wheels.inertia, "coulomb": wheels.coulomb,
                    "viscous": wheels.viscous, "wheels": len(law.share),
                    "out": -1 if law.out is None else law.out}  # fmt: skip
        out, width, law = [*out, "wheels"], law.first, law.law
    elif isinstance(law, controllers.MagneticAllocation):
        numbers, out, width, law = _of_field(law, law.first), ["coils"], law.first, law.law
    if type(law) not in _LAWS:
        able = ", ".join(kind.__name__ for kind in (*_LAWS, controllers.Supervisor))
        late = isinstance(law, controllers.Foreseeing)
        got = "one that predicts over them: make it for an env without, with the same gains"
        raise ValueError(
            f"policy must be a network without LSTM or one of the laws {able}, without a delay "
            f"or a lag, got {got if late else type(law).__name__}"
        )
    piece, numbers = _LAWS[type(law)], _of_law(law, width) | numbers
    follow = ["moving_target"] if getattr(law, "moving", False) and law.dt else []
    if isinstance(law, controllers.PosePD):
        out = ["dock", "pose"] if law.moving else ["pose"]
    elif isinstance(law, controllers.MagneticRate):
        out = ["coils"]
    if isinstance(law, controllers.SunPointing):
        follow = ["find_sun"]
    caught = []
    if isinstance(law, controllers.SwingUp):  # another law catches it upright
        caught = [_rename(_piece(_LAWS[type(law.catcher)]), {"torque": "upright"})]
        shared = {name: numbers[name] for name in ("envelope", "facets")}  # of wheels too
        numbers |= _parts(law.catcher, width)[1] | shared
    before, after = ["sight", *follow, "look"], [piece, *(out or ["direct"])]
    if isinstance(law, controllers.BDot | controllers.SpinByScale):
        before, after = [], [piece]
    codes = [*map(_piece, before), *caught, *map(_piece, after)]
    if not getattr(law, "moving", False):
        codes = [one.replace("    ease(v);\n", "") for one in codes]
    return codes, numbers, "double"


def _of_supervisor(policy: Any) -> tuple[list[str], dict[str, Any], str]:
    """`_parts` of a supervisor: the pointing law, the damping law, the filter and the modes."""
    pieces, numbers, sharp = _parts(policy.pointing, 0)
    found, damping = policy.filter, policy.damping
    if found.tracker is not None or any("now->memory" in one for one in pieces):
        raise ValueError(
            "policy must be a supervisor without a star tracker to be written as C, whose pointing "
            f"law has no memory; its filter reads the columns {[*found.columns]}"
        )
    numbers |= _of_filter(found) | {
        "damping": damping.factor * damping.gain * (numbers["field"] / damping.field),
        "dipole": damping.dipole, "bang_bang": damping.bang_bang,
        "shown": policy.shown, "calm": policy.calm, "tumbling": supervising.AGAIN * policy.calm,
        "sure": policy.sure, "near": supervising.NEAR,
    }  # fmt: skip
    # The functions of its laws need other names, and read rows of another width.
    *others, wheels = pieces
    sizes = {"OBSERVATIONS": "", "ACTIONS": ""}
    point = _rename(wheels, sizes | {"answer": "point"})
    damp = _rename(_piece("b_dot"), sizes | {"answer": "damp", "DRAG": "DAMPING"})
    modes = map(_piece, ("find_sun", "acquire", "supervise"))
    return [*others, point, damp, *modes], numbers, sharp


def _of_filter(found: acquiring.Acquiring) -> dict[str, Any]:
    """The numbers of a filter that finds the attitude."""
    columns = {"measured": "angular_velocity", "sun_reference": "sun_reference",
               "field_reference": "field_reference", "field_seen": "magnetic_field",
               "target": "target_quaternion"}  # fmt: skip
    normals = np.array(found.normals)
    cells = {} if found.normals is None else {"cells": len(normals), "normals": normals}
    return cells | {name: found.columns[column].start for name, column in columns.items()} | {
        "dt": found.dt, "rate_limit": found.rate_limit,
        "sun": found.sun.start, "of_sun": found.of_sun,
        "of_field": found.of_field, "of_turn": found.gyros.of_turn,
        "of_both": found.gyros.of_both, "of_bias": found.gyros.of_bias,
        "of_first": found.first[0, 0], "of_first_bias": found.first[3, 3],
        "apart": acquiring.APART, "stray": acquiring.STRAY, "doubts": acquiring.DOUBTS,
    }  # fmt: skip


def _rename(code: str, names: Mapping[str, str]) -> str:
    for one, other in names.items():
        code = re.sub(rf"\b{one}\b", other, code)
    return code


def _of_field(law: Any, column: int) -> dict[str, Any]:
    """The numbers of coils whose field is observed from this column on."""
    return {"field": law.field, "field_column": column, "full": np.full(3, law.dipole)}


def _of_network(network: Network) -> dict[str, Any]:
    stack, remembers = Stack.of([network]), vars(network.memory).copy() if network.memory else {}
    if "edge" in remembers:
        remembers["edge_square"] = remembers["edge"] ** 2
    if "normals" in remembers:
        remembers["cells"] = len(remembers["normals"])
    return remembers | {
        "weights": stack.weights[0], "sizes": stack.sizes, "layers": len(stack.sizes) - 1,
        "widest": int(stack.sizes.max()), "activation": stack.activation,
        "bound": float(stack.bound), "squashes": int(stack.squashed), "mean": stack.mean[0],
        "inputs": len(stack.picked), "shows": stack.picked,
        "quaternions": np.array([*network.quaternions, -1]),
        "scale": stack.scale[0], "clip": min(float(stack.clip[0]), 1e30),
        "tanh_p": [getattr(forward, f"_P{n}") for n in range(1, 5)],
        "tanh_q": [getattr(forward, f"_Q{n}") for n in range(1, 5)],
    }  # fmt: skip


def _of_law(law: Any, width: int) -> dict[str, Any]:
    """The attributes of a law, and what else its piece needs. width: see `_parts`."""
    numbers = {"rates": 4, "columns": 7, "wanted": np.zeros(3)} | vars(law)
    if isinstance(law, controllers.BDot | controllers.MagneticRate):
        return numbers | _of_field(law, law.width) | {"drag": law.factor * law.gain}
    if isinstance(law, controllers.SpinByScale):
        n, scaling = law.frequency, law.scaling
        return numbers | {"stiffness": n * n, "drag": 2.0 * law.damping * n * scaling.rate,
                          "force": law.strength * scaling.force}  # fmt: skip
    numbers |= {"mass": law.body.mass, "facets": len(law.envelope)}
    numbers["columns"] = 10 if (law.width or width) == 10 else 7
    if isinstance(law, controllers.SunPointing):
        numbers |= {"sun": law.cells, "cells": len(law.facing), "normals": law.facing,
                    "opposite": sun.OPPOSITE, "nudge": sun.NUDGE, "columns": 7}  # fmt: skip
    if isinstance(law, controllers.PosePD) and law.moving:
        numbers["columns"] = law.least
    if isinstance(law, controllers.Detour):
        boresights, halves = zip(*law.cones, strict=True)
        numbers |= {"boresights": np.array(boresights, float), "half": np.array(halves, float),
                    "cones": len(law.cones), "middles": law.column, "part": attitude.PLACES,
                    "places": len(attitude.PLACES), "half_pi": np.pi / 2, "columns": 7}  # fmt: skip
    if isinstance(law, controllers.SwingUp):
        numbers |= {"mgl": law.potential.mgl, "push": law.gain, "time": law.damping_time,
                    "near": np.cos(law.capture)}  # fmt: skip
    if isinstance(law, controllers.AxisPD | controllers.PrecessionLQR):
        numbers |= {name: getattr(law.goal, name) for name in _GOAL}
    if isinstance(law, controllers.AxisPD) and isinstance(law.potential, SoftWall):
        sign = wall.SIGNS.get(str(law.potential.sign), law.potential.sign)
        numbers |= {"sign": sign, "gap": wall._GAP, "wall": wall._WALL}
    elif isinstance(law, controllers.AxisPD):
        numbers["mgl"] = law.potential.mgl if isinstance(law.potential, HeavyTop) else 0.0
    return numbers


def _piece(name: str) -> str:
    return (resources.files("rbgym.agents.export") / "pieces" / f"{name}.c").read_text("ascii")


def _frame(code: str) -> str:
    """The head of the code: its real type, macros in capitals for the functions of <math.h> that it
    calls, and the struct of its memory."""
    text, called = _piece("frame"), sorted(set(re.findall(r"\b([A-Z][A-Z\d]+)\(", code)))
    for mark, suffix in (("@DOUBLE@", ""), ("@FLOAT@", "f")):
        lines = [f"#define {name} {name.lower()}{suffix}" for name in called]
        text = text.replace(mark, "\n".join(lines))
    fields = sorted(set(re.findall(r"memory->(?!started|time)(\w+)", code)))
    members = [f"\n    real {name}[{_WIDTHS.get(name, 3)}];" for name in fields]
    return text.replace("@MEMORY@", "".join(members))


def _with_helpers(code: str) -> str:
    """Put in front of the code the functions of vectors.c that it calls, directly or not."""
    for block in reversed(re.split(r"\n\n(?=/\*|static)", _piece("vectors").strip())):
        name = re.findall(r"^static \w+ (\w+)\(", block, re.MULTILINE)[0]
        if re.search(rf"\b{name}\(", code):
            code = f"{block}\n\n{code}"
    return code


def _constants(numbers: Mapping[str, Any]) -> str:
    """Write arrays as constants, and single numbers as macros."""
    lines = []
    for name, value in numbers.items():
        array = np.asarray(value)
        if array.ndim:
            # `predict` normalises in float64 too.
            whole = "int" if array.dtype.kind == "i" else "real"
            kind = "double" if name in ("MEAN", "SCALE") else whole
            shape = "".join(f"[{n}]" for n in array.shape)
            lines.append(f"static const {kind} {name}{shape} = {_initialiser(array)};")
        elif array.dtype.kind in "bi":
            lines.append(f"#define {name} {int(value)}")
        else:
            lines.append(f"#define {name} ((real){float(value)!r})")
    return "\n".join(lines) + "\n"


def _initialiser(array: Any) -> str:
    """A C initialiser, exact for float64 and float32."""
    text = json.dumps(np.asarray(array).tolist()).replace("[", "{").replace("]", "}")
    return "\n".join(textwrap.wrap(text, 96, break_long_words=False, break_on_hyphens=False))


def _comment(content: Mapping[str, Any]) -> str:
    lines = ["A policy of rbgym, as C99. Compile with -std=c99 and link the mathematics (-lm);",
             "-DRBGYM_DOUBLE computes in double, -DRBGYM_SELF_TEST adds a main that compares with",
             "what the policy answered in Python.", ""]  # fmt: skip
    for name, value in content.items():
        if name == "resolved":  # policy.json has it
            continue
        if name in ("observation", "action"):
            lines.append(f"{name}:")
            for one in value:
                last = one["first"] + one["size"] - 1
                scale = sorted(set(one["scale"]))
                shown = scale[0] if len(scale) == 1 else one["scale"]
                where = f", {one['frame']}" if one["frame"] else ""
                text = f"{one['first']}..{last} {one['name']} [{one['unit']}{where}], scale {shown}"
                text += f": {one['what']}" if "what" in one else ""
                lines += textwrap.wrap(text, 94, initial_indent="  ", subsequent_indent="    ")
        else:
            text = f"{name}: {json.dumps(value)}"
            lines += textwrap.wrap(text, 96, subsequent_indent="    ")
    # A user's name could end the comment, start another one, or contain a trigraph.
    body = re.sub(r"\*(?=/)|/(?=\*)|\?(?=\?)", r"\g<0> ", "\n".join(lines))
    ascii_only = body.encode("ascii", "backslashreplace").decode()
    return f"/*\n{textwrap.indent(ascii_only, ' * ')}\n */"
