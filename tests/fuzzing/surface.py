"""The public surface: what docs/api documents, which is what the package promises."""

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

_RECORD = "a record that is made here, not by users"
_LONG = "works for minutes: its refusals are in tests/agents"
_TASK = "part of a task's declaration: constants of its author, which are compiled"
_BASE = "a base class: what is made of it is attacked"
# Documented, and left out of the attack.
NOT_ATTACKED = {
    **dict.fromkeys(
        [f"rbgym.{name}" for name in (
            "Identified", "engine.derivatives.Jacobian", "envs.derivatives.Linear",
            "ScalableState", "ScalableTrajectory", "Trajectory",
            "agents.campaigns.Campaign", "agents.campaigns.Replay", "agents.campaigns.Report",
            "agents.judge.Card", "agents.judge.Evaluation", "agents.train.Rollout",
            "agents.policies.TrainedPolicy", "integrators.Integrator", "integrators.interface.Step",
            "testing.Drift", "testing.Fidelity", "testing.Order", "testing.Verdict",
            "validation.Claim", "validation.declared", "integrators.interface.Body",
        )], _RECORD),
    **dict.fromkeys(
        ["rbgym.agents.campaigns.campaign", "rbgym.agents.train.sb3.training.learn"], _LONG),
    "rbgym.agents.train.DifferentiableEnv": "an env that is made already; tests/agents",
    "rbgym.linearize": "compiles for a minute: its refusals are in tests/envs",
    **dict.fromkeys(
        ["rbgym.agents.controllers.ModelPredictive", "rbgym.agents.controllers.PlannedSlew"],
        "compiles for a minute: its refusals are in tests/agents"),
    **dict.fromkeys(
        [f"rbgym.{name}" for name in (
            "envs.task.Task", "envs.base.vectorised", "envs.parts.goals.Axis",
            "envs.parts.goals.Wandering",
            "envs.parts.rewards.Approach", "envs.parts.rewards.Closeness",
            "envs.parts.rewards.Weighted", "envs.parts.starts.Adrift", "envs.parts.starts.Spun",
            "envs.parts.starts.Tilted", "envs.parts.starts.TurnedAway", "integrators.Lagrange",
        )], _TASK),
    "rbgym.agents.controllers.Law": _BASE,
    "rbgym.agents.controllers.Policy": "a protocol",
    "rbgym.envs.base.AttitudeEnv": "attacked as each of the environments, fuzzing.environments",
    "rbgym.envs.base.AttitudeVectorEnv": "attacked as each of the environments",
}  # fmt: skip

API = Path(__file__).resolve().parents[2] / "docs" / "api"
_ENTRY = re.compile(r"^\.\. auto(\w+):: ([\w.]+)\n((?:   .*\n)*)", re.MULTILINE)


def documented() -> dict[str, Any]:
    """Functions and classes that take arguments, by the name that the documentation uses."""
    found: dict[str, Any] = {}
    for page in sorted(API.glob("*.rst")):
        for kind, name, options in _ENTRY.findall(page.read_text() + "\n"):
            objects = _members(name, options) if kind == "module" else {name: _named(name)}
            found |= objects
    return {name: one for name, one in found.items() if callable(one) and _takes_something(one)}


def _named(name: str) -> Any:
    module, _, own = name.rpartition(".")
    return getattr(importlib.import_module(module), own)


def _members(name: str, options: str) -> dict[str, Any]:
    flat = " ".join(options.split())
    if ":no-members:" in flat:
        return {}
    module = importlib.import_module(name)
    given = re.search(r":members: (.+?)(?: :|$)", flat)
    left_out = re.search(r":exclude-members: (.+?)(?: :|$)", flat)
    public = [n for n, one in vars(module).items()
              if not n.startswith("_") and getattr(one, "__module__", "") == name]  # fmt: skip
    names = given[1].split(",") if given else getattr(module, "__all__", public)
    skipped = {n.strip() for n in left_out[1].split(",")} if left_out else set()
    return {f"{name}.{n.strip()}": getattr(module, n.strip()) for n in names if n not in skipped}


def _takes_something(one: Any) -> bool:
    try:
        return bool(inspect.signature(one).parameters)
    except ValueError:
        return False
