"""A group of runs as a contender flies them, lane by lane, and the figures of each.

The attitude error e(t) is the rotation vector from the target to the body, in body axes; of a task
whose goal is an axis it is the one angle. Over the window, the last seconds of a run, by
ECSS-E-ST-60-10C (2008), section 3.2, each at its worst instant there:

    APE  absolute performance error   |e(t)|
    RPE  relative performance error   |e(t) - mean of e over the window|
    AKE  absolute knowledge error     angle between the attitude estimated, or else shown by the
                                      sensors, and the true one
"""

from collections.abc import Callable, Mapping
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

# Figures of a run, and what they are; the last word of a name is the unit.
FIGURES = {
    "settling_s": "time until the run settled for good, inf where it did not",
    "ape_deg": "absolute performance error",
    "rpe_deg": "relative performance error",
    "rate_error_deg_s": "largest rate error in the window",
    "ake_deg": "absolute knowledge error",
    "effort_nms": "integral of the size of the torque",
    "peak_rate_deg_s": "largest rate",
    "peak_torque_nm": "largest torque",
    "peak_wheel_momentum_nms": "largest momentum of a wheel",
    "violations": "sum of the costs of constraints",
}
SUCCESS = "success"


@dataclass
class Flight:
    """What a contender made of a group of runs.

    figures: (n,) each, of those of `FIGURES` that the task has. ended: why each did. seconds: how
    long it flew. time: instants [s]; angle: attitude error (instants, n) [rad], nan after the end.
    telemetry: of the watched run, (instants, size) by name; what acts in a control period has no
    entry for the last instant.
    """

    figures: dict[str, Array]
    success: NDArray[np.bool_]
    ended: NDArray[np.str_]
    seconds: Array
    time: Array
    angle: Array
    telemetry: dict[str, Array]


