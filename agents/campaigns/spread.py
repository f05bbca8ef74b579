"""What a campaign draws: distributions by name, and draws that depend on seed and run alone."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rbgym.agents.campaigns.nominal import GROUP, Nominal, Place, varied
from rbgym.arguments import finite, number
from rbgym.envs.arguments import keys, made
from rbgym.quaternion import Array

Draws = dict[str, Array]  # (n, size) of each place, by its name

_TRIES = 1000  # that a run or group is drawn anew
_RUN, _GROUP, _SEED = 0, 1, 2  # in the counter: what is drawn
_TINY = 2.0**-54  # so that no uniform number is 0
_KINDS = "normal", "uniform", "log_uniform", "triangular", "values"


class Source(NamedTuple):
    """What a name draws: numbers `which` of a place, as quantiles of uniform ones (n, size)."""

    name: str
    place: Place
    which: list[int]
    quantiles: Callable[[Array], Array]

    @property
    def per_group(self) -> bool:
        """Whether runs of a group share a draw."""
        return self.place.level == GROUP

    @property
    def columns(self) -> list[str]:
        return [self.place.columns[k] for k in self.which]


class Spread:
    """The sources of a campaign, see docs/campaign.md. columns: names of the numbers that are
    drawn, by Philox, keyed by seed and run (or group), with the source's name in the counter."""

    def __init__(self, spread: Mapping[str, Any], nominal: Nominal, seed: int) -> None:
        self.nominal, self.seed = nominal, seed
        self.sources = [self._source(name, one) for name, one in spread.items()]
        self.columns = [column for one in self.sources for column in one.columns]
        twice = sorted({one for one in self.columns if self.columns.count(one) > 1})
        if {"attitude_angle", "attitude.x"} <= {*self.columns}:
            twice = ["attitude"]
        if twice:
            raise ValueError(f"spread must draw each number once, got {twice} twice")
        tensor, names = {"inertia", "axes"}, {one.place.name for one in self.sources}
        left = tensor & varied(nominal.env) - names
        if names & tensor and left:
            raise ValueError(f"spread must draw {left.pop()} too, which randomization draws")

    @property
    def grouped(self) -> list[str]:
        """Names of what a group of runs shares."""
        return [one.name for one in self.sources if one.per_group]

    def _source(self, name: str, value: Any) -> Source:
        place, which = self.nominal.find(name)
        argument, given = f"spread[{name!r}]", value
        factors = isinstance(value, Mapping) and "factor" in value
        if factors:
            if place.nominal is None or not place.nominal[which].all():
                raise ValueError(f"{argument} must be no factor of what is 0 or drawn by the env")
            given = keys(argument, value, ("factor",))["factor"]
        scale = place.default[which] if factors else 1.0
        given = keys(argument, given, (*_KINDS, "weights"))
        quantiles = distribution(argument, given, len(which))
        return Source(name, place, which, lambda u: scale * quantiles(u))

    def seeds(self, runs: Sequence[int]) -> list[int]:
        """Seeds of the env's own draws, which no test set or training has."""
        drawn = (self._philox(_SEED, run, "", 0).random_raw() for run in runs)
        return [int(one) >> 2 | 1 << 62 for one in drawn]

    def of_runs(self, runs: Sequence[int], redraw: bool = True) -> Draws:
        """What each run draws; redraw: anew what cannot be. ValueError where nothing can."""
        tries = np.zeros(len(runs), dtype=np.int64)
        found = self._draw(_RUN, runs, tries)
        while redraw and not (good := self.nominal.possible(found, len(runs))).all():
            tries[~good] += 1
            if tries.max() >= _TRIES:
                raise ValueError(f"spread must draw what can be, got nothing in {_TRIES} draws")
            again = [runs[int(k)] for k in np.flatnonzero(~good)]
            for name, values in self._draw(_RUN, again, tries[~good]).items():
                found[name][~good] = values
        return found

    def of_group(self, group: int, redraw: bool = True) -> tuple[Draws, dict[str, Any]]:
        """What a group of runs draws, (1, size), and the arguments of its env; as `of_runs`."""
        last: ValueError | None = None
        for attempt in range(_TRIES if redraw else 1):
            found = self._draw(_GROUP, [group], np.array([attempt]))
            try:
                changes = self.nominal.arguments({name: one[0] for name, one in found.items()})
                if changes:
                    self.nominal.make(1, changes).close()
                return found, changes
            except ValueError as error:
                last = error
        raise ValueError(f"spread draws, for group {group}, what cannot be: {last}") from last

    def check(self, runs: int, size: int) -> None:
        """Raise ValueError where draws of the runs, or of their groups, cannot be: how many."""
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
                f"spread must draw what can be, got {bad.sum()} of {runs} runs that cannot"
                f'{why}; impossible="redraw" draws them anew'
            )

    def _draw(self, kind: int, of: Sequence[int], tries: NDArray[np.int64]) -> Draws:
        """Numbers of each place that is drawn for runs or for groups; the rest of it is nominal."""
        found: Draws = {}
        for one in self.sources:
            if one.per_group != (kind == _GROUP):
                continue
            rows = [
                np.random.Generator(self._philox(kind, k, one.name, int(attempt)))
                for k, attempt in zip(of, tries, strict=True)
            ]
            values = one.quantiles(np.array([row.random(len(one.which)) + _TINY for row in rows]))
            place = found.setdefault(one.place.name, np.tile(one.place.default, (len(of), 1)))
            place[:, one.which] = values
        return found

    def _philox(self, kind: int, of: int, name: str, attempt: int) -> Any:
        counter = [0, attempt, zlib.crc32(name.encode()), kind]
        return np.random.Philox(counter=counter, key=[self.seed, of])


def distribution(argument: str, given: Mapping[str, Any], size: int) -> Callable[[Array], Array]:
    """The quantile function of {kind: numbers}, of uniform numbers (n, size); or ValueError."""
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
    if isinstance(numbers, list | tuple) and len(numbers) == len(names):
        numbers = dict(zip(names, numbers, strict=True))
    found = {n: finite(f"{argument}: {kind}", one, ()) for n, one in numbers.items()} if isinstance(
        numbers, Mapping
    ) else numbers  # fmt: skip
    with np.errstate(all="ignore"):
        frozen = made(f"{argument}: {kind}", kinds[kind], found)
    if not np.isfinite(frozen.ppf(0.5)):
        raise ValueError(f"{argument}: {kind} must have {names} in order, got {given[kind]!r}")
    return lambda u: np.asarray(frozen.ppf(u))


def _table(argument: str, given: Mapping[str, Any], size: int) -> Callable[[Array], Array]:
    """Values of the user's, or rows of all `size` numbers, each drawn with its weight."""
    listed = given["values"]
    n = len(listed) if isinstance(listed, list | tuple) else 0
    values = finite(f"{argument}: values", listed, (max(n, 1),), (max(n, 1), size))
    weights = finite(f"{argument}: weights", given.get("weights", np.ones(n)), (n,))
    if (weights < 0.0).any() or number(weights.sum()) <= 0.0:
        raise ValueError(f"{argument}: weights must not be negative, got {given['weights']!r}")
    ends = np.cumsum(weights) / weights.sum()
    rows = values.ndim == 2  # which one uniform number chooses
    return lambda u: values[np.minimum(np.searchsorted(ends, u[:, 0] if rows else u), n - 1)]
