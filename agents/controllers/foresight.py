"""A law behind a delay or a lag: it is shown the state in which its commands will act."""

from typing import Any, NamedTuple

import numpy as np

from rbgym.agents.controllers.base import Controller, Plant, weight_torque
from rbgym.envs.parts.columns import BODY
from rbgym.quaternion import Array, from_rotation_vector, multiply, rotate_inverse

_PARTS = 4  # steps of a prediction for each command under way
_UP = np.array([0.0, 0.0, 1.0])


class Motion(NamedTuple):
    """What is predicted of n bodies.

    rates: (n, 3) [rad/s]. turn: (n, 4), from the body axes of now to those of then. wheels: (n, k),
    their momenta [N m s]. response: (n, channels), of the lag.
    """

    rates: Array
    turn: Array
    wheels: Array
    response: Array


class Foreseeing(Controller):
    """A law of torque or wheels behind a delay d and a lag of the time constant T.

    The commands under way are shown. Under them the equation of motion of the body, its wheels and
    its weight takes the state on by d, to when a new command begins to act. The response r of the
    lag outlasts that; with M the torques of full commands,

        omega_e = omega + T J^-1 M r,    q_e = q exp(T omega),

    so that J omega_e' = M c - omega x J omega and q_e turns with omega_e, without a lag, to first
    order in T. When q_e has come to rest, q does with the time T. The law is shown q_e, omega_e,
    and all vectors in those axes. Disturbances, friction, the torque of coils, forces, the
    acceleration of a target and what differs from episode to episode are not foreseen.

    Source: Smith (1957), Closer control of loops with dead time, Chemical Engineering Progress
    53(5), for the idea; Artstein (1982), Linear systems with delayed controls: a reduction, IEEE
    Trans. Automatic Control 27(4), for the state that is left.
    """

    def __init__(self, policy: Controller, plant: Plant) -> None:
        self.policy, self.dt, self.delay, self.lag = policy, plant.env.dt, plant.delay, plant.lag
        self.inertia = np.asarray(plant.body.inertia)
        self.inverse = np.linalg.inv(self.inertia)
        self.potential = None if plant.target else plant.potential
        self.mixing, self.wheels = plant.mixing, plant.wheels
        self.motor = plant.commands["wheel_torque"].factor if plant.wheels else 0.0
        self.columns, self.channels = plant.columns, plant.given["channels"]
        self.least = plant.first + plant.shown
        self.waiting = self.least - self.channels * plant.waiting
        self.response = self.waiting - self.channels * (self.lag > 0)

    def act(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        return self.policy.act(self.foreseen(rows), state, episode_start)

    def foreseen(self, rows: Array) -> Array:
        """The observations (n, columns) that the law is shown."""
        motion = Motion(
            self.quantity(rows, "angular_velocity"),
            np.tile([1.0, 0.0, 0.0, 0.0], (len(rows), 1)),
            self.quantity(rows, "wheel_momentum"),
            rows[:, self.response : self.waiting],
        )
        up = rotate_inverse(rows[:, :4], _UP)
        # The oldest first, a part of which has acted.
        for age in range(int(np.ceil(self.delay / self.dt - 1e-9)) - 1, -1, -1):
            command = rows[:, self.waiting + age * self.channels :][:, : self.channels]
            seconds = min(self.dt, self.delay - age * self.dt)
            for _ in range(_PARTS):
                motion = self.moved(motion, command, up, seconds / _PARTS)
        if self.lag:
            motion = self.settled(motion)
        return self.shown(rows, motion)

    def quantity(self, rows: Array, name: str) -> Array:
        """What observations show by that name (n, k), in its unit."""
        one = self.columns.get(name)
        return rows[:, :0] if one is None else rows[:, one.place] * one.factor

    def moved(self, motion: Motion, command: Array, up: Array, h: float) -> Motion:
        """The motion h seconds later, by the midpoint; up (n, 3): the vertical in axes of now."""
        omega, turn, wheels, response = motion
        acting = command
        if self.lag:
            x, lack = h / self.lag, response - command
            acting = command - np.expm1(-x) / x * lack
            response = command + np.exp(-x) * lack
        torque = acting @ self.mixing.T
        drawn = acting[:, : wheels.shape[1]] * self.motor  # of the wheels, which command first
        half = omega + 0.5 * h * self.acceleration(omega, torque, wheels, rotate_inverse(turn, up))
        middle = multiply(turn, from_rotation_vector(0.5 * h * half))
        wheels = wheels - 0.5 * h * drawn
        a = self.acceleration(half, torque, wheels, rotate_inverse(middle, up))
        after = multiply(turn, from_rotation_vector(h * half))
        return Motion(omega + h * a, after, wheels - 0.5 * h * drawn, response)

    def acceleration(self, omega: Array, torque: Array, wheels: Array, up: Array) -> Array:
        """Of the body (n, 3) [rad/s^2]; up (n, 3): the vertical in its axes."""
        momentum = omega @ self.inertia
        if self.wheels is not None:
            momentum = momentum + wheels @ self.wheels.matrix.T
        if self.potential is not None:
            torque = torque + weight_torque(self.potential, up)
        return np.asarray((torque - np.cross(omega, momentum)) @ self.inverse)

    def settled(self, motion: Motion) -> Motion:
        """The motion of which new commands are in charge, see the class."""
        omega, turn, wheels, r = motion
        rest = self.lag * r
        after = multiply(turn, from_rotation_vector(self.lag * omega))
        gained = rest @ self.mixing.T @ self.inverse
        wheels = wheels - rest[:, : wheels.shape[1]] * self.motor
        return Motion(omega + gained, after, wheels, r)

    def shown(self, rows: Array, motion: Motion) -> Array:
        """Observations (n, columns) of that motion."""
        ahead, seen = self.delay + self.lag, rows.copy()
        target, velocity = (
            self.quantity(rows, name) for name in ("target_angular_velocity", "velocity")
        )
        if velocity.size:
            one = self.columns["position"]
            seen[:, one.place] += ahead * velocity / one.factor
        for one in self.columns.values():
            if one.frame == BODY:  # which turns under what stays in the world
                for n in range(one.first, one.place.stop, 3):
                    seen[:, n : n + 3] = rotate_inverse(motion.turn, seen[:, n : n + 3])
        turn = motion.turn
        if target.size:
            turn = multiply(from_rotation_vector(-ahead * target), turn)
        seen[:, :4] = multiply(rows[:, :4], turn)
        for name, value in (("angular_velocity", motion.rates), ("wheel_momentum", motion.wheels)):
            if name in self.columns:
                one = self.columns[name]
                seen[:, one.place] = value / one.factor
        return seen
