"""Runs a law behind a delay or a lag, on the predicted state in which its commands will act."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from rbgym.agents.controllers.base import Controller, Plant, fresh, target_turning, weight_torque
from rbgym.envs.parts.columns import BODY, width
from rbgym.identification import rotation_vector
from rbgym.quaternion import Array, canonicalized, from_rotation_vector, multiply, rotate_inverse

_PARTS = 4  # steps of a prediction for each pending command
_GAIN = 0.2  # of the estimate of what the equation of motion leaves out, in a control period
_RATES, _TARGET = "angular_velocity", "target_angular_velocity"  # columns
_UP = np.array([0.0, 0.0, 1.0])
# Columns that are predicted, or that change little in a delay.
PREDICTED = {
    "quaternion", _RATES, _TARGET, "position", "velocity", "wheel_momentum", "magnetic_field",
    "keep_out", "deflection", "deflection_rate", "star_tracker_valid", "actuator",
}  # fmt: skip


class Prediction(NamedTuple):
    """The predicted state of n bodies.

    rates: (n, 3) [rad/s]. turn: (n, 4), future body axes to present body axes. wheels: (n, k),
    their momenta [N m s]. response: (n, channels), of the lag. The others do not change: extra:
    (n, 3) [rad/s^2], body axes, the acceleration that the equation of motion leaves out. up, field:
    vectors from outside, present body axes (n, 3): the vertical, and the magnetic field [T], (n, 0)
    if it is not shown.
    """

    rates: Array
    turn: Array
    wheels: Array
    response: Array
    extra: Array
    up: Array
    field: Array


class Foreseen(NamedTuple):
    """The memory. rates: (n, 3) [rad/s], predicted for the end of the control period; rise: (n, 3)
    [rad/s], by how much they exceed the mean that gyros measure. extra: see `Prediction`. turning:
    (n, 3) [rad/s], the target's rate in its own axes. policy: its memory."""

    rates: Array
    rise: Array
    extra: Array
    turning: Array | None
    policy: Any


