"""The single and the vectorised attitude environment, one implementation for both."""

import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from rbgym.arguments import count, real
from rbgym.envs import rows as at
from rbgym.envs.arguments import ARGUMENTS, keys, named
from rbgym.envs.building import Building
from rbgym.envs.episodes import Episodes, Flags, Lanes
from rbgym.envs.layers import ARGUMENT, Layers, merged, resolved
from rbgym.envs.parts import constraints, disturbances, parameters
from rbgym.envs.parts.columns import Column, placed
from rbgym.envs.parts.starts import Start
from rbgym.envs.planning import checked_state, packed, pcg64, unpack
from rbgym.envs.reset import checked_seed, grouped_by_start, lane_seeds, masked_lanes, place
from rbgym.envs.task import Task
from rbgym.quaternion import Array

Observation = NDArray[np.floating[Any]]
MODES = ("human", "rgb_array")
_OPTIONS = "state", "parameters", "initial"
# Arguments that affect whether an episode is long enough.
_OF_TIME = {"actuator", "body", "dt", "rate_limit", "satellite", "success", "torque_limit",
            "torque_scale"}  # fmt: skip
_NUMBER = np.dtype(np.float64)  # sooner read than the class
# Names of their own, since an enum's attributes are slow to look up.
_DISABLED, _SAME_STEP = AutoresetMode.DISABLED, AutoresetMode.SAME_STEP


