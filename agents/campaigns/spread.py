"""The draws of a campaign: distributions by name; a draw depends only on seed, run and name."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rbgym.agents.campaigns.nominal import GROUP, START, Nominal, Place
from rbgym.arguments import finite
from rbgym.envs.arguments import keys, made
from rbgym.envs.parts import parameters
from rbgym.quaternion import Array

Draws = dict[str, Array]  # (n, size) of each place, by its name

_TRIES = 1000  # most draws of one run or group
_RUN, _GROUP, _SEED = 0, 1, 2  # the kind of draw, a word of Philox's counter
_TINY = 2.0**-54  # so that no uniform number is 0
_COVARIANCE = "covariance"
_KINDS = "normal", "uniform", "log_uniform", "triangular", "values"


class Source(NamedTuple):
    """The numbers that a name of a spread draws. quantiles: maps uniform numbers (n, size) to
    draws. nominal: values that a budget uses instead, (size,); None where the env draws them."""

    name: str
    numbers: list[tuple[Place, int]]
    quantiles: Callable[[Array], Array]
    nominal: Array | None

    @property
    def per_group(self) -> bool:
        """Whether runs of a group share a draw."""
        return self.numbers[0][0].level == GROUP


class Dispersions:
    """The sources of a campaign. spread: distributions by name, see docs/campaign.md. seed: of all
    draws. without: the source that stays nominal. columns: names of the drawn numbers. Draws come
    from Philox, keyed by seed and run (or group), with the source's name in the counter."""

    def __init__(
        self, spread: Mapping[str, Any], nominal: Nominal, seed: int, without: str | None = None
    ) -> None:
        self.nominal, self.seed, self.without = nominal, seed, without
        alone = sorted({*spread} - {_COVARIANCE})  # one order in all groups of a folder
        self.sources = [self._source(name, spread[name]) for name in alone]
        self.sources += [self._joint(f"spread[{_COVARIANCE!r}]", one) for one in _blocks(spread)]
        numbers = [number for one in self.sources for number in one.numbers]
        self.columns = [place.columns[k] for place, k in numbers]
        twice = sorted({one for one in self.columns if self.columns.count(one) > 1})
        tensor, names = {"inertia", "axes"}, {place.name for place, _ in numbers}
        if {"attitude_angle", "attitude"} <= names:
            twice = ["attitude"]
        if twice:
            raise ValueError(f"spread must draw each number once, got {twice} twice")
        for one in self.sources:
            tried = one.quantiles(np.random.default_rng(0).random((_TRIES, len(one.numbers))))
            for (place, _), most in zip(one.numbers, tried.max(axis=0), strict=True):
                if place.name == "delay" and place.high <= 1.0 < most:
                    raise ValueError(
                        f"spread must draw delays up to the factor {place.high:g}, got {most:.4g}: "
                        "env_kwargs={'randomization': {'delay': 0.2}} makes room for up to 1.2"
                    )
        left = tensor & parameters.differing(nominal.setup.varied) - names
        if names & tensor and left:
            raise ValueError(
                f"spread must draw {left.pop()} too, which randomization draws: a tensor has both"
            )

    @property
    def grouped(self) -> list[str]:
        """Names of the sources whose draws a group of runs shares."""
        return [one.name for one in self.sources if one.per_group]

    def _source(self, name: str, value: Any) -> Source:
        place, which = self.nominal.find(name)
        argument, given = f"spread[{name!r}]", value
        factors = isinstance(value, Mapping) and "factor" in value
        if factors:
            if place.nominal is None or not place.nominal[which].all():
                raise ValueError(
                    f"{argument} must not be a factor of a number that is 0 or that the env draws"
                )
            given = keys(argument, value, ("factor", "nominal"))
            given |= keys(argument, given.pop("factor"), (*_KINDS, "weights"))
        given = keys(argument, given, (*_KINDS, "weights", "nominal"))
        scale = place.default[which] if factors else 1.0
        nominal = None if place.nominal is None else place.nominal[which]
        if "nominal" in given:
            nominal = np.full(len(which), finite(f"{argument}: nominal", given.pop("nominal"), ()))
            self._check_nominal(f"{argument}: nominal", place, which, nominal)
        quantiles = distribution(argument, given, len(which))
        return Source(name, [(place, k) for k in which], lambda u: scale * quantiles(u), nominal)

    def _check_nominal(self, argument: str, place: Place, which: list[int], numbers: Array) -> None:
        """Raise ValueError if the nominal env cannot have these numbers of a place."""
        whole, why = place.default.copy(), ""
        whole[which] = numbers
        if place.level == GROUP:
            try:
                self.nominal.make(1, self.nominal.arguments({place.name: whole})).close()
            except ValueError as error:
                why = f": {error}"
        if why or not self.nominal.possible({place.name: whole[np.newaxis]}, 1).all():
            raise ValueError(f"{argument} must be a possible number, got {numbers[0]:g}{why}")

    def _joint(self, argument: str, value: Any) -> Source:
        given = keys(argument, value, ("names", "mean", "matrix"))
        found = [self.nominal.find(name) for name in given["names"]]
        numbers = [(place, i) for place, which in found for i in which]
        if len({place.level == GROUP for place, _ in numbers}) != 1 or "matrix" not in given:
            raise ValueError(
                f"{argument} must have a matrix, and names of runs or of groups only, got {value}"
            )
        own, n = [place.default[i] for place, i in numbers], len(numbers)
        mean = finite(f"{argument}: mean", given.get("mean", own), (n,))
        matrix = finite(f"{argument}: matrix", given["matrix"], (n, n))
        try:
            if not np.allclose(matrix, matrix.T, rtol=1e-12, atol=0.0):
                raise np.linalg.LinAlgError
            root = np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            raise ValueError(
                f"{argument}: matrix must be symmetric and positive definite, got {matrix.tolist()}"
            ) from None
        name = "+".join(given["names"])
        nominal = None if any(place.nominal is None for place, _ in numbers) else np.array(own)
        return Source(name, numbers, lambda u: mean + stats.norm.ppf(u) @ root.T, nominal)

    def seeds(self, runs: Sequence[int]) -> list[int]:
        """Seeds for the env's own draws, apart from those of test sets and trainings."""
        return [int(self._philox(_SEED, run, "", 0).random_raw()) >> 2 | 1 << 62 for run in runs]

    def of_runs(self, runs: Sequence[int], redraw: bool = True) -> Draws:
        """Draw the numbers of each run. redraw: replace impossible ones; ValueError if all are."""
        tries = np.zeros(len(runs), dtype=np.int64)
        found = self._draw(_RUN, runs, tries)
        while redraw:
            tried = [self.nominal.possible(one, len(runs)) for one in self._flown(found)]
            if (good := np.logical_and.reduce(tried)).all():
                break
            tries[~good] += 1
            if tries.max() >= _TRIES:
                raise ValueError(f"spread must draw possible numbers, got none in {_TRIES} draws")
            again = [runs[int(k)] for k in np.flatnonzero(~good)]
            for name, values in self._draw(_RUN, again, tries[~good]).items():
                found[name][~good] = values
        return self._flown(found)[-1]

    def of_group(self, group: int, redraw: bool = True) -> tuple[Draws, dict[str, Any]]:
        """Draw a group's shared numbers, (1, size), with arguments of its env; see `of_runs`."""
        last: ValueError | None = None
        for attempt in range(_TRIES if redraw else 1):
            try:
                for found in self._flown(self._draw(_GROUP, [group], np.array([attempt]))):
                    changes = self.nominal.arguments({name: one[0] for name, one in found.items()})
                    if changes:
                        self.nominal.make(1, changes).close()
                return found, changes
            except ValueError as error:
                last = error
        raise ValueError(f"spread draws impossible numbers for group {group}: {last}") from last

    def check(self, runs: int, size: int) -> None:
        """Raise ValueError, with their number, if draws of runs or of groups are impossible."""
        bad, why = np.zeros(runs, dtype=np.bool_), ""
        for name, values in self.of_runs(range(runs), redraw=False).items():
            cannot = ~self.nominal.possible({name: values}, runs)
            bad |= cannot
            why += f", {name} of {cannot.sum()}" if cannot.any() else ""
        for group in range(-(-runs // size) if self.grouped else 0):
            try:
                self.of_group(group, redraw=False)
            except ValueError as error:
                bad[group * size : (group + 1) * size], why = True, f", {error}"
        if bad.any():
            raise ValueError(
                f"spread must draw possible numbers, got impossible ones in {bad.sum()} of {runs} "
                f'runs{why}; impossible="redraw" replaces them'
            )

    def _draw(self, kind: int, of: Sequence[int], tries: NDArray[np.int64]) -> Draws:
        """Draw the numbers of each place, for runs or groups; its other numbers stay nominal, or,
        as nan, the env's own if they are of a start."""
        found: Draws = {}
        for one in [one for one in self.sources if one.per_group == (kind == _GROUP)]:
            bits = (self._philox(kind, k, one.name, int(t)) for k, t in zip(of, tries, strict=True))
            rows = [np.random.Generator(one_run).random(len(one.numbers)) for one_run in bits]
            values = one.quantiles(np.array(rows) + _TINY)
            for (place, k), column in zip(one.numbers, values.T, strict=True):
                rest = np.full(len(place.labels), np.nan) if place.level == START else place.default
                found.setdefault(place.name, np.tile(rest, (len(of), 1)))[:, k] = column
        return found

    def _flown(self, draws: Draws) -> list[Draws]:
        """The draws that must be possible: all, and last those that fly, if a source is nominal:
        so a redraw replaces the same runs with the source and without."""
        less = {name: values.copy() for name, values in draws.items()}
        for one in self.sources:
            if one.name == self.without and one.nominal is not None:
                for (place, k), value in zip(one.numbers, one.nominal, strict=True):
                    if place.name in less:
                        less[place.name][:, k] = value
        return [draws, less] if self.without else [draws]

    def _philox(self, kind: int, of: int, name: str, attempt: int) -> Any:
        counter = [0, attempt, zlib.crc32(name.encode()), kind]
        return np.random.Philox(counter=counter, key=np.array([self.seed, of], np.uint64))


def distribution(argument: str, given: Mapping[str, Any], size: int) -> Callable[[Array], Array]:
    """The quantile function of {kind: numbers}, from uniform numbers (n, size); or ValueError."""
    kinds: dict[str, Callable[..., Any]] = {
        "normal": lambda mean, std: stats.norm(mean, std),
        "uniform": lambda low, high: stats.uniform(low, high - low),
        "log_uniform": lambda low, high: stats.loguniform(low, high),
        "triangular": lambda low, mode, high: stats.triang(
            (mode - low) / (high - low), low, high - low
        ),
    }
    kind = next((one for one in _KINDS if one in given), None)
    if kind is None or {*given} - {kind, "weights"} or ("weights" in given and kind != "values"):
        raise ValueError(f"{argument} must have one of {list(_KINDS)}, got {dict(given)!r}")
    if kind == "values":
        return _table(argument, given, size)
    names, numbers = kinds[kind].__code__.co_varnames, given[kind]
    what = f"{argument}: {kind}"
    if isinstance(numbers, list | tuple | np.ndarray) and len(numbers) == len(names):
        numbers = dict(zip(names, numbers, strict=True))
    if isinstance(numbers, Mapping):
        numbers = {n: finite(what, one, ()) for n, one in numbers.items()}
    with np.errstate(all="ignore"):
        frozen = made(what, kinds[kind], numbers)
    if not np.isfinite(frozen.ppf(0.5)):
        raise ValueError(f"{what} must have {names} in order and a width, got {given[kind]!r}")
    return lambda u: np.asarray(frozen.ppf(u))


def _table(argument: str, given: Mapping[str, Any], size: int) -> Callable[[Array], Array]:
    """The quantile function of a list of values, or of rows of `size` numbers, with weights."""
    listed = given["values"]
    n = len(listed) if isinstance(listed, list | tuple | np.ndarray) else 0
    values = finite(f"{argument}: values", listed, (max(n, 1),), (max(n, 1), size))
    weights = finite(f"{argument}: weights", given.get("weights", np.ones(n)), (n,))
    with np.errstate(over="ignore"):
        total = weights.sum()
    if (weights < 0.0).any() or not 0.0 < total < np.inf:
        raise ValueError(
            f"{argument}: weights must not be negative, and have a sum, got {given['weights']!r}"
        )
    ends = np.cumsum(weights) / total
    rows = values.ndim == 2  # one uniform number selects a row
    return lambda u: values[np.minimum(np.searchsorted(ends, u[:, 0] if rows else u), n - 1)]


def _blocks(spread: Mapping[str, Any]) -> list[Any]:
    blocks = spread.get(_COVARIANCE, [])
    return list(blocks) if isinstance(blocks, list | tuple) else [blocks]


def drawn_names(spread: Any) -> list[str]:
    """All names of a spread, with those of its covariances; ValueError if it is not a dict."""
    if not isinstance(spread, Mapping) or not all(isinstance(name, str) for name in spread):
        raise ValueError(f"spread must be a dict of distributions by name, got {spread!r}")
    found = [name for name in spread if name != _COVARIANCE]
    for one in _blocks(spread):
        names = keys(f"spread[{_COVARIANCE!r}]", one, ("names", "mean", "matrix")).get("names")
        if not isinstance(names, list | tuple) or not all(isinstance(n, str) for n in names):
            raise ValueError(f"spread[{_COVARIANCE!r}] must have a list of names, got {one!r}")
        found += names
    return found
