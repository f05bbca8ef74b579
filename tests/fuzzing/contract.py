"""What every call owes its caller, whatever it is given."""

import random
import re
import signal
import traceback
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from checks import same
from fuzzing.hostile import Deliberate, Returns, replacement
from rbgym import IntegrationError

SECONDS = 60  # a call of this size that takes longer hangs
LARGE = 64  # a valid count beyond this would only cost time
COUNTS = {"steps", "substeps", "num_envs", "episodes", "size", "generations", "population", "jobs",
          "channels", "width", "max_episode_steps"}  # fmt: skip
# TypeErrors that are fair, besides those that a user's callable raises itself: where it takes other
# arguments, of an argument that nothing has, and what Gymnasium says of a time limit.
_SIGNATURE = (
    "positional argument",
    "keyword argument",
    "at most",
    "takes at least",
    "Expect the `max_episode_steps`",
)
# Other words by which errors may name an argument.
SPOKEN = {
    "about": "center_of_mass inertia",
    "actuator": "orbit",
    "algo": "env_id",
    "angular_momentum": "angular_velocity",
    "arrays": "layers",
    "base": "integrator",
    "bodies": "body",
    "body": "parts inertia mgl center_of_mass",
    "cant": "ReactionWheels.axes",
    "cases": "case",
    "coils": "MagneticCoils",
    "config": "activation output",
    "dt": "seconds minimum_pulse action step",
    "env_id": "env",
    "env_kwargs": "arguments max_episode_steps",
    "inertia": "center_of_mass",
    "integrator": "order",
    "mass": "center_of_mass",
    "max_episode_steps": "Delay",
    "name": "integrator order controller",
    "names": "integrator order",
    "orbit": "Orbit",
    "parts": "position rotation body",
    "point": "center_of_mass inertia",
    "policy": "controller",
    "position": "inertia",
    "quaternions": "rates",
    "rates": "times",
    "rotor_momentum": "rates",
    "satellite": "Satellite success dt",
    "seed": "seeds",
    "seeds": "seed",
    "size": "bodies",
    "state": "rows generator",
    "subject": "step",
    "targets": "target policy",
    "times": "rates quaternions",
    "torque_limit": "torque",
    "torques": "rates rotor_momentum",
    "vector": "layers",
    "wheels": "ReactionWheels",
    "width": "observation",
}


@dataclass(frozen=True)
class Target:
    """A public function, and how it is attacked.

    name: as users write it. call: with keyword arguments. valid: good ones; those that are numbers
    must be refused unless they are finite real numbers, None, or a function that returns some.
    attacked: the arguments that are replaced, default all. alone: of these one is given, and no
    other. loose: numbers that may be something else too. spoken: other words by which errors may
    name the arguments. also: errors that it documents besides ValueError. finite: whether its
    result must be. untouched: a snapshot of what a refused call must not change.
    plain: arithmetic on what it is given, which may warn, and answer with what is not finite, where
    numbers are at the edge of what floats are.
    """

    name: str
    call: Callable[..., Any]
    valid: dict[str, Any]
    attacked: tuple[str, ...] = ()
    alone: bool = False
    loose: tuple[str, ...] = ()
    spoken: tuple[str, ...] = ()
    also: tuple[type[BaseException], ...] = ()
    finite: bool = True
    untouched: Callable[[], Any] | None = None
    plain: bool = False

    def but(self, **settings):
        return replace(self, **settings)

    def attack(self, examples, number=0):
        """Judge so many calls, the same ones every time, and return how many there were."""
        made = 0

        @seed(number)
        @settings(max_examples=examples, deadline=None, database=None, phases=[Phase.generate],
                  suppress_health_check=list(HealthCheck))  # fmt: skip
        @given(_calls(self))
        def judged(call):
            nonlocal made
            made += 1
            self.judge(*call)

        judged()
        return made

    def judge(self, arguments, replaced):
        """Make the call; AssertionError unless it keeps the contract."""
        before = None if self.untouched is None else self.untouched()
        edge = self.plain and any(at_the_edge(arguments[name]) for name in replaced)
        with nothing_changed(arguments, self.name):
            try:
                with strictly("ignore" if edge else "error"), within(SECONDS):
                    result = self.call(**arguments)
            except ValueError as error:
                self._names_it(str(error), replaced)
            except (Deliberate, IntegrationError, gym.error.Error, *self.also):
                pass
            except TypeError as error:
                told = any(words in str(error) for words in _SIGNATURE)
                if not (told or _of_a_class(error, arguments)):
                    raise
            else:
                self._takes_numbers_only(arguments, replaced)
                if self.finite and not edge:
                    all_finite(result)
                return
        if self.untouched is not None:
            assert same(before, self.untouched()), f"{self.name} was refused and changed something"

    def _names_it(self, message, replaced):
        words = [word for name in replaced for word in (name, *SPOKEN.get(name, "").split())]
        words += self.spoken
        named = any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", message) for word in words)
        assert named, f"{self.name}: the error names none of {words}: {message}"
        assert "must" in message, f"{self.name}: the error does not say what is allowed: {message}"

    def _takes_numbers_only(self, arguments, replaced):
        for name in {*replaced} - {*self.loose}:
            value = arguments[name]
            value = value.value if isinstance(value, Returns) else value
            if value is not None and is_numeric(self.valid[name]):
                assert is_numeric(value, self.plain), (
                    f"{self.name} took {name}={value!r}, which is no number"
                )