class Recorder:
    """A player's lanes in flight: histories, and what adds up. window [s]: of the errors. watched:
    the lane whose telemetry is kept; see: called with the env at each of its instants."""

    def __init__(
        self,
        player: Player,
        window: float,
        watched: int | None = None,
        see: Callable[[Any], object] | None = None,
    ) -> None:
        self.player, self.env = player, player.env.unwrapped
        self.watched, self.see = watched, see
        n, self.instants = self.env.num_envs, round(window / float(self.env.dt))
        self.estimates = isinstance(player.policy, Estimating)
        self.knows = "ake_deg" in figures_of(player.env, self.estimates)
        self.running, self.success = np.ones(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
        self.lengths, self.ended = np.zeros(n, dtype=np.int64), np.full(n, "", dtype="<U18")
        self.effort, self.violations = np.zeros(n), np.zeros(n)
        self.peaks = {name: np.zeros(n) for name in ("rate", "torque", "wheels")}
        self.histories: dict[str, list[Array]] = {
            name: [] for name in ("error", "angle", "rate_error", "reached", "knowledge")
        }
        self.telemetry: dict[str, list[Array]] = {}

    def fly(self) -> Flight:
        """Every lane to the end of its episode."""
        player, now = self.player, self._look()
        while self.running.any():
            shown = player.observation
            actions, _ = player.step()
            self._know(shown, now["relative"], actions)
            self.lengths[self.running] += 1
            self._add_up(np.asarray(player.info["applied_torque"]))
            now = self._look()
            done = player.start
            self._end(done & self.running)
            if done.any() and self.running.any():
                player.observation, _ = player.env.reset(options={"reset_mask": done.copy()})
        return self._flight()

    def _look(self) -> dict[str, Array]:
        """The state now, and in the histories."""
        state, info = self.env.state, self.player.info
        target = state["target_quaternion"]
        state["relative"] = multiply(conjugate(target), state["quaternion"])
        angle = np.asarray(info["attitude_error"], dtype=np.float64)
        turns = isinstance(self.env.goal, Target)
        error = rotation_vector(state["relative"]) if turns else angle[:, np.newaxis]
        found = {
            "error": error,
            "angle": angle,
            "rate_error": np.asarray(info["rate_error"], dtype=np.float64),
            "reached": np.asarray(info["is_success"], dtype=np.float64),
        }
        for name, values in found.items():
            mask = self.running.reshape(-1, *(1,) * (values.ndim - 1))
            self.histories[name].append(np.where(mask, values, np.nan))
        self._peak("rate", np.linalg.norm(state["angular_velocity"], axis=1))
        if "wheel_momentum" in state:
            self._peak("wheels", np.abs(state["wheel_momentum"]).max(axis=1))
        self._watch({"quaternion": state["quaternion"], "target_quaternion": target})
        self._watch({"error": error, "angular_velocity": state["angular_velocity"]})
        self._watch({n: state[n] for n in ("wheel_momentum",) if n in state})
        if (wheels := self.env.actuator.rotors) is not None:
            along = state["angular_velocity"] @ wheels.matrix
            self._watch({"wheel_speed": state["wheel_momentum"] / wheels.inertia - along})
        if self.see is not None and self.running[self.watched]:
            self.see(self.player.env)
        return state

    def _know(self, shown: Any, attitude: Array, actions: Array) -> None:
        """What the contender took the attitude to be when it acted, against what it was."""
        memory = self.player.state
        if self.estimates:
            shown = memory[0].attitude
        if self.knows:
            shown = relative(shown) if isinstance(shown, dict) else shown
            estimate = np.asarray(shown[:, :4], dtype=np.float64)
            found = angle_between(estimate, attitude)
            self.histories["knowledge"].append(np.where(self.running, found, np.nan))
            self._watch({"shown": estimate})
        self._watch({"command": np.asarray(actions, dtype=np.float64)})

    def _add_up(self, torque: Array) -> None:
        """What the last control period cost."""
        size, info = np.linalg.norm(torque, axis=1), self.player.info
        self.effort[self.running] += float(self.env.dt) * size[self.running]
        if "cost" in info:
            self.violations[self.running] += np.asarray(info["cost"])[self.running]
        self._peak("torque", size)
        self._watch({"torque": torque})

    def _peak(self, name: str, values: Array) -> None:
        peak = self.peaks[name]
        peak[self.running] = np.maximum(peak, values)[self.running]

    def _watch(self, values: Mapping[str, Array]) -> None:
        if self.watched is not None and self.running[self.watched]:
            for name, of_all in values.items():
                self.telemetry.setdefault(name, []).append(of_all[self.watched])

    def _end(self, ended: NDArray[np.bool_]) -> None:
        """Lanes whose episode is over."""
        info = self.player.info
        self.success[ended] = np.asarray(info["is_success"])[ended]
        terminated = self.player.terminated
        self.ended[ended] = np.where(terminated, "terminated", "truncated")[ended]
        self.ended[ended & self.success] = "success"
        self.ended[ended & np.asarray(info["integration_failed"])] = "integration failed"
        self.running &= ~ended

    def _flight(self) -> Flight:
        seen = {name: np.stack(one) for name, one in self.histories.items() if one}
        dt = float(self.env.dt)
        instants = np.arange(len(seen["angle"]))[:, np.newaxis]
        inside = (instants <= self.lengths) & (instants >= self.lengths - self.instants)
        reached = (seen["reached"] == 1.0) | np.isnan(seen["reached"])
        hold = dt * (self.env.task.settled_steps - 1)
        off, wander = window_errors(seen["error"], inside)
        known = seen.get("knowledge", np.zeros((len(inside) - 1, 1)))
        figures = {
            "settling_s": np.maximum(settling_times(reached, dt) - hold, 0.0),
            "ape_deg": np.degrees(off),
            "rpe_deg": np.degrees(wander),
            "rate_error_deg_s": np.degrees(_largest(seen["rate_error"], inside)),
            "ake_deg": np.degrees(_largest(known, inside[:-1])),
            "effort_nms": self.effort,
            "peak_rate_deg_s": np.degrees(self.peaks["rate"]),
            "peak_torque_nm": self.peaks["torque"],
            "peak_wheel_momentum_nms": self.peaks["wheels"],
            "violations": self.violations,
        }
        return Flight(
            figures={name: figures[name] for name in figures_of(self.player.env, self.estimates)},
            success=self.success,
            ended=self.ended,
            seconds=dt * self.lengths,
            time=np.asarray(dt * instants[:, 0], dtype=np.float64),
            angle=seen["angle"],
            telemetry={name: np.stack(one) for name, one in self.telemetry.items()},
        )


def figures_of(env: Any, estimator: bool) -> list[str]:
    """Those of `FIGURES` that the runs of an env have."""
    base = env.unwrapped
    parts, tree = base.episodes.setup.parts, base.resolved
    has = dict.fromkeys(FIGURES, True)
    has["ape_deg"] = has["rpe_deg"] = bool(base.goal.angle_off)
    has["ake_deg"] = shows_target(env) and (estimator or bool(parts.sensor.is_noisy()))
    has["peak_wheel_momentum_nms"] = base.actuator.rotors is not None
    has["violations"] = {*tree["constraints"]} != {"value", "source"}
    return [name for name in FIGURES if has[name]]


def window_errors(error: Array, inside: NDArray[np.bool_]) -> tuple[Array, Array]:
    """APE and RPE of each run, (n,): of errors (instants, n, k) [rad], at instants (instants, n)
    inside the window."""
    e = np.where(inside[..., np.newaxis], error, 0.0)
    wander = e - e.sum(axis=0) / inside.sum(axis=0)[:, np.newaxis]
    return tuple(_largest(np.linalg.norm(x, axis=-1), inside) for x in (e, wander))  # type: ignore


def _largest(values: Array, inside: NDArray[np.bool_]) -> Array:
    return np.asarray(np.where(inside, values, 0.0).max(axis=0))