class _Described:
    """Properties, state and pictures, which both kinds of environment share."""

    _layers: Layers  # the sources of its arguments
    task: Task  # of a class its declaration; of an env the task with its arguments
    metadata: dict[str, Any]
    render_mode: str | None
    _viewer: Any = None
    _warned: bool  # of a short episode, or no argument can make it short
    _episodes: Episodes
    _shape: tuple[int, ...]  # of an action
    np_random: Any  # Gymnasium's generator
    # Only of tasks whose observations name goals: libraries recognise goal tasks by it.
    compute_reward: Callable[..., Any]

    def _make(
        self,
        size: int,
        max_episode_steps: int | None,
        render_mode: str | None,
        kwargs: dict[str, Any],
        **how: bool,
    ) -> tuple[spaces.Space[Any], spaces.Box]:
        """Build the task for `size` bodies; returns the spaces of one observation and action."""
        task, given, layers = type(self).task.resolve(kwargs)
        if task is not type(self).task:  # else pickles take the task from the class
            self.task = task
        try:
            batch, setup, box = Building(task, size, max_episode_steps, given).build()
        except ValueError as error:
            # The argument that begins the message, if a layer set it.
            name = next((one for one in ARGUMENTS if re.match(rf"{one}\b", str(error))), None)
            if name is None or name in kwargs:
                raise
            is_lacking = f"{name} must be given" in str(error)
            sets = "" if is_lacking else f" the {layers.last(name)} sets {name},"
            raise ValueError(f"{error};{sets} given {kwargs}") from error
        if max_episode_steps is not None:
            layers.note(ARGUMENT, [("max_episode_steps",)])
        self._layers = layers
        self._episodes = Episodes(batch, setup, **how)
        ships = type(self).__module__.startswith("rbgym.")  # episodes of these are long enough
        self._warned = ships and not kwargs.keys() & _OF_TIME
        if math.isfinite(setup.limit):
            self._warn_of_time(setup.limit)
        if render_mode is not None:
            named("render_mode", render_mode, MODES, " or None")
        self.render_mode = render_mode
        # Real time at 10 to 60 frames a second, else slow or fast motion.
        self.metadata = {**self.metadata, "render_fps": round(min(max(1.0 / self.dt, 10), 60))}
        action = spaces.Box(-1.0, 1.0, (batch.channels,), np.float32)
        if self.task.split is None:
            return box, action
        low, high = self.task.split(box.low), self.task.split(box.high)
        return spaces.Dict({name: spaces.Box(low[name], high[name]) for name in low}), action

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; AttributeError for an argument of `gym.make`, which is read once."""
        if name in ARGUMENTS:
            raise AttributeError(f"{name} is set by gym.make, got {value!r}: make another env")
        super().__setattr__(name, value)

    def _warn_of_time(self, steps: float, unless: str = "") -> None:
        """Warn once if an episode of `steps` steps is too short for success."""
        setup, lasts = self._episodes.setup, steps * self.dt
        least, held = setup.least_time, setup.settled_steps * self.dt
        if not self._warned and least + held > lasts:
            what = "the largest turn from rest to rest"
            if not setup.parts.goal.has_target():
                what = "to stop the fastest tumble"
            elif math.isfinite(self.task.momentum):
                what = "to empty the wheels"
            first = f"{what} takes {least:.4g} s at full torque, and " if least else ""
            warnings.warn(
                f"an episode lasts {lasts:.4g} s{unless}; {first}success takes {held:.4g} s"
                f"{' more' * bool(first)}: give more max_episode_steps, or a longer dt",
                UserWarning,
                stacklevel=2,
            )
        self._warned = True

    def _begin(
        self, lanes: Lanes, seeds: list[int | None], options: dict[str, Any], reseed: Any
    ) -> Observation:
        """Begin episodes in these lanes, and return the observations of all; a seed None continues
        the lane's random numbers. reseed: Gymnasium's reset, called after all checks."""
        episodes, n = self._episodes, self._episodes.size
        goes_on = episodes.started
        values = parameters.checked(episodes, lanes, options.get("parameters"))
        groups = grouped_by_start(options, lanes, n, self._start)
        how = place(episodes, lanes, options.get("state"), values.get("inertia"))
        episodes.started = episodes.ready = False  # until `restart` begins the next ones
        reseed(seed=seeds[0])
        if None in seeds and not goes_on:
            first = int(self.np_random.integers(2**63))
            seeds = [first + i if s is None else s for i, s in enumerate(seeds)]
        given = [i for i in lanes if seeds[i] is not None]
        if given:
            episodes.seed(np.array([seeds[i] for i in given], np.uint64), np.array(given))
        out = np.empty((n, episodes.setup.width), np.float32)
        if len(lanes) < n:
            out[:] = episodes.observations()
        if values:
            parameters.put(episodes, lanes, values)
            how += at.GIVEN
        episodes.restart(lanes, out, how, groups)
        self._forget(lanes)
        if self.render_mode == "human":
            self._frames()
        return out

    def _start(self, initial: Any) -> Start:
        """What draws starts from a category of the task, or from a dict, above the env's layers."""
        task, parts, given = self.task, self._episodes.setup.parts, self._layers.arguments
        if not isinstance(initial, Mapping):
            named('options["initial"]', initial, task.categories, " or a dict")
            initial = task.categories[initial]
        numbers, goal = merged("initial", given.get("initial"), initial), parts.goal
        start = task.start.resolve(numbers, parts.ends.limits, goal, task.ranges, parts.reference)
        # Raises where such starts violate a constraint.
        constraints.resolve(given.get("constraints"), goal, start, task.rate_limit, self.actuator)
        return start

    def _commands(self, action: Any) -> Array:
        """The action as commands, a copy of the same shape. ResetNeeded if no step is possible,
        ValueError for another shape or type."""
        if not self._episodes.ready:
            raise gym.error.ResetNeeded(self._episodes.lack())
        given = action if type(action) is np.ndarray else real("action", action)
        if given.shape != self._shape or given.dtype.kind not in "fiu":
            raise ValueError(
                f"action must be numbers of shape {self._shape}, got {given.dtype} of {given.shape}"
            )
        return given.astype(_NUMBER, "C")

    def _present(self, rows: Observation) -> Any:
        """The user's observation from the kernel's rows."""
        return self.task.split(rows) if self.task.split else rows

    def invariants(self) -> dict[str, Any]:
        """Kinetic and potential energy [J], that of wheels included; angular_momentum (3,) [kg
        m^2/s, world] and quaternion_norm; in a vector env with a first axis of lanes. ResetNeeded
        before a reset."""
        found = self._after_reset("invariants()").batch.measure()
        norm = np.linalg.norm(found["quaternion"], axis=1)
        found = {n: found[n] for n in ("energy", "angular_momentum")} | {"quaternion_norm": norm}
        if self._shape[1:]:
            return found
        return {n: one[0].tolist() if one.ndim == 1 else one[0] for n, one in found.items()}

    @property
    def state(self) -> dict[str, Any]:
        """quaternion (4,), angular_velocity (3,) [rad/s, body], angular_momentum (3,) [kg m^2/s,
        world], time [s]; and the actuator's state, under the names in options["state"]; in a vector
        env with a first axis of lanes. ResetNeeded before a reset."""
        state = self._after_reset("reading the state").state()
        del state["energy"]
        if self._shape[1:]:
            return state
        return {n: one[0].copy() if one.ndim > 1 else float(one[0]) for n, one in state.items()}

    def _after_reset(self, use: str) -> Episodes:
        """The episodes, which have states once a reset gave them one; before it ResetNeeded."""
        if not self._episodes.started:
            raise gym.error.ResetNeeded(f"call reset() before {use}")
        return self._episodes

    def get_state(self) -> dict[str, NDArray[Any]]:
        """The state for `set_state`, from which the next steps follow to the last bit, without the
        memory of callable hooks. rows: (r,), for a vector env (n, r), float64, laid out as in envs
        of the same arguments. generator: (6,) uint64, `np_random`. ResetNeeded before a reset."""
        if not self._episodes.ready:
            raise gym.error.ResetNeeded(self._episodes.lack("get_state"))
        rows = self._episodes.whole_state().reshape(*self._shape[:-1], -1)
        return {"rows": rows, "generator": packed(pcg64(self.np_random))}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from a result of `get_state` of this env or one with the same arguments; in a
        vector env rows (r,) apply to all lanes. ValueError, without effect, for any other value."""
        rows, generator = checked_state(self._episodes, state, self._episodes.size)
        bits = pcg64(self.np_random)
        self._episodes.put_whole_state(rows)
        unpack(generator, bits)
        self._forget(np.arange(len(rows)))
        self._episodes.ready = True

    def _frames(self) -> tuple[Any, ...] | None:
        """Pictures of the lanes; None without a render_mode, or if a window shows them."""
        if self.render_mode is None:
            gym.logger.warn(
                "render() draws nothing without a render_mode: give one to the env, "
                'e.g. gym.make(id, render_mode="rgb_array")'
            )
            return None
        self._after_reset("render()")
        if self._viewer is None:
            # Imported on the first picture, so that training does not load it.
            from rbgym.envs.rendering.painter import Viewer

            self._viewer = Viewer()
        if self.render_mode == "human":
            self._viewer.show(self, self.metadata["render_fps"])
            return None
        return self._viewer.frames(self)  # type: ignore[no-any-return]

    def _forget(self, lanes: Lanes) -> None:
        """Drop the trails of finished episodes from the pictures."""
        if self._viewer is not None:
            self._viewer.forget(lanes.tolist())

    def close(self, **kwargs: Any) -> None:
        """Close the window, if there is one."""
        if self._viewer is not None:
            self._viewer.close()
        self.closed = True

    @property
    def episodes(self) -> Episodes:
        """The bodies with their clocks and outcomes, for code that calls the kernels itself."""
        return self._episodes

    @property
    def rate_limit(self) -> float:
        """The task's limit of the angular velocity [rad/s], which is 1 in observations."""
        return self.task.rate_limit

    @property
    def goal(self) -> Any:
        """The goal of the task, see rbgym.envs.parts.goals."""
        return self._episodes.setup.parts.goal

    @property
    def integrator(self) -> str:
        """Name of the physics step."""
        return self._episodes.batch.integrator.name

    @property
    def body(self) -> Any:
        """The rigid body (of the first lane)."""
        return self._episodes.batch.bodies[0]

    @property
    def potential(self) -> Any:
        """The potential (of the first lane)."""
        return self._episodes.batch.potential

    @property
    def dt(self) -> float:
        """Control period [s]."""
        return self._episodes.setup.dt

    @property
    def torque_limit(self) -> Array:
        """Largest torque (3,) [N m] of the actuator about each body axis alone."""
        return self._episodes.setup.actuator.limits.copy()

    @property
    def torque_scale(self) -> float:
        """Factor of all torques and forces."""
        return self._episodes.setup.strength

    @property
    def columns(self) -> dict[str, Column]:
        """The quantities in an observation by name, each with its first column, size, unit, frame,
        scale and bounds. In a goal task, of the array that `task.split` makes the dict from."""
        setup = self._episodes.setup
        if "observation" in setup.hooks:
            own = Column("observation", setup.width, unit="", low=-math.inf, high=math.inf)
            return placed((own,))
        parts = setup.parts
        words = "averaged over the last control period" if parts.sensor.shows_means() else ""
        own = parts.observation.table(parts.goal.attitude_shown, words)
        return placed((*own, *setup.actuator.columns))

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the present episodes, in a vector env with a first axis of lanes: inertia
        (3, 3) [kg m^2, body] and others that `reset` takes. Copies. ResetNeeded before a reset."""
        found = parameters.read(self._after_reset("reading parameters"))
        return found if self._shape[1:] else {name: value[0] for name, value in found.items()}

    @property
    def surroundings(self) -> dict[str, Any]:
        """The surroundings on an orbit, world axes, in a vector env with a first axis of lanes:
        position (3,) [m] from the Earth's centre, air_velocity (3,) [m/s] of the body through air,
        air_density [kg/m^3], magnetic_field (3,) [T]; and, if there is a Sun, sun_direction (3,)
        and is_lit. Copies. ValueError without an orbit, ResetNeeded before a reset."""
        found = disturbances.surroundings(self._after_reset("reading surroundings").batch)
        return found if self._shape[1:] else {name: value[0] for name, value in found.items()}

    @property
    def resolved(self) -> dict[str, Any]:
        """All numbers of the env by part, as plain data, each with the layer that set it: task,
        satellite, difficulty or argument. See `rbgym.envs.layers`."""
        return resolved(self.task, self._episodes, self._layers)

    @property
    def commands(self) -> dict[str, Column]:
        """The commands in an action by name; scale: effect of a full command."""
        return placed(self._episodes.setup.actuator.commands)

    @property
    def actuator(self) -> Any:
        """The effector, which turns commands into torque, see rbgym.envs.actuators."""
        return self._episodes.setup.actuator.effector


class AttitudeEnv(_Described, gym.Env[Any, Any]):
    """A body to be turned: the base of every single environment. A subclass has a `task`.
    `parameters` returns the numbers of an episode, and `reset` takes them."""

    # Gymnasium reads it from the class; each env has a copy with the frame rate of its dt.
    metadata: dict[str, Any] = {"render_modes": list(MODES), "render_fps": 50}  # noqa: RUF012

    def __init__(
        self,
        /,  # so that an argument named "self" is an unknown argument
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        **kwargs: Any,
    ) -> None:
        self.observation_space, self.action_space = self._make(
            1, max_episode_steps, render_mode, kwargs
        )
        self._shape = self.action_space.shape

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode.

        options: {"state": {"quaternion": (4,), "angular_velocity": (3,)}}, optionally with
        "target_quaternion": (4,), default the identity, and the state of the actuator.
        "parameters": {"inertia": (3, 3), ...}, names as in `parameters`, replace drawn values.
        "initial": a category or a dict, as for gym.make; it draws the start of this episode alone.
        Values that it does not give are those of the env. Not together with a state.
        """
        if not self._warned and self.spec is not None and self.spec.id in gym.registry:
            # gym.make does not pass its step limit to the env.
            usual = gym.registry[self.spec.id].max_episode_steps or math.inf
            self._warn_of_time(usual, ", unless max_episode_steps was given")
        seeds = [None if seed is None else checked_seed(seed)]
        how = {} if options is None else keys("options", options, _OPTIONS)
        out = self._begin(np.zeros(1, np.intp), seeds, how, super().reset)
        _, _, info = self._episodes.entries.of_one(*self._episodes.now())
        if self._episodes.entries.has_parameters:
            info["parameters"] = self.parameters
        return self._present(out[0]), info

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Hold the commands of `action` for one control period."""
        episodes, commands = self._episodes, self._commands(action)[None]
        observations, numbers, flags = episodes.step(commands)
        reward, ends, info = episodes.entries.of_one(numbers, flags)
        if episodes.entries.has_parameters:
            info["parameters"] = self.parameters
        seen: Any = observations[0]
        if split := self.task.split:
            seen = split(seen)
            reward = self.compute_reward(seen["achieved_goal"], seen["desired_goal"], info)
        episodes.ready = True
        if self.render_mode == "human":
            self._frames()
        return seen, reward, ends[0], ends[1], info

    def render(self) -> Any:
        """The picture, (480, 480, 3) uint8, with render_mode="rgb_array"; with "human" None: a
        window shows it, as after each step. It does not change the env. Raises
        DependencyNotInstalled if pygame is missing, and ResetNeeded before a reset."""
        frames = self._frames()
        return None if frames is None else frames[0]

    def set_wrapper_attr(self, name: str, value: Any, **how: Any) -> Any:
        """As Gymnasium's; AttributeError for an argument of `gym.make`, which has no effect now."""
        if name in ARGUMENTS:
            setattr(self, name, value)
        return super().set_wrapper_attr(name, value, **how)


