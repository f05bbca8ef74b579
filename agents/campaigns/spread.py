"""What is drawn of a campaign, and the draws of each run: functions of seed and run alone."""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbgym.agents.campaigns.distributions import Distribution, Joint
from rbgym.agents.campaigns.nominal import GROUP, Nominal, Place
from rbgym.arguments import finite
from rbgym.envs.arguments import keys
from rbgym.quaternion import Array

_TRIES = 1000  # that a run or group is drawn anew
_RUN, _GROUP, _SEED = 0, 1, 2  # of the counter: what is drawn
_COVARIANCE = "covariance"
_ATTITUDES = "attitude", "attitude_angle", "quaternion"
_TINY = 2.0**-54  # so that no uniform number is 0

Draws = dict[str, Array]  # (n, size) of each place, by its name


class Source(NamedTuple):
    """What a name of a spread draws: numbers of places, each with its place in there."""

    name: str
    numbers: list[tuple[Place, int]]
    distribution: Distribution | Joint

    @property
    def per_group(self) -> bool:
        """Whether runs of a group share a draw."""
        return self.numbers[0][0].level == GROUP

    @property
    def nominal(self) -> Array | None:
        """What a budget puts in the place of its draws, (size,); None where the env draws it."""
        if self.distribution.nominal is not None:
            return np.full(len(self.numbers), self.distribution.nominal)
        if any(place.nominal is None for place, _ in self.numbers):
            return None
        return np.array([place.default[k] for place, k in self.numbers])

    def draw(self, u: Array) -> Array:
        """Numbers (n, size) of uniform ones (n, size)."""
        found = self.distribution.at(u)
        if self.distribution.factor:
            found = found * np.array([place.default[k] for place, k in self.numbers])
        return found


