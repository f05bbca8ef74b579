"""What every call owes its caller, whatever it is given."""

import random
import re
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fuzzing.hostile import LARGE, Deliberate, arrays_in, replacement
from rbgym import IntegrationError

SECONDS = 60  # a call of this size that takes longer hangs
COUNTS = {"steps", "substeps", "num_envs", "episodes", "size", "generations", "population", "jobs",
          "channels", "width", "max_episode_steps"}  # fmt: skip
tally: dict[str, int] = {}
# TypeErrors that are fair, besides those that a user's callable raises itself: where it takes other
# arguments, of an argument that nothing has, and what Gymnasium says of a time limit.
_SIGNATURE = (
    "positional argument",
    "keyword argument",
    "takes at most",
    "takes at least",
    "Expect the `max_episode_steps`",
)


class Hang(BaseException):
    """A call did not return."""


@dataclass(frozen=True)
class Target:
    """A public function, and how it is attacked.

    name: as users write it. call: with keyword arguments. valid: makes a whole set of good ones.
    attacked: the arguments that are replaced, default all of `valid`. spoken: other words by which
    errors may name an argument. numeric: arguments that must be refused unless they are finite real
    numbers. laws: arguments that may be callables. also: errors that it documents besides
    ValueError. fine: judges a result. untouched: a snapshot of what a refused call must not change.
    wanted: what arguments may look like that are left out of `valid`.
    plain: arithmetic on what it is given, which may warn, and answer with what is not finite, where
    numbers are at the edge of what floats are.
    """

    name: str
    call: Callable[..., Any]
    valid: Callable[[], dict[str, Any]]
    attacked: tuple[str, ...] = ()
    spoken: dict[str, tuple[str, ...]] = field(default_factory=dict)
    numeric: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    laws: tuple[str, ...] = ()
    also: tuple[type[BaseException], ...] = (IntegrationError,)
    fine: Callable[[Any], None] = lambda result: all_finite(result)
    untouched: Callable[[], Any] | None = None
    wanted: dict[str, Any] = field(default_factory=dict)
    plain: bool = False

    def calls(self) -> st.SearchStrategy[tuple[dict[str, Any], list[str]]]:
        """Arguments, and the names of those that were replaced: one mostly, sometimes two."""
        return _calls(self)

    def judge(self, arguments: dict[str, Any], replaced: list[str]) -> str:
        """Make the call; AssertionError unless it keeps the contract. Says what came of it."""
        tally[self.name] = tally.get(self.name, 0) + 1
        before = None if self.untouched is None else self.untouched()
        with _nothing_changed(arguments, self.name):
            edge = self.plain and any(at_the_edge(arguments[name]) for name in replaced)
            try:
                with _strictly("ignore" if edge else "error"):
                    result = self.call(**arguments)
            except ValueError as error:
                self._names_it(str(error), replaced)
            except (Deliberate, *self.also):
                pass
            except TypeError as error:
                if not (_of_a_class(error, arguments) or any(w in str(error) for w in _SIGNATURE)):
                    raise
            else:
                self._takes_numbers_only(arguments, replaced)
                if not edge:
                    self.fine(result)
                return "taken"
        if self.untouched is not None:
            assert same(before, self.untouched()), f"{self.name} was refused and changed something"
        return "refused"

    def _names_it(self, message: str, replaced: list[str]) -> None:
        words = [word for name in replaced for word in (name, *self.spoken.get(name, ()))]
        named = any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", message) for word in words)
        assert named, f"{self.name}: the error names none of {words}: {message}"
        assert "must" in message, f"{self.name}: the error does not say what is allowed: {message}"

    def _takes_numbers_only(self, arguments: dict[str, Any], replaced: list[str]) -> None:
        for name in {*replaced} & {*self.numeric}:
            value = arguments[name]
            if (value is None and name in self.optional) or (callable(value) and name in self.laws):
                continue
            assert is_numeric(value, self.plain), (
                f"{self.name} took {name}={value!r}, which is no number"
            )


