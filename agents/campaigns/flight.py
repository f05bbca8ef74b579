"""Runs in flight, and the figures of each.

The attitude error e(t) is the rotation vector from target to body, body axes; of a task whose goal
is an axis, the one angle. Over the window, the last seconds of a run, each at its worst instant, by
ECSS-E-ST-60-10C (2008), section 3.2:

    APE  absolute performance error   |e(t)|
    RPE  relative performance error   |e(t) - mean of e over the window|
    AKE  absolute knowledge error     angle from the true attitude to the one that an estimator
                                      holds or, without, the sensors show
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbgym.agents.controllers.base import relative
from rbgym.agents.controllers.filtering import Estimating
from rbgym.agents.judge.episodes import Player, shows_target
from rbgym.agents.judge.evaluation import settling_times
from rbgym.envs.parts.goals import Target
from rbgym.identification import rotation_vector
from rbgym.quaternion import Array, angle_between, conjugate, multiply

SUCCESS = "success"
# Figures of a run; a name ends in its unit. A run that does not settle does so at infinity.
FIGURES = (
    "settling_s", "ape_deg", "rpe_deg", "rate_error_deg_s", "ake_deg", "effort_nms",
    "peak_rate_deg_s", "peak_torque_nm", "peak_wheel_momentum_nms", "violations",
)  # fmt: skip


@dataclass(frozen=True)
class Flight:
    """What a policy made of n runs.

    histories: (instants, n, size) by name, nan after the end: relative (attitude from target, w x y
    z), angle and rate_error to the goal [rad, rad/s], reached, and of the state quaternion,
    target_quaternion, angular_velocity, perhaps wheel_momentum; of each control period, and so one
    fewer, command, torque, cost and shown, what attitude relative to the target the policy went by.
    lengths (n,): control periods flown. ended (n,): why; "success" where it was one.
    """

    histories: dict[str, Array]
    lengths: NDArray[np.int64]
    ended: NDArray[np.str_]
    names: list[str]
    turns: bool
    dt: float
    hold: float

    def figures(self, window: float) -> dict[str, Array]:
        """Those of `FIGURES` that the task has, (n,) each. window [s]."""
        seen, steps = self.histories, np.arange(len(self.histories["angle"]))[:, np.newaxis]
        inside = (steps <= self.lengths) & (steps >= self.lengths - round(window / self.dt))
        reached = np.nan_to_num(seen["reached"][..., 0], nan=1.0) == 1.0
        e = rotation_vector(seen["relative"]) if self.turns else seen["angle"]
        e = np.where(inside[..., np.newaxis], e, 0.0)
        mean = e.sum(axis=0) / inside.sum(axis=0)[:, np.newaxis]

        def worst(values: Array) -> Array:
            return np.asarray(np.where(inside[: len(values)], values, 0.0).max(axis=0))

        def peak(name: str) -> Array:
            return np.asarray(np.nanmax(np.linalg.norm(seen[name], axis=-1), axis=0))

        found: dict[str, Callable[[], Array]] = {
            "settling_s": lambda: np.maximum(settling_times(reached, self.dt) - self.hold, 0.0),
            "ape_deg": lambda: np.degrees(worst(np.linalg.norm(e, axis=-1))),
            "rpe_deg": lambda: np.degrees(worst(np.linalg.norm(e - mean, axis=-1))),
            "rate_error_deg_s": lambda: np.degrees(worst(seen["rate_error"][..., 0])),
            "ake_deg": lambda: np.degrees(
                worst(angle_between(seen["shown"], seen["relative"][: len(seen["shown"])]))
            ),
            "effort_nms": lambda: self.dt * np.nansum(np.linalg.norm(seen["torque"], axis=-1), 0),
            "peak_rate_deg_s": lambda: np.degrees(peak("angular_velocity")),
            "peak_torque_nm": lambda: peak("torque"),
            "peak_wheel_momentum_nms": lambda: np.nanmax(np.abs(seen["wheel_momentum"]), (0, 2)),
            "violations": lambda: np.nansum(seen["cost"], axis=(0, 2)),
        }
        return {name: found[name]() for name in self.names}


def figures_of(env: Any, estimator: bool = False) -> list[str]:
    """Those of `FIGURES` that the runs of an env have, behind an estimator or not."""
    base, has = env.unwrapped, dict.fromkeys(FIGURES, True)
    has["ape_deg"] = has["rpe_deg"] = bool(base.goal.angle_off)
    noisy = estimator or bool(base.episodes.setup.parts.sensor.is_noisy())
    has["ake_deg"] = shows_target(env) and noisy
    has["peak_wheel_momentum_nms"] = base.actuator.rotors is not None
    has["violations"] = "source" not in base.resolved["constraints"]
    return [name for name in FIGURES if has[name]]


def fly(player: Player, see: Callable[[int, NDArray[np.bool_]], object] | None = None) -> Flight:
    """Every lane to the end of its run. see: called at each instant, with the lanes in flight."""
    env, n = player.env.unwrapped, player.env.num_envs
    names = figures_of(player.env, isinstance(player.policy, Estimating))
    lengths, ended = np.zeros(n, dtype=np.int64), np.full(n, "", dtype="<U18")
    seen = defaultdict[str, list[Array]](list)

    def look() -> None:
        player.keep(seen, **_state(player))
        if see is not None:
            see(len(seen["angle"]) - 1, player.running)

    look()
    for observation, actions, _ in player.first_episodes():
        player.keep(seen, command=actions, torque=player.info["applied_torque"])
        if "ake_deg" in names:
            player.keep(seen, shown=_shown(player, observation))
        if "violations" in names:
            player.keep(seen, cost=player.info["cost"][:, np.newaxis])
        lengths += player.running
        look()
        done = player.start & player.running
        ended[done] = _reasons(player)[done]
    return Flight(
        {name: np.stack(values) for name, values in seen.items()}, lengths, ended, names,
        isinstance(env.goal, Target), float(env.dt), float(env.dt * (env.task.settled_steps - 1)),
    )  # fmt: skip


def _state(player: Player) -> dict[str, Array]:
    state, info = player.env.unwrapped.state, player.info
    names = "quaternion", "target_quaternion", "angular_velocity", "wheel_momentum"
    return {name: state[name] for name in names if name in state} | {
        "relative": multiply(conjugate(state["target_quaternion"]), state["quaternion"]),
        "angle": info["attitude_error"][:, np.newaxis],
        "rate_error": info["rate_error"][:, np.newaxis],
        "reached": info["is_success"][:, np.newaxis],
    }


def _shown(player: Player, observation: Any) -> Array:
    """The attitude relative to the target, as the policy took it to be when it acted."""
    if isinstance(player.policy, Estimating):
        return np.asarray(player.state[0].attitude)
    rows = relative(observation) if isinstance(observation, dict) else observation
    return np.asarray(rows[:, :4])


def _reasons(player: Player) -> NDArray[np.str_]:
    """Why each lane that has ended did."""
    info, found = player.info, np.where(player.terminated, "terminated", "truncated")
    found = np.where(info["is_success"], "success", found)
    return np.where(info["integration_failed"], "integration failed", found)
