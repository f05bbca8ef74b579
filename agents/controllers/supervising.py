"""A supervisor, which takes a satellite from tumbling to pointing."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from rbgym.agents.controllers.acquiring import Acquiring, Fix
from rbgym.agents.controllers.actuators import Allocated, BDot, Unloading, damping_gain
from rbgym.agents.controllers.attitude import QuaternionFeedback
from rbgym.agents.controllers.base import Controller, Law, fresh, plant_of, without
from rbgym.agents.controllers.sun import off_sun
from rbgym.envs.arguments import in_range
from rbgym.quaternion import Array, canonicalized, conjugate, multiply

DETUMBLE, FIND_SUN, POINT = 0, 1, 2  # modes
_SLEWING, AGAIN = 1.5, 3.0  # rates of slews and of a tumble, as multiples of the calm rate
_LATEST = 1.0 / 3.0  # control periods; at half of one, slews no longer settle
_TIMES = 8.0  # the momentum that wheels can hold, over that of a calm body
NEAR = 0.97  # cosine of the largest angle between the z axis and the Sun for pointing


class Watch(NamedTuple):
    """The memory of a supervisor of n lanes: estimate, mode (n,), and the memories of its laws."""

    fix: Fix
    mode: Array
    damping: Any
    pointing: Any


@dataclass(eq=False)
class Supervisor(Controller):
    """Detumbles by coils, turns to the Sun by wheels, finds the attitude, and points.

    It reads gyros, a Sun sensor, a magnetometer and an ephemeris, and no attitude. `Acquiring`
    estimates from the first control period on. The modes:

    - detumble: `damping` by coils alone, until the body turns slower than `calm` [rad/s];
    - find the Sun: `pointing` turns the body z axis, where the panels are, to the Sun by the
      shortest way; in the dark it damps the rates and waits;
    - point: `pointing` with the estimated attitude relative to the target's. This mode starts when
      the filter's standard deviation is below `sure` [rad] and the Sun is within 14 degrees of the
      z axis, or in the dark.

    If the filter drops the attitude, the supervisor finds the Sun again; if the body turns faster
    than three times `calm`, it detumbles again. `pointing` unloads the wheels by the coils
    meanwhile. The laws read the rows of an env that shows the attitude: quaternion relative to the
    target, rates, momenta of the wheels, field.

    Gains: calm, at least 2.5 times the orbit's rate, and by default where the body's momentum is an
    eighth of what the wheels can hold, so that they stop most tumbles without waiting for the
    coils; sure, by default 3 degrees.

    Source: Larson & Wertz (1999), Space Mission Analysis and Design, chapter 11, for the modes of
    attitude control; the transitions are ours.
    """

    filter: Acquiring
    damping: BDot
    pointing: Unloading
    _: KW_ONLY
    calm: float = math.radians(1.0)
    sure: float = math.radians(3.0)
    by_name: ClassVar[bool] = True
    late = BDot.late

    def __post_init__(self) -> None:
        for name, kind in {"filter": Acquiring, "damping": BDot, "pointing": Unloading}.items():
            if not isinstance(given := getattr(self, name), kind):
                raise ValueError(f"{name} must be of the class {kind.__name__}, got {given!r}")
        self.refuse_gains("calm", "sure")
        columns = self.filter.columns
        self.usual = str(max(one.stop for one in columns.values()))
        self.target = columns["target_quaternion"]
        self.shown = columns["wheel_momentum"].start

    @classmethod
    def for_env(cls, env: Any, **gains: float) -> Self:
        plant = plant_of(env)
        coils: Any = plant.unloads
        if not coils or not coils.around or "target_quaternion" not in plant.columns:
            raise ValueError(
                "env must have wheels with coils, and show the target's attitude, for a "
                f"supervisor; its actuator is {plant.actuator!r}, its columns {[*plant.columns]}"
            )
        if plant.delay + plant.lag > _LATEST * plant.env.dt:
            raise ValueError(
                "env must have a delay and a lag of together at most a third of a control period "
                "for a supervisor, which does not foresee them, got "
                f"{plant.delay + plant.lag:g} s at dt {plant.env.dt:g} s"
            )
        # The field turns twice in an orbit, and B-dot leaves about that rate.
        slowest, limit = 2.5 * coils.around.rate, plant.env.rate_limit
        facets = np.linalg.norm(without(plant.wheels, plant.out).envelope, axis=1)
        holds = plant.wheels.momentum / facets.max()  # in the worst direction
        usual = holds / np.linalg.eigvalsh(plant.body.inertia).max() / _TIMES
        gains = {"calm": float(np.clip(usual, slowest, limit / AGAIN)), **gains}
        calm = in_range("calm", gains["calm"], slowest, limit)
        law: Law = QuaternionFeedback.for_env(plant, slew_rate=_SLEWING * calm)
        law.width = 7
        shared = Allocated(law, plant.wheels, plant.strength, first=7, out=plant.out)
        field, dipole = plant.columns["magnetic_field"].factor, float(plant.unloads_by[0])
        gain = damping_gain(coils, plant.body)
        damping = BDot(gain, dipole=dipole, field=field, width=shared.least, dt=plant.env.dt)
        pointing = Unloading(shared, coils, plant.unloads_by)
        return cls(Acquiring.for_env(plant), damping, pointing, **gains)

    def fits(self, columns: int) -> bool:
        return columns == int(self.usual)

    def act(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        """Commands of wheels and coils (n, channels), and a `Watch`."""
        n = len(rows)
        if state is not None and not (isinstance(state, Watch) and len(state.mode) == n):
            kind = type(state).__name__
            raise ValueError(f"state must be the memory of {n} lanes, or None, got {kind}")
        fix = self.filter.estimate(rows, state.fix if state else None, episode_start)
        begins = fresh(n, state, episode_start)
        mode = np.where(begins, DETUMBLE, state.mode if state else DETUMBLE)
        speed, lit = np.linalg.norm(fix.rate, axis=1), np.any(fix.sun != 0.0, axis=1)
        faces_it = ~lit | (fix.sun[:, 2] > NEAR)
        mode = np.where((mode == DETUMBLE) & (speed < self.calm), FIND_SUN, mode)
        mode = np.where(speed > AGAIN * self.calm, DETUMBLE, mode)
        ready = fix.known & (fix.deviation < self.sure) & faces_it
        mode = np.where((mode == FIND_SUN) & ready, POINT, mode)
        mode = np.where((mode == POINT) & ~fix.known, FIND_SUN, mode)
        aimed = canonicalized(multiply(conjugate(rows[:, self.target]), fix.attitude))
        q = np.where((mode == POINT)[:, None], aimed, off_sun(fix.sun))
        shown = np.hstack([q, fix.rate / self.filter.rate_limit, rows[:, self.shown :]])
        memories = (state.damping, state.pointing) if state else (None, None)
        damped, damping = self.damping.act(shown, memories[0], episode_start)
        pointed, pointing = self.pointing.act(shown, memories[1], episode_start)
        still = np.zeros((n, pointed.shape[1] - 3))
        commands = np.where((mode == DETUMBLE)[:, None], np.hstack([still, damped]), pointed)
        return commands, Watch(fix, mode, damping, pointing)