@st.composite
def _calls(draw: Any, target: Target) -> tuple[dict[str, Any], list[str]]:
    arguments = target.valid()
    names = target.attacked or tuple(arguments)
    count = draw(st.sampled_from([1, 1, 1, 2])) if len(names) > 1 else 1
    replaced = draw(st.permutations(names))[:count]
    for name in replaced:
        valid = arguments.get(name, target.wanted.get(name))
        value = draw(replacement(valid, callables=name not in target.laws))
        if name in COUNTS and is_large(value):
            value = 10**400
        arguments[name] = value
    return arguments, replaced


def is_large(value: Any) -> bool:
    """Whether a count is valid, and only costs time."""
    try:
        return LARGE < value < 1e300
    except Exception:
        return False


def is_numeric(value: Any, any_size: bool = False) -> bool:
    """Whether a value is finite real numbers, or of any size, as NumPy alone sees it."""
    try:
        array = np.asarray(value)
        if array.dtype == object:  # integers beyond 64 bits, fractions
            return all(isinstance(x, int | float | np.number) for x in array.flat)
        return array.dtype.kind in "iufb" and (any_size or bool(np.isfinite(array).all()))
    except Exception:
        return False


def at_the_edge(value: Any) -> bool:
    """Whether a value holds a number that is tiny or huge."""
    try:
        with np.errstate(all="ignore"):
            size = np.abs(np.asarray(value).astype(complex))
        return bool(((size > 1e30) | ((size < 1e-30) & (size > 0)) | np.isnan(size)).any())
    except Exception:
        return False


def _of_a_class(error: TypeError, arguments: dict[str, Any]) -> bool:
    """Whether a class that stands for a hook or a law has raised it, of what it was called with:
    `int`, say, of which there is no frame."""
    called = traceback.extract_tb(error.__traceback__)[-1].name in ("checked_hook", "loads")
    return called and any(type(value) is type for value in arguments.values())


@contextmanager
def _strictly(action: str) -> Iterator[None]:
    """Warnings are errors, and a call that does not return is stopped."""

    def stop(*_: Any) -> None:
        raise Hang(f"no answer within {SECONDS} s")

    old = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(action)  # type: ignore[arg-type]
            # Documented, of a slender top; which moments and steps make one, is drawn here.
            warnings.filterwarnings("ignore", ".* loses the spin of a body", UserWarning)
            # Documented as well: of both, any may be drawn.
            warnings.filterwarnings("ignore", "an episode lasts ", UserWarning)
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


@contextmanager
def _nothing_changed(arguments: dict[str, Any], name: str) -> Iterator[None]:
    """The caller's arrays and the global generators are as they were."""
    given = [(array, array.copy()) for array in arrays_in(arguments)]
    ours, numpys = random.getstate(), np.random.get_state()[1:3]  # noqa: NPY002
    threads = np.geterr()
    yield
    for array, kept in given:
        assert array.dtype == kept.dtype, f"{name} changed the type of an array it was given"
        equal = array.tobytes() == kept.tobytes()
        assert equal, f"{name} changed an array that it was given"
    assert random.getstate() == ours, f"{name} drew from Python's global generator"
    now = np.random.get_state()[1:3]  # noqa: NPY002
    assert now[1] == numpys[1], f"{name} drew from NumPy's global generator"
    assert np.array_equal(now[0], numpys[0]), f"{name} drew from NumPy's global generator"
    assert np.geterr() == threads, f"{name} changed numpy.seterr"


def all_finite(result: Any, depth: int = 4) -> None:
    """Every number in a result, its fields included, is finite."""
    if isinstance(result, np.ndarray | np.number | float):
        array = np.asarray(result)
        if array.dtype.kind == "f":
            assert np.isfinite(array).all(), f"a result is not finite: {result!r}"
    elif depth and isinstance(result, dict):
        for part in result.values():
            all_finite(part, depth - 1)
    elif depth and isinstance(result, list | tuple):
        for part in result:
            all_finite(part, depth - 1)
    elif depth and hasattr(result, "__dict__"):
        all_finite(vars(result), depth - 1)


def same(one: Any, other: Any) -> bool:
    """Equality of snapshots to the last bit."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.tobytes() == other.tobytes()
    return bool(one == other)