class AttitudeVectorEnv(_Described, gym.vector.VectorEnv[Any, Any, Any]):
    """Many bodies stepped together: the base of every native vector environment."""

    def __init__(
        self,
        /,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        **kwargs: Any,
    ) -> None:
        size = count("num_envs", num_envs)
        if not isinstance(autoreset_mode, AutoresetMode):
            named("autoreset_mode", autoreset_mode, [mode.value for mode in AutoresetMode])
        mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": list(MODES), "autoreset_mode": mode}
        self.num_envs, self.autoreset_mode = size, mode
        resets_itself = mode is AutoresetMode.NEXT_STEP
        self.single_observation_space, self.single_action_space = self._make(
            size, max_episode_steps, render_mode, kwargs, resets_itself=resets_itself
        )
        self.observation_space = batch_space(self.single_observation_space, size)
        self.action_space = batch_space(self.single_action_space, size)
        self._shape = (size, *self.single_action_space.shape)
        self._every = np.ones(size, bool)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin episodes in every lane, or in those of options["reset_mask"].

        seed: an int s gives lane i the seed s + i; or one for each lane. options: as in a single
        env, each number for all lanes that begin or with a first axis of lanes; "initial" may be a
        list of one for each lane.
        """
        how = {} if options is None else keys("options", options, (*_OPTIONS, "reset_mask"))
        lanes, seeds = masked_lanes(how, self.num_envs), lane_seeds(seed, self.num_envs)
        if len(lanes) < self.num_envs and not self._episodes.ready:
            raise gym.error.ResetNeeded(
                "lanes outside reset_mask were never reset, or a step or reset was interrupted"
            )
        out = self._begin(lanes, seeds, how, super().reset)
        mask = np.zeros(self.num_envs, dtype=bool)
        mask[lanes] = True
        return self._present(out), self._info(*self._episodes.now(), mask)

    def _info(self, numbers: Array, flags: Flags, mask: Flags | None = None) -> dict[str, Any]:
        """The `info` of the lanes in a mask, by default all; as in Gymnasium, others have zeros."""
        entries = self._episodes.entries
        found = self.parameters if entries.has_parameters else {}
        if mask is None:
            mask = self._every.copy()
        else:
            numbers, flags = np.where(mask, numbers, 0.0), flags & mask
            for values in found.values():
                values[~mask] = 0.0
        info = entries.of(numbers, flags, mask)
        if found:  # each with its mask, as Gymnasium has dicts in an `info`
            masks = {f"_{name}": mask for name in found}
            info |= {"parameters": masks | found, "_parameters": mask}
        return info

    def step(self, actions: Any) -> tuple[Observation, Array, Flags, Flags, dict[str, Any]]:
        """Hold the commands of `actions` (n, channels) for one control period."""
        episodes, commands = self._episodes, self._commands(actions)
        if self.autoreset_mode is _DISABLED and episodes.done.any():
            raise ValueError(
                f"lane {int(np.argmax(episodes.done))} has ended: reset it with "
                'reset(options={"reset_mask": mask}) before the next step'
            )
        observations, numbers, flags = episodes.step(commands)
        numbers, flags = numbers[:, : self.num_envs], flags[:, : self.num_envs]
        rewards, terminated, truncated = numbers[0], flags[0], flags[1]
        if self.task.split:
            seen = self._present(observations)
            rewards = self.compute_reward(seen["achieved_goal"], seen["desired_goal"], {})
            rewards[episodes.at_start()] = 0.0
        final: dict[str, Any] = {}
        if self.autoreset_mode is _SAME_STEP and (ended := terminated | truncated).any():
            last = np.empty(self.num_envs, dtype=object)
            for lane in np.flatnonzero(ended):
                last[lane] = self._present(observations[lane].copy())
            final = {
                "final_obs": last,
                "final_info": self._info(numbers, flags, ended),
                **{name: ended.copy() for name in ("_final_obs", "_final_info")},
            }
            episodes.restart(np.flatnonzero(ended), observations)
            numbers, flags = episodes.now()
        episodes.ready = True
        info = self._info(numbers, flags)
        info.update(final)
        if self.render_mode == "human":
            self._frames()
        return self._present(observations), rewards, terminated, truncated, info

    def render(self) -> tuple[Any, ...] | None:
        """A picture of each lane, (height, width, 3) uint8, with render_mode="rgb_array", for the
        first 64 lanes; with "human" None: a window shows them. Errors as in a single env."""
        return self._frames()


def vectorised(single: type[AttitudeEnv]) -> type[AttitudeVectorEnv]:
    """The native vector environment of a single one; its module must name it `XVectorEnv`."""
    name = single.__name__.removesuffix("Env") + "VectorEnv"
    space = {
        "task": single.task,
        "__module__": single.__module__,
        "__qualname__": name,
        "__doc__": f"Many lanes of `{single.__name__}`, stepped together.",
    }
    if single.task.split:
        space["compute_reward"] = single.compute_reward
    # Gymnasium's class is named for libraries that check direct bases only.
    return type(name, (AttitudeVectorEnv, gym.vector.VectorEnv), space)