def target(name, call, /, **valid):
    """A target and its valid arguments."""
    return Target(name, call, valid)


@st.composite
def _calls(draw, target):
    """Arguments, and the names of those that were replaced: one mostly, sometimes two."""
    names = target.attacked or tuple(target.valid)
    replaced = draw(st.permutations(names))[: draw(st.sampled_from([1, 1, 1, 2]))]
    hostile = {name: draw(replacement(target.valid[name])) for name in replaced}
    for name in COUNTS & hostile.keys():
        if is_numeric(hostile[name]) and np.ndim(hostile[name]) == 0 and hostile[name] > LARGE:
            hostile[name] = 10**400
    return ({} if target.alone else target.valid) | hostile, replaced


def is_numeric(value, any_size=False):
    """Whether a value is finite real numbers, or of any size, as NumPy alone sees it."""
    try:
        array = np.asarray(value)
        if array.dtype == object:  # integers beyond 64 bits, fractions
            return all(isinstance(x, int | float | np.number) for x in array.flat)
        return array.dtype.kind in "iufb" and (any_size or bool(np.isfinite(array).all()))
    except Exception:
        return False


def at_the_edge(value):
    """Whether a value holds a number that is tiny or huge."""
    try:
        with np.errstate(all="ignore"):
            size = np.abs(np.asarray(value).astype(complex))
        return bool(((size > 1e30) | ((size < 1e-30) & (size > 0)) | np.isnan(size)).any())
    except Exception:
        return False


def _of_a_class(error, arguments):
    """Whether a class that stands for a hook or a law has raised it, of what it was called with:
    `int`, say, of which there is no frame."""
    called = traceback.extract_tb(error.__traceback__)[-1].name in ("checked_hook", "loads")
    return called and any(type(value) is type for value in arguments.values())


@contextmanager
def within(seconds):
    """What takes longer fails."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail(f"not ended after {seconds} s"))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def strictly(action):
    """Warnings are errors, or ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter(action)
        # Documented, of a slender top; which moments and steps make one, is drawn here.
        warnings.filterwarnings("ignore", ".* loses the spin of a body", UserWarning)
        # Documented as well: of both, any may be drawn.
        warnings.filterwarnings("ignore", "an episode lasts ", UserWarning)
        yield


@contextmanager
def nothing_changed(arguments, name):
    """The caller's arrays and what is global are as they were."""

    def now():
        parts = [part for value in arguments.values() for part in _parts(value)]
        arrays = [(one.dtype, one.tobytes()) for one in parts if isinstance(one, np.ndarray)]
        _, keys, place, *_ = np.random.get_state()  # noqa: NPY002
        return arrays, random.getstate(), (keys.tobytes(), place), np.geterr()

    before = now()
    try:
        yield
    finally:
        whats = "an array", "Python's global generator", "NumPy's global generator", "np.seterr"
        for what, one, other in zip(whats, before, now(), strict=True):
            assert one == other, f"{name} changed {what}"


def _parts(value):
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple) else [value]


def all_finite(result, depth=4):
    """Every number in a result, its fields included, is finite."""
    if isinstance(result, np.ndarray | np.number | float):
        array = np.asarray(result)
        assert array.dtype.kind != "f" or np.isfinite(array).all(), f"not finite: {result!r}"
    elif depth:
        for part in _parts(getattr(result, "__dict__", result)):
            all_finite(part, depth - 1)