class Spread:
    """The sources of a campaign. spread: distributions by name, see docs/campaign.md. seed: of all
    draws. without: the name of a source that stays at its nominal value.

    Draws come from Philox, keyed by seed and run (or group), with the source's name in the counter:
    they depend neither on other runs nor on other sources.
    """

    def __init__(
        self, spread: Mapping[str, Any], nominal: Nominal, seed: int, without: str | None = None
    ) -> None:
        self.nominal, self.seed, self.without = nominal, seed, without
        self.sources = [self._source(n, one) for n, one in spread.items() if n != _COVARIANCE]
        self.sources += [self._joint(k, one) for k, one in enumerate(_blocks(spread))]
        numbers = [number for one in self.sources for number in one.numbers]
        self.columns = [place.columns[k] for place, k in numbers]
        if twice := sorted({one for one in self.columns if self.columns.count(one) > 1}):
            raise ValueError(f"spread must draw each number once, got {twice} twice")
        if len(turns := {place.name for place, _ in numbers} & {*_ATTITUDES}) > 1:
            raise ValueError(f"spread must draw one of {list(_ATTITUDES)}, got {sorted(turns)}")
        known = [one.name for one in self.of_budget]
        if without is not None and without not in known:
            raise ValueError(f"a budget must leave out one of {known}, got {without!r}")

    @property
    def of_budget(self) -> list[Source]:
        """The sources that have a nominal value."""
        return [one for one in self.sources if one.nominal is not None]

    @property
    def grouped(self) -> list[str]:
        """Names of what is drawn for a group of runs at once."""
        return [one.name for one in self.sources if one.per_group]

    def _source(self, name: str, value: Any) -> Source:
        place, which = self.nominal.find(name)
        argument, n = f"spread[{name!r}]", len(which)
        how = Distribution.read(argument, value)
        if how.factor and (place.nominal is None or not place.nominal[which].all()):
            raise ValueError(f"{argument} must not be a factor, as its nominal value is 0 or drawn")
        rows = how.values is not None and how.values.ndim == 2
        if rows and how.values.shape[1] != n:  # type: ignore[union-attr]
            raise ValueError(f"{argument}: values must be rows of {n} numbers, got {value!r}")
        if place.name == "quaternion" and not rows:
            raise ValueError(
                f"{argument} must have rows of values; or draw attitude, got {value!r}"
            )
        return Source(name, [(place, k) for k in which], how)

    def _joint(self, k: int, value: Any) -> Source:
        argument = f"spread[{_COVARIANCE!r}][{k}]"
        given = keys(argument, value, ("names", "mean", "matrix"))
        found = [self.nominal.find(name) for name in given.get("names") or ()]
        numbers = [(place, i) for place, which in found for i in which]
        n = len(numbers)
        if n < 2 or "matrix" not in given:
            raise ValueError(f"{argument} must have names of numbers and a matrix, got {value!r}")
        if len({place.level == GROUP for place, _ in numbers}) > 1:
            raise ValueError(f"{argument} must name numbers of runs, or of groups, got both")
        own = [place.default[i] for place, i in numbers]
        mean = finite(f"{argument}: mean", given.get("mean", own), (n,))
        matrix = finite(f"{argument}: matrix", given["matrix"], (n, n))
        return Source("+".join(given["names"]), numbers, Joint.of(argument, mean, matrix))

    def seeds(self, runs: Sequence[int]) -> list[int]:
        """Seeds of the env's own draws, which no test set or training has."""
        drawn = (self._philox(_SEED, run, "", 0).random_raw() for run in runs)
        return [int(one) >> 2 | 1 << 62 for one in drawn]

    def of_runs(
        self, runs: Sequence[int], impossible: str = "redraw"
    ) -> tuple[Draws, NDArray[np.int64]]:
        """What each run draws, and how often it was drawn anew, (n,). impossible: "refuse" to leave
        draws as they are. ValueError where none of 1000 draws of a run is possible."""
        tries = np.zeros(len(runs), dtype=np.int64)
        found = self._draw(_RUN, runs, tries)
        while impossible == "redraw" and not (good := self.nominal.possible(found)).all():
            tries[~good] += 1
            if tries.max() >= _TRIES:
                raise ValueError(
                    f"spread must make possible bodies, got none in {_TRIES} draws of run "
                    f"{runs[int(tries.argmax())]}"
                )
            anew = self._draw(_RUN, [runs[int(k)] for k in np.flatnonzero(~good)], tries[~good])
            for name, values in anew.items():
                found[name][~good] = values
        return found, tries

    def of_group(self, group: int, impossible: str = "redraw") -> tuple[Draws, dict[str, Any]]:
        """What a group of runs draws, (1, size), and the arguments of its env. ValueError where no
        env can be made of it."""
        for attempt in range(_TRIES if impossible == "redraw" else 1):
            found = self._draw(_GROUP, [group], np.array([attempt]))
            changes = self.nominal.arguments({name: one[0] for name, one in found.items()})
            try:
                if changes:
                    self.nominal.make(1, changes).close()
            except ValueError as error:
                last = error
            else:
                return found, changes
        raise ValueError(f"spread draws, for group {group}, what cannot be: {last}") from last

    def check(self, runs: int, size: int) -> None:
        """Raise ValueError where draws of the runs, or of groups of `size`, cannot be: how many."""
        draws, _ = self.of_runs(range(runs), "refuse")
        bad = int((~self.nominal.possible(draws)).sum())
        why, groups = "", -(-runs // size) if self.grouped else 0
        for group in range(groups):
            try:
                self.of_group(group, "refuse")
            except ValueError as error:
                bad, why = bad + min(size, runs - group * size), f": {error}"
        if bad:
            raise ValueError(
                f"spread must make possible bodies, got {bad} of {runs} runs that cannot be{why}; "
                'impossible="redraw" draws them anew'
            )

    def _draw(self, kind: int, of: Sequence[int], tries: NDArray[np.int64]) -> Draws:
        """Numbers of each place that is drawn for runs or for groups; those of it that are not are
        nominal."""
        found: Draws = {}
        for one in self.sources:
            if one.per_group != (kind == _GROUP):
                continue
            values = one.draw(self._uniform(kind, of, one.name, tries, len(one.numbers)))
            if one.name == self.without and one.nominal is not None:
                values = np.tile(one.nominal, (len(of), 1))
            for (place, k), column in zip(one.numbers, values.T, strict=True):
                found.setdefault(place.name, np.tile(place.default, (len(of), 1)))[:, k] = column
        return found

    def _uniform(
        self, kind: int, of: Sequence[int], name: str, tries: NDArray[np.int64], size: int
    ) -> Array:
        """Uniform numbers in (0, 1), (n, size)."""
        return np.array([
            np.random.Generator(self._philox(kind, one, name, int(attempt))).random(size) + _TINY
            for one, attempt in zip(of, tries, strict=True)
        ])  # fmt: skip

    def _philox(self, kind: int, of: int, name: str, attempt: int) -> Any:
        counter = [0, attempt, zlib.crc32(name.encode()), kind]
        return np.random.Philox(counter=counter, key=[self.seed, of])


def _blocks(spread: Mapping[str, Any]) -> list[Any]:
    """What a spread says of numbers that vary together, block by block."""
    blocks = spread.get(_COVARIANCE, [])
    return [blocks] if isinstance(blocks, Mapping) else list(blocks)


def drawn_names(spread: Any) -> list[str]:
    """All names of a spread, those of its covariances among them; ValueError where it is no dict of
    distributions by name."""
    if not isinstance(spread, Mapping) or not all(isinstance(name, str) for name in spread):
        raise ValueError(f"spread must be a dict of distributions by name, got {spread!r}")
    blocks = [one for one in _blocks(spread) if isinstance(one, Mapping)]
    joint = [name for one in blocks for name in one.get("names") or ()]
    return [*(name for name in spread if name != _COVARIANCE), *joint]
