"""Derivatives of an env's step beside central differences of its steps."""

import numpy as np

from differences import errors_off, slope, turned_by
from family import many
from rbgym.envs.derivatives import Differentiation
from rbgym.envs.parts.goals import Rest
from rbgym.quaternion import multiply, rotate, rotate_inverse
from rbgym.rows import LANES, ROTOR, J, L, Q

_AT_GOAL = 5  # which of the lanes that are `placed`


def largest_error(env, actions, size=1e-5):
    return float(errors(env, actions, size).max())


def errors(env, actions, size):
    """How far the derivatives of a step of a vector env under these actions (n, m), from the state
    that it is in, are from those of differences, (n, ends, starts), the reward last of the ends: in
    units of the rate limit and of the wheels' full momentum. size: of the steps, in these units;
    where wheels stick, small enough that they do not tear off."""
    found = Differentiation(env)
    whole = found.of_step(actions).whole
    units = _units(env, found)
    wanted = _by_differences(env, found, actions, size * units)
    s = len(found.names)
    out = np.concatenate([units[:s], np.ones(wanted.shape[1] - s)])
    off = np.abs(whole - wanted) * units / out[:, None]
    return np.where(np.isnan(off), np.inf, off)


def _units(env, found):
    wheels = found.episodes.setup.actuator.effector.rotors
    units = {"omega": env.unwrapped.rate_limit, "wheel_momentum": getattr(wheels, "momentum", 1.0)}
    each = [units.get(name.rstrip("_0123456789xyz"), 1.0) for name in found.names]
    return np.array([*each, *np.ones(env.action_space.shape[1])])


def _by_differences(env, found, actions, sizes):
    batch, start = found.episodes.batch, env.get_state()
    row, turned = batch.physics.frame_row(), batch.physics.frame.row_count() > 0
    # Axes may differ from lane to lane.
    frame = batch.rows(row, 4) if turned else np.tile((1.0, 0.0, 0.0, 0.0), (batch.size, 1))
    here, more, s = batch.measure(), _rows(batch, found.rows), len(found.names)

    def after(change):
        env.set_state(start)
        for n, row in enumerate(found.rows):
            batch.put_rows(row, more[:, n : n + 1] + change[6 + n])
        q = multiply(turned_by(here["quaternion"], change[:3]), frame)
        rates = here["angular_velocity"] + change[3:6]
        batch.put_rows(Q, q)
        moments, held = _released(batch, rates)
        batch.put_rows(L, rotate(q, moments * rotate_inverse(frame, rates) + held))
        batch._start(np.arange(batch.size))
        for n in range(batch.size):  # acts in the next period, and was found at the end of the last
            i = n // LANES * batch.block_rows * LANES + n % LANES
            found.episodes.setup.parts.disturbance.push(found.episodes.rows, batch.buffer, i)
        _, reward, *_ = env.step(actions + change[s:])
        end, shown = batch.measure(), _shown(found.episodes)
        numbers = end["angular_velocity"], _rows(batch, found.rows), shown, reward[:, None]
        return end["quaternion"], np.hstack(numbers)

    there, columns = after(np.zeros(len(sizes))), []
    for direction, size in zip(np.eye(len(sizes)), sizes, strict=True):

        def off(e, direction=direction):
            return errors_off(there, after(e * direction))

        columns.append(slope(off, size))
    env.set_state(start)
    return np.stack(columns, axis=2)


def _released(batch, rates):
    """Moments and rotor momentum (n, 3) that follow from the actuator's rows and the rates."""
    physics = batch.physics
    for n, omega in enumerate(rates.tolist()):
        i = n // LANES * batch.block_rows * LANES + n % LANES
        physics.actuator.release(physics, batch.buffer, i, tuple(omega))
    return batch.rows(J, 3), batch.rows(ROTOR, 3)


def _rows(batch, rows):
    return np.hstack([np.empty((batch.size, 0)), *[batch.rows(row, 1) for row in rows]])


def _shown(episodes):
    """The observation before it is rounded to single precision."""
    batch, rows = episodes.batch, episodes.rows
    seen = batch.rows(rows.observation_row(), episodes.setup.parts.observation.width())
    actuator = batch.physics.actuator
    first, width = actuator.shown_row(batch.physics), actuator.shown_rows()
    return np.hstack([seen, batch.rows(first, width) if width else seen[:, :0]])


def placed(env):
    """Commands for eight lanes, which are put: anywhere; at rest without a command, with one about
    one axis, next to none; turning about one axis; at the goal; half a turn from it; with wheels
    whose momentum and the body's are none together. Wheels stand just beside their turning point,
    at which friction has no derivative."""
    env.reset(seed=3)
    state, rng, n = env.state, np.random.default_rng(1), env.num_envs
    rates = rng.uniform(-0.2, 0.2, (n, 3)) * env.rate_limit
    actions = rng.uniform(-0.6, 0.6, env.action_space.shape)
    q, target = state["quaternion"], state["target_quaternion"]
    rates[1:4], rates[_AT_GOAL], actions[1:3], actions[4:6] = 0.0, 0.0, 0.0, 0.0
    rates[4, 1:], actions[2, 0], actions[3] = 0.0, 0.5, 1e-8
    q[_AT_GOAL] = target[_AT_GOAL]
    if env.goal.has_target():
        q[6] = multiply(target[6:7], np.array([[0.0, 0.6, 0.8, 0.0]]))[0]
    wanted = "position", "velocity", "scale", "scale_rate", "orbit_phase"
    put = {name: state[name] for name in wanted if name in state}
    if env.goal.has_target():
        put["target_quaternion"] = target
    if (wheels := env.actuator.rotors) is not None:
        rates[7] *= 0.1
        momenta = state["wheel_momentum"]
        momenta[[1, 2, 3, _AT_GOAL]] = -1e-4 * wheels.momentum
        momenta[7] = -np.linalg.pinv(np.transpose(wheels.axes)) @ env.body.inertia @ rates[7]
        put["wheel_momentum"] = momenta
    env.reset(seed=3, options={"state": {"quaternion": q, "angular_velocity": rates, **put}})
    return actions


def assert_has_those_of_differences(env_id, **kwargs):
    env = many(env_id, 8, **kwargs)
    off = errors(env, placed(env), 1e-5)
    at_goal = [1, 2, 3, _AT_GOAL] if isinstance(env.goal, Rest) else [_AT_GOAL]
    off[at_goal, -1] = 0.0  # where rewards may have a corner
    assert off.max() < 1e-6