class Learned(Controller):
    """A trained policy as a controller, which reads the first `width` columns of an observation."""

    def __init__(self, policy: Any, width: int) -> None:
        self.policy, self.width = policy, width

    def act(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        seen = rows[:, : self.width].astype(np.float32)
        seen[:, :4] = canonicalized(seen[:, :4])  # as envs show it
        actions, state = self.policy.predict(
            seen, state=state, episode_start=episode_start, deterministic=True
        )
        return np.asarray(actions, dtype=np.float64), state


class Foreseeing(Controller):
    """Runs a law, or a policy trained without delay and lag, behind a delay d and a lag of time
    constant T.

    Observations show the pending commands. Under these, the equation of motion of the body, its
    wheels, coils and weight predicts the state after d, when a new command begins to act. The
    response r of the lag lasts longer; with M the torques of full commands,

        omega_e = omega + T J^-1 M r,    q_e = q exp(T omega)

    obey J omega_e' = M c - omega x J omega, and q_e rotates with omega_e, without a lag, to first
    order in T. After q_e has come to rest, q follows with the time constant T. The law sees q_e,
    omega_e, and all vectors in those axes. A target keeps the acceleration of the last control
    period.

    The equation of motion leaves out disturbances, friction, and how the body and its actuators
    differ from what the env says. Their acceleration a_x is estimated: with omega_p the rates
    predicted a control period dt ago for now, a_x grows by 0.2 (omega - omega_p) / dt, and the
    prediction has a_x added. Without it a law's integral would bring the predicted attitude to the
    target, and leave the true one off it.

    of_means: the rates in the observation are means of the last control period, as gyros measure
    them. The prediction of that period says how much larger the rates at its end are.

    Source: Smith (1957), Closer control of loops with dead time, Chemical Engineering Progress
    53(5), for the idea; Artstein (1982), Linear systems with delayed controls: a reduction, IEEE
    Trans. Automatic Control 27(4), for the state that is left.
    """

    def __init__(self, policy: Controller, plant: Plant) -> None:
        self.policy, self.dt, self.delay, self.lag = policy, plant.env.dt, plant.delay, plant.lag
        self.substeps = plant.given["substeps"]
        self.of_means = plant.env.episodes.setup.parts.sensor.shows_means()
        self.late = policy.late
        self.inertia = np.asarray(plant.body.inertia)
        self.inverse = np.linalg.inv(self.inertia)
        self.potential = None if plant.target else plant.potential
        self.mixing, self.wheels = plant.mixing, plant.wheels
        self.motor = plant.commands["wheel_torque"].factor if plant.wheels else 0.0
        self.columns, self.channels = plant.columns, plant.given["channels"]
        shown = "magnetic_field" in self.columns
        self.coils = plant.commands.get("magnetic_moment") if shown else None
        self.least = width(self.columns.values())
        self.waiting = self.least - self.channels * plant.waiting
        self.response = self.waiting - self.channels * (self.lag > 0)

    def act(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        begins, zero = fresh(len(rows), state, episode_start), np.zeros((len(rows), 3))
        before = state or Foreseen(zero, zero, zero, None, None)
        rows, one = rows.copy(), self.columns[_RATES]
        rows[:, one.place] += np.where(begins[:, None], 0.0, before.rise / one.factor)
        off = self.quantity(rows, _RATES) - before.rates
        extra = np.where(begins[:, None], 0.0, before.extra + _GAIN * off / self.dt)
        gained, turning, wanted = zero, None, self.quantity(rows, _TARGET)
        if wanted.size:
            a, turning = target_turning(rows[:, :4], wanted, before.turning, begins, self.dt)
            gained = (self.delay + self.lag) * a
        seen = self.predicted(rows, extra, gained)
        command, policy = self.policy.act(seen, before.policy, episode_start)
        after = self.after_period(rows, command, extra)
        rise = after.rates - rotation_vector(after.turn) / self.dt if self.of_means else zero
        return command, Foreseen(after.rates, rise, extra, turning, policy)

    def predicted(self, rows: Array, extra: Array, gained: Array) -> Array:
        """The predicted observations (n, columns), which the law sees. extra: see `Prediction`.
        gained (n, 3): the change of a target's rates until then [rad/s], present body axes."""
        ahead = self.present(rows, extra)
        for command, seconds in self.pending(rows):
            h = seconds / _PARTS
            for _ in range(_PARTS):
                acting, response = self.respond(ahead.response, command, h)
                ahead = self.turned(ahead, acting, h)._replace(response=response)
        if self.lag:
            ahead = self.without_lag(ahead)
        return self.observations(rows, ahead, gained)

    def after_period(self, rows: Array, command: Array, extra: Array) -> Prediction:
        """The predicted state after the control period that begins with this command. As in the
        env, what acts in a step of the integrator is the mean of it."""
        ahead, h = self.present(rows, extra), self.dt / self.substeps
        acting = [*self.pending(rows), (command, self.dt)]
        parts = max(_PARTS // self.substeps, 1)
        for step in range(self.substeps):
            held, response = self.respond(ahead.response, mean_of(acting, step * h, h), h)
            for _ in range(parts):
                ahead = self.turned(ahead, held, h / parts)
            ahead = ahead._replace(response=response)
        return ahead

    def present(self, rows: Array, extra: Array) -> Prediction:
        turn = np.tile([1.0, 0.0, 0.0, 0.0], (len(rows), 1))
        rates, wheels = self.quantity(rows, _RATES), self.quantity(rows, "wheel_momentum")
        up, field = rotate_inverse(rows[:, :4], _UP), self.quantity(rows, "magnetic_field")
        response = rows[:, self.response : self.waiting]
        return Prediction(rates, turn, wheels, response, extra, up, field)

    def pending(self, rows: Array) -> Iterator[tuple[Array, float]]:
        """The pending commands (n, channels), and how long each will act [s], oldest first."""
        for age in range(int(np.ceil(self.delay / self.dt - 1e-9)) - 1, -1, -1):
            command = rows[:, self.waiting + age * self.channels :][:, : self.channels]
            yield command, min(self.dt, self.delay - age * self.dt)  # a part has acted already

    def quantity(self, rows: Array, name: str) -> Array:
        """The quantity of that name in observations (n, k), in its unit; (n, 0) if not shown."""
        one = self.columns.get(name)
        return rows[:, :0] if one is None else rows[:, one.place] * one.factor

    def respond(self, response: Array, command: Array, h: float) -> tuple[Array, Array]:
        """The mean of the lag's response in h seconds under a command, and the response then."""
        if not self.lag:
            return command, response
        x, lack = h / self.lag, response - command
        return command - np.expm1(-x) / x * lack, command + np.exp(-x) * lack

    def turned(self, ahead: Prediction, acting: Array, h: float) -> Prediction:
        """The state h seconds later, but for the response, by the midpoint rule. acting: (n,
        channels), as fractions of full commands."""
        omega, turn, wheels, *others = ahead
        drawn = acting[:, : wheels.shape[1]] * self.motor  # the wheels have the first commands
        half = omega + 0.5 * h * self.acceleration(ahead, acting)
        middle = multiply(turn, from_rotation_vector(0.5 * h * half))
        wheels = wheels - 0.5 * h * drawn
        a = self.acceleration(Prediction(half, middle, wheels, *others), acting)
        after = multiply(turn, from_rotation_vector(h * half))
        return Prediction(omega + h * a, after, wheels - 0.5 * h * drawn, *others)

    def acceleration(self, ahead: Prediction, acting: Array) -> Array:
        """Angular acceleration (n, 3) [rad/s^2] under the commands that act (n, channels)."""
        momentum, torque = ahead.rates @ self.inertia, self.torque(ahead, acting)
        if self.wheels is not None:
            momentum = momentum + ahead.wheels @ self.wheels.matrix.T
        if self.potential is not None:
            torque = torque + weight_torque(self.potential, rotate_inverse(ahead.turn, ahead.up))
        change = (torque - np.cross(ahead.rates, momentum)) @ self.inverse
        return np.asarray(change + ahead.extra)

    def torque(self, ahead: Prediction, acting: Array) -> Array:
        """The torque of commands (n, channels) [N m, body], that of coils included."""
        torque = acting @ self.mixing.T
        if self.coils is None:
            return np.asarray(torque)
        moment = acting[:, self.coils.place] * self.coils.factor
        return np.asarray(torque + np.cross(moment, rotate_inverse(ahead.turn, ahead.field)))

    def without_lag(self, ahead: Prediction) -> Prediction:
        """The state (q_e, omega_e) that new commands move without a lag, see the class."""
        omega, turn, wheels, *others = ahead
        rest = self.lag * ahead.response
        gained = self.torque(ahead, rest) @ self.inverse + self.lag * ahead.extra
        after = multiply(turn, from_rotation_vector(self.lag * omega))
        wheels = wheels - rest[:, : wheels.shape[1]] * self.motor
        return Prediction(omega + gained, after, wheels, *others)

    def observations(self, rows: Array, ahead: Prediction, gained: Array) -> Array:
        """Observations (n, columns) of a predicted state; gained: as in `predicted`."""
        seconds, seen, turn = self.delay + self.lag, rows.copy(), ahead.turn
        target, velocity = (self.quantity(rows, name) for name in (_TARGET, "velocity"))
        if velocity.size:
            one = self.columns["position"]
            seen[:, one.place] += seconds * velocity / one.factor
        if target.size:
            one = self.columns[_TARGET]
            seen[:, one.place] += gained / one.factor
            turn = multiply(from_rotation_vector(-seconds * (target + 0.5 * gained)), turn)
        for one in self.columns.values():
            if one.frame == BODY:  # rotate world-fixed vectors into the future body axes
                for n in range(one.first, one.place.stop, 3):
                    seen[:, n : n + 3] = rotate_inverse(ahead.turn, seen[:, n : n + 3])
        seen[:, :4] = multiply(rows[:, :4], turn)
        for name, value in ((_RATES, ahead.rates), ("wheel_momentum", ahead.wheels)):
            if found := self.columns.get(name):
                seen[:, found.place] = value / found.factor
        return seen


def mean_of(acting: list[tuple[Array, float]], start: float, h: float) -> Array:
    """The mean, over h seconds from `start` on, of commands that act one after the other, each for
    its seconds."""
    total, begin = np.zeros_like(acting[0][0]), 0.0
    for command, seconds in acting:
        both = min(begin + seconds, start + h) - max(begin, start)
        total, begin = total + max(both, 0.0) / h * command, begin + seconds
    return total
